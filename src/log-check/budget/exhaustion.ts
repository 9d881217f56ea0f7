import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { linksOf, phaseOf } from '../handoff/chains.js'
import { isBudgetQuestion } from '../interrupt/questions.js'
import { get, number, same, show, text } from '../json.js'
import { withoutRemarks } from '../story.js'
import { TERMINAL } from '../walk.js'
import { raisesOf } from './raises.js'
import {
  accountsOf,
  amountOf,
  budgetAt,
  ceilingOf,
  childOf,
  DIMENSIONS,
  heldOf,
  spentByChild,
  totalOf,
} from './spending.js'

/** How a budget ends a run, and how it is shared with children. */
export const exhaustionRules: readonly Rule[] = [
  {
    id: 'L26k',
    title:
      'A budget that stops a run is told as exhausted first, then as a breach of that dimension; the run fails, unless a person lets it spend more',
    source: 'agents R-BUDGET-4',
    checks: eachRun((run, say, log) => {
      const exhausted = run.events.filter(({ type }) => type === EXHAUSTED)
      for (const event of run.events) {
        const dimension = KINDS.get(text(event.payload.kind) ?? '')
        if (event.type !== 'cap.breached' || dimension === undefined) continue
        const before = exhausted.findLast(
          ({ payload, sequence }) => payload.dimension === dimension && sequence < event.sequence,
        )
        if (before === undefined) say(`${dimension} are breached and were not exhausted`, event)
        else if (before.payload.limit !== event.payload.limit)
          say(`a limit of ${show(event.payload.limit)}, exhausted was ${show(before.payload.limit)}`, event)
      }
      // Hosts whose budgets only advise go on.
      if (log.input.dialect === 'openwop') return
      exhausted.forEach((event, i) => {
        const next = exhausted[i + 1]?.sequence ?? Number.POSITIVE_INFINITY
        const isRaised = [...raisesOf(run).keys()].some(({ sequence }) => sequence > event.sequence && sequence < next)
        if (Number.isFinite(next) && !isRaised) say('exhausted twice', exhausted[i + 1])
        for (const [problem, at] of sumProblems(run, event)) say(problem, at)
        if (!isRaised && next === Number.POSITIVE_INFINITY)
          for (const [problem, at] of stopProblems(run, event)) say(problem, at)
      })
    }),
  },
  {
    id: 'L26l',
    title: 'A worker is given what its run says it was given, and what it has spent is what its own log adds up to',
    source: 'agents R-BUDGET-7',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      if (run.fork?.mode === 'replay') return
      for (const { event, chain } of linksOf(run)) {
        const child = log.byId.get(text(event.payload.childRunId) ?? '')
        if (child === undefined || event.sequence < run.ownFrom) continue
        const began = chain.events.find(earlier => phaseOf(earlier) === 'dispatch.began')
        if (phaseOf(event) === 'dispatch.succeeded' && began?.raw.secret !== undefined) {
          const grant = get(began.raw.secret, 'grant')
          if (!same(grant, child.started.grant)) say(`given ${show(child.started.grant)}, not ${show(grant)}`, event)
        }
        if (childOf(event) === undefined || event.raw.secret === undefined) continue
        const [told, spent] = [spentByChild(get(event.raw.secret, 'spent')), totalOf(child)]
        if (!same(told, spent)) say(`spent ${show(told)}; its log adds up to ${show(spent)}`, event)
        const [keeps, held] = [spentByChild(get(event.raw.secret, 'held')), heldOf(child)]
        if (!same(keeps, held)) say(`holds ${show(keeps)}; its log adds up to ${show(held)}`, event)
      }
    }),
  },
]

const EXHAUSTED = 'budget.exhausted'

type Problem = readonly [string, LoggedEvent | undefined]

const KINDS: ReadonlyMap<string, string> = new Map([
  ['budget-tokens', 'tokens'],
  ['budget-cost', 'cost'],
  ['budget-tool-calls', 'toolCalls'],
  ['budget-retries', 'retries'],
])

/** What may follow in a run whose budget is exhausted. */
const CLOSING: readonly string[] = [
  'approval.received',
  'node.resumed',
  'assay.stop.requested',
  'assay.model.lost',
  'agent.toolReturned',
  'budget.consumed',
  'budget.threshold.crossed',
  'agent.invocation.completed',
  'node.cancelled',
  'core.workflowChain.event',
  'assay.child.status',
  'assay.run.forked',
  'replay.diverged',
  'cap.breached',
  'run.failed',
]

function sumProblems(run: RunLog, exhausted: LoggedEvent): Problem[] {
  const problems: Problem[] = []
  const dimension = DIMENSIONS.find(one => one === exhausted.payload.dimension)
  const account = accountsOf(run).find(({ event }) => event === exhausted)
  if (dimension !== undefined && account?.exact === true) {
    const consumed = amountOf(dimension, exhausted.payload.consumed)
    if (consumed !== account.spent[dimension])
      problems.push([`${consumed} consumed, the log adds up to ${account.spent[dimension]}`, exhausted])
    const [limit, ceiling] = [
      amountOf(dimension, exhausted.payload.limit),
      ceilingOf(dimension, budgetAt(run, exhausted)),
    ]
    if (ceiling === undefined || limit > ceiling)
      problems.push([`exhausted at ${show(exhausted.payload.limit)}`, exhausted])
  }
  return problems
}

/** The answer that a run which asks about its budget goes by, and whether it asks. */
function answerTo(run: RunLog, exhausted: LoggedEvent): { asks: boolean; resolved?: LoggedEvent | undefined } {
  const request = withoutRemarks(run).find(({ sequence }) => sequence > exhausted.sequence)
  if (request?.type !== 'interrupt.requested' || !isBudgetQuestion(request)) return { asks: false }
  const isAnswer = ({ type, payload }: LoggedEvent) =>
    type === 'interrupt.resolved' && payload.interruptId === request.payload.interruptId
  return { asks: true, resolved: run.events.find(isAnswer) }
}

function stopProblems(run: RunLog, exhausted: LoggedEvent): Problem[] {
  const problems: Problem[] = []
  const { dimension } = exhausted.payload
  const { asks, resolved } = answerTo(run, exhausted)
  // Until it is answered the rest of the run goes on, and may end in its own way.
  if (asks && resolved === undefined) return problems
  const last = resolved ?? exhausted
  for (const event of run.events.slice(last.sequence + 1))
    if (!CLOSING.includes(event.type)) problems.push([`${event.type} after the budget is exhausted`, event])
  const breach = run.events.find(({ type }) => type === 'cap.breached')
  const end = run.events.find(({ type }) => TERMINAL.includes(type))
  // The host may give a replay up at any point.
  if (end === undefined || run.fork?.mode === 'replay') return problems
  if (breach === undefined || KINDS.get(text(breach.payload.kind) ?? '') !== dimension)
    problems.push([`exhausted ${show(dimension)}, and then ${show(breach?.payload.kind)} is breached`, end])
  else if ((number(breach.payload.observed) ?? 0) <= (number(breach.payload.limit) ?? 0))
    problems.push(['nothing would have been crossed', breach])
  if (end.type !== 'run.failed' || get(end.payload.error, 'code') !== 'budget_exhausted')
    problems.push([`exhausted, and then ${end.type} with ${show(get(end.payload.error, 'code'))}`, end])
  return problems
}
