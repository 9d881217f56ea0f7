import { effectiveVotes } from './agreement.js'
import { type Estimate, rateOf } from './estimate.js'
import { type Hearing, hearingsOf, onDimension } from './hearing.js'
import { casesOf, digestOf, type Entry, LABELLERS, type Label, type LabelledCase, type Planted } from './labels.js'
import { trackRecordOf } from './licence.js'
import { type Accuracy, accuracyOf, type Metrics, metricsOf } from './metrics.js'

/** How good the judges of one gate have been so far. Plain JSON. */
export type CalibrationReport = {
  readonly gateId: string
  /** Attempts that were judged. */
  readonly attempts: number
  readonly labels: { readonly good: number; readonly bad: number; readonly by: Readonly<Record<Label['by'], number>> }
  /** What a licence is given by. */
  readonly standing: { readonly n: number; readonly lower: number }
  readonly effectiveVotes?: number
  readonly gate: JudgeReport
  /** By agent id. */
  readonly verifiers: readonly JudgeReport[]
  /** Of each kind of planted defect, the share that the gate stopped. */
  readonly defects: readonly { readonly defect: string; readonly stopped: Estimate }[]
}

export type JudgeReport = Metrics &
  Accuracy & {
    readonly judge: string
    /** Attempts that it judged. */
    readonly attempts: number
    readonly dimensions: readonly (Metrics & { readonly dimension: string })[]
  }

/** `entries` in the order of time; those of other gates are left out. */
export function calibrate(
  gateId: string,
  entries: readonly Entry[],
  planted: readonly Planted[] = [],
): CalibrationReport {
  const trials = planted.filter(ofGate(gateId)).map(one => ({ ...one, digest: digestOf(one) }))
  const cases = casesOf(entries.filter(ofGate(gateId)).map(digestOf), trials)
  const votes = effectiveVotes(cases.map(({ digest }) => digest.votes))
  const agents = [...new Set(cases.flatMap(({ digest }) => digest.votes.map(({ judge }) => judge)))].sort()
  return {
    gateId,
    attempts: cases.length,
    labels: labelCounts(cases),
    standing: trackRecordOf(cases),
    ...(votes === undefined ? {} : { effectiveVotes: votes }),
    gate: judgeReport(
      `host:gate:${gateId}`,
      hearingsOf(cases, ({ digest }) => [digest.gate]),
    ),
    verifiers: agents.map(agent =>
      judgeReport(
        agent,
        hearingsOf(cases, ({ digest }) => digest.votes.filter(({ judge }) => judge === agent)),
      ),
    ),
    defects: defectsStopped(trials),
  }
}

const ofGate =
  (gateId: string) =>
  ({ record }: Entry): boolean =>
    record.gateId === gateId

function judgeReport(judge: string, hearings: readonly Hearing[]): JudgeReport {
  const dimensions = new Set(hearings.flatMap(({ opinions }) => opinions.flatMap(({ scores }) => [...scores.keys()])))
  return {
    judge,
    attempts: hearings.length,
    ...metricsOf(hearings),
    ...accuracyOf(hearings),
    dimensions: [...dimensions]
      .sort()
      .map(dimension => ({ dimension, ...metricsOf(onDimension(hearings, dimension)) })),
  }
}

function labelCounts(cases: readonly LabelledCase[]): CalibrationReport['labels'] {
  const labels = cases.flatMap(({ label }) => label ?? [])
  const count = (holds: (label: Label) => boolean) => labels.filter(holds).length
  const by = LABELLERS.map(labeller => [labeller, count(label => label.by === labeller)])
  return {
    good: count(({ truth }) => truth === 'good'),
    bad: count(({ truth }) => truth === 'bad'),
    by: Object.fromEntries(by),
  }
}

function defectsStopped(trials: readonly (Planted & Pick<LabelledCase, 'digest'>)[]): CalibrationReport['defects'] {
  const kinds = [...new Set(trials.flatMap(({ truth, defect }) => (truth === 'bad' && defect ? [defect] : [])))].sort()
  return kinds.map(defect => {
    const ofKind = trials.filter(trial => trial.defect === defect)
    return { defect, stopped: rateOf(ofKind.map(({ digest }) => (digest.gate.passes ? 0 : 1)))! }
  })
}
