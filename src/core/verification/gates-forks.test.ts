import { describe, expect, it } from 'vitest'
import { convenes, faults, gateAt, inspects, judged, poor, subFlow, votes, works } from '../../testing/gate-stories.js'
import { GOOD, outcomeOf } from '../../testing/gate-world.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, briefs, says } from '../../testing/invocations.js'
import { answer, begins, ends, next, scripted, terminate } from '../../testing/orchestration.js'
import { openInterrupts } from '../interrupt/decide.js'
import { Replay } from '../replay/decide.js'
import type { Fork } from '../replay/events.js'
import { branchOff, inherited, retold } from '../replay/fork.js'
import { isTerminal, type Recorded } from '../run/events.js'
import { runDecider } from '../run/run-decider.js'
import type { RunState } from '../run/state.js'

type Given = Parameters<typeof gateAt>[2]
const gate = (more: Given = {}) => gateAt('a', 'phase_exit', more)
const sub = (...gates: ReturnType<typeof gate>[]) =>
  works(given(subFlow()).start({}, { budget: { maxTokens: 10_000 } }, gates), 'child-1', { x: 1 })
const SPENT = { tokens: 10, costNano: 5, toolCalls: 0, retries: 0 }
const PROBES = [{ probe_id: 'p', type: 'equals' as const, value: true }]
const unavailable = { evidence: [{ probeId: 'p', dimension: 'd', outcome: 'unavailable' as const, evidence: [] }] }
const held = { evidence: [{ probeId: 'p', dimension: 'd', outcome: 'held' as const, evidence: [] }] }

/** Gated runs of every shape, told to their end. */
const STORIES: { readonly [name: string]: () => Scenario } = {
  passed: () => judged(sub(gate()), { spent: SPENT }),
  'sent back and passed': () => judged(works(judged(sub(gate()), poor()), 'child-2', { x: 2 })),
  'given up': () => judged(works(judged(sub(gate()), poor()), 'child-2', { x: 2 }), poor()),
  'stopped early': () =>
    votes(votes(convenes(inspects(sub(gate({ quorum: { verifier_count: 3 } })))), 0), 1, { spent: SPENT }),
  'decided by the last': () => {
    const run = convenes(inspects(sub(gate({ quorum: { verifier_count: 3 } }))))
    return votes(convenes(faults(votes(run, 0), 1, 'cancelled', { spent: SPENT })), 2, { spent: SPENT })
  },
  'held and asked again': () => votes(convenes(faults(convenes(inspects(sub(gate()))), 0).after(2_000)), 0),
  'looked at again': () =>
    inspects(inspects(sub(gate({ criteria: [{ dimension: 'd', probes: PROBES }] })), unavailable).after(2_000), held),
  'settled by a person': () =>
    faults(convenes(inspects(sub(gate({ behaviour: { retries: 0 } })))), 0).when(answer('a', { action: 'accept' })),
  'sent back by a person': () => {
    const run = judged(sub(gate({ behaviour: { auto_commit: 'licensed' } })))
    run.when(answer('a', { action: 'refine', refineFeedback: { scope: 'whole' } }))
    return judged(works(run, 'child-2')).when(answer('a', { action: 'reject' }))
  },
  'before two gates': () => {
    const run = judged(sub(gate({ gate_id: 'g1' }), gate({ gate_id: 'g2', behaviour: { blocking: false } })))
    return judged(run, poor())
  },
  'of an agent': () => {
    const run = briefs(given(agentFlow()).start({}, undefined, [gate()]))
    judged(says(run, answered('first')), poor())
    return judged(says(briefs(run), answered('second')))
  },
  'of an agent that an exit sends back': () => {
    const run = briefs(given(agentFlow()).start({}, undefined, [gateAt('a', 'workflow_exit')]))
    judged(says(run, answered('first')), poor())
    return judged(says(briefs(run), answered('second')))
  },
  'of a supervisor': () => {
    const flow = scripted([next('v', 'w'), terminate], {
      dispatch: { outputMapping: { got: 'x' }, fanOutPolicy: 'parallel' },
    })
    const run = given(flow).start({}, undefined, [
      gateAt('dispatch', 'phase_exit'),
      gateAt('sup', 'workflow_exit', { gate_id: 'g2' }),
    ])
    begins(run, 'child-1', { worker: 0 })
    begins(run, 'child-2', { worker: 1 })
    judged(ends(run, 'child-1', { x: 1 }), poor())
    judged(works(run, 'child-3', { x: 3 }, { nodeId: 'dispatch', worker: 0 }))
    return judged(judged(ends(run, 'child-2', { x: 2 })))
  },
  paused: () => {
    const run = votes(convenes(inspects(sub(gate({ quorum: { verifier_count: 2 } })))), 0)
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    run.now += 500
    return votes(run.when({ type: 'ResumeRun' }), 1)
  },
}

const forkOf = (log: readonly Recorded[], fromSeq: number, mode: Fork['mode']): Fork => ({
  sourceRunId: 'run-1',
  fromSeq,
  mode,
  sourceLength: log.length,
})

type Told = { readonly rules: Scenario['rules']; readonly log: readonly Recorded[] }

/** Told again from there by a host that has kept the state at an earlier moment between two decisions. */
function replayed({ rules, log }: Told, fromSeq: number): Recorded[] {
  const fork = forkOf(log, fromSeq, 'replay')
  const known = log.findLast(({ sequence, input }) => sequence <= fromSeq && input !== undefined)?.sequence ?? 0
  const kept = JSON.parse(JSON.stringify(retold(rules, { phase: 'absent' }, 'run-1', log.slice(0, known)))) as RunState
  const replay = new Replay(rules, inherited(kept, 'run-2', fork), fork, 'run-2', log.slice(known))
  const own: Recorded[] = []
  for (let told = replay.next(); told !== undefined && own.length < 1_000; told = replay.next()) own.push(...told)
  return [...log.slice(0, fromSeq), ...own]
}

const said = (log: readonly Recorded[]) =>
  log.map(({ type, nodeId, payload, secret, cause, at, sequence }) =>
    JSON.stringify({ sequence, at, type, nodeId, payload, secret, cause }, (key, value) =>
      key === 'runId' ? undefined : value,
    ),
  )

/** The first line in which two logs differ, from `from` on. */
function parting(one: readonly Recorded[], other: readonly Recorded[], from = 0): readonly unknown[] | undefined {
  const [once, again] = [said(one.slice(from)), said(other.slice(from))]
  const at = Array.from({ length: Math.max(once.length, again.length) }, (_, i) => i).find(i => once[i] !== again[i])
  return at === undefined ? undefined : [at, once[at], again[at]]
}

/** Everything that the world owes a branch is done, and well; people accept. */
function finished(rules: Scenario['rules'], state: RunState, log: Recorded[], now: number): RunState {
  const decider = runDecider(rules)
  let after = state
  for (let step = 0; step < 100 && after.phase === 'active'; step += 1) {
    const input = inputFor(rules, after)
    const decision = decider.decide(after, { ...input, now } as never)
    if (!decision.ok) throw new Error(`${JSON.stringify(input)}: ${decision.refusal.message}`)
    log.push(...decision.events)
    after = decision.state
  }
  return after
}

function inputFor(rules: Scenario['rules'], state: RunState): object {
  const [open] = openInterrupts(rules.plan, state)
  if (open) return answer(open.nodeId, { action: 'accept' })
  const effect = runDecider(rules)
    .pending(state)
    .find(owed => !(owed.kind === 'watch-child' && owed.early))
  return (effect && outcomeOf(effect, state, GOOD, 'own')) ?? { type: 'TimeCame' }
}

/** Gate, place and attempt of everything that was judged. */
const attempts = (log: readonly Recorded[]) =>
  log.flatMap(event =>
    event.type === 'dws.verification.started'
      ? [`${event.payload.gateId} ${event.payload.workerId ?? event.nodeId} ${event.payload.attempt}`]
      : [],
  )

describe.each(Object.entries(STORIES))('a gated run that was %s', (_name, tell) => {
  it('R-VERIFY-22 R-DWS-35 R-REPLAY-11: is retold byte for byte from every sequence, and nobody is asked', () => {
    const run = tell()
    expect(run.state.phase).toBe('ended')
    for (let fromSeq = 0; fromSeq <= run.log.length; fromSeq += 1)
      expect(parting(run.log, replayed(run, fromSeq), fromSeq), `from ${fromSeq}`).toBeUndefined()
  })

  it('R-DWS-35: can be branched off at every sequence: the attempts go on, the verifiers are its own, and it ends', () => {
    const run = tell()
    for (let fromSeq = 1; fromSeq < run.log.length; fromSeq += 1) {
      const shared = run.log.slice(0, fromSeq)
      const base = { phase: 'absent' as const, fork: forkOf(run.log, fromSeq, 'branch') }
      const now = run.now + 10_000
      const first = branchOff(run.rules, base, 'run-3', shared, {}, now)
      if (!first.ok) throw new Error(first.refusal.message)
      const log = [...shared, ...first.events]
      const state = finished(run.rules, first.state, log, now + 100_000)
      const where = `from ${fromSeq}`
      expect(state.phase, where).toBe('ended')
      expect(isTerminal(log.at(-1)!.type), where).toBe(true)
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, i) => i))
      // No attempt is made twice or left out: each is the first, or follows the one before.
      const seen = new Set<string>()
      for (const line of attempts(log)) {
        const [gateId, place, attempt] = line.split(' ') as [string, string, string]
        if (attempt !== '1') expect(seen, where).toContain(`${gateId} ${place} ${Number(attempt) - 1}`)
        seen.add(line)
      }
      expect(attempts(log).slice(0, attempts(shared).length)).toEqual(attempts(shared))
      // A verifier of the source has no vote in what the branch says itself.
      const own = log.slice(fromSeq)
      for (const event of own)
        if (event.type === 'assay.verifier.ended' && event.payload.childRunId !== undefined)
          expect(event.payload.childRunId, where).toMatch(/^own-/)
      // A branch that parts from its source while a worker is being started has not heard of that worker to the end.
      if (fromSeq % 4 === 0 && shared.at(-1)!.type !== 'node.dispatched')
        expect(parting(log, replayed({ rules: run.rules, log }, 0)), where).toBeUndefined()
    }
  })
})

describe('a gated run that was cancelled', () => {
  it('R-REPLAY-12: is retold as far as it is known, and its replay ends', () => {
    const stories = [
      () => convenes(inspects(sub(gate({ quorum: { verifier_count: 2 } })))),
      () => sub(gate()),
      () => faults(convenes(inspects(sub(gate()))), 0),
      () => says(briefs(given(agentFlow()).start({}, undefined, [gateAt('a', 'workflow_exit')])), answered('x')),
      () =>
        judged(
          says(
            briefs(given(agentFlow()).start({}, undefined, [gate({ behaviour: { auto_commit: 'licensed' } })])),
            answered('x'),
          ),
        ),
    ]
    for (const tell of stories) {
      const run = tell()
      const known = run.log.length
      run.when({ type: 'CancelRun', by: 'ann' })
      for (let fromSeq = 0; fromSeq <= known; fromSeq += 1) {
        const told = replayed(run, fromSeq)
        expect(isTerminal(told.at(-1)!.type)).toBe(true)
        expect(parting(run.log.slice(0, known), told.slice(0, known))).toBeUndefined()
      }
    }
  })

  it('R-REPLAY-12: also where the exit of a phase whose failure the workflow handles was being judged', () => {
    const flow = {
      nodes: { a: subFlow().nodes.a!, after: 'core.noop' },
      edges: [{ path: 'a > after', triggerRule: 'all_complete' as const }],
    }
    const run = works(given(flow).start({}, undefined, [gateAt('a', 'workflow_exit')]), 'child-1')
    run.when({ type: 'CancelRun', by: 'ann' })
    expect(isTerminal(replayed(run, 0).at(-1)!.type)).toBe(true)
  })
})
