import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { behindMask } from '../interrupt/questions.js'
import { get, number, same, show, text } from '../json.js'
import {
  type Asked,
  causeOf,
  eventsOfType,
  hasCompleted,
  isDueToForeign,
  nodeAttemptsOfType,
  SUPERVISOR,
} from '../node/node-attempts.js'
import { decisionProblems } from './decisions.js'
import { isAct, type Turn, turnsOf, verdictOf } from './turns.js'

/** Turns of an orchestrator: one decision each, told before anything follows from it. */
export const orchestratorRules: readonly Rule[] = [
  {
    id: 'L20',
    title: 'A supervisor decides once per turn, after it has started and before it completes; nobody else decides',
    source: 'agents §3.1, R-ORCH-4, R-ORCH-10',
    checks: eachRun((run, say) => {
      const known = new Set<LoggedEvent>()
      for (const nodeAttempt of nodeAttemptsOfType(run, SUPERVISOR)) {
        const decided = eventsOfType(nodeAttempt, DECIDED)
        for (const event of decided) known.add(event)
        for (const extra of decided.slice(1)) say(`${nodeAttempt.node} decides twice in one turn`, extra)
        if (hasCompleted(nodeAttempt) && decided.length === 0)
          say(`${nodeAttempt.node} completes without a decision`, nodeAttempt.end)
      }
      // Where an event names no node, it cannot be told whose decision it is.
      for (const event of decisions(run))
        if (!known.has(event) && event.node !== undefined) say(`${event.node} decides, which has no turn now`, event)
    }),
  },
  {
    id: 'L20a',
    title: 'The iteration of the first decision is 1, of every other one more than of the one before',
    source: 'agents R-STATE-2, R-STATE-9',
    checks: eachRun((run, say) => {
      decisions(run).forEach((event, place) => {
        const { iteration } = event.payload
        if (iteration !== undefined && iteration !== place + 1)
          say(`iteration ${show(iteration)} of decision ${place + 1}`, event)
      })
    }),
  },
  {
    id: 'L20b',
    title: 'All decisions of a run are made by one agent',
    source: 'agents R-ORCH-3',
    checks: eachRun((run, say) => {
      const [first, ...others] = decisions(run)
      for (const event of others) {
        const { agentId } = event.payload
        if (agentId !== first?.payload.agentId)
          say(`${show(agentId)} decides instead of ${show(first?.payload.agentId)}`, event)
      }
    }),
  },
  {
    id: 'L20c',
    title: 'The deciding agent is the one its node names, or host:orchestrator:<nodeId>',
    source: 'agents R-ORCH-12',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of decisions(run)) {
        const declared = run.graph?.nodes.get(event.node ?? '')
        const agentId = declared?.agentId ?? `host:orchestrator:${event.node}`
        if (declared !== undefined && event.payload.agentId !== agentId)
          say(`${show(event.payload.agentId)} decides, the node names ${agentId}`, event)
      }
    }),
  },
  {
    id: 'L20d',
    title: 'A decision has the fields of its kind and no others',
    source: 'agents §3.2, R-ORCH-1',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      for (const event of decisions(run))
        for (const problem of decisionProblems(behindMask(event, 'decision'), assay)) say(problem, event)
    }),
  },
  {
    id: 'L20e',
    title: 'Nothing is decided after a termination that was carried out',
    source: 'agents R-ORCH-5',
    checks: eachRun((run, say) => {
      // Sent back at the exit of the run, an orchestrator goes on.
      const returned = run.events.findLast(({ type, payload }) => type === REWORK && payload.point === 'run')
      const ended = turnsOf(run).find(
        ({ nodeAttempt, ...turn }) =>
          nodeAttempt.start.sequence > (returned?.sequence ?? -1) &&
          hasCompleted(nodeAttempt) &&
          terminates({ nodeAttempt, ...turn }),
      )
      if (ended === undefined) return
      for (const event of decisions(run))
        if (event.sequence > (ended.nodeAttempt.end?.sequence ?? 0)) say('a decision after the termination', event)
    }),
  },
  {
    id: 'L20f',
    title:
      'A supervisor asks only because of a decision that was told: a clarification to clarify, an approval to escalate; to clarify or escalate it must ask',
    source: 'agents R-LOOP-5, R-LOOP-6, R-ORCH-2',
    checks: eachRun((run, say, log) => {
      for (const turn of turnsOf(run)) {
        for (const [problem, event] of questionProblems(turn, log.input.dialect !== 'openwop')) say(problem, event)
      }
    }),
  },
  {
    id: 'L20g',
    title:
      'A decision is caused by the start of its turn, the end of the agent’s work that made it, the word of a scripted agent, or the answer that ratified it; the supervisor completes because of it and says what it led to',
    source: 'agents §3.1, §6.2',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const turn of turnsOf(run)) for (const [problem, event] of tellingProblems(turn)) say(problem, event)
    }),
  },
]

const DECIDED = 'runOrchestrator.decided'
const REWORK = 'assay.rework.began'

const decisions = (run: RunLog): LoggedEvent[] => run.events.filter(event => event.type === DECIDED)

function terminates(turn: Turn): boolean {
  const verdict = verdictOf(turn)
  return verdict.is === 'carried out' && verdict.decision.kind === 'terminate'
}

const ASKS: ReadonlyMap<unknown, string> = new Map([
  ['clarify', 'clarification'],
  ['ask-user', 'clarification'],
  ['escalate', 'approval'],
])

type Problem = readonly [string, LoggedEvent | undefined]

function questionProblems(turn: Turn, assay: boolean): Problem[] {
  const { decided, decision, escalated, asked, nodeAttempt } = turn
  const problems: Problem[] = []
  for (const { request } of asked) {
    if (decided === undefined || decided.sequence > request.sequence)
      problems.push([`${nodeAttempt.node} asks before it has decided`, request])
  }
  if (decided === undefined || escalated !== undefined) return problems
  const wanted = ASKS.get(decision.kind)
  const [question, ...others] = asked
  for (const { request } of others) problems.push([`${nodeAttempt.node} asks twice about one decision`, request])
  if (wanted === undefined && question !== undefined)
    problems.push([`${show(decision.kind)} asks nobody`, question.request])
  if (wanted !== undefined && question === undefined && hasCompleted(nodeAttempt))
    problems.push([`${nodeAttempt.node} completes without having asked`, nodeAttempt.end])
  // Other hosts may hold a conversation with whom they ask.
  const free = !assay && decision.kind === 'ask-user'
  if (wanted !== undefined && question !== undefined && !free)
    problems.push(...kindProblems(turn, question, wanted, assay))
  return problems
}

function kindProblems({ decided, decision }: Turn, { request }: Asked, wanted: string, assay: boolean): Problem[] {
  const problems: Problem[] = []
  const kind = text(request.payload.kind)
  if (kind !== wanted) problems.push([`${show(decision.kind)} asks for ${kind}, not ${wanted}`, request])
  if (assay && causeOf(request) !== decided?.id) problems.push(['the question is not caused by the decision', request])
  return problems
}

const ROUTES: ReadonlyMap<unknown, string> = new Map([
  ['next-worker', 'body'],
  ['terminate', 'done'],
])

function tellingProblems(turn: Turn): Problem[] {
  const { decided, held, asked, nodeAttempt } = turn
  if (decided === undefined) return []
  const problems: Problem[] = []
  // An agent's invocation ends before its decision is told; a scripted agent has only its `agent.decided`.
  const [start = nodeAttempt.start] = [
    ...eventsOfType(nodeAttempt, 'agent.invocation.completed'),
    ...eventsOfType(nodeAttempt, 'agent.decided'),
  ]
  const causes = held?.resolved === undefined ? [start.id] : ratifiedBy(turn, held.resolved)
  if (!isDueToForeign(decided) && !causes.includes(causeOf(decided) ?? ''))
    problems.push([`the decision is not caused by ${held === undefined ? 'its turn' : 'the answer'}`, decided])
  if (!hasCompleted(nodeAttempt) || nodeAttempt.end === undefined) return problems
  // After an answer the answer may be the cause instead.
  if (asked.length === 0 && held === undefined && causeOf(nodeAttempt.end) !== decided.id)
    problems.push([`${nodeAttempt.node} does not complete because of its decision`, nodeAttempt.end])
  return [...problems, ...outputProblems(turn, decided, nodeAttempt.end)]
}

const ratifiedBy = ({ nodeAttempt }: Turn, resolved: LoggedEvent): string[] => [
  resolved.id,
  ...eventsOfType(nodeAttempt, 'node.resumed').map(event => event.id),
]

function outputProblems(turn: Turn, decided: LoggedEvent, end: LoggedEvent): Problem[] {
  const outputs = behindMask(end, 'outputs')
  const problems: Problem[] = []
  if (number(get(outputs, 'iteration')) !== decided.payload.iteration)
    problems.push([`completes iteration ${show(get(outputs, 'iteration'))}`, end])
  const verdict = verdictOf(turn)
  const done = verdict.is === 'carried out' ? verdict.decision : turn.decision
  const made = [done, turn.decision, decided.payload.decision]
  if (verdict.is !== 'unclear' && !made.some(decision => same(decision, get(outputs, 'decision'))))
    problems.push(['completes with another decision', end])
  const route = text(get(outputs, 'route'))
  const due = verdict.is === 'carried out' ? ROUTES.get(done.kind) : verdict.is === 'refused' ? 'again' : route
  if (route === undefined || route !== due || !['body', 'again', 'done'].includes(route))
    problems.push([`goes on to ${route ?? 'nothing'}, not ${due ?? 'body, again or done'}`, end])
  if (verdict.is === 'unanswered' && isAct(turn.decision)) problems.push(['completes without an answer', end])
  return problems
}
