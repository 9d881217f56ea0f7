import { describe, expect, it } from 'vitest'
import {
  convenes,
  faults,
  gateAt,
  inspects,
  judged,
  poor,
  recordsOf,
  subFlow,
  verdicts,
  wantedOf,
  works,
} from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { eventsOf, owedTo } from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'
import { openInterrupts } from '../interrupt/decide.js'
import { statusOf } from '../run/state.js'
import { type GateBehaviour, HOST_VERIFIER } from './gate.js'
import { demandsOf, judgeOf } from './voting/licence.js'

/** The same of both sides, by a verifier that says neither its model nor its prompt. */
const shown = (side: { n: number; lower: number }, judge = judgeOf({})) => ({
  badStopped: side,
  goodPassed: side,
  judges: { [HOST_VERIFIER]: judge },
})

const begun = (behaviour: Partial<GateBehaviour>, principal?: string) =>
  works(given(subFlow()).start({}, undefined, [gateAt('a', 'phase_exit', { behaviour })], principal), 'child-1', {
    x: 1,
  })

/** Why a person is asked, and a run that has come to ask. */
const REASONS: { readonly [reason: string]: (more?: Partial<GateBehaviour>) => Scenario } = {
  unsettled: more => faults(convenes(inspects(begun({ retries: 0, ...more }))), 0),
  exhausted: more => {
    const run = begun({ on_fail: 'escalate', max_attempts: 4, stop_when_stuck: true, ...more })
    for (const child of ['child-2', 'child-3']) works(judged(run, poor()), child, { x: child })
    return judged(run, poor())
  },
  unlicensed: more => judged(begun({ auto_commit: 'licensed', ...more }), {}, { licence: shown({ n: 3, lower: 1 }) }),
  unsure: more => judged(begun({ min_confidence: 0.9, ...more }), { confidence: 0.5 }),
}

const target = (run: Scenario) => payloads(run, 'dws.verification.started').at(-1)!.targetRef
const variables = (run: Scenario) => (run.state.phase === 'absent' ? {} : run.state.variables)
const refine = (text = 'shorter') => answer('a', { action: 'refine', refineFeedback: { scope: 'whole', text } })

describe.each(Object.entries(REASONS))('a person who is asked because of what is %s', (reason, tell) => {
  const isOverride = reason === 'unsettled' || reason === 'exhausted'

  it('R-DWS-36 R-DWS-29: sees what it is about, and nothing is merged meanwhile', () => {
    const run = tell()
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      {
        kind: 'approval',
        data: { reason, gateId: 'g1', artifactId: target(run), actions: ['accept', 'reject', 'refine'] },
      },
    ])
    expect(variables(run)).toEqual({})
    expect(run.owed).toEqual([])
    expect(verdicts(run).every(({ verdict }) => verdict !== 'pass')).toBe(true)
  })

  it('R-VERIFY-21 §23.2: accept merges, on record as theirs', () => {
    const run = tell().when(answer('a', { action: 'accept', feedback: 'I have looked' }, 'ann'))
    expect(verdicts(run).at(-1)).toMatchObject({
      agentId: isOverride ? 'host:human-override' : 'assay.verifier',
      target: target(run),
      verdict: 'pass',
      criteria: ['correctness', isOverride ? 'human-override' : 'human-confirmed'],
    })
    expect(eventsOf(run, 'agent.verified').at(-1)!.secret).toMatchObject({ by: 'ann', why: 'I have looked' })
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
    expect(variables(run)).toHaveProperty('got')
  })

  it('R-VERIFY-11: reject merges nothing', () => {
    const run = tell().when(answer('a', { action: 'reject' }))
    expect(verdicts(run).at(-1)).toMatchObject({ verdict: 'fail' })
    expect(verdicts(run).filter(({ verdict }) => verdict === 'fail')).toHaveLength(1)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
    expect(variables(run)).toEqual({})
  })

  it('R-DWS-20: refine sends it back with their words, as one more attempt', () => {
    const run = tell()
    const { attempt } = payloads(run, 'dws.verification.started').at(-1)!
    run.when(refine())
    expect(verdicts(run).at(-1)).toMatchObject({ agentId: 'host:human-override', verdict: 'revise' })
    expect(payloads(run, 'assay.rework.began').at(-1)).toMatchObject({ attempt: Number(attempt) + 1 })
    expect(owedTo(run, 'start-child')!.withheld).toMatchObject({
      verificationFeedback: { attempt, note: { text: 'shorter' } },
    })
    expect(wantedOf(works(run, 'child-9'))).toMatchObject({ attempt: Number(attempt) + 1, dimensions: ['correctness'] })
  })

  it('R-ATTEST-4: nobody answering merges nothing', () => {
    const run = tell({ answer_timeout_ms: 5_000 })
    expect(openInterrupts(run.rules.plan, run.state)[0]!.dueAt).toBe(run.now + 5_000)
    run.after(5_000)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
    expect(variables(run)).toEqual({})
    expect(verdicts(run).at(-1)!.agentId).not.toBe('host:human-override')
  })

  it('R-DWS-36: without a limit it waits for ever', () => {
    expect(openInterrupts(tell().rules.plan, tell().state)[0]!.dueAt).toBeNull()
  })

  it('an answer that is none of the offered is refused', () => {
    const run = tell().when(answer('a', { action: 'edit-accept', editedArtifactData: {} }))
    expect(run.refusal).toMatchObject({ code: 'validation_error' })
    expect(statusOf(run.state)).toBe('waiting-approval')
  })
})

describe('a person who is asked', () => {
  it('R-DWS-22: cannot send back what has no attempt left', () => {
    const run = REASONS.unsettled!({ max_attempts: 1 })
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { actions: ['accept', 'reject'] } }])
    expect(run.when(refine()).refusal).toMatchObject({ code: 'validation_error' })
  })

  it('R-DWS-22 R-DWS-35: sends back what nobody could judge; it counts, and says nothing of how good the work is', () => {
    const run = REASONS.unsettled!({ max_attempts: 5, retries: 0 }).when(refine())
    for (const [i, score] of [2, 3, 4].entries()) judged(works(run, `again-${i}`), poor(score))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'revise', 'revise', 'revise'])
    judged(works(run, 'last'), poor(5))
    expect(verdicts(run).at(-1)).toMatchObject({ verdict: 'fail' })
    expect(payloads(run, 'dws.verification.started').map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5])
  })

  it('R-DWS-35: what is accepted without a judgement was an attempt, if another gate sends it back', () => {
    const gates = [
      gateAt('a', 'phase_exit', { gate_id: 'g1', behaviour: { retries: 0, max_attempts: 3 } }),
      gateAt('a', 'phase_exit', { gate_id: 'g2' }),
    ]
    const run = works(given(subFlow()).start({}, undefined, gates), 'child-1')
    faults(convenes(inspects(run)), 0).when(answer('a', { action: 'accept' }))
    works(judged(run, poor()), 'child-2')
    expect(wantedOf(run)).toMatchObject({ attempt: 2, bound: { gate: { gate_id: 'g1' } } })
  })

  it('R-VERIFY-5: what they say in words is in no payload of the verdict', () => {
    const run = REASONS.exhausted!().when(answer('a', { action: 'accept', feedback: 'CANARY-WORDS' }))
    expect(JSON.stringify(verdicts(run))).not.toContain('CANARY')
    expect(eventsOf(run, 'agent.verified').at(-1)!.secret).toMatchObject({ why: 'CANARY-WORDS' })
  })

  it('is asked about what was found', () => {
    const run = REASONS.exhausted!()
    const [open] = openInterrupts(run.rules.plan, run.state)
    expect(open!.asked.data).toMatchObject({ findings: [{ dimension: 'correctness' }] })
    expect(open!.asked.rest).toMatchObject({ findings: [{ dimension: 'correctness' }] })
  })
})

describe('a licence', () => {
  const licensed = { auto_commit: 'licensed' as const, licence: demandsOf({ min_n: 10, lower_bound: 0.9 }) }
  const enough = { n: 10, lower: 0.9 }

  it.each([
    ['enough cases and a bound that is high enough', shown(enough), 'completed'],
    ['too few cases', shown({ n: 9, lower: 1 }), 'waiting-approval'],
    ['a bound that is too low', shown({ n: 100, lower: 0.89 }), 'waiting-approval'],
    ['too few bad cases', { ...shown(enough), badStopped: { n: 9, lower: 1 } }, 'waiting-approval'],
    ['too many bad ones let through', { ...shown(enough), badStopped: { n: 99, lower: 0.89 } }, 'waiting-approval'],
    ['too few good cases', { ...shown(enough), goodPassed: { n: 9, lower: 1 } }, 'waiting-approval'],
    ['too many good ones stopped', { ...shown(enough), goodPassed: { n: 99, lower: 0.89 } }, 'waiting-approval'],
    ['nothing known', undefined, 'waiting-approval'],
    ['a record from before the sides were told apart', { n: 99, lower: 1 } as never, 'waiting-approval'],
  ])('with %s', (_name, licence, status) => {
    const run = judged(begun(licensed), {}, licence ? { licence } : {})
    expect(statusOf(run.state)).toBe(status)
  })

  it.each([
    ['the model and the prompt it was earned by', { model: 'p:m', prompt: 'sha256:1' }, 'completed'],
    ['another model', { model: 'p:cheap', prompt: 'sha256:1' }, 'waiting-approval'],
    ['another prompt', { model: 'p:m', prompt: 'sha256:2' }, 'waiting-approval'],
  ])('judged by %s', (_name, judge, status) => {
    const licence = shown(enough, judgeOf({ model: 'p:m', prompt: 'sha256:1' }))
    expect(statusOf(judged(begun(licensed), judge, { licence }).state)).toBe(status)
  })

  it('of a gate from before the sides were told apart demands the same of both', () => {
    const old = { auto_commit: 'licensed', licence: { min_n: 10, lower_bound: 0.9 } } as never
    expect(statusOf(judged(begun(old), {}, { licence: shown(enough) }).state)).toBe('completed')
    const licence = { ...shown(enough), badStopped: { n: 0, lower: 0 } }
    expect(statusOf(judged(begun(old), {}, { licence }).state)).toBe('waiting-approval')
  })

  it('is not asked for what fails', () => {
    const run = judged(begun(licensed), poor())
    expect(verdicts(run)).toMatchObject([{ verdict: 'revise' }])
    expect(recordsOf(run.log)[0]!.feedback).toMatchObject({ attempt: 1 })
  })

  it('is not asked for what is let through at the end of the attempts', () => {
    const run = judged(begun({ ...licensed, on_fail: 'conditional_pass', max_attempts: 1 }), poor())
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('who may let a result pass', () => {
  const asks = (more: Partial<GateBehaviour>) =>
    faults(convenes(inspects(begun({ retries: 0, ...more }, 'starter'))), 0)
  const accept = (by: string) => answer('a', { action: 'accept' }, by)

  it('R-DWS-29: those whom the gate names, and nobody else', () => {
    const run = asks({ approvers: ['ann', 'bob'] })
    expect(payloads(run, 'approval.requested').at(-1)).toMatchObject({ approversList: ['ann', 'bob'] })
    expect(run.when(accept('eve')).refusal).toMatchObject({ code: 'forbidden' })
    expect(variables(run)).toEqual({})
    expect(statusOf(run.when(accept('bob')).state)).toBe('completed')
  })

  it('R-DWS-29: as many of them as it asks for', () => {
    const run = asks({ approvers: ['ann', 'bob', 'cat'], required_approvals: 2 }).when(accept('ann'))
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(statusOf(run.when(accept('ann')).state)).toBe('waiting-approval')
    expect(statusOf(run.when(accept('cat')).state)).toBe('completed')
    expect(verdicts(run).at(-1)).toMatchObject({ verdict: 'pass', agentId: 'host:human-override' })
  })

  it('with second_person not who started the run, who may still send it back or reject it', () => {
    const run = asks({ second_person: true })
    expect(run.when(accept('starter')).refusal).toMatchObject({
      code: 'forbidden',
      message: '"starter" started this run, and its gate wants a second person to let a result pass',
    })
    expect(variables(run)).toEqual({})
    const rejected = asks({ second_person: true }).when(answer('a', { action: 'reject' }, 'starter'))
    expect(rejected.refusal).toBeUndefined()
    expect(verdicts(rejected).at(-1)).toMatchObject({ verdict: 'fail' })
    expect(statusOf(run.when(accept('ann')).state)).toBe('completed')
  })

  it('with second_person nor does the key of who started it bring the acceptance of somebody else', () => {
    const run = asks({ second_person: true })
    const brought = { ...accept('starter'), voter: 'ann' }
    expect(run.when(brought).refusal).toMatchObject({ code: 'forbidden', details: { field: 'mayNotAccept' } })
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it('with second_person not who started the run among those whose votes are counted', () => {
    const run = asks({ second_person: true, required_approvals: 2 }).when(accept('ann'))
    expect(run.when(accept('starter')).refusal).toMatchObject({ code: 'forbidden' })
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(statusOf(run.when(accept('bob')).state)).toBe('completed')
  })

  it('without it whoever may answer', () => {
    expect(statusOf(asks({}).when(accept('starter')).state)).toBe('completed')
  })
})
