import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { answer, begins, ends, loopOf, next, scripted, terminate } from '../../testing/orchestration.js'
import { branchOff } from '../replay/fork.js'

const gated = { outputMapping: { got: 'x' }, outputAttestation: { requireApproval: true } }
const shown = (run: ReturnType<typeof given>): string => JSON.stringify(run.log.map(({ payload }) => payload))

describe('merging what workers bring back', () => {
  it('R-MAP-10: what another worker has made a secret meanwhile is not shown to who is asked', () => {
    const run = given(scripted([next('a', 'b')], { dispatch: { ...gated, fanOutPolicy: 'parallel' } })).start()
    begins(run, 'c-a')
    begins(run, 'c-b', { worker: 1 })
    ends(run, 'c-a', { x: 'alpha-secret' }, { hidden: ['x'] })
    run.when(answer('dispatch', { action: 'accept' }))
    ends(run, 'c-b', { x: 'bravo-secret' })
    expect(run.log.filter(({ type }) => type === 'interrupt.requested')).toHaveLength(2)
    expect(shown(run)).not.toContain('secret')
  })

  it('R-MAP-10: what is masked within a result, and so cannot be edited, stays what it was', () => {
    const variables = [{ name: 'key', type: 'string' as const, sensitive: true, defaultValue: 'hunter2-secret' }]
    const run = given(scripted([next('a')], { dispatch: gated, variables })).start()
    begins(run, 'c-a')
    ends(run, 'c-a', { x: { note: 'hunter2-secret', n: 1, list: ['hunter2-secret', 2] } })
    run.when(
      answer('dispatch', {
        action: 'edit-accept',
        editedArtifactData: { x: { note: '[REDACTED]', n: 5, list: ['[REDACTED]', 3] } },
      }),
    )
    expect(run.state).toMatchObject({
      variables: { got: { note: 'hunter2-secret', n: 5, list: ['hunter2-secret', 3] } },
    })
  })

  it('R-ATTEST-4: nobody answering in time is a no', () => {
    const dispatch = { ...gated, outputAttestation: { requireApproval: true, timeoutMs: 50 } }
    const run = given(scripted([next('a'), terminate], { dispatch })).start()
    begins(run, 'c-a')
    ends(run, 'c-a', { x: 1 }).after(51)
    expect(run.state).toMatchObject({
      outcome: { status: 'completed' },
      variables: {},
      orchestrator: { workers: [{ workerId: 'a', status: 'failed', error: { code: 'merge_rejected' } }] },
    })
    expect(run.state).not.toHaveProperty('variables.got')
  })

  it('the time of the workflow stands still once all that is left is a person who is asked', () => {
    const settings = { timeout: 1_000 }
    const run = given(
      scripted([next('a', 'b')], { dispatch: { ...gated, fanOutPolicy: 'parallel' }, settings }),
    ).start()
    begins(run, 'c-a')
    begins(run, 'c-b', { worker: 1 })
    ends(run, 'c-a', { x: 1 })
    ends(run, 'c-b', { x: 2 }).after(5_000)
    expect(run.state).toMatchObject({
      phase: 'active',
      nodes: [{}, { hold: { is: 'merging', asked: { kind: 'approval' } } }],
    })
  })
})

describe('handing much over at once', () => {
  it('R-LOOP-10: is spread over decisions by its size, always in the order of the decision', () => {
    const workers = Array.from({ length: 12 }, (_, i) => `w${i}`)
    const variables = [{ name: 'big', type: 'string' as const, defaultValue: 'x'.repeat(900_000) }]
    const dispatch = { fanOutPolicy: 'parallel', inputMapping: { given: 'big' } }
    const run = given(scripted([next(...workers)], { dispatch, variables })).start()
    const began = () => run.log.filter(({ payload }) => (payload as { phase?: string }).phase === 'dispatch.began')
    expect(began().length).toBeLessThan(12)
    // Until all have begun, nothing is owed but to go on.
    expect(run.owed.map(({ kind }) => kind)).toEqual(['continue'])
    for (let turns = 0; turns < 12 && run.owed.some(({ kind }) => kind === 'continue'); turns += 1)
      run.when({ type: 'Continue' })
    expect(began().map(({ payload }) => (payload as { workerId: string }).workerId)).toEqual(workers)
    expect(run.owed.map(({ kind }) => kind)).toEqual(['start-child'])
  })
})

describe('a run that stops or branches while it hands over', () => {
  it('a late Continue tells a run that stops nothing twice', () => {
    const run = begins(given(scripted([next('a')])).start(), 'c-a').when({ type: 'CancelRun', by: 'me' })
    const length = run.log.length
    expect(run.when({ type: 'Continue' }).log).toHaveLength(length)
  })

  it('A20: a branch of a run that ran out of time when its child was started ends the same way', () => {
    const run = given(scripted([next('a')])).start({}, { runTimeoutMs: 100 })
    run.now += 200
    begins(run, 'c-a')
    expect(run.told().slice(-3)).toEqual(['node.cancelled dispatch', 'cap.breached', 'run.failed'])
    for (const cut of [run.log.length - 2, run.log.length - 1]) {
      const fork = { sourceRunId: 'run-1', fromSeq: cut, mode: 'branch' as const, sourceLength: run.log.length }
      const branch = branchOff(run.rules, { phase: 'absent', fork }, 'run-2', run.log.slice(0, cut), {}, run.now)
      expect(branch).toMatchObject({ ok: true, state: { phase: 'ended', outcome: { status: 'failed' } } })
    }
  })
})

describe('a decision from outside', () => {
  const asking = (output: object) => {
    const run = given(loopOf({ provider: 'p' })).start()
    return run.when({ type: 'EffectAnswered', nodeId: 'sup', since: 1, answer: { ok: true, output: output as never } })
  }

  it('that is too large is no decision', () => {
    const run = asking({ kind: 'escalate', artifact: 'x'.repeat(2_000_000) })
    expect(run.state).toMatchObject({ outcome: { error: { code: 'value_too_large' } } })
    expect(run.told()).not.toContain('runOrchestrator.decided sup')
  })

  it('asks without the schemas that nobody looked at before', () => {
    const run = asking({ kind: 'clarify', questions: [{ id: 'q', question: 'Which?', schema: { type: 'nonsense' } }] })
    const requested = run.log.find(({ type }) => type === 'interrupt.requested')
    expect(requested?.payload).toMatchObject({ data: { questions: [{ id: 'q', question: 'Which?' }] } })
    expect(JSON.stringify(requested?.payload)).not.toContain('nonsense')
  })

  it('is made without the variables that must not be seen', () => {
    const variables = [
      { name: 'open', type: 'string' as const, defaultValue: 'o' },
      { name: 'key', type: 'string' as const, defaultValue: 'hunter2-secret', sensitive: true },
    ]
    const run = given(loopOf({ provider: 'p' }, { variables })).start()
    expect(run.owed).toMatchObject([{ kind: 'call-provider', input: { variables: { open: 'o' } } }])
    expect(JSON.stringify(run.owed)).not.toContain('hunter2')
  })
})
