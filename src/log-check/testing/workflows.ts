import { type Choose, chance, pick } from './choice.js'
import { ASKING } from './questions.js'

/** Small random workflows, as plain definitions. */
export type Node = {
  id: string
  typeId: string
  name: string
  position: { x: number; y: number }
  config: Record<string, unknown>
  inputs: Record<string, unknown>
  settings?: { maxRetries?: number; timeoutMs?: number }
  agent?: { agentId: string }
}

export const SUPERVISOR = 'core.orchestrator.supervisor'

export type Edge = {
  id: string
  sourceNodeId: string
  sourceOutput: string
  targetNodeId: string
  targetInput: string
  triggerRule?: string
}

export type Workflow = {
  id: string
  name: string
  version: string
  nodes: Node[]
  edges: Edge[]
  triggers: unknown[]
  variables: { name: string; type: string; defaultValue?: unknown }[]
  channels: Record<string, Record<string, unknown>>
  metadata: Record<string, unknown>
  settings: { maxRetries?: number }
}

export const CHANNELS: Workflow['channels'] = {
  lines: { reducer: 'append', maxSize: 3 },
  recent: { reducer: 'append', ttlMs: 50 },
  total: { reducer: 'counter', default: 10 },
  merged: { reducer: 'merge' },
  ballot: { reducer: 'votes' },
  chat: { reducer: 'message' },
  latest: { reducer: 'replace' },
  notes: { reducer: 'feedback' },
}

export type Shape = {
  kind: 'line' | 'dag' | 'loop' | 'orchestra'
  types: readonly string[]
  retries: boolean
  tolerance: boolean
  /** Whoever supervises is an agent. */
  live?: boolean
}

export function workflow(id: string, shape: Shape, choose: Choose): Workflow {
  const definition: Workflow = {
    id,
    name: id,
    version: '1',
    nodes: [],
    edges: [],
    triggers: [],
    variables: [
      { name: 'greeting', type: 'string', defaultValue: 'hello' },
      { name: 'count', type: 'number' },
    ],
    channels: CHANNELS,
    metadata: {},
    settings: shape.retries && chance(choose, 2) ? { maxRetries: 1 } : {},
  }
  if (shape.kind === 'loop') loop(definition, shape, choose)
  else if (shape.kind === 'orchestra') orchestra(definition, shape, choose)
  else graph(definition, shape, choose)
  return definition
}

function graph(definition: Workflow, shape: Shape, choose: Choose): void {
  const size = 2 + choose(5)
  for (let i = 0; i < size; i++) {
    const node = addNode(definition, `n${i}`, shape, choose)
    if (i === 0) continue
    const fan = shape.kind === 'line' ? 1 : choose(Math.min(i, 3) + 1)
    const first = shape.kind === 'line' ? i - 1 : choose(i)
    const rule = shape.tolerance ? pick(choose, RULES) : undefined
    for (let k = 0; k < fan; k++) addEdge(definition, `n${(first + k) % i}`, node.id, 'output', rule)
  }
}

const RULES = [undefined, 'all_success', 'all_complete', 'none_failed', 'any_success', 'any_failed'] as const

/** pre → loop ⇄ body… , loop → after. */
function loop(definition: Workflow, shape: Shape, choose: Choose): void {
  addNode(definition, 'pre', shape, choose)
  addNode(definition, 'loop', { ...shape, types: ['core.loop'] }, choose)
  addEdge(definition, 'pre', 'loop')
  let last = 'loop'
  const length = 1 + choose(3)
  for (let i = 0; i < length; i++) {
    addNode(definition, `b${i}`, shape, choose)
    addEdge(definition, last, `b${i}`, last === 'loop' ? 'body' : 'output')
    last = `b${i}`
  }
  addEdge(definition, last, 'loop')
  addNode(definition, 'after', shape, choose)
  addEdge(definition, 'loop', 'after', 'done')
}

/** pre? → lead ⇄ hand → tidy? , lead → after? A dispatch may leave the way back unsaid. */
function orchestra(definition: Workflow, shape: Shape, choose: Choose): void {
  const plain = { ...shape, types: ['core.noop', 'core.setVariable', ...shape.types] }
  const [before, tidies, after] = [chance(choose, 2), chance(choose, 3), chance(choose, 2)]
  if (before) addNode(definition, 'pre', plain, choose)
  const lead = addNode(definition, 'lead', { ...shape, retries: false, types: [SUPERVISOR] }, choose)
  if (shape.live === true) lead.config.prompt = 'lead them'
  if (chance(choose, 2)) lead.agent = { agentId: 'acme.lead' }
  addNode(definition, 'hand', { ...shape, retries: false, types: ['core.dispatch'] }, choose)
  if (before) addEdge(definition, 'pre', 'lead')
  addEdge(definition, 'lead', 'hand')
  if (tidies) {
    addNode(definition, 'tidy', { ...plain, retries: false }, choose)
    addEdge(definition, 'hand', 'tidy')
  }
  if (tidies || chance(choose, 2)) addEdge(definition, tidies ? 'tidy' : 'hand', 'lead')
  if (after) {
    addNode(definition, 'after', plain, choose)
    addEdge(definition, 'lead', 'after')
  }
  // Nobody said that definitions list their nodes in the order in which they run.
  if (!before && chance(choose, 3)) definition.nodes.reverse()
}

/** Nodes of the supervisor's loop, in the order in which they run. */
export const bodyOf = ({ nodes }: Workflow): string[] =>
  ['hand', 'tidy'].filter(id => nodes.some(node => node.id === id && nodes.some(lead => lead.typeId === SUPERVISOR)))

function configFor(typeId: string, choose: Choose): Record<string, unknown> {
  if (typeId !== 'core.subWorkflow' && typeId !== 'core.dispatch') return {}
  const mapped = pick(choose, [{}, { outputMapping: {} }, { outputMapping: MAPPING }, { outputMapping: MAPPING }])
  const attested = pick(choose, [{}, {}, { checksum: true }, { checksum: true, requireApproval: true }])
  const outputAttestation = Object.keys(attested).length === 0 ? {} : { outputAttestation: attested }
  const shared = { ...mapped, ...outputAttestation }
  if (typeId === 'core.subWorkflow')
    return { workflowId: 'child', ...shared, ...(chance(choose, 2) ? { onChildFailure: 'absorb' } : {}) }
  return {
    ...shared,
    ...(chance(choose, 2) ? { fanOutPolicy: 'parallel' } : {}),
    ...(chance(choose, 6) ? { iterationCap: 1 + choose(3) } : {}),
    ...(chance(choose, 3) ? { perWorkerOutputMappings: { helper: { fresh: 'helped' } } } : {}),
  }
}

const MAPPING = { result: 'answer', count: 'n' }

function addNode(definition: Workflow, id: string, shape: Shape, choose: Choose): Node {
  const typeId = pick(choose, shape.types)
  const node: Node = {
    id,
    typeId,
    name: id,
    position: { x: 0, y: 0 },
    config: configFor(typeId, choose),
    inputs: {},
  }
  if (shape.retries && chance(choose, 2)) node.settings = { maxRetries: choose(3) }
  if (ASKING.includes(typeId) && chance(choose, 4)) node.settings = { ...node.settings, timeoutMs: 50 + choose(100) }
  definition.nodes.push(node)
  return node
}

function addEdge(definition: Workflow, source: string, target: string, port = 'output', rule?: string): void {
  definition.edges.push({
    id: `e${definition.edges.length}`,
    sourceNodeId: source,
    sourceOutput: port,
    targetNodeId: target,
    targetInput: 'input',
    ...(rule === undefined ? {} : { triggerRule: rule }),
  })
}
