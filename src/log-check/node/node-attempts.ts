import type { LoggedEvent, RunLog } from '../checked.js'
import { behindMask, isBudgetQuestion } from '../interrupt/questions.js'

export const SUPERVISOR = 'core.orchestrator.supervisor'
export const DISPATCH = 'core.dispatch'
export const SUB_WORKFLOW = 'core.subWorkflow'

/** One attempt of a node: everything the log says of the node from one `node.started` until it settles or is retried. */
export type NodeAttempt = {
  readonly node: string
  readonly typeId: string
  readonly start: LoggedEvent
  /** The node's events after its start, up to and including its end. */
  readonly events: readonly LoggedEvent[]
  readonly end: LoggedEvent | undefined
}

/** A question that was asked in an attempt, with its answer if there is one. */
export type Asked = { readonly request: LoggedEvent; readonly resolved: LoggedEvent | undefined }

const ENDS: readonly string[] = ['node.completed', 'node.failed', 'node.retried', 'node.cancelled', 'node.skipped']

type Growing = { events: LoggedEvent[]; end: LoggedEvent | undefined } & Omit<NodeAttempt, 'events' | 'end'>

/** The attempts of all nodes, in order of their starts. */
export const nodeAttemptsOf = oncePerRun((run: RunLog): NodeAttempt[] => {
  const nodeAttempts: Growing[] = []
  const open = new Map<string, Growing>()
  for (const event of run.events) {
    if (event.node === undefined) continue
    if (event.type === 'node.started') {
      const typeId = String(event.payload.typeId)
      const nodeAttempt: Growing = { node: event.node, typeId, start: event, events: [], end: undefined }
      nodeAttempts.push(nodeAttempt)
      open.set(event.node, nodeAttempt)
      continue
    }
    const nodeAttempt = open.get(event.node)
    if (nodeAttempt === undefined) continue
    nodeAttempt.events.push(event)
    if (!ENDS.includes(event.type)) continue
    nodeAttempt.end = event
    open.delete(event.node)
  }
  return nodeAttempts
})

const attemptByEvent = oncePerRun(
  (run: RunLog) =>
    new Map(nodeAttemptsOf(run).flatMap(nodeAttempt => nodeAttempt.events.map(event => [event, nodeAttempt] as const))),
)

/** The attempt that an event belongs to; the start itself belongs to none. */
export const nodeAttemptOf = (run: RunLog, event: LoggedEvent): NodeAttempt | undefined =>
  attemptByEvent(run).get(event)

export const eventsById = oncePerRun((run: RunLog) => new Map(run.events.map(event => [event.id, event])))

export const nodeAttemptsOfType = (run: RunLog, ...typeIds: readonly string[]): NodeAttempt[] =>
  nodeAttemptsOf(run).filter(nodeAttempt => typeIds.includes(nodeAttempt.typeId))

/** Attempts of nodes that hand work to other runs. */
export const attemptsThatHandOut = (run: RunLog): NodeAttempt[] => nodeAttemptsOfType(run, DISPATCH, SUB_WORKFLOW)

export const eventsOfType = (nodeAttempt: NodeAttempt, ...types: readonly string[]): LoggedEvent[] =>
  nodeAttempt.events.filter(event => types.includes(event.type))

export const hasCompleted = ({ end }: NodeAttempt): boolean => end?.type === 'node.completed'

/** What it has asked about its own work; a question about the budget is the run's. */
export const askedIn = (nodeAttempt: NodeAttempt): Asked[] =>
  eventsOfType(nodeAttempt, 'interrupt.requested')
    .filter(request => !isBudgetQuestion(request))
    .map(request => ({
      request,
      resolved: nodeAttempt.events.find(
        event => event.type === 'interrupt.resolved' && event.payload.interruptId === request.payload.interruptId,
      ),
    }))

/** Due to an event of another host, in place of whatever it is due to here (L3c). */
export const isDueToForeign = ({ payload }: LoggedEvent): boolean => payload.causationHostId !== undefined

export const causeOf = ({ raw }: LoggedEvent): string | undefined => raw.causationId ?? undefined

export const answerTo = ({ resolved }: Asked): unknown =>
  resolved === undefined ? undefined : behindMask(resolved, 'resumeValue')

/** Several rules read a log the same way; it is read once. */
export function oncePerRun<T>(read: (run: RunLog) => T): (run: RunLog) => T {
  const known = new WeakMap<RunLog, { readonly value: T }>()
  return run => {
    const cached = known.get(run)
    if (cached !== undefined) return cached.value
    const value = read(run)
    known.set(run, { value })
    return value
  }
}
