import { Type } from 'typebox'
import type { Json } from '../core/json.js'
import {
  Above,
  Closed,
  DistinctBy,
  Flag,
  ListOf,
  Matching,
  May,
  Milliseconds,
  NumberFrom,
  OneOf,
  Text,
  TextWhere,
  Whole,
} from '../core/schema/kinds.js'
import { type Document, readAs } from '../core/schema/problems.js'
import { parseContextRef } from '../core/verification/context-ref.js'
import {
  type Gate,
  type GateBehaviour,
  type Licence,
  type MultiVerifier,
  PLACEMENTS,
  QUORUMS,
  type VerifierRequirements,
  type VerifierWanted,
} from '../core/verification/gate.js'
import { demandsOf } from '../core/verification/voting/licence.js'
import { CriterionSchema, type CriterionWanted, completeCriterion } from './criterion.js'
import { gateRules, type PositionWanted, placed } from './gate-rules.js'
import { AgentName, type Origin, StandardId, WorkerName, WorkName } from './names.js'

const HOUR = 3_600_000
const YEAR = 365 * 24 * HOUR
const MOST_VERIFIERS = 9
const MOST_APPROVERS = 50
const MOST_SOURCES = 20

/** R-DWS-2 */
const PositionSchema = Closed(
  {
    workflow_id: May(WorkName({ description: 'The workflow, or an agent whose own runs are meant; not at a goal' })),
    phase_id: May(Text(128, { description: 'A node of it; not at a goal' })),
    placement: OneOf(PLACEMENTS, {
      description: 'What of the node is held; `goal` is for gates that judge goals',
    }),
    worker_id: May(WorkerName({ description: 'Only what this worker brings, of those the node hands work to' })),
    tool_name: May(Text(256, { description: 'At a checkpoint: what this tool brings, before its agent sees it' })),
  },
  { description: 'Where the gate stands' },
)

const VerifierSchema = Type.Union([
  AgentName(),
  Closed({
    agent_id: AgentName({ description: 'Who judges' }),
    weight: May(Above(0, 1_000_000, { description: 'What the vote counts for under weighted', default: 1 })),
  }),
])

const VerifierRequirementsSchema = Closed(
  {
    /** R-DWS-4, R-DWS-12: said for the reader's sake; there is nothing to choose. */
    fresh_context: May(
      Type.Literal(true, {
        description: 'There is nothing to choose here',
        default: true,
        'x-must-be':
          "true, or left out: a verifier never shares the worker's context, and nothing can change that (R-DWS-12)",
      }),
    ),
    role: May(Text(64, { description: 'What each is told to judge as', default: 'verifier' })),
    verifiers: May(
      ListOf(VerifierSchema, 0, MOST_VERIFIERS, {
        description: "Who judges, by id or with a weight; the host's own verifier where none is named",
        default: [],
      }),
    ),
    allow_self_verification: May(Flag({ description: 'An agent may judge its own work', default: false })),
    timeout_ms: May(Milliseconds(1, HOUR, { description: 'How long one may take', default: 300_000 })),
  },
  { description: 'By whom the work is judged' },
)

const DEFAULT_DEMAND = { min_n: 30, lower_bound: 0.9 }

const DEMAND = {
  min_n: May(Whole(1, 1_000_000, { description: 'At least so many results; 30 where left out' })),
  lower_bound: May(NumberFrom(0, 1, { description: 'At least this share judged rightly; 0.9 where left out' })),
}
const BOTH = Object.keys(DEMAND)
const SIDES = ['bad_stopped', 'good_passed'] as const

/** The same demand of both sides may be written once. */
const LicenceSchema = Type.Refine(
  Closed(
    {
      ...DEMAND,
      bad_stopped: May(Closed(DEMAND, { description: 'Of bad results, those that it stops' })),
      good_passed: May(Closed(DEMAND, { description: 'Of good results, those that it lets through' })),
    },
    {
      description: 'What verifiers must have shown before they are relied on',
      default: demandsOf(DEFAULT_DEMAND),
    },
  ),
  licence => !(BOTH.some(name => name in licence) && SIDES.some(side => side in licence)),
  () =>
    `has one demand of both sides (${BOTH.join(', ')}) and one of a side (${SIDES.join(', ')}); keep one of the two`,
)

/** R-DWS-5 */
const GateBehaviourSchema = Closed(
  {
    blocking: May(Flag({ description: 'Nothing is merged without a pass', default: true })),
    on_fail: May(
      OneOf(['reject', 'conditional_pass', 'escalate'], {
        description: 'What happens after the last attempt',
        default: 'reject',
      }),
    ),
    max_attempts: May(Whole(1, 20, { description: 'How often work is judged at most; 2, or 1 over a tool' })),
    rework: May(
      OneOf(['automatic', 'supervisor'], {
        description: 'Who sends work back: the host, or the supervisor',
        default: 'automatic',
      }),
    ),
    reverification: May(
      OneOf(['targeted', 'full'], {
        description: 'What the next attempt is judged by: what failed, or all',
        default: 'targeted',
      }),
    ),
    auto_commit: May(
      OneOf(['always', 'licensed'], {
        description: 'With licensed, a person is asked until the verifiers have shown how good they are',
        default: 'always',
      }),
    ),
    licence: May(LicenceSchema),
    confirm: May(
      OneOf(['full', 'none'], { description: 'Whether what held before is judged again at the end', default: 'full' }),
    ),
    stop_when_stuck: May(
      Flag({ description: 'Work that was no better twice in a row is not sent back again', default: false }),
    ),
    min_confidence: May(
      NumberFrom(0, 1, {
        description: "A pass less sure than this is shown to a person; the host's floor where left out",
      }),
    ),
    allow_hidden: May(Flag({ description: 'A pass holds although parts of the result are hidden', default: false })),
    retries: May(Whole(0, 20, { description: 'How often verifiers that gave no vote are asked again', default: 2 })),
    retry_delay_ms: May(
      Milliseconds(1, HOUR, { description: 'After how long the first time; it doubles', default: 2_000 }),
    ),
    answer_timeout_ms: May(Milliseconds(1, YEAR, { description: 'How long a person may take to answer' })),
    approvers: May(
      DistinctBy(
        ListOf(
          Matching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'the name of a principal, as keys have it'),
          1,
          MOST_APPROVERS,
          { description: 'Who may let a result pass; whoever may answer interrupts where left out' },
        ),
        name => name,
      ),
    ),
    required_approvals: May(Whole(1, MOST_APPROVERS, { description: 'How many of them must agree' })),
    second_person: May(Flag({ description: 'Whoever started the run cannot let its results pass' })),
  },
  { description: 'What happens then' },
)

const MultiVerifierSchema = Closed(
  {
    verifier_count: May(
      Whole(1, MOST_VERIFIERS, { description: 'How many votes; as many as verifiers are named, or 1' }),
    ),
    quorum_strategy: May(OneOf(QUORUMS, { description: 'What a pass takes', default: 'majority' })),
    min_agree: May(Whole(1, MOST_VERIFIERS, { description: 'At least so many in favour', default: 1 })),
    early_stop: May(Flag({ description: 'No more are asked once the outcome stands', default: true })),
  },
  { description: 'How many judge, and how their votes are counted' },
)

/** One source: what the run was given, what a node came to, or an entry of the knowledge. */
const ContextEntry = TextWhere(
  'inputs.NAME, nodes.ID.output or knowledge:ID, of at most 512 characters, the first two with a path behind if need be (nothing else of a run is shown to verifiers)',
  ref => /\S/.test(ref) && ref.length <= 512 && parseContextRef(ref) !== undefined,
)

const References = (least: number, more: { readonly description: string; readonly default?: readonly string[] }) =>
  DistinctBy(ListOf(StandardId(), least, 50, more), id => id)

/** R-DWS-1 to R-DWS-5 */
export const GateSchema = Closed({
  gate_id: StandardId({ description: 'What it is called in the record' }),
  name: Text(256, { description: 'What people call it' }),
  position: PositionSchema,
  intent_refs: References(1, { description: 'What the work is measured by' }),
  knowledge_refs: May(References(0, { description: 'What verifiers may know besides', default: [] })),
  evaluation_criteria: DistinctBy(
    ListOf(CriterionSchema, 1, 50, { description: 'By what the work is judged' }),
    one => (one as CriterionWanted).dimension,
  ),
  verifier_requirements: VerifierRequirementsSchema,
  gate_behaviour: GateBehaviourSchema,
  multi_verifier: May(MultiVerifierSchema),
  context: May(
    DistinctBy(
      ListOf(ContextEntry, 0, MOST_SOURCES, { description: 'What of the run the work may be held against' }),
      ref => ref,
    ),
  ),
  exit_values: May(
    DistinctBy(
      ListOf(Matching(/^(variables|channels)\.[^.]+$/, 'variables.NAME or channels.NAME'), 0, MOST_SOURCES, {
        description: 'At a workflow_exit: what is judged besides the outputs',
      }),
      ref => ref,
    ),
  ),
})

/** As its author wrote it, with the schema's defaults. */
type GateWanted = Omit<
  Gate,
  'position' | 'evaluation_criteria' | 'verifier_requirements' | 'gate_behaviour' | 'multi_verifier'
> & {
  readonly position: PositionWanted
  readonly evaluation_criteria: readonly CriterionWanted[]
  readonly verifier_requirements: Omit<VerifierRequirements, 'verifiers'> & {
    readonly verifiers: readonly (string | VerifierWanted)[]
  }
  readonly gate_behaviour: Omit<GateBehaviour, 'max_attempts' | 'licence'> & {
    readonly max_attempts?: number
    readonly licence: LicenceWanted
  }
  readonly multi_verifier?: Omit<MultiVerifier, 'verifier_count'> & { readonly verifier_count?: number }
}

type DemandWanted = Partial<Licence['bad_stopped']>
type LicenceWanted = DemandWanted & { readonly [Side in keyof Licence]?: DemandWanted }

/** A gate as its author wrote it, with what was left out filled in; or all that is wrong with it. */
export function completeGate(document: Json, origin: Origin): Document<Gate> {
  const read = readAs<GateWanted>(GateSchema, document, wanted => gateRules(completed(wanted), origin))
  return read.ok ? { ok: true, value: completed(read.value) } : read
}

/** The order of the fields is part of the text that is stored, and so of its hash. */
function completed(wanted: GateWanted): Gate {
  const { position, evaluation_criteria, verifier_requirements, gate_behaviour } = wanted
  const verifiers = verifier_requirements.verifiers.map(one =>
    typeof one === 'string' ? { agent_id: one, weight: 1 } : one,
  )
  const multi = { quorum_strategy: 'majority', min_agree: 1, early_stop: true, ...wanted.multi_verifier } as const
  // A tool is not asked to do better, so there is one attempt at each of its results.
  const max_attempts = gate_behaviour.max_attempts ?? (position.tool_name === undefined ? 2 : 1)
  return {
    ...wanted,
    position: placed(position),
    evaluation_criteria: evaluation_criteria.map(completeCriterion),
    verifier_requirements: { ...verifier_requirements, verifiers },
    gate_behaviour: { ...gate_behaviour, licence: completeLicence(gate_behaviour.licence), max_attempts },
    multi_verifier: { ...multi, verifier_count: multi.verifier_count ?? (verifiers.length || 1) },
  }
}

function completeLicence({ bad_stopped, good_passed, ...both }: LicenceWanted): Licence {
  const side = (demand: DemandWanted = both) => ({ ...DEFAULT_DEMAND, ...demand })
  return { bad_stopped: side(bad_stopped), good_passed: side(good_passed) }
}
