import type { TrackRecord } from '../core/verification/voting/licence.js'
import { type EffectiveVotes, effectiveVotes } from './agreement.js'
import { type Estimate, rateOf } from './estimate.js'
import { type Hearing, hearingsOf, onDimension } from './hearing.js'
import { casesOf, digestOf, type Entry, LABELLERS, type Label, type LabelledCase, type Planted } from './labels.js'
import { trackRecordOf } from './licence.js'
import { type Accuracy, accuracyOf, type Metrics, metricsOf } from './metrics.js'
import { isEven, isOfWork, rateWithin, type Stratum, stratumOf, toldTruth, unlabelledStrata } from './strata.js'

/** How good the judges of one gate have been so far. Plain JSON. */
export type CalibrationReport = {
  readonly gateId: string
  /** Attempts that were judged. */
  readonly attempts: number
  readonly labels: { readonly good: number; readonly bad: number; readonly by: Readonly<Record<Label['by'], number>> }
  /** What a licence is given by. */
  readonly standing: Pick<TrackRecord, 'badStopped' | 'goodPassed'>
  readonly effectiveVotes?: EffectiveVotes
  readonly gate: JudgeReport
  /** What can be said of what passed and of what failed, each by itself, whoever was looked at. */
  readonly passed?: LookedAt
  readonly failed?: LookedAt
  /** Kinds of results of which nobody has looked at one: rates over all results cannot be told, and are not. */
  readonly unseen: readonly Stratum[]
  /** By agent id. */
  readonly verifiers: readonly JudgeReport[]
  /** Of each kind of planted defect, the share that the gate stopped. */
  readonly defects: readonly { readonly defect: string; readonly stopped: Estimate }[]
}

/** The share that was as the gate said, among those that people looked at; `all`: of every kind they looked at some. */
export type LookedAt = { readonly right: Estimate; readonly of: 'all' | 'asked' }

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
  const votes = effectiveVotes(ballotsOf(cases))
  const work = cases.filter(isOfWork)
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
    ...lookedAt('passed', work, true),
    ...lookedAt('failed', work, false),
    unseen: work.some(one => toldTruth(one) !== undefined) ? unlabelledStrata(work) : [],
    verifiers: agents.map(agent =>
      judgeReport(
        agent,
        hearingsOf(cases, ({ digest }) => digest.votes.filter(({ judge }) => judge === agent)),
      ),
    ),
    defects: defectsStopped(trials),
  }
}

/** The truth counts for errors only where whether it is known has nothing to do with the votes. */
export function ballotsOf(cases: readonly LabelledCase[]) {
  const isFair = isEven(cases.filter(isOfWork))
  return cases.map(one => ({
    votes: one.digest.votes,
    ...(isFair || !isOfWork(one) ? { truth: one.label?.by === 're-verification' ? undefined : one.label?.truth } : {}),
  }))
}

function lookedAt<Name extends 'passed' | 'failed'>(
  name: Name,
  work: readonly LabelledCase[],
  passes: boolean,
): { readonly [key in Name]?: LookedAt } {
  const ofVerdict = work.filter(({ digest }) => digest.gate.passes === passes)
  const unseen = unlabelledStrata(ofVerdict)
  const seen = ofVerdict.filter(one => !unseen.includes(stratumOf(one)))
  const right = rateWithin(seen, passes ? 'good' : 'bad')
  return right === undefined ? {} : ({ [name]: { right, of: unseen.length === 0 ? 'all' : 'asked' } } as never)
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
