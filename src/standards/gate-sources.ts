import { termsFor } from '../core/handoff/mapping.js'
import { isObject, type Json, own } from '../core/json.js'
import { parseContextRef } from '../core/verification/context-ref.js'
import { FEEDBACK_INPUT } from '../core/verification/feedback.js'
import type { Gate, Probe } from '../core/verification/gate.js'
import { isAgents } from '../core/verification/gate-context.js'
import { actorsIn } from '../core/workflow/actors.js'
import type { Plan, PlanNode } from '../core/workflow/plan.js'

/**
 * What a gate names of the run and may not be shown, or is not there as far as the workflow tells; each names the field
 * and the fix (docs/contract/verifier-input.md). `gates`: all that stand in the workflow.
 */
export function gateSourceProblems(gate: Gate, plan: Plan, gates: readonly Gate[]): string[] {
  const phase = plan.nodes[plan.indexOf.get(gate.position.phase_id) ?? -1]
  if (phase === undefined) return []
  const { context = [] } = gate
  return [
    ...context.flatMap(ref => contextProblems(ref, gate, phase, plan, gates).map(why => `context: ${ref} ${why}`)),
    ...exitValueProblems(gate, plan),
    ...pathProblems(gate, phase),
  ]
}

function contextProblems(ref: string, gate: Gate, phase: PlanNode, plan: Plan, gates: readonly Gate[]): string[] {
  const parsed = parseContextRef(ref)
  // Knowledge that is not there is told with all else that a gate refers to.
  if (parsed === undefined || parsed.kind === 'knowledge') return []
  return parsed.kind === 'input'
    ? inputProblems(parsed.name, parsed.path, plan)
    : nodeProblems(parsed.nodeId, parsed.path, gate, phase, plan, gates)
}

function inputProblems(name: string, path: string, plan: Plan): string[] {
  if (name === FEEDBACK_INPUT) return ['is what was said of an earlier attempt, which no verifier is shown; remove it']
  const variable = plan.variables.get(name)
  // A run takes inputs that nobody has declared; a workflow that declares some is taken at its word.
  if (variable === undefined && plan.variables.size > 0)
    return [`names no variable of the workflow; declare it, or name one of ${listed([...plan.variables.keys()])}`]
  if (variable?.sensitive) return ['is sensitive, and what is sensitive is shown to no verifier; remove it']
  const isPlain = variable !== undefined && ['string', 'number', 'boolean'].includes(variable.type)
  return isPlain && path !== ''
    ? [`leads into a ${variable.type}, which has nothing inside; end it at inputs.${name}`]
    : []
}

function nodeProblems(
  nodeId: string,
  path: string,
  gate: Gate,
  phase: PlanNode,
  plan: Plan,
  gates: readonly Gate[],
): string[] {
  const source = plan.nodes[plan.indexOf.get(nodeId) ?? -1]
  if (source === undefined)
    return [`names no node of the workflow; its nodes are ${listed(plan.nodes.map(({ node }) => node.id))}`]
  if (source === phase) return ['is the judged work itself; name what it was made from']
  if (source.type.role !== undefined)
    return [
      'is of a supervisor or of whomever it chose, so nobody can tell beforehand whose work it is; name another node',
    ]
  const { worker_id, placement } = gate.position
  const judged = [...actorsIn({ nodes: [phase] }), ...(worker_id === undefined ? [] : [worker_id])]
  if (placement !== 'workflow_exit' && actorsIn({ nodes: [source] }).some(actor => judged.includes(actor)))
    return ['is the work of whoever is judged; name what somebody else has made']
  const where = placement === 'workflow_exit' ? passProblems(source, gates) : orderProblems(source, phase, plan)
  return [...where, ...hiddenProblems(source, path, plan)]
}

/** What has not ended when the judged work begins was not there for it. */
const orderProblems = (source: PlanNode, phase: PlanNode, plan: Plan): string[] =>
  isBefore(source.index, phase.index, plan)
    ? []
    : [`does not end before ${JSON.stringify(phase.node.id)} begins; name a node on the way there`]

function isBefore(source: number, phase: number, plan: Plan): boolean {
  const seen = new Set([phase])
  for (const index of seen) for (const edge of plan.nodes[index]?.inbound ?? []) if (!edge.back) seen.add(edge.source)
  return source !== phase && seen.has(source)
}

/** At the exit everybody in the workflow is judged: only what nobody made, or a gate has let pass, is a source. */
function passProblems(source: PlanNode, gates: readonly Gate[]): string[] {
  const isHeld = gates.some(
    ({ position, gate_behaviour }) =>
      position.phase_id === source.node.id &&
      position.placement !== 'workflow_exit' &&
      position.worker_id === undefined &&
      position.tool_name === undefined &&
      gate_behaviour.blocking &&
      gate_behaviour.on_fail !== 'conditional_pass',
  )
  return isAgents(source) && !isHeld
    ? ['is an agent’s work that no blocking gate has let pass; put a phase_exit gate there first, or name another node']
    : []
}

function hiddenProblems({ node }: PlanNode, path: string, plan: Plan): string[] {
  const [port = ''] = path.split('.')
  const { outputSensitivity = {}, config } = node
  const isDeclared =
    path === '' ? Object.values(outputSensitivity).includes(true) : own(outputSensitivity, port) === true
  const { resultVariable } = config
  const isNamed = typeof resultVariable === 'string' && plan.variables.get(resultVariable)?.sensitive === true
  return isDeclared || isNamed ? ['is sensitive, and what is sensitive is shown to no verifier; remove it'] : []
}

function exitValueProblems({ position, exit_values = [] }: Gate, plan: Plan): string[] {
  if (exit_values.length > 0 && position.placement !== 'workflow_exit')
    return [`exit_values say what is judged at a workflow_exit, and this is ${position.placement}; remove them`]
  return exit_values.flatMap(ref => {
    const name = ref.slice(ref.indexOf('.') + 1)
    if (name === FEEDBACK_INPUT) return [`exit_values: ${ref} is what was said of an earlier attempt; remove it`]
    const known = ref.startsWith('channels.') ? plan.channels : plan.variables
    // Variables may be written that nobody has declared; a workflow that declares some is taken at its word.
    return known.size === 0 || known.has(name)
      ? []
      : [`exit_values: the workflow declares no ${ref}; it has ${listed([...known.keys()])}`]
  })
}

/** A path that cannot lead anywhere is the author's mistake, and no worker's. */
function pathProblems({ position, evaluation_criteria, exit_values = [] }: Gate, phase: PlanNode): string[] {
  const heads =
    position.placement === 'workflow_exit'
      ? ['outputs', ...new Set(exit_values.map(ref => ref.slice(0, ref.indexOf('.'))))]
      : phase.type.hands
        ? mappedFrom(position.worker_id, phase.node.config)
        : undefined
  if (heads === undefined) return []
  return evaluation_criteria.flatMap(({ dimension, probes }) =>
    probes.flatMap(probe =>
      pathsOf(probe)
        .filter(path => path !== '' && !heads.includes(headOf(path)))
        .map(
          path =>
            `probe ${probe.probe_id} of ${dimension}: path ${path} leads nowhere; what is judged here has ${listed(heads.map(head => `/${head}`))}`,
        ),
    ),
  )
}

/** Where in the output a probe looks. */
export const pathsOf = (probe: Probe): string[] =>
  ['path', 'sources_path'].flatMap(field => {
    const path = (probe as { readonly [name: string]: unknown })[field]
    return typeof path === 'string' ? [path] : []
  })

const headOf = (path: string): string => (path.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')

/** What workers bring back stands under the names of their own variables; all of them where the worker is not known. */
function mappedFrom(workerId: string | undefined, config: PlanNode['node']['config']): string[] {
  const only = workerId ?? (typeof config.workflowId === 'string' ? config.workflowId : undefined)
  if (only !== undefined) return termsFor(config, only).outputs.map(([, child]) => child)
  const { outputMapping, perWorkerOutputMappings } = config
  const each = isObject(perWorkerOutputMappings) ? Object.values(perWorkerOutputMappings) : []
  return [...new Set([outputMapping, ...each].flatMap(namesIn))]
}

const namesIn = (map: Json | undefined): string[] => (isObject(map) ? Object.values(map).map(String) : [])

const MOST_LISTED = 20

const listed = (names: readonly string[]): string =>
  names.slice(0, MOST_LISTED).join(', ') + (names.length > MOST_LISTED ? ', …' : '')
