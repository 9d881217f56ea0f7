import { expect, test } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, atWork, briefs, reasons, returns, says, tool, wants } from '../../testing/invocations.js'
import type { Recorded } from '../run/events.js'
import { Replay } from './decide.js'
import type { Fork } from './events.js'

const READ = tool('mcp:files.read')
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
