import { isObject, type Json, type JsonObject, own } from '../core/json.js'
import { isAgentId } from '../core/names.js'
import type { Gate } from '../core/verification/gate.js'
import type { Plan, PlanNode } from '../core/workflow/plan.js'
import { agentOf } from '../core/workflow/supervisor-loop.js'
import { pathsOf } from './gate-sources.js'

/** The schema that an agent's results are held to, if there is one. */
export type ReturnSchemas = (agentId: string) => JsonObject | undefined

/**
 * Paths of probes at which the judged agent's own return schema lets nothing stand: the worker could do what it likes
 * and would be blamed. What the schema leaves open is left open here.
 */
export function outputPathProblems(gate: Gate, plan: Plan, returnSchema: ReturnSchemas): string[] {
  const phase = plan.nodes[plan.indexOf.get(gate.position.phase_id) ?? -1]
  const judged = phase && judgedAgent(gate, phase)
  const schema = judged && returnSchema(judged.agentId)
  if (judged === undefined || schema === undefined) return []
  return gate.evaluation_criteria.flatMap(({ dimension, probes }) =>
    probes.flatMap(probe =>
      pathsOf(probe)
        .map(path => ({ path, steps: stepsInside(path, judged.under) }))
        .filter(({ steps }) => steps !== undefined && !canStand(schema, steps, schema))
        .map(
          ({ path }) =>
            `probe ${probe.probe_id} of ${dimension}: path ${path} leads nowhere by the return schema of agent ${judged.agentId}${knownHere(schema, judged.under)}`,
        ),
    ),
  )
}

/** Whose result is judged, where the plan says so; a worker's stands under the names that are mapped from it. */
function judgedAgent({ position }: Gate, { node, type }: PlanNode) {
  if (position.placement === 'workflow_exit' || position.tool_name !== undefined) return undefined
  if (type.hands) {
    const worker = position.worker_id ?? node.config.workflowId
    return typeof worker === 'string' && isAgentId(worker) ? { agentId: worker, under: 'result' } : undefined
  }
  const agentId = node.typeId === 'core.agent' ? (agentOf(node) ?? node.config.agentId) : undefined
  return typeof agentId === 'string' ? { agentId, under: undefined } : undefined
}

/** The steps of a pointer, from inside the result on; undefined where it does not lead there. */
function stepsInside(path: string, under: string | undefined): readonly string[] | undefined {
  const steps = path
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (under === undefined) return steps
  return steps[0] === under ? steps.slice(1) : undefined
}

function knownHere(schema: JsonObject, under: string | undefined): string {
  const names = isObject(schema.properties) ? Object.keys(schema.properties) : []
  const head = under === undefined ? '' : `/${under}`
  return names.length === 0 ? '' : `; it has ${names.map(name => `${head}/${name}`).join(', ')}`
}

/** References that lead in a circle lead nowhere; nobody nests schemas so deep. */
const MOST_HOPS = 64

/** Whether any value that fits the schema has something at the end of these steps. */
function canStand(schema: Json | undefined, steps: readonly string[], root: JsonObject, hops = 0): boolean {
  if (!isObject(schema)) return schema !== false
  if (hops > MOST_HOPS) return true
  const inside = (part: Json | undefined, rest = steps) => canStand(part, rest, root, hops + 1)
  const { $ref, allOf, type } = schema
  if (typeof $ref === 'string') return inside(resolved($ref, root))
  if (Array.isArray(allOf) && !allOf.every(part => inside(part))) return false
  const choice = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choice) && !choice.some(part => inside(part))) return false
  const [step, ...rest] = steps
  if (step === undefined) return true
  const types = type === undefined ? undefined : [type].flat()
  const may = (kind: string) => types === undefined || types.includes(kind)
  const asItem = may('array') && /^(\d+|-)$/.test(step) && inside(schema.items, rest)
  return asItem || (may('object') && memberCanStand(schema, step, part => inside(part, rest)))
}

function memberCanStand(schema: JsonObject, name: string, inside: (part: Json | undefined) => boolean): boolean {
  const { properties, patternProperties, additionalProperties } = schema
  const member = isObject(properties) ? own(properties, name) : undefined
  if (member !== undefined) return inside(member)
  // What names match is for the checker of values to say.
  if (isObject(patternProperties)) return true
  return inside(additionalProperties)
}

function resolved(ref: string, root: JsonObject): Json | undefined {
  if (!ref.startsWith('#')) return undefined
  let found: Json | undefined = root
  for (const step of ref.slice(1).split('/').slice(1))
    found = isObject(found) ? own(found, step.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined
  return found
}
