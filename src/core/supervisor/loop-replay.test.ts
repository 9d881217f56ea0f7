import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { answer, begins, ends, loopOf, next, refuses, scripted, terminate } from '../../testing/orchestration.js'
import type { Json } from '../json.js'
import { Replay } from '../replay/decide.js'
import type { Fork } from '../replay/events.js'
import { branchOff } from '../replay/fork.js'
import { isTerminal, type Recorded } from '../run/events.js'
import { runDecider } from '../run/run-decider.js'
import type { RunState } from '../run/state.js'

const MAPPED = { outputMapping: { got: 'x' } }
const GATED = { ...MAPPED, outputAttestation: { requireApproval: true, checksum: true } }

const decides = (run: Scenario, output: Json) =>
  run.when({
    type: 'EffectAnswered',
    nodeId: 'sup',
    since: run.sequence('node.started', 'sup'),
    answer: { ok: true, output },
  })

/** Loops of every shape, told to their end. */
const STORIES: { readonly [name: string]: () => Scenario } = {
  'whose workers go one after the other': () => {
    const run = given(scripted([next('a', 'b', 'c'), next('a')], { dispatch: MAPPED })).start()
    begins(run, 'child-0', { agentId: 'core.one' })
    ends(run, 'child-0', { x: 1 })
    refuses(run, 'unknown_child_workflow', { worker: 1 })
    begins(run, 'child-2', { worker: 2 })
    run.now += 10
    ends(run, 'child-2', {}, { status: 'failed', error: { code: 'e', message: 'm' } })
    begins(run, 'child-3')
    return ends(run, 'child-3', { x: 2 })
  },
  'whose workers go side by side': () => {
    const run = given(scripted([next('a', 'b', 'a')], { dispatch: { ...MAPPED, fanOutPolicy: 'parallel' } })).start()
    for (let worker = 0; worker < 3; worker += 1) begins(run, `child-${worker}`, { worker })
    run.when({ type: 'ChildWaits', nodeId: 'dispatch', childRunId: 'child-1', status: 'waiting-input' })
    for (const worker of [0, 1, 2]) ends(run, `child-${worker}`, { x: worker })
    return run
  },
  'that asks': () => {
    const plan = [{ kind: 'clarify' }, { kind: 'escalate', reason: 'r' }, { kind: 'ask-user', prompt: '?' }]
    const run = given(scripted(plan)).start()
    run.when(answer('sup', { answers: { answer: 1 } })).when(answer('sup', { action: 'reject' }))
    return run.when(answer('sup', { answers: { answer: 2 } }))
  },
  'with decisions in doubt': () => {
    const unsure = { ...next('a'), confidence: 0 }
    const run = given(scripted([unsure, unsure, unsure, { ...terminate, confidence: 0.1 }])).start()
    run.when(answer('sup', { action: 'reject' })).when(answer('sup', { action: 'accept' }))
    begins(run, 'child-0')
    ends(run, 'child-0')
    run.when(answer('sup', { action: 'edit-accept', editedArtifactData: next('b') }))
    begins(run, 'child-1')
    ends(run, 'child-1')
    return run.when(answer('sup', { action: 'accept' }))
  },
  'with a decision that was held': () => {
    const run = given(loopOf({ mockConfidence: 0.1, mockPendingDecision: next('a') })).start()
    run.when(answer('sup', { action: 'accept' }))
    begins(run, 'child-0')
    return ends(run, 'child-0')
  },
  'that asks before it merges': () => {
    const run = given(scripted([next('a', 'b')], { dispatch: GATED })).start()
    begins(run, 'child-0')
    ends(run, 'child-0', { x: 1 }, { checksum: 'c', hidden: ['x'] })
    run.when(answer('dispatch', { action: 'edit-accept', editedArtifactData: { x: '[REDACTED]' } }))
    begins(run, 'child-1', { worker: 1 })
    ends(run, 'child-1', { x: 2 }, { checksum: 'd' })
    return run.when(answer('dispatch', { action: 'reject' }))
  },
  'beside a sub-workflow that asks': () => {
    const sub = { type: 'core.subWorkflow', config: { workflowId: 'w', ...GATED } }
    const run = given(scripted([next('a')], { nodes: { sub } })).start()
    begins(run, 'child-0', { nodeId: 'sub' })
    begins(run, 'child-1')
    ends(run, 'child-0', { x: 1 }, { nodeId: 'sub', checksum: 'c' })
    ends(run, 'child-1')
    return run.when(answer('sub', { action: 'accept' }))
  },
  'that a provider drives': () => {
    const run = given(loopOf({ provider: 'model' })).start()
    decides(run, next('a'))
    begins(run, 'child-0')
    ends(run, 'child-0')
    return decides(run, terminate)
  },
  'over its bound': () => {
    const run = given(scripted([next('a'), next('a')])).start({}, { maxLoopIterations: 1 })
    begins(run, 'child-0')
    return ends(run, 'child-0')
  },
  'that was paused in a hand-off': () => {
    const run = given(scripted([next('a')], { dispatch: MAPPED })).start()
    begins(run, 'child-0')
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    run.now += 50
    run.when({ type: 'ResumeRun' })
    return ends(run, 'child-0', { x: 1 })
  },
  'that carries a secret': () => {
    const sensitive = { variables: [{ name: 'key', type: 'string' as const, sensitive: true }] }
    const plan = [{ kind: 'escalate', title: 'hunter2-secret' }, next('a')]
    const run = given(scripted(plan, { ...sensitive, dispatch: { inputMapping: { k: 'key' }, ...MAPPED } })).start({
      key: 'hunter2-secret',
    })
    run.when(answer('sup', { action: 'reject', feedback: 'not hunter2-secret' }))
    begins(run, 'child-0')
    return ends(run, 'child-0', { x: 'hunter2-secret' }, { hidden: ['x'] })
  },
}

const forkOf = ({ log }: Pick<Scenario, 'log'>, fromSeq: number, mode: Fork['mode']): Fork => ({
  sourceRunId: 'run-1',
  fromSeq,
  mode,
  sourceLength: log.length,
})

/** What a replay says from there on. */
function replayed(run: Pick<Scenario, 'rules' | 'log'>, fromSeq: number): Recorded[] {
  const fork = forkOf(run, fromSeq, 'replay')
  const replay = new Replay(run.rules, { phase: 'absent', fork }, fork, 'run-2', run.log)
  const own: Recorded[] = []
  for (let told = replay.next(); told !== undefined; told = replay.next()) own.push(...told)
  return own
}

/** All that a log says, apart from whose it is. */
const said = (log: readonly Recorded[]) =>
  log.map(event =>
    JSON.parse(JSON.stringify(event, (key, value) => (key === 'runId' || key === 'parentRunId' ? undefined : value))),
  )

/** Children that a branch waits for; those of its source are not its own. */
const watched = ({ rules }: Pick<Scenario, 'rules'>, state: RunState) =>
  runDecider(rules)
    .pending(state)
    .filter(({ kind }) => kind === 'watch-child')

/** The child is told of, and the worker is not yet told to be at work. */
const isBetweenChildAndWorker = (shared: readonly Recorded[]) =>
  ['node.dispatched', 'agent.handoff'].includes(shared.at(-1)!.type)

describe.each(Object.entries(STORIES))('a loop %s', (_name, tell) => {
  it('R-LOOP-9 R-ORCH-7 R-STATE-2 R-STATE-5 R-BOUND-4 R-EVENT-7: is retold the same from every sequence', () => {
    const run = tell()
    expect(run.state.phase).toBe('ended')
    const source = said(run.log)
    for (let fromSeq = 0; fromSeq <= run.log.length; fromSeq += 1)
      expect(said(replayed(run, fromSeq)), `from ${fromSeq}`).toEqual(source.slice(fromSeq))
  })

  it('R-HANDOFF-4 A20: branched off anywhere, it goes on without beginning anything twice', () => {
    const run = tell()
    for (let fromSeq = 1; fromSeq < run.log.length; fromSeq += 1) {
      const fork = forkOf(run, fromSeq, 'branch')
      const shared = run.log.slice(0, fromSeq)
      const first = branchOff(run.rules, { phase: 'absent', fork }, 'run-3', shared, {}, run.now + 1_000)
      if (!first.ok) throw new Error(first.refusal.message)
      const log = [...shared, ...first.events]
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, i) => i))
      const turns = log.flatMap(event => (event.type === 'runOrchestrator.decided' ? [event.payload.iteration] : []))
      expect(turns, `from ${fromSeq}`).toEqual(turns.map((_, i) => i + 1))
      expect(isTerminal(log.at(-1)!.type) || first.state.phase === 'active').toBe(true)
      if (!isBetweenChildAndWorker(shared)) expect(watched(run, first.state), `from ${fromSeq}`).toEqual([])
    }
  })
})

describe('a branch of a loop', () => {
  const cutAt = (fromSeq: number) => {
    const run = given(scripted([next('a')], { dispatch: MAPPED })).start()
    begins(run, 'child-0')
    ends(run, 'child-0', { x: 1 })
    const shared = run.log.slice(0, fromSeq)
    const fork = forkOf(run, fromSeq, 'branch')
    const first = branchOff(run.rules, { phase: 'absent', fork }, 'run-3', shared, {}, 9_000)
    if (!first.ok) throw new Error(first.refusal.message)
    return { ...first, run }
  }

  it('A20: cut between the child and the worker, it waits for no child of its source', () => {
    const { run, state, events } = cutAt(7)
    expect(events[0]).toMatchObject({ type: 'assay.run.forked' })
    expect(watched(run, state)).toEqual([])
  })

  it('A20 R-HANDOFF-3: hands a worker that was at work its work again, under the beginning it had', () => {
    const { run, state } = cutAt(8)
    const decider = runDecider(run.rules)
    expect(decider.pending(state)).toMatchObject([{ kind: 'start-child', worker: 0, since: 4, workflowId: 'a' }])
    const started = { type: 'ChildStarted', nodeId: 'dispatch', since: 4, worker: 0, childRunId: 'child-9' } as const
    const again = decider.decide(state, { ...started, now: 9_001 })
    expect(again).toMatchObject({
      ok: true,
      events: [
        { type: 'node.dispatched', cause: 2, payload: { childRunId: 'child-9' } },
        { payload: { phase: 'dispatch.succeeded', childRunId: 'child-9' }, cause: 5 },
      ],
    })
  })
})
