import type { Fields, LoggedEvent, RunLog } from '../checked.js'
import { fields, get, isFields, text } from '../json.js'
import { type NodeAttempt, nodeAttemptsOf, oncePerRun, SUPERVISOR } from '../node/node-attempts.js'

export const AGENT = 'core.agent'
export const VERIFY = 'assay.verify'
/** Node types that always have their work done by a model: as an agent, or in their own name. */
export const ALWAYS_INVOKES: readonly string[] = [
  AGENT,
  VERIFY,
  'core.ai.callPrompt',
  'core.ai.structuredOutput',
  'conformance.modelCapability.insufficient',
]
export const STARTED = 'agent.invocation.started'
export const COMPLETED = 'agent.invocation.completed'

/** One agent at work on one task, from `agent.invocation.started` to `agent.invocation.completed`. */
export type Invocation = {
  readonly id: string | undefined
  readonly agentId: unknown
  readonly started: LoggedEvent
  readonly completed: LoggedEvent | undefined
  readonly nodeAttempt: NodeAttempt
  /** What its node tells between the two, in order. */
  readonly events: readonly LoggedEvent[]
  /** What it goes by; undefined where the log does not show it. */
  readonly brief: Fields | undefined
}

type Growing = { events: LoggedEvent[]; completed: LoggedEvent | undefined } & Omit<Invocation, 'events' | 'completed'>

export const invocationsOf = oncePerRun((run: RunLog): Invocation[] => nodeAttemptsOf(run).flatMap(readRound))

function readRound(nodeAttempt: NodeAttempt): Invocation[] {
  const found: Growing[] = []
  let open: Growing | undefined
  for (const event of nodeAttempt.events) {
    if (event.type === STARTED) {
      open = begun(nodeAttempt, event)
      found.push(open)
    } else if (event.type === COMPLETED && open !== undefined) {
      open.completed = event
      open = undefined
    } else open?.events.push(event)
  }
  return found
}

const begun = (nodeAttempt: NodeAttempt, started: LoggedEvent): Growing => ({
  id: text(started.payload.invocationId),
  agentId: started.payload.agentId,
  started,
  completed: undefined,
  nodeAttempt,
  events: [],
  brief: secretOf(started, 'brief'),
})

/** What tells that the work is to be done again, where a gate sent it back. */
export const sentBackBy = ({ completed, nodeAttempt }: Invocation): LoggedEvent | undefined =>
  completed === undefined
    ? undefined
    : nodeAttempt.events.find(({ type, raw }) => type === 'assay.rework.began' && raw.causationId === completed.id)

export function secretOf({ raw }: LoggedEvent, field: string): Fields | undefined {
  const value = get(raw.secret, field)
  return isFields(value) ? value : undefined
}

/** Whether a node does its work by an agent: what starts it needs no restart after a pause. */
export function invokes(run: RunLog, node: string | undefined, typeId: string | undefined): boolean {
  if (typeId !== undefined && ALWAYS_INVOKES.includes(typeId)) return true
  const config = fields(run.graph?.nodes.get(node ?? '')?.config)
  const described = config.prompt !== undefined && config.provider === undefined
  return typeId === SUPERVISOR && (config.agentId !== undefined || described)
}

const openAt = oncePerRun((run: RunLog) => {
  const byEvent = new Map<LoggedEvent, Invocation>()
  for (const invocation of invocationsOf(run)) for (const event of invocation.events) byEvent.set(event, invocation)
  return byEvent
})

/** The invocation that an event is told inside of. */
export const invocationOf = (run: RunLog, event: LoggedEvent): Invocation | undefined => openAt(run).get(event)

const invokedAttempts = oncePerRun((run: RunLog) => new Set(invocationsOf(run).map(({ nodeAttempt }) => nodeAttempt)))

/** Whether an agent worked in that attempt of the node. */
export const isInvoked = (run: RunLog, nodeAttempt: NodeAttempt): boolean => invokedAttempts(run).has(nodeAttempt)
