import { describe, expect, it, test } from 'vitest'
import { gateAt, subFlow, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, atWork, briefs, reasons, returns, says, tool, wants } from '../../testing/invocations.js'
import { begins, loopOf, next, scripted, terminate } from '../../testing/orchestration.js'
import { type Effect, pending } from '../run/effects.js'
import type { Recorded } from '../run/events.js'
import { Replay } from './decide.js'
import type { Fork } from './events.js'

const READ = tool('mcp:files.read')
const worked = () => works(given(subFlow()).start({}, undefined, [gateAt('a', 'phase_exit')]), 'child-1', { x: 1 })
const handed = () => given(scripted([next('x'), terminate])).start()

/** A run that is owed an effect of each kind; the compiler asks for one of every kind there is. */
const OWED: { readonly [Kind in Exclude<Effect['kind'], 'replay'>]: () => Scenario } = {
  'start-child': handed,
  'watch-child': () => begins(handed(), 'child-0'),
  'cancel-child': () => begins(handed(), 'child-0').when({ type: 'CancelRun', by: 'p' }),
  'gather-evidence': worked,
  'call-provider': () => given(loopOf({ prompt: 'lead', provider: 'p' })).start(),
  'check-schema': () =>
    given({
      nodes: { a: { type: 'core.channelWrite', config: { channelName: 'c', value: 1 } } },
      channels: { c: { reducer: 'append', schema: { type: 'string' } } },
    }).start(),
  'prepare-agent': () => given(agentFlow()).start(),
  'call-model': () => atWork(given(agentFlow())),
  'call-tool': () => says(atWork(given(agentFlow()), { tools: [READ] }), wants(READ.toolId)),
  continue: () => {
    const nodes = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`n${i}`, 'core.noop']))
    return given({ nodes }).start()
  },
}

const FORK: Fork = { sourceRunId: 'run-0', fromSeq: 0, mode: 'replay', sourceLength: 1 }

describe('R-REPLAY-12 R-REPLAY-13: whatever a run is owed, its replay is owed nothing but to be told', () => {
  it.each(Object.entries(OWED))('%s', (kind, tell) => {
    const run = tell()
    expect(run.owed.map(effect => effect.kind)).toContain(kind)
    const { state } = run
    if (state.phase !== 'active') throw new Error('the run is over')
    expect(pending(run.rules, { ...state, fork: FORK })).toEqual([{ kind: 'replay', since: 0, fork: FORK }])
  })
})

function replayed(run: Scenario, log: readonly Recorded[] = run.log): Recorded[] {
  const fork: Fork = { sourceRunId: 'run-1', fromSeq: 0, mode: 'replay', sourceLength: log.length }
  const replay = new Replay(run.rules, { phase: 'absent', fork }, fork, 'run-2', log)
  const told: Recorded[] = []
  for (let events = replay.next(); events !== undefined; events = replay.next()) told.push(...events)
  return told
}

test('R-REPLAY-14: reasoning whose pieces are lost is closed with the same text', () => {
  const run = reasons(reasons(atWork(given(agentFlow())), 0), 1)
  says(run, { said: answered(), reasoning: 'all of it' })
  const closing = (log: readonly Recorded[]) =>
    log.filter(({ type }) => type === 'agent.reasoned').map(({ payload }) => payload)
  expect(closing(replayed(run))).toEqual(closing(run.log))
  const lost = run.log.map(event => {
    const { input: _, ...bare } = event
    return event.type === 'agent.reasoning.delta' ? (bare as Recorded) : event
  })
  const told = replayed(run, lost)
  expect(told.filter(({ type }) => type === 'agent.reasoning.delta')).toEqual([])
  expect(closing(told)).toEqual(closing(run.log))
  expect(told.at(-1)?.type).toBe('run.completed')
})

test('R-REPLAY-6: of a call its value, what it changed and what it told come from the record', () => {
  const config = { resultVariable: 'found' }
  const run = returns(says(atWork(given(agentFlow({ config })), { tools: [READ] }), wants(READ.toolId)), {
    artifact: { artifactType: 'note', content: { n: 1 } },
  })
  says(run, answered({ deep: ['value'] }))
  const seen = (log: readonly Recorded[]) =>
    log
      .filter(({ type }) => ['node.completed', 'variable.changed', 'artifact.created'].includes(type))
      .map(({ type, payload, secret }) => ({ type, payload, secret }))
  expect(seen(run.log)).toHaveLength(3)
  expect(seen(replayed(run))).toEqual(seen(run.log))
})

test('R-REPLAY-18: a replay keeps the model that was chosen then', () => {
  const run = says(briefs(given(agentFlow()).start(), { model: 'chosen-then' }), answered())
  const models = (log: readonly Recorded[]) =>
    log.flatMap(event => (event.type === 'agent.invocation.started' ? [event.payload.resolvedModel] : []))
  expect(models(replayed(run))).toEqual(['chosen-then'])
})
