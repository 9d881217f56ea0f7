import type { Gate, Position } from '../core/verification/gate.js'
import { GOAL_JUDGE_NODE, GOAL_JUDGE_WORKFLOW } from '../core/workflow/nodes/judge.js'
import { criterionProblems } from './criterion.js'
import type { Origin } from './names.js'

/** A gate that judges goals stands in no workflow of anybody's: both may be left out there, and nowhere else. */
export type PositionWanted = Omit<Position, 'workflow_id' | 'phase_id'> &
  Partial<Pick<Position, 'workflow_id' | 'phase_id'>>

/** Where the judge of goals holds it. What is missing elsewhere is told by `gateRules`. */
export function placed({ workflow_id, phase_id, ...position }: PositionWanted): Position {
  const [workflow, phase] = position.placement === 'goal' ? [GOAL_JUDGE_WORKFLOW, GOAL_JUDGE_NODE] : ['', '']
  return { workflow_id: workflow_id ?? workflow, phase_id: phase_id ?? phase, ...position }
}

function placeProblems({ position: { workflow_id, phase_id, placement, worker_id, tool_name } }: Gate): string[] {
  if (placement !== 'goal')
    return [
      ...(workflow_id === '' ? ['position.workflow_id is missing; add it: the workflow that the gate stands in'] : []),
      ...(phase_id === '' ? ['position.phase_id is missing; add it: the node that the gate stands at'] : []),
      ...(workflow_id === GOAL_JUDGE_WORKFLOW
        ? [`position.workflow_id ${GOAL_JUDGE_WORKFLOW} is for gates that judge goals; set placement to "goal"`]
        : []),
    ]
  const isElsewhere = workflow_id !== GOAL_JUDGE_WORKFLOW || phase_id !== GOAL_JUDGE_NODE
  return [
    ...(isElsewhere ? ['position.workflow_id and position.phase_id: a goal is in no workflow; leave both out'] : []),
    ...(worker_id === undefined && tool_name === undefined
      ? []
      : ['position.worker_id and position.tool_name narrow what a node brings; leave both out at a goal']),
  ]
}

/** What no schema can say of a gate, and what follows from several of its parts together. */
export const gateRules = (gate: Gate, origin: Origin): string[] => [
  ...gate.evaluation_criteria.flatMap((one, i) => criterionProblems(one, `evaluation_criteria[${i}]`, origin)),
  ...repeatedProbes(gate),
  ...quorumProblems(gate),
  ...sourceProblems(gate),
  ...approverProblems(gate),
  ...toolProblems(gate),
  ...placeProblems(gate),
]

/** What a gate cannot say where it stands before what a tool brings. */
function toolProblems({ position: { tool_name, placement, worker_id }, gate_behaviour }: Gate): string[] {
  if (tool_name === undefined) return []
  const { max_attempts, rework, stop_when_stuck } = gate_behaviour
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
function repeatedProbes({ evaluation_criteria }: Gate): string[] {
  const seen = new Set<string>()
  return evaluation_criteria.flatMap(({ dimension, probes }) =>
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
function sourceProblems({ evaluation_criteria, context = [] }: Gate): string[] {
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
function approverProblems({ gate_behaviour: { approvers, required_approvals: required } }: Gate): string[] {
  if (approvers === undefined || required === undefined || required <= approvers.length) return []
  return [
    `gate_behaviour.required_approvals is ${required} and approvers names ${approvers.length}, so nothing could be let pass; name more or lower it`,
  ]
}

function quorumProblems({ multi_verifier: { verifier_count, min_agree }, verifier_requirements }: Gate): string[] {
  const named = verifier_requirements.verifiers.length
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
