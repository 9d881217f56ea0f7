import { type Expression, parseExpression } from '../expression.js'
import { own } from '../json.js'
import type { NodeType, Permit } from '../node-type.js'
import { type Refusal, refuse } from '../problem.js'
import { compileCondition } from './condition.js'
import type { NodeSettings, WorkflowDefinition, WorkflowEdge, WorkflowNode } from './definition.js'
import { isOfType } from './inputs.js'
import { circleOf, findBodies, findCycle } from './loops.js'
import { targetProblems } from './mapping.js'
import { agentOf, castOf, orchestrationProblems, returnEdges } from './orchestration.js'
import type { Plan, PlanEdge, PlanNode, Retry } from './plan.js'

export type NodeTypes = ReadonlyMap<string, NodeType>

/** What a workflow may be made of on this host. */
export type Workshop = {
  readonly nodeTypes: NodeTypes
  readonly capabilities: ReadonlySet<string>
  /** Names of the outside effects that can be asked for; unknown when absent. */
  readonly providers?: ReadonlySet<string>
  /** The definition was accepted before; what this host would let a new one do does not matter to it. */
  readonly accepted?: true
}

/** Node types of the protocol that need a capability this host does not have yet (contract core §2.1). */
const GATED: { readonly [typeId: string]: string } = {
  'core.conversationGate': 'conversationPrimitive',
}

const LIMITS = { nodes: 2_000, edges: 10_000, loops: 100 }

/** Compiles a well-shaped definition, or says everything that is wrong with its meaning. */
export function compile(definition: WorkflowDefinition, digest: string, workshop: Workshop): Plan | Refusal {
  const gated = definition.nodes.find(
    node => own(GATED, node.typeId) !== undefined && !workshop.nodeTypes.has(node.typeId),
  )
  if (gated) return capabilityRequired(gated)
  const problems: string[] = []
  const nodeProblem = (node: WorkflowNode, text: string) => problems.push(`nodes["${node.id}"].${text}`)

  if (definition.nodes.length > LIMITS.nodes)
    problems.push(`nodes has ${definition.nodes.length} entries; the limit is ${LIMITS.nodes}`)
  if (definition.edges.length > LIMITS.edges)
    problems.push(`edges has ${definition.edges.length} entries; the limit is ${LIMITS.edges}`)
  const indexOf = new Map<string, number>()
  definition.nodes.forEach((node, index) => {
    if (indexOf.has(node.id)) problems.push(`nodes: id "${node.id}" is used twice; give each node its own id`)
    indexOf.set(node.id, index)
  })
  const channels = new Map(Object.entries(definition.channels ?? {}))
  problems.push(
    ...variableProblems(definition),
    ...repeated(
      'edges',
      definition.edges.map(({ id }) => id),
    ),
  )
  for (const { name } of definition.variables)
    if (channels.has(name)) problems.push(`variables: "${name}" is also a channel; rename one of them`)
  if (problems.length > 0) return invalid(definition, problems)

  const typeOf = (index: number) => workshop.nodeTypes.get(definition.nodes[index]!.typeId)
  const drawn = definition.edges.flatMap(edge => compileEdge(edge, definition, indexOf, workshop.nodeTypes, problems))
  if (problems.length > 0) return invalid(definition, problems)
  const loops = definition.nodes.filter(node => workshop.nodeTypes.get(node.typeId)?.loops).length
  if (loops > LIMITS.loops) return invalid(definition, [`nodes has ${loops} loops; the limit is ${LIMITS.loops}`])
  const edges = [...drawn, ...returnEdges(definition, drawn, typeOf)]
  const bodies = findBodies(definition.nodes.length, edges, index => typeOf(index)?.loops === true)
  const cast = castOf(definition, typeOf)
  const supervisor = cast.supervisors[0]
  if (supervisor !== undefined) bodies.set(supervisor, circleOf(definition.nodes.length, edges, supervisor))
  const marked = edges.map(edge => ({
    ...edge,
    port: edge.source === supervisor ? (bodies.get(supervisor)?.has(edge.target) ? 'body' : 'done') : edge.port,
    back: bodies.get(edge.target)?.has(edge.source) ?? false,
  }))
  problems.push(...orchestrationProblems(definition, cast, bodies, marked))
  problems.push(...loopProblems(definition, bodies, marked, supervisor))
  const cycle = findCycle(
    definition.nodes.length,
    marked.filter(edge => !edge.back),
  )
  if (cycle) {
    const path = cycle.map(index => definition.nodes[index]?.id).join(' → ')
    problems.push(`edges: ${path} is a cycle; only an edge back to a core.loop or supervisor node may close one`)
  }

  const conformance = workshop.capabilities.has('assay.conformance')
  const permit: Permit = workshop.accepted
    ? { mocks: true, builtInPlan: true }
    : {
        mocks: conformance || definition.id.startsWith('conformance-'),
        builtInPlan: conformance,
        ...(workshop.providers ? { providers: workshop.providers } : {}),
      }
  const inbound = groupBy(marked, edge => edge.target)
  const outbound = groupBy(marked, edge => edge.source)
  const nodes = definition.nodes.map((node, index): PlanNode => {
    const type = workshop.nodeTypes.get(node.typeId)
    if (!type)
      nodeProblem(
        node,
        `typeId "${node.typeId}" is not known here; known: ${[...workshop.nodeTypes.keys()].join(', ')}`,
      )
    for (const text of workshop.accepted ? [] : configProblems(node, type, permit, channels)) nodeProblem(node, text)
    for (const [port, value] of Object.entries(node.inputs))
      if (value.type === 'connection' && !indexOf.has(value.nodeId))
        nodeProblem(node, `inputs.${port}: node "${value.nodeId}" does not exist`)
    return {
      index,
      node,
      type: type ?? UNKNOWN,
      inbound: inbound.get(index) ?? [],
      outbound: outbound.get(index) ?? [],
      expressions: parseExpressions(node, type, text => nodeProblem(node, text)),
      agentId: type?.role === 'supervisor' ? undefined : agentOf(node),
      supervised: supervisor !== undefined && bodies.get(supervisor)?.has(index) === true,
      body: [...(bodies.get(index) ?? [])],
      retry: retryOf(node.settings ?? {}, definition),
      timeoutMs: node.settings?.timeoutMs ?? 0,
    }
  })
  if (problems.length > 0) return invalid(definition, problems)
  return {
    definition,
    digest,
    nodes,
    indexOf,
    variables: new Map(definition.variables.map(variable => [variable.name, variable])),
    channels,
    entry: nodes.filter(node => node.inbound.every(edge => edge.back)).map(node => node.index),
  }
}

function groupBy(edges: readonly PlanEdge[], end: (edge: PlanEdge) => number): Map<number, PlanEdge[]> {
  const groups = new Map<number, PlanEdge[]>()
  for (const edge of edges) {
    const group = groups.get(end(edge))
    if (group) group.push(edge)
    else groups.set(end(edge), [edge])
  }
  return groups
}

/** Not asked of a definition that was accepted before: a check that came later must not stop its runs. */
const configProblems = (
  node: WorkflowNode,
  type: NodeType | undefined,
  permit: Permit,
  channels: ReadonlyMap<string, unknown>,
): string[] => [
  ...(type?.check?.(node, permit) ?? []),
  ...settingProblems(node.settings ?? {}),
  ...(type?.hands ? targetProblems(node.config, name => channels.has(name)) : []),
]

export const isPlan = (result: Plan | Refusal): result is Plan => 'definition' in result

const UNKNOWN: NodeType = {
  typeId: 'unknown',
  start: () => {
    throw new Error('a plan with an unknown node type was run')
  },
}

function compileEdge(
  edge: WorkflowEdge,
  definition: WorkflowDefinition,
  indexOf: ReadonlyMap<string, number>,
  nodeTypes: NodeTypes,
  problems: string[],
): PlanEdge[] {
  const source = indexOf.get(edge.sourceNodeId)
  const target = indexOf.get(edge.targetNodeId)
  if (source === undefined)
    problems.push(`edges["${edge.id}"].sourceNodeId: node "${edge.sourceNodeId}" does not exist`)
  if (target === undefined)
    problems.push(`edges["${edge.id}"].targetNodeId: node "${edge.targetNodeId}" does not exist`)
  const condition = edge.condition && compileCondition(edge.condition)
  if (typeof condition === 'object') problems.push(`edges["${edge.id}"].${condition.problem}`)
  if (source === undefined || target === undefined || typeof condition === 'object') return []
  const ports = nodeTypes.get(definition.nodes[source]!.typeId)?.ports
  if (ports && !ports.includes(edge.sourceOutput ?? 'output'))
    problems.push(`edges["${edge.id}"].sourceOutput must be one of ${ports.join(', ')} of node "${edge.sourceNodeId}"`)
  const rule = edge.triggerRule ?? nodeTypes.get(definition.nodes[target]!.typeId)?.defaultRule ?? 'all_success'
  return [{ edge, source, target, rule, port: edge.sourceOutput ?? 'output', back: false, condition }]
}

function parseExpressions(
  node: WorkflowNode,
  type: NodeType | undefined,
  problem: (text: string) => void,
): Map<string, Expression> {
  const sources: [string, string][] = Object.entries(type?.expressions?.(node.config) ?? {}).map(([name, text]) => [
    `config.${name}`,
    text,
  ])
  for (const [port, value] of Object.entries(node.inputs))
    if (value.type === 'expression') sources.push([`inputs.${port}`, value.expression])
  const parsed = new Map<string, Expression>()
  for (const [name, text] of sources) {
    const expression = parseExpression(text)
    if ('problem' in expression) problem(`${name} ${expression.problem}`)
    else parsed.set(name, expression)
  }
  return parsed
}

/** Whatever a loop's body begins, it must bring back to the loop: nothing may still be under way on the next pass. */
function loopProblems(
  definition: WorkflowDefinition,
  bodies: ReadonlyMap<number, ReadonlySet<number>>,
  edges: readonly PlanEdge[],
  supervisor: number | undefined,
): string[] {
  const name = (index: number) => `"${definition.nodes[index]?.id}"`
  const leads = new Set(edges.map(edge => edge.source))
  const problems: string[] = []
  for (const [loop, body] of bodies) {
    for (const { edge, source, target, port } of edges) {
      if (body.has(target) && source !== loop && !body.has(source))
        problems.push(
          `edges["${edge.id}"]: ${name(target)} is inside loop ${name(loop)} and can only be reached through it`,
        )
      if (body.has(target) && source === loop && port !== 'body')
        problems.push(
          `edges["${edge.id}"]: ${name(target)} is inside loop ${name(loop)}; no way may lead out of the body to it`,
        )
    }
    if (body.size === 0 && loop !== supervisor)
      problems.push(
        `nodes[${name(loop)}] has no body; lead an edge from its body port through at least one node back to it`,
      )
    for (const index of body)
      if (!leads.has(index))
        problems.push(`nodes[${name(index)}] is inside loop ${name(loop)} and must lead back to it`)
  }
  return problems
}

function variableProblems({ variables }: WorkflowDefinition): string[] {
  const mistyped = variables.flatMap(({ name, type, defaultValue }) =>
    defaultValue === undefined || defaultValue === null || isOfType(type, defaultValue)
      ? []
      : [`variables["${name}"].defaultValue must be of type ${type}`],
  )
  return [
    ...mistyped,
    ...repeated(
      'variables',
      variables.map(({ name }) => name),
    ),
  ]
}

function repeated(where: string, names: readonly string[]): string[] {
  const twice = new Set(names.filter((name, i) => names.indexOf(name, i + 1) >= 0))
  return [...twice].map(name => `${where}: "${name}" is there twice; give each its own name`)
}

/** The protocol leaves a node's settings free; those that are read must be what they are read as. */
const SETTINGS: { readonly [name in keyof NodeSettings]-?: readonly [low: number, high: number, whole: boolean] } = {
  timeoutMs: [0, 366 * 86_400_000, true],
  maxRetries: [0, 1_000, true],
  retryDelayMs: [0, 366 * 86_400_000, true],
  retryMaxDelayMs: [0, 366 * 86_400_000, true],
  retryBackoffFactor: [1, 100, false],
}

function settingProblems(settings: NodeSettings): string[] {
  return Object.entries(SETTINGS).flatMap(([name, [low, high, whole]]) => {
    const value: unknown = settings[name as keyof NodeSettings]
    const fits = typeof value === 'number' && value >= low && value <= high && (!whole || Number.isInteger(value))
    if (value === undefined || fits) return []
    return [
      `settings.${name} must be a ${whole ? 'whole ' : ''}number from ${low} to ${high}, not ${JSON.stringify(value)}`,
    ]
  })
}

const retryOf = (settings: NodeSettings, definition: WorkflowDefinition): Retry => ({
  max: settings.maxRetries ?? definition.settings.maxRetries ?? 0,
  delayMs: settings.retryDelayMs ?? 1_000,
  factor: settings.retryBackoffFactor ?? 2,
  maxDelayMs: settings.retryMaxDelayMs ?? 60_000,
})

const invalid = (definition: WorkflowDefinition, problems: readonly string[]): Refusal =>
  refuse('validation_error', `workflow "${definition.id}": ${problems.slice(0, 5).join('; ')}`, {
    problems: problems.slice(0, 50),
  })

function capabilityRequired(node: WorkflowNode): Refusal {
  const requiredCapability = GATED[node.typeId] ?? ''
  const message = `nodes["${node.id}"].typeId "${node.typeId}" needs the capability ${requiredCapability}, which this host does not have`
  return refuse('capability_required', message, { requiredCapability, offendingTypeId: node.typeId, nodeId: node.id })
}
