import type { Json, JsonObject } from '../core/json.js'
import { type DefectKind, defectsOf } from './defects.js'
import { type Estimate, meanOf, rateOf } from './estimate.js'
import { failedIn, type JudgedOutput, passes, type Trial, type Unjudged, unjudgedIn } from './trials.js'

/** Known-good outputs, and the same with one thing wrong each. A gate that is worth its name tells them apart. */

/** An output and, by entry, the sources that the gate would show with it. */
export type Original = { readonly output: Json; readonly context?: JsonObject }

export type Sample = Original & {
  readonly original: number
  /** Where it counts towards the licence of the gate. */
  readonly truth?: 'good' | 'bad'
} & ({ readonly kind?: undefined } | { readonly kind: DefectKind; readonly description: string })

/**
 * Each output is spoilt at other places, and at the same for the same seed. `areGiven`: a person has brought them as good.
 * Outputs that were taken because the gate had let them pass say nothing of how many good ones it lets pass.
 */
export const samplesOf = (originals: readonly Original[], seed: number, areGiven = false): Sample[] =>
  originals.flatMap((one, original): Sample[] => [
    { ...one, original, ...(areGiven ? { truth: 'good' as const } : {}) },
    // The defect is in the output alone: it is judged by the same sources as the output that it was planted in.
    ...defectsOf(one.output, seed + original).map(defect => ({ ...one, ...defect, original, truth: 'bad' as const })),
  ])

export type PlantedReport = {
  readonly caught?: Estimate
  readonly falseAlarms?: Estimate
  readonly defects: readonly { readonly kind: string; readonly caught: Estimate }[]
  /** As far as each was asked: what probes settle, and what others have settled, it never sees. */
  readonly verifiers: readonly {
    readonly agentId: string
    readonly caught?: Estimate
    readonly falseAlarms?: Estimate
  }[]
  readonly missed: readonly { readonly kind: string; readonly description: string; readonly runId: string }[]
  /** Known-good outputs that it would have stopped. */
  readonly stopped: readonly { readonly runId: string; readonly failed: readonly string[] }[]
  readonly unjudged: Unjudged
}

type Heard = { readonly sample: Sample; readonly runId: string; readonly judged: JudgedOutput }

export function plantedReport(trials: readonly Trial<Sample>[]): PlantedReport {
  const heard = trials.flatMap(({ case: sample, runId, judged }): Heard[] =>
    judged && runId !== undefined ? [{ sample, runId, judged }] : [],
  )
  const spoilt = heard.flatMap(one => (one.sample.kind === undefined ? [] : [{ ...one, sample: one.sample }]))
  const good = heard.filter(({ sample }) => sample.kind === undefined)
  const kinds = [...new Set(spoilt.map(({ sample }) => sample.kind))]
  const agents = [...new Set(heard.flatMap(({ judged }) => judged.votes.map(({ agentId }) => agentId)))].sort()
  return {
    ...stoppedShare(spoilt, good, ({ judged }) => (passes(judged) ? 0 : 1)),
    defects: kinds.flatMap(kind => {
      const of = spoilt.filter(({ sample }) => sample.kind === kind)
      const caught = rateOf(of.map(({ judged }) => (passes(judged) ? 0 : 1)))
      return caught === undefined ? [] : [{ kind, caught }]
    }),
    verifiers: agents.map(agentId => ({
      agentId,
      ...stoppedShare(spoilt, good, ({ judged }) => againstOf(judged, agentId)),
    })),
    missed: spoilt.flatMap(({ sample: { kind, description }, runId, judged }) =>
      passes(judged) ? [{ kind, description, runId }] : [],
    ),
    stopped: good.flatMap(({ runId, judged }) => (passes(judged) ? [] : [{ runId, failed: failedIn(judged) }])),
    unjudged: unjudgedIn(trials),
  }
}

/** The share of its votes that were against the output; undefined when it has not voted. */
function againstOf({ votes }: JudgedOutput, agentId: string): number | undefined {
  const own = votes.filter(vote => vote.agentId === agentId).map(vote => (passes(vote) ? 0 : 1))
  return own.length === 0 ? undefined : meanOf(own)
}

function stoppedShare(
  spoilt: readonly Heard[],
  good: readonly Heard[],
  against: (heard: Heard) => number | undefined,
): Pick<PlantedReport, 'caught' | 'falseAlarms'> {
  const caught = rateOf(spoilt.flatMap(one => against(one) ?? []))
  const falseAlarms = rateOf(good.flatMap(one => against(one) ?? []))
  return { ...(caught && { caught }), ...(falseAlarms && { falseAlarms }) }
}
