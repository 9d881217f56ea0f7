import { peerWorkOf } from '../handoff/peer-work.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import { firstFew } from '../schema/first-few.js'
import { closestName } from '../schema/suggest.js'
import type { WorkflowDefinition, WorkflowNode } from './definition.js'
import type { Plan } from './plan.js'
import { distinct, type Read, readsOfCondition, readsOfExpression, variablesOf } from './references.js'
import { NodeSettingsSchema, settingWarnings, WorkflowSettingsSchema } from './settings.js'
import { agentOf } from './supervisor-loop.js'

/** What may well be a mistake in a workflow that is taken all the same. Each entry names the place and the fix. */
export function warningsOf({ definition, nodes }: Plan): string[] {
  const reads: Read[] = [
    ...nodes.flatMap(({ node, expressions }) => [
      ...[...expressions].flatMap(([name, { source }]) => readsOfExpression(`nodes["${node.id}"].${name}`, source)),
      ...portReads(node),
    ]),
    ...definition.edges.flatMap(({ id, condition }) =>
      condition ? readsOfCondition(`edges["${id}"]`, condition) : [],
    ),
  ]
  return distinct([
    ...undeclared(definition, reads),
    ...settingWarnings(WorkflowSettingsSchema, definition.settings as JsonObject, 'settings'),
    ...definition.nodes.flatMap(({ id, settings }) =>
      settingWarnings(NodeSettingsSchema, (settings ?? {}) as JsonObject, `nodes["${id}"].settings`),
    ),
  ])
}

const portReads = ({ id, inputs }: WorkflowNode): Read[] =>
  Object.entries(inputs).flatMap(([port, value]) =>
    value.type === 'variable' && value.optional !== true
      ? [{ root: 'variables', member: value.variableName, at: `nodes["${id}"].inputs.${port}` }]
      : [],
  )

/** A run may be given more inputs than its workflow declares, and each becomes a variable. */
function undeclared(definition: WorkflowDefinition, reads: readonly Read[]): string[] {
  const inputs = new Set(definition.variables.map(({ name }) => name))
  const variables = variablesOf(definition)
  return firstFew(reads, ({ root, member, at }) => {
    if (member === undefined) return []
    const known = root === 'variables' ? variables : root === 'inputs' || root === 'input' ? inputs : undefined
    if (known === undefined || known.has(member)) return []
    const close = closestName(member, [...known])
    const fix = close === undefined ? `declare "${member}" under variables` : `did you mean ${root}.${close}?`
    return [`${at} reads ${root}.${member}, which the workflow does not declare; ${fix}`]
  })
}

/** Somebody or something that a workflow names and that is no part of it. */
export type Mention = { readonly at: string; readonly kind: 'agent' | 'work' | 'tool'; readonly name: string }

/** Everything outside of itself that the workflow is known to need: whether it is there, only the host can say. */
export function namedIn({ definition: { nodes: own }, nodes }: Plan): Mention[] {
  const ids = own.map(({ id }) => `nodes["${id}"]`)
  return nodes.flatMap(({ node, type, index }) => {
    const at = ids[index] ?? ''
    if (type.role === 'supervisor') return namedBySupervisor(at, node.config)
    if (type.invokes) return namedAgent(at, node)
    if (type.typeId === 'core.tool') return [{ at: `${at}.config.tool`, kind: 'tool', name: String(node.config.tool) }]
    if (!type.hands) return []
    const { workflowId, perWorkerInputMappings, perWorkerOutputMappings } = node.config
    return [
      ...work(`${at}.config.workflowId`, workflowId),
      ...[...keysOf(perWorkerInputMappings), ...keysOf(perWorkerOutputMappings)].flatMap(name =>
        work(`${at}.config mappings per worker`, name),
      ),
    ]
  })
}

function namedAgent(at: string, node: WorkflowNode): Mention[] {
  const pinned = agentOf(node)
  const name = pinned ?? node.config.agentId
  const field = pinned === undefined ? 'config.agentId' : 'agent.agentId'
  return typeof name === 'string' ? [{ at: `${at}.${field}`, kind: 'agent', name }] : []
}

function namedBySupervisor(at: string, config: JsonObject): Mention[] {
  const { agentId, prompt, rules, mockDispatchPlan, mockDecisions, toolAllowlist } = config
  const decisions = [
    ...listOf(rules).map((rule, i): [string, Json] => [
      `rules[${i}].decide`,
      isObject(rule) ? (rule.decide ?? null) : null,
    ]),
    ...listOf(mockDispatchPlan).map((item, i): [string, Json] => [`mockDispatchPlan[${i}]`, item]),
    ...listOf(mockDecisions).map((item, i): [string, Json] => [`mockDecisions[${i}]`, item]),
  ]
  return [
    ...(typeof agentId === 'string' && prompt === undefined
      ? [{ at: `${at}.config.agentId`, kind: 'agent' as const, name: agentId }]
      : []),
    ...listOf(toolAllowlist).map(
      (name): Mention => ({ at: `${at}.config.toolAllowlist`, kind: 'tool', name: String(name) }),
    ),
    ...decisions.flatMap(([field, decision]) =>
      isObject(decision)
        ? listOf(decision.nextWorkerIds).flatMap(name => work(`${at}.config.${field}.nextWorkerIds`, name))
        : [],
    ),
  ]
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
const keysOf = (value: Json | undefined): string[] => (isObject(value) ? Object.keys(value) : [])
const work = (at: string, name: Json | undefined): Mention[] =>
  typeof name === 'string' ? [{ at, kind: 'work', name }] : []

/** What a refusal or a warning says of names that nothing has. */
export function unknownNamed({ at, kind, name }: Mention, known: readonly string[]): string {
  const peer = peerWorkOf(name)?.peer
  if (peer !== undefined)
    return `${at} names "${name}", and no peer "${peer}" is configured here with a key; add peers.hosts.${peer} with url, hostId and keyRef`
  const what = { agent: 'agent', work: 'workflow or agent', tool: 'tool' }[kind]
  const close = closestName(name, known)
  const fix = close === undefined ? `add it, or name one that is there` : `did you mean ${close}?`
  return `${at} names "${name}", and there is no such ${what} here; ${fix}`
}
