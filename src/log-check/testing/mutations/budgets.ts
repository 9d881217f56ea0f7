import {
  all,
  changed,
  type DraftEvent,
  type DraftRun,
  has,
  insert,
  isOwn,
  lastEvent,
  lost,
  type Mutation,
  mutation,
  ofType,
  remove,
  repeat,
  runMutation,
  type Spot,
  setsField,
  shift,
  uncaused,
} from '../draft.js'
import { requests } from './invocations.js'

const reserves = (spot: Spot): boolean => ofType('budget.reserved')(spot) && !isRaise(spot)
const consumes = ofType('budget.consumed')
const warns = ofType('budget.threshold.crossed')
const exhausts = ofType('budget.exhausted')
const handsOver =
  (phase: string) =>
  (spot: Spot): boolean =>
    spot.event.payload.phase === phase && isOwn(spot) && spot.run.row.fork?.mode !== 'replay'
const isBreached = (run: DraftRun): boolean =>
  run.events.filter(({ type }) => type === 'budget.exhausted').length === 1 &&
  run.events.some(({ type, payload }) => type === 'cap.breached' && String(payload.kind).startsWith('budget-')) &&
  run.row.fork?.mode !== 'replay'
const breachOf = (run: DraftRun) => run.events.find(({ type }) => type === 'cap.breached') as DraftEvent
const isWhole = ({ event }: Spot): boolean => event.payload.dimension !== 'cost'
const budgetOf = (run: DraftRun) => (run.events[1]?.payload.effectiveBudget ?? {}) as Record<string, number>
const isRoot = (run: DraftRun): boolean => !run.row.fork && run.row.parentRunId === null

const isAboutBudget = ({ event }: Spot): boolean =>
  event.type === 'interrupt.requested' && (event.payload.data as { artifactType?: string }).artifactType === 'budget'
/** What is reserved because a person has said yes. */
function isRaise({ run, event, at }: Spot): boolean {
  const told = run.events.slice(0, at).findLast(({ type }) => type !== 'assay.run.forked' && type !== 'replay.diverged')
  return event.type === 'budget.reserved' && told?.type === 'node.resumed'
}
const asksOnce = (spot: Spot): boolean => isAboutBudget(spot) && isOwn(spot) && spot.run.row.fork?.mode !== 'replay'

export const BUDGET_MUTATIONS: readonly Mutation[] = [
  changed('L26m', 'a budget that is raised by more than was said', isRaise, event => {
    for (const [field, most] of Object.entries(event.payload.effectiveBudget as Record<string, number>))
      Object.assign(event.payload.effectiveBudget as object, { [field]: most + 1 })
  }),
  lost('L26m', 'a yes after which nothing is raised', isRaise),
  mutation('L26m', 'a run that asks and did not say that it would', all(asksOnce, isPlain), ({ run }) => {
    const { configurable } = run.events[0]!.payload as { configurable: { budget: Record<string, unknown> } }
    delete configurable.budget.onExhaustion
  }),
  changed('L26m', 'a question about another amount than was exhausted', asksOnce, event => {
    const data = event.payload.data as Record<string, unknown>
    data.consumed = Number(data.consumed) + 1
  }),
  changed('L26m', 'a question about what crosses nothing', asksOnce, event => {
    const data = event.payload.data as Record<string, unknown>
    data.observed = data.limit
  }),
  mutation('L26k', 'work after a person has refused more', isRaise, ({ run, event, at }) => {
    const resolved = run.events.slice(0, at).findLast(({ type }) => type === 'interrupt.resolved') as DraftEvent
    Object.assign(resolved.payload, { outcome: 'rejected', resumeValue: { action: 'reject' } })
    remove(run, event)
  }),
  lost('L26f', 'a bounded run that does not say so', reserves),
  mutation('L26f', 'a budget that is reserved twice', reserves, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation(
    'L26f',
    'a budget that is reserved late',
    all(reserves, spot => spot.run.events.length > 4),
    spot => shift(spot.run, spot.event, 3),
  ),
  changed('L26f', 'a budget above what was asked for', reserves, event => {
    for (const [field, most] of Object.entries(event.payload.effectiveBudget as Record<string, number>))
      Object.assign(event.payload.effectiveBudget as object, { [field]: most + 1 })
  }),
  changed('L26f', 'a budget without one of its bounds', reserves, event => {
    const budget = event.payload.effectiveBudget as Record<string, number>
    delete budget[Object.keys(budget)[0] ?? '']
  }),
  setsField('L26f', 'a budget of the project', reserves, 'scope', 'project'),
  uncaused('L26f', 'a budget that nothing causes', reserves),
  lost(
    'L26g',
    'a consumption of nothing that was reserved',
    all(reserves, spot => has(spot.run, 'budget.consumed')),
  ),
  changed('L26g', 'a remainder that is wrong', consumes, event => {
    event.payload.remaining = Number(event.payload.remaining) + 1
  }),
  changed('L26g', 'another limit than was reserved', consumes, event => {
    event.payload.limit = Number(event.payload.limit) + 1
    event.payload.remaining = Number(event.payload.remaining) + 1
  }),
  mutation('L26g', 'a consumption that falls', all(consumes, isSecond), ({ event }) => {
    event.payload.remaining = event.payload.limit
    event.payload.consumed = 0
  }),
  lost('L26h', 'a consumption that is not told', all(consumes, isWhole)),
  mutation('L26h', 'a consumption that is told twice', consumes, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  changed('L26h', 'a consumption that the log does not add up to', all(consumes, isWhole), event => {
    event.payload.consumed = Number(event.payload.consumed) + 1
    event.payload.remaining = Number(event.payload.remaining) - 1
  }),
  uncaused('L26h', 'a consumption that nothing causes', consumes),
  changed(
    'L26h',
    'an answer from before that is counted again',
    spot => spot.event.type === 'provider.usage' && spot.event.payload.cacheHit === undefined && counts(spot),
    event => {
      event.payload.cacheHit = true
    },
  ),
  changed(
    'L26h',
    'an answer from before that counts as new',
    spot => spot.event.payload.cacheHit === true && Number(budgetOf(spot.run).maxTokens) > 0,
    event => {
      delete event.payload.cacheHit
    },
  ),
  mutation('L26i', 'a threshold that is told twice', warns, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  setsField(
    'L26i',
    'a threshold that is not reached',
    all(warns, isWhole, spot => Number(spot.event.payload.consumed) < Number(spot.event.payload.limit)),
    'percent',
    100,
  ),
  lost('L26i', 'a threshold that is not told', all(warns, isPlain, isWhole)),
  changed(
    'L26i',
    'a threshold of another amount',
    all(warns, spot => Number(spot.event.payload.consumed) < Number(spot.event.payload.limit)),
    event => {
      event.payload.consumed = Number(event.payload.limit)
    },
  ),
  mutation(
    'L26j',
    'a call that the budget does not allow',
    all(requests, spot => Number(budgetOf(spot.run).maxTokens) > 0),
    ({ event }) => {
      event.payload.reservedTokens = 1_000_000
    },
  ),
  mutation(
    'L26j',
    'a call of which the cost is not covered',
    all(requests, spot => Number(budgetOf(spot.run).maxCostUsd) > 0),
    ({ event }) => {
      event.payload.reservedCostUsd = 1_000
    },
  ),
  mutation(
    'L26j',
    'an answer that takes more than there is',
    all(ofType('provider.usage'), spot => counts(spot)),
    ({ event }) => {
      event.payload.outputTokens = 1_000_000
      event.payload.totalTokens = 1_000_000 + Number(event.payload.inputTokens)
    },
  ),
  runMutation(
    'L26j',
    'more retries than were given',
    run => Number(budgetOf(run).maxRetries) >= 0 && has(run, 'node.started'),
    run => {
      const start = run.events.find(({ type }) => type === 'node.started') as DraftEvent
      const at = run.events.indexOf(start)
      const payload = { nodeId: start.nodeId, attempt: 1, delayMs: 1, lastError: { code: 'no', message: 'no' } }
      for (let i = 0; i < 12; i++) insert(run, at + 1, 'node.retried', start.nodeId, payload)
    },
  ),
  mutation(
    'L26j',
    'a worker that is given more than there is',
    all(handsOver('dispatch.began'), spot => grantOf(spot.event) !== undefined),
    ({ event }) => {
      for (const field of Object.keys(grantOf(event) ?? {})) Object.assign(grantOf(event) ?? {}, { [field]: 1_000_000 })
    },
  ),
  runMutation('L26k', 'a breach of a budget that was not exhausted', isBreached, run => {
    remove(run, run.events.find(({ type }) => type === 'budget.exhausted') as DraftEvent)
  }),
  mutation('L26k', 'a budget that is exhausted twice', exhausts, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  changed('L26k', 'an exhaustion of another amount', exhausts, event => {
    event.payload.consumed = Number(event.payload.consumed) + 1
  }),
  runMutation('L26k', 'a breach of another limit', isBreached, run => {
    breachOf(run).payload.limit = Number(breachOf(run).payload.limit) - 0.5
  }),
  runMutation('L26k', 'a breach of another dimension', isBreached, run => {
    const { payload } = breachOf(run)
    payload.kind = payload.kind === 'budget-tokens' ? 'budget-cost' : 'budget-tokens'
  }),
  runMutation('L26k', 'a breach that would cross nothing', isBreached, run => {
    breachOf(run).payload.observed = breachOf(run).payload.limit
  }),
  runMutation('L26k', 'an exhausted run that fails otherwise', isBreached, run => {
    lastEvent(run).payload.error = { code: 'effect_failed', message: 'no' }
  }),
  mutation('L26k', 'work after the budget is exhausted', all(exhausts, isLast), ({ run, at }) => {
    insert(run, at + 1, 'agent.toolCalled', 'n0', { agentId: 'local.acme.worker', toolName: 't', callId: 'c' })
  }),
  runMutation('L26k', 'an exhausted run that goes on', isBreached, run => {
    lastEvent(run).type = 'run.completed'
    remove(run, breachOf(run))
  }),
  mutation(
    'L26l',
    'a worker that is given something else',
    all(handsOver('dispatch.succeeded'), hasGrant),
    ({ event }, draft) => {
      const child = draft.runs.find(({ runId }) => runId === event.payload.childRunId)
      if (child?.events[0] !== undefined) child.events[0].payload.grant = { maxTokens: 1 }
    },
  ),
  mutation(
    'L26l',
    'a worker whose spending is misstated',
    all(handsOver('child.completed'), spot => spot.event.secret?.spent !== undefined),
    ({ event }) => {
      const spent = event.secret?.spent as { tokens: number }
      spent.tokens += 1
    },
  ),
  mutation(
    'L26l',
    'a worker of which a try is not counted',
    all(handsOver('child.completed'), spot => spot.event.secret?.spent !== undefined),
    ({ event }) => {
      const spent = event.secret?.spent as { retries: number }
      spent.retries += 1
    },
  ),
]

const grantOf = ({ secret }: DraftEvent): object | undefined => secret?.grant as object | undefined

function hasGrant({ run, event }: Spot): boolean {
  return run.events.some(other => other.payload.workerId === event.payload.workerId && grantOf(other) !== undefined)
}

function counts({ run, event }: Spot): boolean {
  const total = Number(event.payload.totalTokens)
  return Number(budgetOf(run).maxTokens) > 0 && total > 0 && event.payload.cacheHit === undefined
}

function isSecond(spot: Spot): boolean {
  const { dimension } = spot.event.payload
  return spot.run.events
    .slice(0, spot.at)
    .some(({ type, payload }) => type === 'budget.consumed' && payload.dimension === dimension)
}

/** Nobody is asked. */
function isLast({ run, at }: Spot): boolean {
  return run.events[at + 1]?.type !== 'interrupt.requested'
}

function isPlain({ run }: Spot): boolean {
  return isRoot(run) && !has(run, 'assay.run.forked')
}
