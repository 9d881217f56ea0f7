import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { show } from '../json.js'
import { causeOf, eventsById, isDueToForeign } from '../node/node-attempts.js'
import { COMPLETED, type Invocation, invocationsOf, STARTED, sentBackBy } from './invocations.js'

/** What an agent does next, and because of what. */
export const invocationOrderRules: readonly Rule[] = [
  {
    id: 'L23i',
    title:
      'An invocation resolves its prompts, then calls its model, uses tools or asks again as the answer says, decides, and ends; it ends as its last step says',
    source: 'agents R-LIVE-2, R-LIVE-21, R-ENV-2',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of orderProblems(invocation)) say(problem, event)
    }),
  },
  {
    id: 'L23o',
    title: 'Each step of an invocation is caused by the step that led to it',
    source: 'agents §14.3, core §5.3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of causeProblems(run, invocation)) say(problem, event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

const REQUESTED = 'assay.model.requested'
const LOST = 'assay.model.lost'
const USAGE = 'provider.usage'
const DELIVERED = 'assay.tool.delivered'
const WITHHELD = 'assay.tool.withheld'

/** What may come directly after what, of the steps of one invocation. */
const NEXT: { readonly [type: string]: readonly string[] } = {
  [STARTED]: ['agent.promptResolved', 'prompt.composed'],
  'agent.promptResolved': ['agent.promptResolved', 'prompt.composed'],
  'prompt.composed': [REQUESTED, COMPLETED],
  [REQUESTED]: ['agent.reasoning.delta', 'agent.reasoned', USAGE, LOST],
  'agent.reasoning.delta': ['agent.reasoning.delta', 'agent.reasoned', USAGE, LOST],
  'agent.reasoned': [USAGE],
  [USAGE]: [
    'agent.toolCalled',
    REQUESTED,
    'envelope.recovery.applied',
    'agent.decided',
    'envelope.retry.attempted',
    'envelope.retry.exhausted',
    'envelope.truncated',
    'envelope.refusal',
    COMPLETED,
  ],
  [LOST]: [REQUESTED, COMPLETED],
  'agent.toolCalled': ['agent.toolReturned', COMPLETED],
  'agent.toolReturned': ['agent.toolCalled', REQUESTED, COMPLETED, DELIVERED, WITHHELD],
  [DELIVERED]: ['agent.toolCalled', REQUESTED, COMPLETED],
  [WITHHELD]: ['agent.toolCalled', REQUESTED, COMPLETED],
  'envelope.recovery.applied': ['agent.decided'],
  'envelope.truncated': ['envelope.retry.attempted', 'envelope.retry.exhausted', COMPLETED],
  'envelope.retry.attempted': [REQUESTED, COMPLETED],
  'envelope.retry.exhausted': [COMPLETED],
  'envelope.refusal': [COMPLETED],
  'agent.decided': [COMPLETED],
}

const isStep = ({ type }: LoggedEvent): boolean => Object.hasOwn(NEXT, type)

export const stepsOf = ({ events }: Invocation): LoggedEvent[] => events.filter(isStep)

const OUTCOMES: { readonly [type: string]: readonly string[] } = {
  'agent.decided': ['completed', 'escalated', 'failed'],
  'envelope.refusal': ['refused'],
}

function orderProblems(invocation: Invocation): Problem[] {
  const problems: Problem[] = []
  const { started, completed } = invocation
  let last = started
  for (const event of [...stepsOf(invocation), ...(completed === undefined ? [] : [completed])]) {
    if (!(NEXT[last.type] ?? []).includes(event.type)) problems.push([`${event.type} after ${last.type}`, event])
    if (event !== completed) last = event
  }
  if (completed === undefined) return problems
  const allowed = OUTCOMES[last.type] ?? ['failed']
  if (!allowed.includes(String(completed.payload.outcome)))
    problems.push([`${show(completed.payload.outcome)} after ${last.type}`, completed])
  return problems
}

/** By the type of a step: the types of its cause, of which the latest counts. */
const CAUSES: { readonly [type: string]: readonly string[] } = {
  'agent.promptResolved': [STARTED],
  'prompt.composed': [STARTED],
  [REQUESTED]: [STARTED, USAGE, 'agent.toolReturned', DELIVERED, WITHHELD, 'envelope.retry.attempted', LOST],
  'agent.reasoning.delta': [REQUESTED],
  'agent.reasoned': [REQUESTED],
  [USAGE]: [REQUESTED],
  [LOST]: [REQUESTED],
  'agent.toolCalled': [USAGE, 'agent.toolReturned', DELIVERED, WITHHELD],
  'agent.toolReturned': ['agent.toolCalled'],
  'envelope.recovery.applied': [REQUESTED],
  'envelope.truncated': [REQUESTED],
  'envelope.retry.attempted': [REQUESTED],
  'envelope.retry.exhausted': [REQUESTED],
  'envelope.refusal': [REQUESTED],
  'agent.decided': [REQUESTED],
}

function causeProblems(run: RunLog, invocation: Invocation): Problem[] {
  const problems: Problem[] = []
  const { started, completed } = invocation
  const latest = new Map<string, LoggedEvent>([[STARTED, started]])
  for (const event of stepsOf(invocation)) {
    const due = latestOf(latest, CAUSES[event.type] ?? [])
    if (due !== undefined && !isDueToForeign(event) && causeOf(event) !== due.id)
      problems.push([`${event.type} is not caused by ${due.type}`, event])
    latest.set(event.type, event)
  }
  if (completed === undefined) return problems
  const isSentBack = sentBackBy(invocation) !== undefined
  const wanted = isSentBack ? SENT_BACK_BY : ENDED_BY[String(completed.payload.outcome)]
  const cause = eventsById(run).get(causeOf(completed) ?? '')
  if (wanted !== undefined && !wanted.includes(cause?.type ?? ''))
    problems.push([`${show(completed.payload.outcome)} because of ${cause?.type ?? 'nothing'}`, completed])
  else if (cause === undefined || cause.sequence < invocation.nodeAttempt.start.sequence)
    problems.push([`the end is caused by ${cause?.type ?? 'nothing'} of before`, completed])
  return problems
}

/** By the verdict, or by a person who was asked for one. */
const SENT_BACK_BY: readonly string[] = ['dws.verification.verdict_rendered', 'interrupt.resolved']

const ENDED_BY: { readonly [outcome: string]: readonly string[] } = {
  completed: ['agent.decided', 'interrupt.resolved'],
  escalated: ['interrupt.resolved'],
  refused: ['envelope.refusal'],
}

function latestOf(latest: ReadonlyMap<string, LoggedEvent>, types: readonly string[]): LoggedEvent | undefined {
  let found: LoggedEvent | undefined
  for (const type of types) {
    const event = latest.get(type)
    if (event !== undefined && event.sequence > (found?.sequence ?? -1)) found = event
  }
  return found
}
