import {
  after,
  all,
  changed,
  type DraftRun,
  has,
  lost,
  type Mutation,
  mutation,
  nodeOf,
  ofType,
  repeat,
  runMutation,
  type Spot,
  setsField,
  uncaused,
} from '../draft.js'
import { completesLater } from './handoffs.js'

const calls = ofType('agent.toolCalled')
const returns = ofType('agent.toolReturned')
const thinks = ofType('agent.reasoning.delta')

const turnsOf = (run: DraftRun): number => run.events.filter(event => event.type === 'runOrchestrator.decided').length
const breachOf = (run: DraftRun) => run.events.find(event => event.type === 'cap.breached')
const isBreached = (run: DraftRun): boolean => breachOf(run)?.payload.kind === 'loop-iterations'

/** Misstates a breach of the bound on turns. */
const breached = (title: string, rule: string, change: (payload: Record<string, unknown>) => void): Mutation =>
  runMutation(rule, title, isBreached, (run, draft) => {
    draft.limits = { maxLoopIterations: 10_000 }
    change(breachOf(run)?.payload ?? {})
  })

export const AGENT_MUTATIONS: readonly Mutation[] = [
  uncaused('L23a', 'a return that its call does not cause', returns),
  setsField('L23a', 'a return of another call', returns, 'callId', 'call-x'),
  setsField('L23a', 'a return of another tool', returns, 'toolName', 'other'),
  setsField('L23a', 'a return to another agent', returns, 'agentId', 'host:other'),
  mutation('L23a', 'a call that returns twice', returns, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation('L23a', 'a call that is made twice', calls, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  changed('L23a', 'a return with an outcome and an error', returns, event => {
    Object.assign(event.payload, { outcome: 1, error: { code: 'no', message: 'no' } })
  }),
  lost('L23a', 'a call that never returns', all(returns, completesLater)),
  lost('L23a', 'a return without a call', calls),
  changed('L23b', 'a part that is skipped', thinks, event => {
    event.payload.sequence = Number(event.payload.sequence) + 1
  }),
  changed(
    'L23b',
    'parts that begin again',
    spot => thinks(spot) && spot.event.payload.sequence !== 0,
    event => {
      event.payload.sequence = 0
    },
  ),
  setsField('L23b', 'a part of another agent', all(thinks, completesLater), 'agentId', 'host:other'),
  lost('L23b', 'parts of which the whole is never told', all(closesParts, completesLater)),
  runMutation(
    'L26d',
    'more turns than were asked for',
    run => turnsOf(run) > 1 && !has(run, 'assay.run.forked'),
    run => {
      Object.assign(run.events[0]?.payload.configurable ?? {}, { maxLoopIterations: turnsOf(run) - 1 })
    },
  ),
  runMutation(
    'L26d',
    'more turns than the host allows',
    run => turnsOf(run) > 1,
    (run, draft) => {
      draft.limits = { maxLoopIterations: turnsOf(run) - 1 }
    },
  ),
  runMutation(
    'L26d',
    'a turn that was refused and taken',
    run => isBreached(run) && nodeOf(run, String(breachOf(run)?.payload.nodeId))?.id === 'lead' && turnsOf(run) > 0,
    run => {
      const decided = run.events.findLast(event => event.type === 'runOrchestrator.decided')
      const started = run.events.findLast(event => event.type === 'node.started' && event.nodeId === 'lead')
      const at = run.events.findIndex(event => event.type === 'assay.stop.requested')
      if (started === undefined || decided === undefined) return
      repeat(run, started, at)
      repeat(run, decided, at + 1)
    },
  ),
  breached('a breach that counts a turn too many', 'L26e', payload => {
    payload.observed = Number(payload.observed) + 1
  }),
  breached('a breach that counts a turn too few', 'L26e', payload => {
    payload.observed = Number(payload.observed) - 1
  }),
  breached('a breach of a lower limit than was asked for', 'L26e', payload => {
    payload.limit = Number(payload.limit) - 1
  }),
  runMutation(
    'L26e',
    'a breach of another cap than the dispatch has',
    run => isBreached(run) && breachOf(run)?.payload.nodeId === 'hand',
    run => {
      Object.assign(nodeOf(run, 'hand')?.config ?? {}, { iterationCap: 99 })
    },
  ),
]

function closesParts(spot: Spot): boolean {
  const before = spot.run.events[spot.at - 1]
  return (
    ofType('agent.reasoned')(spot) && before?.type === 'agent.reasoning.delta' && after(spot, () => true) !== undefined
  )
}
