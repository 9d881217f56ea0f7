import type { Fields, LoggedEvent, RunLog } from '../checked.js'
import { type Chain, chainsIn } from '../handoff/chains.js'
import { fields, get, list, number, text } from '../json.js'
import { nodeAttemptOf, oncePerRun } from '../node/node-attempts.js'

export const VERIFICATION_STARTED = 'dws.verification.started'
export const RENDERED = 'dws.verification.verdict_rendered'
export const FINDING = 'dws.verification.finding_issued'
export const VERIFIED = 'agent.verified'
export const HELD = 'assay.verification.held'
export const RESUMED = 'assay.verification.resumed'
export const CONFIRMING = 'assay.verification.confirming'
export const REWORK = 'assay.rework.began'
export const WITHHELD = 'assay.result.withheld'
export const STAGED = 'assay.result.staged'
export const TOOL_DELIVERED = 'assay.tool.delivered'
export const TOOL_WITHHELD = 'assay.tool.withheld'
export const OVERRIDE = 'host:human-override'

/** One verification of one result by one gate, from `dws.verification.started` to what becomes of the result. */
export type VerificationAttempt = {
  readonly node: string
  readonly started: LoggedEvent
  readonly gateId: string | undefined
  readonly attempt: number
  /** What is judged, as readers know it. */
  readonly target: unknown
  readonly point: string | undefined
  readonly blocking: boolean
  /** Events of its node until the next verification starts there. */
  readonly events: readonly LoggedEvent[]
  readonly rendered: LoggedEvent | undefined
  /** The verdicts on the result, the latest last. */
  readonly verdicts: readonly LoggedEvent[]
  /** As the run was given it; undefined where the log does not show that. */
  readonly gate: Fields | undefined
}

type Growing = { -readonly [key in keyof VerificationAttempt]: VerificationAttempt[key] } & {
  events: LoggedEvent[]
  verdicts: LoggedEvent[]
}

/** The gates that a run was started with; undefined where the log does not show them. */
export const gatesOf = oncePerRun((run: RunLog): readonly Fields[] | undefined => {
  const first = run.events[0]
  if (first?.raw.secret === undefined && first?.type === 'run.started') return undefined
  return list(get(first?.raw.secret, 'gates')).map(bound => fields(get(bound, 'gate')))
})

export const positionOf = (gate: Fields, field: string): string | undefined => text(get(gate.position, field))

export const verificationAttemptsOf = oncePerRun((run: RunLog): VerificationAttempt[] => {
  const verifications: Growing[] = []
  const open = new Map<string, Growing>()
  for (const event of run.events) {
    const node = event.node ?? ''
    if (event.type === VERIFICATION_STARTED) {
      const verification = begun(run, node, event)
      verifications.push(verification)
      open.set(node, verification)
      continue
    }
    // At the exit of a run the work may go back to another node than the one that waits there.
    const verification = event.type === REWORK ? sentBackFrom(open, event) : open.get(node)
    if (verification === undefined) continue
    verification.events.push(event)
    if (event.type === RENDERED) verification.rendered ??= event
    if (event.type === VERIFIED) verification.verdicts.push(event)
    if (CLOSES.includes(event.type) || letsPass(event)) open.delete(verification.node)
  }
  return verifications
})

const CLOSES: readonly string[] = [
  REWORK,
  WITHHELD,
  STAGED,
  TOOL_DELIVERED,
  TOOL_WITHHELD,
  'node.completed',
  'node.failed',
  'node.retried',
  'node.cancelled',
]

/** The gate is done with the result, which goes on to the next gate or is merged. */
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
  (run: RunLog) =>
    new Map(
      verificationAttemptsOf(run).flatMap(verification =>
        verification.events.map(event => [event, verification] as const),
      ),
    ),
)

/** The verification that an event is told in. */
export const verificationAttemptOf = (run: RunLog, event: LoggedEvent): VerificationAttempt | undefined =>
  byEvent(run).get(event)

/** What was told in a verification, of these types. */
export const eventsIn = ({ events }: VerificationAttempt, ...types: readonly string[]): LoggedEvent[] =>
  events.filter(({ type }) => types.includes(type))

/** Its rounds: what each judged, with how many verifiers, and what was told in it. The second judges what was left out. */
export function roundsIn({ started, events }: VerificationAttempt): Round[] {
  const second = events.findIndex(({ type }) => type === CONFIRMING)
  const about = ({ payload }: LoggedEvent) => ({
    criteria: list(payload.criteria),
    verifiers: number(payload.verifiers) ?? 0,
  })
  if (second < 0) return [{ ...about(started), events }]
  return [
    { ...about(started), events: events.slice(0, second) },
    { ...about(events[second] ?? started), events: events.slice(second) },
  ]
}

type Round = {
  readonly criteria: readonly unknown[]
  readonly verifiers: number
  readonly events: readonly LoggedEvent[]
}

/** All that was judged of the result. */
export const judgedIn = (verification: VerificationAttempt): unknown[] =>
  roundsIn(verification).flatMap(({ criteria }) => criteria)

/** Where a result was to be merged: the exit, a node, one of its workers, or a call of a tool. Work there has its own attempts. */
export function placeOf(run: RunLog, { node, point, started, target }: VerificationAttempt): string {
  if (point === 'run') return 'exit'
  if (point === 'tool') return `${node}/call/${String(target)}`
  const { workerId } = started.payload
  const nodeAttempt = nodeAttemptOf(run, started)
  const chains = nodeAttempt === undefined ? [] : chainsIn(run, nodeAttempt)
  const seat = chains.findIndex(chain => hasBrought(chain, target))
  // A decision may name the same worker twice; what becomes of one is not the other's.
  const occurrence = chains.slice(0, Math.max(0, seat)).filter(chain => chain.workerId === workerId).length
  return `${node}/${String(workerId)}/${occurrence}`
}

const hasBrought = ({ events, again }: Chain, target: unknown): boolean =>
  events.some(({ payload }) => payload.childRunId === target) || (again !== undefined && hasBrought(again, target))
