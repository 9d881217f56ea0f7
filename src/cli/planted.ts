import pc from 'picocolors'
import { type DefectKind, defectsOf } from '../calibration/defects.js'
import { meanOf, rateOf } from '../calibration/estimate.js'
import type { Estimate, Verification } from '../client/wire-shapes.js'
import type { Json } from '../core/json.js'
import { ESTIMATE_HEADER, shareCells } from './estimate.js'
import { printable } from './terminal.js'
import { failedIn, passes, type Trial, type Unjudged, unjudgedIn } from './trials.js'

/** Known-good outputs, and the same with one thing wrong each. A gate that is worth its name tells them apart. */

export type Sample = { readonly output: Json; readonly original: number } & (
  | { readonly kind?: undefined }
  | { readonly kind: DefectKind; readonly description: string }
)

/** Each output is spoilt at other places, and at the same for the same seed. */
export const samplesOf = (outputs: readonly Json[], seed: number): Sample[] =>
  outputs.flatMap((output, original) => [
    { output, original },
    ...defectsOf(output, seed + original).map(defect => ({ ...defect, original })),
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

type Heard = { readonly sample: Sample; readonly runId: string; readonly judged: Verification }

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
function againstOf({ votes }: Verification, agentId: string): number | undefined {
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

export const DEFECTS_HEADER = ['CAUGHT', ...ESTIMATE_HEADER]

export const defectRows = ({ defects, caught }: PlantedReport): string[][] => [
  ...defects.map(one => [one.kind, ...shareCells(one.caught)]),
  ['all defects', ...shareCells(caught)],
]

export const JUDGES_HEADER = ['JUDGE', 'CAUGHT', '95 %', 'N', 'FALSE ALARMS', '95 %', 'N']

export const judgeRows = (report: PlantedReport): string[][] => [
  ['the gate', ...shareCells(report.caught), ...shareCells(report.falseAlarms)],
  ...report.verifiers.map(one => [one.agentId, ...shareCells(one.caught), ...shareCells(one.falseAlarms)]),
]

/** What a person should look into. */
export const plantedLines = ({ missed, stopped }: PlantedReport): string[] => [
  ...missed.map(
    ({ kind, description, runId }) => `${pc.red('missed')}       ${printable(`${kind}: ${description}`)}, run ${runId}`,
  ),
  ...stopped.map(({ runId, failed }) => `${pc.yellow('false alarm')}  ${printable(failed.join(', '))}, run ${runId}`),
]
