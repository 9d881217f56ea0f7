import type { CheckedEvent, CheckedRun } from '../../../src/log-check/checked.js'

/** Faults leave these, and nothing else. */
const OF_FAULTS = new Set(['assay.peer.silent', 'assay.peer.heard'])

/** Fields of payloads that say when something was written, or are computed from ids. */
const VARYING = /"(writtenAt|requestedAt|resolvedAt|decidedAt|effect|shownHash|traceparent|interruptId|key)":"[^"]*"/g

/** The tag by which a run is found again; how much time was left for it; and a sequence that stands alone. */
const EFFECT = /(assay-effect:)[\w-]+/g
const REST = /"(runTimeoutMs|decided)":\d+/g

export type Beat = {
  readonly type: string
  readonly nodeId: string | null
  readonly said: string
  readonly cause: string | null
}

/**
 * What a story came to on both hosts, without what two tellings of it may differ in: ids, times, the notes of silence,
 * and the sequences that these have moved. Runs are called by what they do.
 */
export function plotOf(runs: readonly CheckedRun[]): { readonly [run: string]: readonly Beat[] } {
  const names = namesOf(runs)
  const moved = new Map(runs.flatMap(run => renumbered(run, names.get(run.runId)!)))
  const named = (text: string): string => {
    let result = text
    for (const run of runs)
      result = result
        .replaceAll(new RegExp(`${run.runId}:\\d+`, 'g'), id => moved.get(id) ?? id)
        .replaceAll(run.runId, names.get(run.runId)!)
    return result
  }
  return Object.fromEntries(
    runs
      .map((run): [string, readonly Beat[]] => [
        names.get(run.runId)!,
        kept(run).map(({ type, nodeId, payload, secret, causationId }) => ({
          type,
          nodeId: nodeId ?? null,
          said: named(JSON.stringify([payload, secret ?? null]))
            .replace(VARYING, '"$1":"-"')
            .replace(EFFECT, '$1-')
            .replace(REST, '"$1":0'),
          cause: causationId == null ? null : named(causationId),
        })),
      ])
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  )
}

const kept = ({ events }: CheckedRun): readonly CheckedEvent[] => events.filter(({ type }) => !OF_FAULTS.has(type))

function renumbered(run: CheckedRun, name: string): [string, string][] {
  return kept(run).map(({ sequence }, i) => [`${run.runId}:${sequence}`, `${name}:${i}`])
}

/** By the workflow, and by how many of it there are: a run more than there should be has a name of its own. */
function namesOf(runs: readonly CheckedRun[]): ReadonlyMap<string, string> {
  const seen = new Map<string, number>()
  return new Map(
    runs.map(({ runId, definition }) => {
      const { id } = definition as { readonly id: string }
      const n = seen.get(id) ?? 0
      seen.set(id, n + 1)
      return [runId, n === 0 ? id : `${id}#${n}`]
    }),
  )
}

type Phase = { readonly phase?: string; readonly workerId?: string; readonly childRunId?: string }

/** Runs at the peer that a log names as begun. */
export const handedTo = (runs: readonly CheckedRun[], peer = 'beta'): readonly string[] =>
  runs.flatMap(({ events }) =>
    events.flatMap(({ type, payload }) => {
      const { phase, childRunId = '' } = payload as Phase
      const isPeer = childRunId.startsWith(`peer:${peer}/`)
      return type === 'core.workflowChain.event' && phase === 'dispatch.succeeded' && isPeer
        ? [childRunId.slice(`peer:${peer}/`.length)]
        : []
    }),
  )

/** The chain of a hand-off and what was noted on the way, in short. */
export const handoffsIn = (events: readonly CheckedEvent[]): readonly string[] =>
  events.flatMap(({ type, payload }) => {
    const {
      phase,
      error,
      evidence,
      why,
      reason = evidence ? 'evidence' : why,
    } = payload as Phase & {
      readonly error?: { readonly code: string }
      readonly reason?: string
      readonly evidence?: boolean
      readonly why?: string
    }
    if (type === 'core.workflowChain.event') return [[phase, ...(error ? [error.code] : [])].join(' ')]
    return type.startsWith('assay.peer.') ? [[type.slice('assay.'.length), ...(reason ? [reason] : [])].join(' ')] : []
  })
