import { type Static, Type } from 'typebox'
import { OneOf } from '../core/schema/kinds.js'
import { RESULT_LABELS } from '../core/verification/label.js'
import { RunId, Timestamp } from './ids.js'
import { ContextDoc, DWS_VERDICTS, VERDICTS } from './verification.js'

const Count = Type.Integer({ minimum: 0 })
const Share = Type.Number({ minimum: 0, maximum: 1 })

const Since = Type.Optional(
  Type.String({ format: 'date-time', description: 'Only verdicts of this time and later; all of them without it' }),
)

export const CalibrationQuery = Type.Object({
  since: Since,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, default: 1000, description: 'The latest verdicts that are looked at' }),
  ),
})

export const ListVerdictsQuery = Type.Object({
  since: Since,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
})

export const EstimateDoc = Type.Object(
  { value: Type.Number(), low: Type.Number(), high: Type.Number(), n: Type.Integer({ minimum: 1 }) },
  {
    description: 'What was measured, the interval that holds the true value in 95 of 100 studies, and what it rests on',
  },
)

const METRICS = {
  findings_per_run: Type.Optional(EstimateDoc),
  blocking_findings_overturned: Type.Object({ count: Count, share: Type.Optional(EstimateDoc) }),
  consistency_score: Type.Optional(EstimateDoc),
  false_positive_rate: Type.Optional(EstimateDoc),
}

const JudgeDoc = Type.Object({
  judge: Type.String({ description: 'The agent, or host:gate:<id> for the gate as a whole' }),
  attempts: Count,
  ...METRICS,
  true_positive_rate: Type.Optional(EstimateDoc),
  true_negative_rate: Type.Optional(EstimateDoc),
  kappa: Type.Optional(EstimateDoc),
  expected_calibration_error: Type.Optional(EstimateDoc),
  dimensions: Type.Array(Type.Object({ dimension: Type.String(), ...METRICS })),
})

const SideDoc = Type.Object({ n: Count, lower: Share })
const DemandDoc = Type.Object({ min_n: Count, lower_bound: Share })
const LookedDoc = Type.Object({
  right: EstimateDoc,
  of: OneOf(['all', 'asked'] as const, {
    description:
      'all: of every kind of them a person has looked at some; asked: only of those a person was asked about',
  }),
})

/** What nothing is known of is absent. */
export const CalibrationAnswer = Type.Object({
  gateId: Type.String(),
  attempts: Type.Integer({ minimum: 0, description: 'Results that the gate has judged' }),
  labels: Type.Object(
    { good: Count, bad: Count, by: Type.Record(Type.String(), Count) },
    { description: 'Of how many it is known whether they were good, and from whom' },
  ),
  standing: Type.Object(
    { badStopped: SideDoc, goodPassed: SideDoc },
    {
      description:
        'What the gate has shown while it was as it is now: bad results and the share it stops at least, good results and the share it lets through at least; wrong with a chance of at most 5 %, however often one looks',
    },
  ),
  licence: Type.Object(
    {
      required: Type.Boolean({ description: 'A person is asked about every pass until the licence is held' }),
      bad_stopped: DemandDoc,
      good_passed: DemandDoc,
      held: Type.Boolean(),
    },
    { description: 'What the gate demands of its verifiers, and whether they have shown it' },
  ),
  effectiveVotes: Type.Optional(
    Type.Object(
      { value: Type.Number({ minimum: 0 }), from: OneOf(['votes', 'errors'] as const) },
      {
        description:
          'How many independent votes the verifiers are worth together: by how their errors go together, or, where too little of the truth is known, by how their votes do',
      },
    ),
  ),
  sharedModel: Type.Integer({
    minimum: 0,
    description: 'Attempts in which verifiers that were to be independent ran on one model',
  }),
  gate: JudgeDoc,
  passed: Type.Optional(LookedDoc),
  failed: Type.Optional(LookedDoc),
  unseen: Type.Array(Type.String(), {
    description: 'Kinds of results of which nobody has looked at one; rates over all results are not told then',
  }),
  verifiers: Type.Array(JudgeDoc),
})
export type CalibrationAnswer = Static<typeof CalibrationAnswer>

const JudgedResult = Type.Object({
  runId: RunId,
  sequence: Type.Integer({ minimum: 0, description: 'Of the verdict, in the log of the run' }),
  at: Timestamp,
  nodeId: Type.String(),
  workerId: Type.Optional(Type.String()),
  target: Type.String(),
  attempt: Type.Integer({ minimum: 1 }),
  verdict: OneOf(VERDICTS, { description: 'What the run goes by' }),
  dwsVerdict: OneOf(DWS_VERDICTS, { description: 'What the verifiers came to' }),
  label: OneOf(RESULT_LABELS),
  failed: Type.Array(Type.String(), { description: 'Dimensions that were not met' }),
  gateHash: Type.String({ description: 'Of the gate as it was then, with all it referred to' }),
  resultHash: Type.String(),
  output: Type.Unknown({ description: 'What was judged, as it may be shown' }),
  context: Type.Optional(ContextDoc),
})

export const ListVerdictsAnswer = Type.Object({ verdicts: Type.Array(JudgedResult) })
