import { eachRun, isRetold, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { list, number, same, show } from '../json.js'
import { causeOf, eventsOfType, hasCompleted } from '../node/node-attempts.js'
import { isAct, type Turn, turnsOf } from './turns.js'

/** Decisions of a supervisor below the confidence floor: a person is asked first. */
export const confidenceRules: readonly Rule[] = [
  {
    id: 'L22',
    title:
      'A decision to act with less confidence than the floor is escalated before anybody is asked and before it is carried out',
    source: 'agents R-CONF-2, R-CONF-3, R-CONF-4',
    checks: eachRun((run, say, log) => {
      const floor = log.input.limits?.confidenceFloor ?? LOWEST_FLOOR
      for (const turn of turnsOf(run)) {
        if (!isBelow(turn, floor) || turn.held !== undefined) continue
        const first = [turn.asked[0]?.request, hasCompleted(turn.nodeAttempt) ? turn.nodeAttempt.end : undefined].find(
          event => event !== undefined,
        )
        if (first === undefined || (turn.escalated?.sequence ?? Number.POSITIVE_INFINITY) < first.sequence) continue
        say(`confidence ${show(turn.decision.confidence)} was not escalated`, first)
      }
    }),
  },
  {
    id: 'L22a',
    title:
      'Only a decision to act is escalated, with its own confidence, which is below a floor of 0.5 to 1, and as it was made; without confidence nothing is',
    source: 'agents R-CONF-5, R-CONF-6, R-CONF-8',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      const known = new Set<LoggedEvent>()
      for (const turn of turnsOf(run)) {
        if (turn.escalated === undefined) continue
        known.add(turn.escalated)
        for (const problem of escalationProblems(run, turn, turn.escalated, assay)) say(problem, turn.escalated)
      }
      for (const event of run.events) {
        const stray = event.type === ESCALATED && !known.has(event) && event.node !== undefined
        if (stray && !isSecond(run, event)) say(`${event.node} has decided nothing`, event)
      }
    }),
  },
  {
    id: 'L22b',
    title: 'A decision is escalated at most once, after it was told',
    source: 'agents R-CONF-4',
    checks: eachRun((run, say) => {
      for (const { nodeAttempt, decided } of turnsOf(run)) {
        const [first, ...others] = eventsOfType(nodeAttempt, ESCALATED)
        for (const event of others) say('escalated twice', event)
        if (first !== undefined && (decided === undefined || decided.sequence > first.sequence))
          say('escalated before it was decided', first)
      }
    }),
  },
  {
    id: 'L22c',
    title: 'An escalated decision is not carried out before someone answered who was asked about it',
    source: 'agents R-CONF-3',
    checks: eachRun((run, say) => {
      for (const { nodeAttempt, escalated, asked } of turnsOf(run)) {
        if (escalated === undefined || !hasCompleted(nodeAttempt)) continue
        const answered = asked.some(
          ({ request, resolved }) => request.sequence > escalated.sequence && resolved !== undefined,
        )
        if (!answered) say(`${nodeAttempt.node} completes without an answer`, nodeAttempt.end)
      }
    }),
  },
  {
    id: 'L22d',
    title: 'An escalation is caused by its decision and causes one question: to clarify by a clarification, else not',
    source: 'agents R-CONF-9, R-CONF-13',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const { escalated, decided, asked } of turnsOf(run)) {
        if (escalated === undefined) continue
        if (decided !== undefined && causeOf(escalated) !== decided.id) say('not caused by its decision', escalated)
        for (const { request } of asked.slice(1)) say('a second question about one escalation', request)
        const request = asked[0]?.request
        if (request === undefined) continue
        if (causeOf(request) !== escalated.id) say('the question is not caused by the escalation', request)
        const clarifies = escalated.payload.escalationKind === 'clarify'
        if (clarifies !== (request.payload.kind === 'clarification'))
          say(`${show(escalated.payload.escalationKind)} asks for ${show(request.payload.kind)}`, request)
      }
    }),
  },
]

const ESCALATED = 'core.workflowChain.confidence-escalated'

/** No host may set it lower. */
const LOWEST_FLOOR = 0.5

function isBelow({ decision }: Turn, floor: number): boolean {
  const confidence = number(decision.confidence)
  return isAct(decision) && confidence !== undefined && confidence < floor
}

function escalationProblems(run: RunLog, turn: Turn, escalated: LoggedEvent, assay: boolean): string[] {
  const { decision, decided, held } = turn
  const { confidence, floor, workerId, originalDecision, parentRunId } = escalated.payload
  if (decided === undefined) return []
  const problems: string[] = []
  if (!isAct(decision)) problems.push(`${show(decision.kind)} is escalated`)
  if (confidence !== decision.confidence)
    problems.push(`confidence ${show(confidence)}, decided with ${show(decision.confidence)}`)
  if ((number(confidence) ?? 0) >= (number(floor) ?? 0))
    problems.push(`${show(confidence)} is not below ${show(floor)}`)
  if (assay && held !== undefined) problems.push('escalated although a person had ratified it')
  const workers = list(decision.nextWorkerIds)
  const names = assay ? [workers[0]] : [undefined, ...workers]
  if (!names.includes(workerId)) problems.push(`escalated for ${show(workerId)}`)
  const seen = [decided.payload.decision, decision]
  if (originalDecision !== undefined && !seen.some(made => same(made, originalDecision)))
    problems.push('another decision than was made')
  if (!isRetold(run, escalated) && parentRunId !== run.run.runId) problems.push(`parentRunId is ${show(parentRunId)}`)
  return problems
}

const isSecond = (run: RunLog, event: LoggedEvent): boolean =>
  turnsOf(run).some(
    ({ nodeAttempt }) => nodeAttempt.node === event.node && eventsOfType(nodeAttempt, ESCALATED).includes(event),
  )
