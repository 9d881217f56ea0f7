import { termsFor } from '../core/handoff/mapping.js'
import { isObject, type Json } from '../core/json.js'
import { type Gate, HOST_VERIFIER } from '../core/verification/gate.js'
import { HELD_TYPES, REWORKABLE_TYPES, TOOL_CALLING_TYPE } from '../core/verification/phase-types.js'
import { actorsIn } from '../core/workflow/actors.js'
import type { Plan, PlanNode } from '../core/workflow/plan.js'

/** What verifiers run as. */
const VERIFIER = 'assay.verify'

/** Why a gate cannot stand where it says it does, in this workflow; each names the field and the fix. */
export function positionProblems(gate: Gate, plan: Plan): string[] {
  const { phase_id } = gate.position
  const phase = plan.nodes[plan.indexOf.get(phase_id) ?? -1]
  if (phase === undefined) {
    const known = plan.nodes.map(({ node }) => node.id)
    return [
      `position.phase_id ${JSON.stringify(phase_id)} is not a node of the workflow; its nodes are ${listed(known)}`,
    ]
  }
  if (gate.position.placement === 'goal') return []
  if (phase.node.typeId === VERIFIER)
    return ['position.workflow_id: a verifier is not verified in turn; name the work itself']
  return [
    ...(gate.position.placement === 'workflow_exit' ? exitProblems(gate, phase, plan) : phaseProblems(gate, phase)),
    ...supervisorProblems(gate, plan),
    ...selfProblems(gate, phase, plan),
  ]
}

function exitProblems({ position, gate_behaviour }: Gate, { node, index }: PlanNode, plan: Plan): string[] {
  const { phase_id, worker_id } = position
  const loop = plan.nodes.find(({ body }) => body.includes(index))
  const goesBack = gate_behaviour.blocking && gate_behaviour.max_attempts > 1
  return [
    ...(loop && goesBack
      ? [
          `position.phase_id ${JSON.stringify(phase_id)} is inside the loop ${JSON.stringify(loop.node.id)}, which has ended when the run leaves; name a node outside of it, or set gate_behaviour.max_attempts to 1`,
        ]
      : []),
    ...(worker_id === undefined
      ? []
      : ['position.worker_id narrows a phase_exit, and this is workflow_exit; remove it']),
    ...(goesBack && !REWORKABLE_TYPES.includes(node.typeId)
      ? [
          `position.phase_id ${JSON.stringify(phase_id)} is a ${node.typeId}, which cannot do the work again; name a ${listed(REWORKABLE_TYPES)}, or set gate_behaviour.max_attempts to 1`,
        ]
      : []),
  ]
}

/** What an agent keeps for the run is its own work, and nothing comes back of it. */
const KEEPS = 'assay:artifact.create'

function toolProblems({ phase_id, tool_name }: Gate['position'], { typeId }: PlanNode['node']): string[] {
  if (typeId !== TOOL_CALLING_TYPE)
    return [
      `position.phase_id ${JSON.stringify(phase_id)} is a ${typeId}, and position.tool_name is for what a tool brings to an agent; name a ${TOOL_CALLING_TYPE}`,
    ]
  return tool_name === KEEPS
    ? [
        `position.tool_name ${KEEPS} stores what the agent wrote, and brings back nothing to judge; remove tool_name to judge the agent's own result`,
      ]
    : []
}

function phaseProblems({ position }: Gate, { node, type }: PlanNode): string[] {
  const { phase_id, placement, worker_id } = position
  if (position.tool_name !== undefined) return toolProblems(position, node)
  if (type.hands) return handingProblems(position, node.config)
  if (!HELD_TYPES.includes(node.typeId))
    return [
      `position.phase_id ${JSON.stringify(phase_id)} is a ${node.typeId}, whose output no gate can hold; a ${placement} stands at ${listed(HELD_TYPES)} or at a node that hands work over (core.dispatch, core.subWorkflow)`,
    ]
  return worker_id === undefined
    ? []
    : [
        `position.worker_id is for nodes that hand work over, and ${JSON.stringify(phase_id)} is a ${node.typeId}; remove it`,
      ]
}

/** What nothing is mapped from is never merged, so there would be nothing to judge. */
function handingProblems({ phase_id, worker_id }: Gate['position'], config: PlanNode['node']['config']): string[] {
  const only = typeof config.workflowId === 'string' ? config.workflowId : undefined
  if (worker_id !== undefined && only !== undefined && worker_id !== only)
    return [
      `position.worker_id ${JSON.stringify(worker_id)} never works here; ${JSON.stringify(phase_id)} runs ${JSON.stringify(only)}`,
    ]
  const worker = worker_id ?? only
  const isMapped = worker === undefined ? mapsOf(config).some(isFilled) : termsFor(config, worker).outputs.length > 0
  if (isMapped) return []
  const whose = worker === undefined ? 'any worker' : JSON.stringify(worker)
  return [
    `node ${JSON.stringify(phase_id)} maps no output of ${whose}, so there is nothing to judge; add config.outputMapping`,
  ]
}

const mapsOf = ({ outputMapping, perWorkerOutputMappings }: PlanNode['node']['config']): (Json | undefined)[] => [
  outputMapping,
  ...(isObject(perWorkerOutputMappings) ? Object.values(perWorkerOutputMappings) : []),
]

const isFilled = (map: Json | undefined): boolean => isObject(map) && Object.keys(map).length > 0

function supervisorProblems({ gate_behaviour }: Gate, plan: Plan): string[] {
  if (gate_behaviour.rework === 'automatic' || plan.nodes.some(({ type }) => type.role === 'supervisor')) return []
  return ['gate_behaviour.rework is "supervisor" and the workflow has none; use "automatic"']
}

/** Contract agents A13: nobody judges his own work, unless the gate says that he may. */
function selfProblems({ position, verifier_requirements }: Gate, phase: PlanNode, plan: Plan): string[] {
  const { allow_self_verification, verifiers } = verifier_requirements
  if (allow_self_verification) return []
  // What leaves the workflow is the work of everybody in it.
  const nodes = position.placement === 'workflow_exit' ? plan.nodes : [phase]
  const workers = [position.worker_id, ...actorsIn({ nodes })]
  const judges = verifiers.length > 0 ? verifiers.map(({ agent_id }) => agent_id) : [HOST_VERIFIER]
  return judges.flatMap((agent_id, i) =>
    workers.includes(agent_id)
      ? [
          `verifier_requirements.verifiers[${i}] ${JSON.stringify(agent_id)} would judge its own work; name another, or set allow_self_verification`,
        ]
      : [],
  )
}

const MOST_LISTED = 20

const listed = (names: readonly string[]): string =>
  names.slice(0, MOST_LISTED).join(', ') + (names.length > MOST_LISTED ? ', …' : '')
