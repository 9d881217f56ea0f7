import type { LoggedEvent, RunLog } from '../checked.js'
import { behindMask } from '../interrupt/questions.js'

export const SUPERVISOR = 'core.orchestrator.supervisor'
export const DISPATCH = 'core.dispatch'
export const SUB_WORKFLOW = 'core.subWorkflow'

/** All that is told of a node from one start to what becomes of it. */
export type Round = {
  readonly node: string
  readonly typeId: string
  readonly start: LoggedEvent
  /** What the node tells after its start, its end included. */
  readonly events: readonly LoggedEvent[]
  readonly end: LoggedEvent | undefined
}

/** A question of a round with its answer, if there is one. */
export type Asked = { readonly request: LoggedEvent; readonly resolved: LoggedEvent | undefined }

const ENDS: readonly string[] = ['node.completed', 'node.failed', 'node.retried', 'node.cancelled', 'node.skipped']

type Growing = { events: LoggedEvent[]; end: LoggedEvent | undefined } & Omit<Round, 'events' | 'end'>

/** The rounds of all nodes, in order of their starts. */
export const roundsOf = oncePerRun((run: RunLog): Round[] => {
  const rounds: Growing[] = []
  const open = new Map<string, Growing>()
  for (const event of run.events) {
    if (event.node === undefined) continue
    if (event.type === 'node.started') {
      const typeId = String(event.payload.typeId)
      const round: Growing = { node: event.node, typeId, start: event, events: [], end: undefined }
      rounds.push(round)
      open.set(event.node, round)
      continue
    }
    const round = open.get(event.node)
    if (round === undefined) continue
    round.events.push(event)
    if (!ENDS.includes(event.type)) continue
    round.end = event
    open.delete(event.node)
  }
  return rounds
})

const roundsByEvent = oncePerRun(
  (run: RunLog) => new Map(roundsOf(run).flatMap(round => round.events.map(event => [event, round] as const))),
)

/** The round in which an event is told, after its start. */
export const roundOf = (run: RunLog, event: LoggedEvent): Round | undefined => roundsByEvent(run).get(event)

export const byId = oncePerRun((run: RunLog) => new Map(run.events.map(event => [event.id, event])))

export const roundsAs = (run: RunLog, ...typeIds: readonly string[]): Round[] =>
  roundsOf(run).filter(round => typeIds.includes(round.typeId))

/** Rounds of nodes that hand out work. */
export const handouts = (run: RunLog): Round[] => roundsAs(run, DISPATCH, SUB_WORKFLOW)

export const told = (round: Round, ...types: readonly string[]): LoggedEvent[] =>
  round.events.filter(event => types.includes(event.type))

export const hasCompleted = ({ end }: Round): boolean => end?.type === 'node.completed'

export const askedIn = (round: Round): Asked[] =>
  told(round, 'interrupt.requested').map(request => ({
    request,
    resolved: round.events.find(
      event => event.type === 'interrupt.resolved' && event.payload.interruptId === request.payload.interruptId,
    ),
  }))

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
