import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { behindMask, isBudgetQuestion } from '../interrupt/questions.js'
import { get, list, number, show } from '../json.js'
import { causeOf, oncePerRun } from '../node/node-attempts.js'
import { withoutRemarks } from '../story.js'
import { ceilingOf, DIMENSIONS, type Dimension, reserveAt } from './spending.js'

/** How a person lets a run spend more. */
export const raiseRules: readonly Rule[] = [
  {
    id: 'L26m',
    title:
      'Only a run that says so asks about its budget, one question at a time, after it was exhausted; it is raised by what was answered, at once, and not beyond what it was given',
    source: 'agents R-BUDGET-4',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const story = withoutRemarks(run)
      let open: LoggedEvent | undefined
      story.forEach((event, place) => {
        if (event.type === 'interrupt.requested' && isBudgetQuestion(event)) {
          if (open !== undefined) say('the budget is asked about twice at once', event)
          for (const problem of askingProblems(run, story[place - 1], event)) say(problem, event)
          open = event
        } else if (event.type === 'interrupt.resolved' && event.payload.interruptId === open?.payload.interruptId) {
          open = undefined
          for (const problem of answerProblems(run, event, story.slice(place + 1, place + 4))) say(problem, event)
        }
      })
      for (const [event, raised] of raisesOf(run))
        for (const problem of raiseProblems(run, event, raised)) say(problem, event)
    }),
  },
]

const isAsking = (run: RunLog, { sequence }: LoggedEvent): boolean => {
  const branched = run.events
    .slice(0, sequence)
    .findLast(({ type, payload }) => type === 'assay.run.forked' && get(payload.configurable, 'budget') !== undefined)
  const configurable = branched === undefined ? run.started.configurable : branched.payload.configurable
  return get(get(configurable, 'budget'), 'onExhaustion') === 'interrupt'
}

function askingProblems(run: RunLog, before: LoggedEvent | undefined, request: LoggedEvent): string[] {
  const data = request.payload.data
  const problems: string[] = []
  if (!isAsking(run, request)) problems.push('a person is asked, and nobody wanted that')
  if (before?.type !== 'budget.exhausted') problems.push(`asked after ${before?.type ?? 'nothing'}`)
  else
    for (const field of ['dimension', 'consumed', 'limit'])
      if (get(data, field) !== before.payload[field])
        problems.push(
          `asked about a ${field} of ${show(get(data, field))}, exhausted was ${show(before.payload[field])}`,
        )
  if ((number(get(data, 'observed')) ?? 0) <= (number(get(data, 'limit')) ?? 0))
    problems.push('nothing would be crossed')
  return problems
}

/** An answer, what it is told as besides, and what it leads to: more, or the end. */
function answerProblems(run: RunLog, resolved: LoggedEvent, next: readonly LoggedEvent[]): string[] {
  const then = next.find(({ type }) => type !== 'approval.received' && type !== 'node.resumed')
  const isYes = get(behindMask(resolved, 'resumeValue'), 'action') === 'accept'
  const raised = then !== undefined && raisesOf(run).has(then)
  if (then === undefined || isYes === raised) return []
  return [isYes ? `accepted, and ${then.type} follows` : 'refused, and the budget is raised']
}

/** What is reserved anew because a person said so, with the answer. */
export const raisesOf = oncePerRun((run: RunLog): Map<LoggedEvent, LoggedEvent> => {
  const byId = new Map(run.events.map(event => [event.id, event]))
  return new Map(
    run.events.flatMap((event): [LoggedEvent, LoggedEvent][] => {
      const cause = event.type === 'budget.reserved' ? byId.get(causeOf(event) ?? '') : undefined
      return cause?.type === 'interrupt.resolved' ? [[event, cause]] : []
    }),
  )
})

function raiseProblems(run: RunLog, reserved: LoggedEvent, resolved: LoggedEvent): string[] {
  const before = run.events.findLast(({ sequence }) => sequence < reserved.sequence)
  const ceilings = before && reserveAt(run, before)?.ceilings
  const delta = get(behindMask(resolved, 'resumeValue'), 'budgetDelta')
  const problems: string[] = []
  for (const dimension of DIMENSIONS) {
    const [was, is] = [ceilingOf(dimension, ceilings), ceilingOf(dimension, reserved.payload.effectiveBudget)]
    const more = ceilingOf(dimension, delta) ?? 0
    if ((was === undefined ? undefined : was + more) !== is)
      problems.push(`${dimension} rise from ${show(was)} to ${show(is)}; added were ${more}`)
    if (is !== undefined && most(run, dimension) < is) problems.push(`${is} ${dimension} of ${most(run, dimension)}`)
  }
  return problems
}

/** What the run was given by others; what it asked for itself is what a person may add to. */
const most = (run: RunLog, dimension: Dimension): number =>
  Math.min(
    ...[run.started.grant, ...list(run.started.policies)].map(
      given => ceilingOf(dimension, given) ?? Number.POSITIVE_INFINITY,
    ),
  )
