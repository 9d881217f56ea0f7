import { type Expression, parseExpression } from '../expression.js'
import { targetProblems } from '../handoff/mapping.js'
import type { JsonObject } from '../json.js'
import { type Refusal, refuse } from '../problem.js'
import { isOfType } from '../run/inputs.js'
import { firstFew } from '../schema/first-few.js'
import { Closed } from '../schema/kinds.js'
import { schemaProblems } from '../schema/problems.js'
import { suggestion } from '../schema/suggest.js'
import { compileCondition } from './condition.js'
import type { NodeSettings, WorkflowDefinition, WorkflowEdge, WorkflowNode } from './definition.js'
import { lackingFor } from './lacking.js'
import { circleOf, findBodies, findCycle } from './loops.js'
import type { NodeType, Permit } from './node-type.js'
import type { Plan, PlanEdge, PlanNode, Retry } from './plan.js'
import { unknownInCondition, unknownNames } from './references.js'
import { NodeSettingsSchema, settingProblems, WorkflowSettingsSchema } from './settings.js'
import { agentOf, castOf, orchestrationProblems, returnEdges } from './supervisor-loop.js'
import { triggerProblems } from './triggers.js'

export type NodeTypes = ReadonlyMap<string, NodeType>

/** What a workflow may be made of on this host. */
export type Workshop = {
  readonly nodeTypes: NodeTypes
  readonly capabilities: ReadonlySet<string>
  /** What it could otherwise do and does not now, for whoever registers. */
  readonly switchedOff?: ReadonlySet<string>
  /** Names of the outside effects that can be asked for; unknown when absent. */
  readonly providers?: ReadonlySet<string>
  /** The definition was accepted before; what this host would let a new one do does not matter to it. */
  readonly accepted?: true
  /** It comes with the project. */
  readonly ofProject?: true
}

/** Problems that a refusal lists; when there are so many, nothing further is looked at. */
const MOST_TOLD = 50

const LIMITS = { nodes: 2_000, edges: 10_000, loops: 100 }

/** Compiles a well-shaped definition, or says everything that is wrong with its meaning. */
export function compile(definition: WorkflowDefinition, digest: string, workshop: Workshop): Plan | Refusal {
  const lacking = workshop.accepted ? undefined : lackingFor(definition, workshop)
  if (lacking) return lacking
  const misnamed = nameProblems(definition)
  if (misnamed.length > 0) return invalid(definition, misnamed)
  const indexOf = new Map(definition.nodes.map((node, index) => [node.id, index]))
  const graph = drawnGraph(definition, indexOf, workshop.nodeTypes)
  if (Array.isArray(graph)) return invalid(definition, graph)
  const channels = new Map(Object.entries(definition.channels ?? {}))
  const problems = [...graph.problems, ...(workshop.accepted ? [] : documentProblems(definition, indexOf))]
  const nodes = compileNodes({ definition, indexOf, channels, workshop }, graph, problems)
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

/** What is wrong with the parts that are no nodes. */
const documentProblems = (
  { settings, triggers, edges }: WorkflowDefinition,
  indexOf: ReadonlyMap<string, number>,
): string[] => [
  ...settingProblems(WorkflowSettingsSchema, settings as JsonObject, 'settings'),
  ...triggerProblems(triggers),
  ...firstFew(edges, ({ id, condition }) =>
    condition === undefined ? [] : unknownInCondition(condition, indexOf).map(problem => `edges["${id}"].${problem}`),
  ),
]

/** What is too much, and names that stand for two things. */
function nameProblems(definition: WorkflowDefinition): string[] {
  const { nodes, edges, variables, channels = {} } = definition
  const ids = new Set<string>()
  const problems: string[] = []
  if (nodes.length > LIMITS.nodes) problems.push(`nodes has ${nodes.length} entries; the limit is ${LIMITS.nodes}`)
  if (edges.length > LIMITS.edges) problems.push(`edges has ${edges.length} entries; the limit is ${LIMITS.edges}`)
  for (const { id } of nodes) {
    if (ids.has(id)) problems.push(`nodes: id "${id}" is used twice; give each node its own id`)
    ids.add(id)
  }
  problems.push(
    ...variableProblems(definition),
    ...repeated(
      'edges',
      edges.map(({ id }) => id),
    ),
  )
  for (const { name } of variables)
    if (Object.hasOwn(channels, name)) problems.push(`variables: "${name}" is also a channel; rename one of them`)
  return problems
}

/** The edges, what loops they make, and what is wrong with those. */
type Graph = {
  readonly edges: readonly PlanEdge[]
  /** By node index of a loop or of the supervisor. */
  readonly bodies: ReadonlyMap<number, ReadonlySet<number>>
  readonly supervisor: number | undefined
  readonly problems: readonly string[]
}

/** How the nodes are connected; only what is wrong, where that leaves nothing to look at more closely. */
function drawnGraph(
  definition: WorkflowDefinition,
  indexOf: ReadonlyMap<string, number>,
  nodeTypes: NodeTypes,
): Graph | string[] {
  const misdrawn: string[] = []
  const size = definition.nodes.length
  const types = definition.nodes.map(node => nodeTypes.get(node.typeId))
  const typeOf = (index: number) => types[index]
  const drawn = definition.edges.flatMap(edge => compileEdge(edge, definition, indexOf, nodeTypes, misdrawn))
  if (misdrawn.length > 0) return misdrawn
  const loops = types.filter(type => type?.loops).length
  if (loops > LIMITS.loops) return [`nodes has ${loops} loops; the limit is ${LIMITS.loops}`]
  const edges = [...drawn, ...returnEdges(definition, drawn, typeOf)]
  const bodies = findBodies(size, edges, index => typeOf(index)?.loops === true)
  const cast = castOf(definition, typeOf)
  const [supervisor] = cast.supervisors
  if (supervisor !== undefined) bodies.set(supervisor, circleOf(size, edges, supervisor))
  const marked = edges.map(edge => ({
    ...edge,
    port: edge.source === supervisor ? (bodies.get(supervisor)?.has(edge.target) ? 'body' : 'done') : edge.port,
    back: bodies.get(edge.target)?.has(edge.source) ?? false,
  }))
  const problems = [
    ...orchestrationProblems(definition, cast, bodies, marked),
    ...loopProblems(definition, bodies, marked, supervisor),
    ...cycleProblems(definition, marked),
  ]
  return { edges: marked, bodies, supervisor, problems }
}

function cycleProblems({ nodes }: WorkflowDefinition, edges: readonly PlanEdge[]): string[] {
  const forward = edges.filter(edge => !edge.back)
  const cycle = findCycle(nodes.length, forward)
  if (!cycle) return []
  const path = cycle.map(index => nodes[index]?.id).join(' → ')
  return [`edges: ${path} is a cycle; only an edge back to a core.loop or supervisor node may close one`]
}

/** What the definition may do here. What was accepted before may do what it could then. */
function permitFor({ id }: WorkflowDefinition, workshop: Workshop): Permit {
  const { accepted, capabilities, providers, ofProject } = workshop
  if (accepted) return { mocks: true, builtInPlan: true, ofProject: true }
  const conformance = capabilities.has('assay.conformance')
  return {
    mocks: conformance || id.startsWith('conformance-'),
    builtInPlan: conformance,
    ofProject: ofProject === true,
    ...(providers ? { providers } : {}),
  }
}

type Compiling = Pick<Plan, 'definition' | 'indexOf' | 'channels'> & { readonly workshop: Workshop }

function compileNodes(
  { definition, indexOf, channels, workshop }: Compiling,
  { edges, bodies, supervisor }: Graph,
  problems: string[],
): PlanNode[] {
  const permit = permitFor(definition, workshop)
  const inbound = groupBy(edges, edge => edge.target)
  const outbound = groupBy(edges, edge => edge.source)
  const supervised = supervisor === undefined ? undefined : bodies.get(supervisor)
  return definition.nodes.map((node, index): PlanNode => {
    const problem = (text: string) => problems.push(`nodes["${node.id}"].${text}`)
    const type = workshop.nodeTypes.get(node.typeId)
    const isFull = problems.length >= MOST_TOLD
    const checked = workshop.accepted === undefined && !isFull
    if (!type && !isFull)
      problem(
        `typeId "${node.typeId}" is not known here${suggestion(node.typeId, [...workshop.nodeTypes.keys()], 'node types')}`,
      )
    else if (type && checked) for (const text of configProblems(node, type, permit, channels)) problem(text)
    for (const [port, value] of isFull ? [] : Object.entries(node.inputs))
      if (value.type === 'connection' && !indexOf.has(value.nodeId))
        problem(
          `inputs.${port}: node "${value.nodeId}" does not exist${suggestion(value.nodeId, [...indexOf.keys()], 'nodes')}`,
        )
    const expressions = isFull ? new Map<string, Expression>() : parseExpressions(node, type, problem)
    for (const [name, { source }] of checked ? expressions : [])
      for (const text of unknownNames(source, name.startsWith('config.') ? (type?.reads ?? []) : [], indexOf))
        problem(`${name} ${text}`)
    return {
      index,
      node,
      type: type ?? UNKNOWN,
      inbound: inbound.get(index) ?? [],
      outbound: outbound.get(index) ?? [],
      expressions,
      agentId: type?.role === 'supervisor' ? undefined : agentOf(node),
      supervised: supervised?.has(index) === true,
      body: [...(bodies.get(index) ?? [])],
      retry: retryOf(node.settings ?? {}, definition),
      timeoutMs: node.settings?.timeoutMs ?? 0,
    }
  })
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
function configProblems(
  node: WorkflowNode,
  type: NodeType,
  permit: Permit,
  channels: ReadonlyMap<string, unknown>,
): string[] {
  const { nondeterministic = false, ...others } = node.config
  const { phase4Probe: _, ...unmarked } = others
  // A conformance suite marks those of its nodes that are not deterministic.
  const config = nondeterministic === true ? unmarked : others
  const misshapen = [
    ...(typeof nondeterministic === 'boolean' ? [] : ['config.nondeterministic must be true or false']),
    ...schemaProblems(type.config, config, 'config'),
  ]
  return [
    ...(misshapen.length > 0 ? misshapen : (type.check?.(node, permit) ?? [])),
    ...settingProblems(NodeSettingsSchema, (node.settings ?? {}) as JsonObject, 'settings'),
    ...(type.hands ? targetProblems(node.config, name => channels.has(name)) : []),
  ]
}

export const isPlan = (result: Plan | Refusal): result is Plan => 'definition' in result

const UNKNOWN: NodeType = {
  typeId: 'unknown',
  about: 'Stands where a type would, while everything that is wrong is found.',
  config: Closed({}),
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
  if (problems.length >= MOST_TOLD) return []
  const source = indexOf.get(edge.sourceNodeId)
  const target = indexOf.get(edge.targetNodeId)
  const missing = (end: 'sourceNodeId' | 'targetNodeId') =>
    problems.push(
      `edges["${edge.id}"].${end}: node "${edge[end]}" does not exist${suggestion(edge[end], [...indexOf.keys()], 'nodes')}`,
    )
  if (source === undefined) missing('sourceNodeId')
  if (target === undefined) missing('targetNodeId')
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

const retryOf = (settings: NodeSettings, definition: WorkflowDefinition): Retry => ({
  max: settings.maxRetries ?? definition.settings.maxRetries ?? 0,
  delayMs: settings.retryDelayMs ?? 1_000,
  factor: settings.retryBackoffFactor ?? 2,
  maxDelayMs: settings.retryMaxDelayMs ?? 60_000,
})

const invalid = (definition: WorkflowDefinition, problems: readonly string[]): Refusal =>
  refuse('validation_error', `workflow "${definition.id}": ${problems.slice(0, 5).join('; ')}`, {
    problems: problems.slice(0, MOST_TOLD),
  })
