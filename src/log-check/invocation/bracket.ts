import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, show } from '../json.js'
import {
  causeOf,
  eventsById,
  eventsOfType,
  hasCompleted,
  type NodeAttempt,
  nodeAttemptOf,
  nodeAttemptsOf,
  SUPERVISOR,
} from '../node/node-attempts.js'
import { walk } from '../walk.js'
import { ALWAYS_INVOKES, COMPLETED, invocationsOf, invokes, isInvoked, STARTED } from './invocations.js'

/** Where the work of an agent begins and ends. */
export const bracketRules: readonly Rule[] = [
  {
    id: 'L23',
    title:
      'An invocation is opened once and closed at most once, later, by the same node and for the same agent; when its node settles or its run ends it is closed',
    source: 'agents R-LIVE-16, R-LIVE-19',
    checks: eachRun((run, say) => {
      for (const [problem, event] of pairProblems(run)) say(problem, event)
      for (const { completed, nodeAttempt, started } of invocationsOf(run)) {
        if (completed === undefined && nodeAttempt.end !== undefined)
          say(`${nodeAttempt.end.type} of ${nodeAttempt.node} while its agent is at work`, started)
      }
    }),
  },
  {
    id: 'L23c',
    title: 'What an agent tells of an invocation lies between its beginning and its end',
    source: 'agents R-LIVE-16, R-LIVE-21',
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOf(run)) {
        if (!isInvoked(run, nodeAttempt)) continue
        let open: unknown
        const agents = new Set(eventsOfType(nodeAttempt, STARTED).map(({ payload }) => payload.agentId))
        for (const event of nodeAttempt.events) {
          if (event.type === STARTED) open = event.payload.agentId
          else if (event.type === COMPLETED) open = undefined
          else if (isAgentScoped(event) && agents.has(event.payload.agentId) && event.payload.agentId !== open)
            say(`${event.type} outside of the invocation`, event)
        }
      }
    }),
  },
  {
    id: 'L23d',
    title:
      'An invocation belongs to one start of a node that invokes, names it and is caused by it; a node completes by an invocation that has, and otherwise fails as the invocation did',
    source: 'agents §14.3, R-LIVE-15, R-LIVE-19, R-ENV-1',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOf(run))
        for (const [problem, event] of roundProblems(run, nodeAttempt)) say(problem, event)
      for (const event of run.events)
        if ((event.type === STARTED || event.type === COMPLETED) && nodeAttemptOf(run, event) === undefined)
          say(`${event.node ?? 'nobody'} is not at work`, event)
    }),
  },
  {
    id: 'L23n',
    title: 'No agent begins, calls a model or uses a tool while its run is paused, pausing or stopping',
    source: 'core §2.1, §5.1',
    assayOnly: true,
    checks: eachRun((run, say) => {
      if (!run.events.some(({ type }) => BEGINS.includes(type))) return
      walk(run, ({ event, run: track, nodes }) => {
        if (BEGINS.includes(event.type) && (track.paused || track.stop !== undefined))
          say(`${event.type} although the run is ${track.paused ? 'paused' : 'stopping'}`, event)
        else if (CALLS.includes(event.type) && track.pausing && nodes.get(event.node ?? '')?.invoked === true)
          say(`${event.type} although a pause was asked for`, event)
        if (event.type !== 'run.paused') return
        for (const [id, node] of nodes) {
          const open = event.payload.drainPolicy === 'immediate' ? ['model'] : ['model', 'tool']
          if (node.calling !== undefined && open.includes(node.calling))
            say(`${id} still waits for its ${node.calling}`, event)
        }
      })
    }),
  },
]

type Problem = readonly [string, LoggedEvent | undefined]

const CALLS: readonly string[] = ['assay.model.requested', 'agent.toolCalled']
const BEGINS: readonly string[] = [STARTED, 'assay.model.requested']

const isAgentScoped = ({ type }: LoggedEvent): boolean => type.startsWith('agent.')

function pairProblems(run: RunLog): Problem[] {
  const problems: Problem[] = []
  const opened = new Map<unknown, LoggedEvent>()
  const closed = new Set<unknown>()
  for (const event of run.events) {
    const { invocationId, agentId } = event.payload
    const start = opened.get(invocationId)
    if (event.type === STARTED) {
      if (start !== undefined) problems.push([`invocation ${show(invocationId)} is opened twice`, event])
      opened.set(invocationId, event)
    } else if (event.type === COMPLETED) {
      if (start === undefined) problems.push([`invocation ${show(invocationId)} ends, which never began`, event])
      else if (closed.has(invocationId)) problems.push([`invocation ${show(invocationId)} is closed twice`, event])
      else if (start.payload.agentId !== agentId)
        problems.push([`${show(agentId)} ends what ${show(start.payload.agentId)} began`, event])
      else if (start.node !== event.node) problems.push([`${event.node} ends what ${start.node} began`, event])
      closed.add(invocationId)
    } else if (isEnd(event))
      for (const [id, at] of opened) if (!closed.has(id)) problems.push([`invocation ${show(id)} is still open`, at])
  }
  return problems
}

const isEnd = ({ type }: LoggedEvent): boolean => ['run.completed', 'run.failed', 'run.cancelled'].includes(type)

function roundProblems(run: RunLog, nodeAttempt: NodeAttempt): Problem[] {
  const problems: Problem[] = []
  // Work that a gate sent back is done again within the same attempt of its node.
  const begins = [
    nodeAttempt.start,
    ...eventsOfType(nodeAttempt, REWORK).filter(({ payload }) => payload.point === 'node'),
  ]
  const invocations = invocationsOf(run).length === 0 ? [] : eventsOfType(nodeAttempt, STARTED)
  for (const [place, start] of begins.entries()) {
    const until = begins[place + 1]?.sequence ?? Number.POSITIVE_INFINITY
    const [first, second] = invocations.filter(({ sequence }) => sequence > start.sequence && sequence < until)
    if (second !== undefined) problems.push(['a second invocation for one start', second])
    if (first !== undefined) problems.push(...startProblems(run, nodeAttempt, start, first))
    else if (ALWAYS_INVOKES.includes(nodeAttempt.typeId) && hasCompleted(nodeAttempt))
      problems.push(['completes without its agent', nodeAttempt.end])
  }
  const completed = eventsOfType(nodeAttempt, COMPLETED).at(-1)
  const last = begins.at(-1) as LoggedEvent
  if (completed !== undefined && completed.sequence > last.sequence)
    problems.push(...endProblems(run, nodeAttempt, completed))
  return problems
}

const REWORK = 'assay.rework.began'

function startProblems(
  run: RunLog,
  { node, typeId }: NodeAttempt,
  start: LoggedEvent,
  invoked: LoggedEvent,
): Problem[] {
  const problems: Problem[] = []
  if (![...ALWAYS_INVOKES, SUPERVISOR].includes(typeId) || (run.graph !== undefined && !invokes(run, node, typeId)))
    problems.push([`${typeId} invokes no agent`, invoked])
  // The id is that of the start before a remark may have moved it.
  if (invoked.payload.invocationId !== `${node}:${start.sequence}`)
    problems.push([`the invocation is ${show(invoked.payload.invocationId)}`, invoked])
  if (causeOf(invoked) !== start.id) problems.push(['not caused by the start of its node', invoked])
  return problems
}

const ENDS: { readonly [outcome: string]: readonly string[] } = {
  completed: ['node.completed', 'node.failed', 'node.retried', 'node.cancelled'],
  failed: ['node.failed', 'node.retried', 'node.cancelled'],
  escalated: ['node.failed'],
  refused: ['node.failed'],
}

function endProblems(run: RunLog, { end, typeId, node }: NodeAttempt, completed: LoggedEvent): Problem[] {
  const problems: Problem[] = []
  const outcome = String(completed.payload.outcome)
  if (end === undefined) return problems
  if (!(ENDS[outcome] ?? []).includes(end.type)) problems.push([`${outcome}, and then ${end.type} of ${node}`, end])
  if (outcome === 'refused' && get(end.payload.error, 'code') !== 'envelope_refusal')
    problems.push([`refused, but ${node} fails with ${show(get(end.payload.error, 'code'))}`, end])
  if (end.type === 'node.cancelled' || (typeId === SUPERVISOR && outcome === 'completed')) return problems
  const cause = eventsById(run).get(causeOf(end) ?? '')
  const due = CAUSES[outcome] ?? [COMPLETED]
  if (!due.includes(cause?.type ?? '')) problems.push([`${end.type} is caused by ${cause?.type ?? 'nothing'}`, end])
  return problems
}

/** What the end of a node is due to, where it is not the end of the invocation. */
const CAUSES: { readonly [outcome: string]: readonly string[] } = {
  refused: ['envelope.refusal'],
  escalated: ['interrupt.resolved'],
}
