import { isObject, type Json } from '../core/json.js'
import { parseContextRef } from '../core/verification/context-ref.js'
import {
  type Gate,
  type GateBehaviour,
  type Licence,
  type MultiVerifier,
  PLACEMENTS,
  QUORUMS,
  type VerifierWanted,
} from '../core/verification/gate.js'
import { demandsOf } from '../core/verification/voting/licence.js'
import { criterion } from './criterion.js'
import { agentId, type Origin, standardId, workflowId } from './names.js'
import {
  between,
  distinct,
  flag,
  list,
  matching,
  may,
  must,
  object,
  oneOf,
  orElse,
  positive,
  type Read,
  readWhole,
  refined,
  text,
  whole,
} from './reader.js'

const HOUR = 3_600_000
const YEAR = 365 * 24 * HOUR
const MOST_VERIFIERS = 9

/** R-DWS-1 to R-DWS-5: a gate as its author wrote it, with what was left out filled in; or all that is wrong with it. */
export function completeGate(
  document: Json,
  origin: Origin,
): { readonly ok: true; readonly gate: Gate } | { readonly ok: false; readonly problems: readonly string[] } {
  const read = readWhole(document, READERS[origin])
  return read.ok ? { ok: true, gate: read.value } : read
}

/** R-DWS-2 */
const position = object({
  workflow_id: must(workflowId),
  phase_id: must(text(128)),
  placement: must(oneOf(...PLACEMENTS)),
  worker_id: may(workflowId),
  tool_name: may(text(256)),
})

/** R-DWS-4, R-DWS-12: said for the reader's sake; there is nothing to choose. */
const freshContext: Read<true> = (raw, field, problems) => {
  if (raw === true) return true
  problems.push(
    `${field} must be true: a verifier never shares the worker's context, and nothing can change that (R-DWS-12); leave it out`,
  )
  return undefined
}

const wanted = object({ agent_id: must(agentId), weight: orElse(positive(1_000_000), 1) })

const verifier: Read<VerifierWanted> = (raw, field, problems) => {
  if (typeof raw !== 'string') return wanted(raw, field, problems)
  const agent_id = agentId(raw, field, problems)
  return agent_id === undefined ? undefined : { agent_id, weight: 1 }
}

const verifierRequirements = object({
  fresh_context: orElse(freshContext, true),
  role: orElse(text(64), 'verifier'),
  verifiers: orElse(list(verifier, 0, MOST_VERIFIERS), []),
  allow_self_verification: orElse(flag, false),
  timeout_ms: orElse(whole(1, HOUR), 300_000),
})

const DEFAULT_DEMAND = { min_n: 30, lower_bound: 0.9 }

const DEMAND = {
  min_n: orElse(whole(1, 1_000_000), DEFAULT_DEMAND.min_n),
  lower_bound: orElse(between(0, 1), DEFAULT_DEMAND.lower_bound),
}
const demand = object(DEMAND)

const demands = object({
  bad_stopped: orElse(demand, DEFAULT_DEMAND),
  good_passed: orElse(demand, DEFAULT_DEMAND),
})

/** The same demand of both sides may be written once. */
const licence: Read<Licence> = (raw, field, problems) => {
  if (!isObject(raw) || !Object.keys(raw).some(name => Object.hasOwn(DEMAND, name)))
    return demands(raw, field, problems)
  const both = demand(raw, field, problems)
  return both && demandsOf(both)
}

const MOST_APPROVERS = 50
const principal: Read<string> = matching(
  /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
  'the name of a principal, as keys have it',
)

/** R-DWS-5 */
const gateBehaviour = object({
  blocking: orElse(flag, true),
  on_fail: orElse(oneOf('reject', 'conditional_pass', 'escalate'), 'reject'),
  max_attempts: may(whole(1, 20)),
  rework: orElse(oneOf('automatic', 'supervisor'), 'automatic'),
  reverification: orElse(oneOf('targeted', 'full'), 'targeted'),
  auto_commit: orElse(oneOf('always', 'licensed'), 'always'),
  licence: orElse(licence, demandsOf(DEFAULT_DEMAND)),
  confirm: orElse(oneOf('full', 'none'), 'full'),
  stop_when_stuck: orElse(flag, false),
  min_confidence: may(between(0, 1)),
  allow_hidden: orElse(flag, false),
  retries: orElse(whole(0, 20), 2),
  retry_delay_ms: orElse(whole(1, HOUR), 2_000),
  answer_timeout_ms: may(whole(1, YEAR)),
  approvers: may(distinct(list(principal, 1, MOST_APPROVERS), name => name)),
  required_approvals: may(whole(1, MOST_APPROVERS)),
  second_person: may(flag),
})

const multiVerifier = object({
  verifier_count: may(whole(1, MOST_VERIFIERS)),
  quorum_strategy: orElse(oneOf(...QUORUMS), 'majority'),
  min_agree: orElse(whole(1, MOST_VERIFIERS), 1),
  early_stop: orElse(flag, true),
})

const MOST_SOURCES = 20

/** One source: what the run was given, what a node came to, or an entry of the knowledge. */
const contextEntry: Read<string> = refined(text(512), (ref, field, problems) => {
  if (parseContextRef(ref) === undefined)
    problems.push(
      `${field} ${JSON.stringify(ref)} must be inputs.NAME, nodes.ID.output or knowledge:ID, the first two with a path behind if need be; nothing else of a run is shown to verifiers`,
    )
  return ref
})

const exitValue: Read<string> = matching(/^(variables|channels)\.[^.]+$/, 'variables.NAME or channels.NAME')

const references = (least: number) => distinct(list(standardId, least, 50), id => id)

const gateReader = (origin: Origin): Read<Gate> =>
  refined(
    object({
      gate_id: must(standardId),
      name: must(text(256)),
      position: must(position),
      intent_refs: must(references(1)),
      knowledge_refs: orElse(references(0), []),
      evaluation_criteria: must(distinct(list(criterion(origin), 1, 50), one => one.dimension, 'dimension')),
      verifier_requirements: must(verifierRequirements),
      gate_behaviour: must(gateBehaviour),
      multi_verifier: may(multiVerifier),
      context: may(distinct(list(contextEntry, 0, MOST_SOURCES), ref => ref)),
      exit_values: may(distinct(list(exitValue, 0, MOST_SOURCES), ref => ref)),
    }),
    (taken, _field, problems) => {
      const { evaluation_criteria, verifier_requirements } = taken
      problems.push(...repeatedProbes(evaluation_criteria))
      const named = verifier_requirements.verifiers.length
      const multi = { quorum_strategy: 'majority', min_agree: 1, early_stop: true, ...taken.multi_verifier } as const
      const multi_verifier = { ...multi, verifier_count: multi.verifier_count ?? (named || 1) }
      problems.push(...quorumProblems(multi_verifier, named), ...sourceProblems(taken), ...approverProblems(taken))
      problems.push(...toolProblems(taken))
      // A tool is not asked to do better, so there is one attempt at each of its results.
      const max_attempts = taken.gate_behaviour.max_attempts ?? (taken.position.tool_name === undefined ? 2 : 1)
      return { ...taken, gate_behaviour: { ...taken.gate_behaviour, max_attempts }, multi_verifier }
    },
  )

const READERS: { readonly [O in Origin]: Read<Gate> } = { project: gateReader('project'), api: gateReader('api') }

type Placed = Pick<Gate, 'position'> & { readonly gate_behaviour: Partial<GateBehaviour> }

/** What a gate cannot say where it stands before what a tool brings. */
function toolProblems({ position: { tool_name, placement, worker_id }, gate_behaviour }: Placed): string[] {
  if (tool_name === undefined) return []
  const { max_attempts = 1, rework, stop_when_stuck } = gate_behaviour
  return [
    ...(placement === 'checkpoint'
      ? []
      : [
          `position.tool_name is for a checkpoint, and this is ${placement}; set placement to "checkpoint", or remove tool_name to judge what the agent makes of it`,
        ]),
    ...(worker_id === undefined
      ? []
      : ['position.worker_id and position.tool_name name two different results; keep one of them']),
    ...(max_attempts === 1
      ? []
      : [
          `gate_behaviour.max_attempts is ${max_attempts}, and a tool is not asked to do the same again; leave it out or set it to 1: after a result was withheld its agent may call the tool anew, and that is another result`,
        ]),
    ...(rework === 'supervisor' || stop_when_stuck
      ? [
          `gate_behaviour.${rework === 'supervisor' ? 'rework' : 'stop_when_stuck'} is about work that is sent back, and a tool is not asked to do the same again; leave it out`,
        ]
      : []),
  ]
}

/** What a probe found is told by its id alone, so within a gate no two share one. */
function repeatedProbes(criteria: Gate['evaluation_criteria']): string[] {
  const seen = new Set<string>()
  return criteria.flatMap(({ dimension, probes }) =>
    probes.flatMap(({ probe_id }) => {
      if (!seen.has(probe_id)) {
        seen.add(probe_id)
        return []
      }
      return [
        `the probe_id ${JSON.stringify(probe_id)} in criterion ${JSON.stringify(dimension)} is used twice; give each probe its own`,
      ]
    }),
  )
}

/** What a probe looks up in must be among what the gate names, so that it is in the hash. */
function sourceProblems({
  evaluation_criteria,
  context = [],
}: Pick<Gate, 'evaluation_criteria' | 'context'>): string[] {
  return evaluation_criteria.flatMap(({ dimension, probes }) =>
    probes.flatMap(probe =>
      (probe.type === 'citation' ? (probe.sources ?? []) : [])
        .filter(ref => !context.includes(ref))
        .map(
          ref =>
            `probe ${probe.probe_id} of ${dimension}: sources names ${JSON.stringify(ref)}, which is not in the gate's context; add it there`,
        ),
    ),
  )
}

/** A question that nobody could answer with yes would be no question. */
function approverProblems({
  gate_behaviour: { approvers, required_approvals: required },
}: {
  readonly gate_behaviour: Pick<GateBehaviour, 'approvers' | 'required_approvals'>
}): string[] {
  if (approvers === undefined || required === undefined || required <= approvers.length) return []
  return [
    `gate_behaviour.required_approvals is ${required} and approvers names ${approvers.length}, so nothing could be let pass; name more or lower it`,
  ]
}

function quorumProblems({ verifier_count, min_agree }: MultiVerifier, named: number): string[] {
  const field = 'multi_verifier'
  return [
    ...(named > 0 && named !== verifier_count
      ? [
          `${field}.verifier_count is ${verifier_count} and ${named} verifiers are named; leave it out or make them equal`,
        ]
      : []),
    ...(min_agree > verifier_count
      ? [`${field}.min_agree ${min_agree} is above verifier_count ${verifier_count}, so nothing could pass; lower it`]
      : []),
  ]
}
