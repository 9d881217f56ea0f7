import { type Chain, chainsIn } from '../handoff/chains.js'
import type { Fields, LoggedEvent, RunLog } from '../checked.js'
import { fields, get, list, number, text } from '../json.js'
import { oncePerRun, roundOf } from '../node/node-attempts.js'

export const HEARD = 'dws.verification.started'
export const RENDERED = 'dws.verification.verdict_rendered'
export const FINDING = 'dws.verification.finding_issued'
export const VERIFIED = 'agent.verified'
export const HELD = 'assay.verification.held'
export const RESUMED = 'assay.verification.resumed'
export const REWORK = 'assay.rework.began'
export const WITHHELD = 'assay.result.withheld'
export const STAGED = 'assay.result.staged'
export const OVERRIDE = 'host:human-override'

/** One result before one gate, from when it is put there to what becomes of it. */
export type Hearing = {
  readonly node: string
  readonly started: LoggedEvent
  readonly gateId: string | undefined
  readonly attempt: number
  /** What is judged, as readers know it. */
  readonly target: unknown
  readonly point: string | undefined
  readonly blocking: boolean
  /** What its node tells until the next result is put to a gate there. */
  readonly events: readonly LoggedEvent[]
  readonly rendered: LoggedEvent | undefined
  /** What was said of the result, the latest last. */
  readonly verdicts: readonly LoggedEvent[]
  /** As the run was given it; undefined where the log does not show that. */
  readonly gate: Fields | undefined
}

type Growing = { -readonly [key in keyof Hearing]: Hearing[key] } & { events: LoggedEvent[]; verdicts: LoggedEvent[] }

/** The gates that a run was started with; undefined where the log does not show them. */
export const gatesOf = oncePerRun((run: RunLog): readonly Fields[] | undefined => {
  const first = run.events[0]
  if (first?.raw.secret === undefined && first?.type === 'run.started') return undefined
  return list(get(first?.raw.secret, 'gates')).map(bound => fields(get(bound, 'gate')))
})

export const positionOf = (gate: Fields, field: string): string | undefined => text(get(gate.position, field))

export const hearingsOf = oncePerRun((run: RunLog): Hearing[] => {
  const hearings: Growing[] = []
  const open = new Map<string, Growing>()
  for (const event of run.events) {
    const node = event.node ?? ''
    if (event.type === HEARD) {
      const hearing = begun(run, node, event)
      hearings.push(hearing)
      open.set(node, hearing)
      continue
    }
    // At the exit of a run the work may go back to another node than the one that waits there.
    const hearing = event.type === REWORK ? sentBackFrom(open, event) : open.get(node)
    if (hearing === undefined) continue
    hearing.events.push(event)
    if (event.type === RENDERED) hearing.rendered ??= event
    if (event.type === VERIFIED) hearing.verdicts.push(event)
    if (CLOSES.includes(event.type) || letsPass(event)) open.delete(hearing.node)
  }
  return hearings
})

const CLOSES: readonly string[] = [
  REWORK,
  WITHHELD,
  STAGED,
  'node.completed',
  'node.failed',
  'node.retried',
  'node.cancelled',
]

/** Nothing is said of the result any more: it goes on, to the next gate if there is one. */
export const letsPass = ({ type, payload }: LoggedEvent): boolean =>
  type === VERIFIED ? payload.verdict === 'pass' : payload.proceeds === true

const begun = (run: RunLog, node: string, started: LoggedEvent): Growing => {
  const { gateId, attempt, targetRef, point, blocking } = started.payload
  return {
    node,
    started,
    gateId: text(gateId),
    attempt: number(attempt) ?? 0,
    target: targetRef,
    point: text(point),
    blocking: blocking === true,
    events: [],
    rendered: undefined,
    verdicts: [],
    gate: gatesOf(run)?.find(gate => gate.gate_id === gateId),
  }
}

function sentBackFrom(open: ReadonlyMap<string, Growing>, { node, payload }: LoggedEvent): Growing | undefined {
  if (payload.point !== 'run') return open.get(node ?? '')
  return [...open.values()].find(({ gateId, point }) => point === 'run' && gateId === payload.gateId)
}

const byEvent = oncePerRun(
  (run: RunLog) => new Map(hearingsOf(run).flatMap(hearing => hearing.events.map(event => [event, hearing] as const))),
)

/** The hearing that an event is told in. */
export const hearingOf = (run: RunLog, event: LoggedEvent): Hearing | undefined => byEvent(run).get(event)

/** What was told in a hearing, of these types. */
export const heard = ({ events }: Hearing, ...types: readonly string[]): LoggedEvent[] =>
  events.filter(({ type }) => types.includes(type))

/** Where a result was to be merged: the exit, a node, or one of the workers of a node. Work there has its own attempts. */
export function placeOf(run: RunLog, { node, point, started, target }: Hearing): string {
  if (point === 'run') return 'exit'
  const { workerId } = started.payload
  const round = roundOf(run, started)
  const chains = round === undefined ? [] : chainsIn(run, round)
  const seat = chains.findIndex(chain => hasBrought(chain, target))
  // A decision may name the same worker twice; what becomes of one is not the other's.
  const occurrence = chains.slice(0, Math.max(0, seat)).filter(chain => chain.workerId === workerId).length
  return `${node}/${String(workerId)}/${occurrence}`
}

const hasBrought = ({ events, again }: Chain, target: unknown): boolean =>
  events.some(({ payload }) => payload.childRunId === target) || (again !== undefined && hasBrought(again, target))
