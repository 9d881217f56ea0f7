import { isObject, type Json } from '../json.js'
import { present } from '../present.js'
import type { WorkflowDefinition, WorkflowNode } from './definition.js'
import type { NodeType } from './node-type.js'
import type { PlanEdge } from './plan.js'

/** Who plays which part in the orchestrator's loop, by node index. */
export type Cast = { readonly supervisors: readonly number[]; readonly dispatches: readonly number[] }

type TypeOf = (index: number) => NodeType | undefined

export function castOf({ nodes }: WorkflowDefinition, typeOf: TypeOf): Cast {
  const playing = (role: NodeType['role']) => nodes.flatMap((_, index) => (typeOf(index)?.role === role ? [index] : []))
  return { supervisors: playing('supervisor'), dispatches: playing('dispatch') }
}

/** R-LOOP-1: a dispatch that a supervisor feeds and that leads nowhere gives control back to it. */
export function returnEdges({ nodes }: WorkflowDefinition, edges: readonly PlanEdge[], typeOf: TypeOf): PlanEdge[] {
  const leads = new Set(edges.map(edge => edge.source))
  return edges.flatMap(({ source, target }) => {
    if (typeOf(source)?.role !== 'supervisor' || typeOf(target)?.role !== 'dispatch' || leads.has(target)) return []
    const from = idOf(nodes, target)
    const edge = { id: `${from}:return`, sourceNodeId: from, targetNodeId: idOf(nodes, source) }
    return [
      { edge, source: target, target: source, rule: 'all_success', port: 'output', back: false, condition: undefined },
    ]
  })
}

const idOf = (nodes: readonly WorkflowNode[], index: number): string =>
  present(nodes[index], `node ${index} in the definition`).id

/** R-ORCH-3, R-ORCH-13: what is wrong with the way the loop is drawn; each entry names the node and the fix. */
export function orchestrationProblems(
  { nodes }: WorkflowDefinition,
  { supervisors, dispatches }: Cast,
  bodies: ReadonlyMap<number, ReadonlySet<number>>,
  edges: readonly PlanEdge[],
): string[] {
  const name = (index: number) => `"${idOf(nodes, index)}"`
  const [supervisor, second] = supervisors
  if (supervisor === undefined)
    return dispatches.map(
      index => `nodes[${name(index)}] hands over what a supervisor decides; add a core.orchestrator.supervisor node`,
    )
  if (second !== undefined)
    return [
      `nodes[${name(second)}] is a second supervisor besides ${name(supervisor)}; a run has one orchestrator: give the other a workflow of its own`,
    ]
  const problems: string[] = []
  const body = bodies.get(supervisor) ?? new Set()
  const inside = dispatches.filter(index => body.has(index))
  for (const index of [supervisor, ...inside])
    if (nodes[index]?.disabled)
      problems.push(`nodes[${name(index)}] is disabled; the loop cannot run without it: enable it, or disable the rest`)
  const [, again] = inside
  if (again !== undefined)
    problems.push(
      `nodes[${name(again)}] is a second dispatch in the loop of ${name(supervisor)}; each decision is handed over once`,
    )
  for (const [loop, inner] of bodies) {
    if (loop === supervisor) continue
    if (inner.has(supervisor))
      problems.push(
        `nodes[${name(supervisor)}] is inside loop ${name(loop)}; an orchestrator terminates once: run it as a sub-workflow`,
      )
    for (const index of inside.filter(dispatch => inner.has(dispatch)))
      problems.push(`nodes[${name(index)}] is inside loop ${name(loop)}; each decision is handed over once`)
  }
  for (const { edge, source, target, port } of edges) {
    if (body.has(source) && target !== supervisor && !body.has(target))
      problems.push(
        `edges["${edge.id}"]: ${name(target)} is reached from inside the loop of ${name(supervisor)} and does not lead back; lead it back, or let it follow the supervisor`,
      )
    if (body.has(source) && target === supervisor && edge.condition !== undefined)
      problems.push(`edges["${edge.id}"].condition: control always goes back to ${name(supervisor)}; leave it out`)
    if (source !== supervisor) continue
    if (dispatches.includes(target) && !body.has(target))
      problems.push(`edges["${edge.id}"]: ${name(target)} does not lead back to ${name(supervisor)}; add an edge back`)
    if (edge.sourceOutput !== undefined && edge.sourceOutput !== port)
      problems.push(
        `edges["${edge.id}"].sourceOutput must be "${port}" or left out: ${name(target)} ${port === 'body' ? 'leads back to the supervisor' : 'does not lead back to the supervisor'}`,
      )
  }
  return problems
}

/** The agent that a node names, if it names one. */
export function agentOf({ agent }: WorkflowNode): string | undefined {
  const ref = agent as Json | undefined
  return isObject(ref) && typeof ref.agentId === 'string' ? ref.agentId : undefined
}
