import { fields, get, list, number, text } from './json.js'

/** The checker's own reading of a workflow definition: who may follow whom, and who may run more than once. */
export type Graph = { readonly nodes: ReadonlyMap<string, GraphNode> }

export type GraphNode = {
  readonly id: string
  readonly typeId: string | undefined
  readonly disabled: boolean
  readonly maxRetries: number
  /** 0 or absent: no limit. */
  readonly timeoutMs: number | undefined
  readonly config: unknown
  /** Edges that lead here, without those that close a cycle. */
  readonly inbound: readonly Inbound[]
  /** Nodes that its edges lead to. */
  readonly leadsTo: readonly string[]
  /** On a cycle of the definition: the node may run again after it has settled. */
  readonly repeats: boolean
  /** Where the loops begin that the node is in. */
  readonly loops: ReadonlySet<string>
  /** Of the agent that is pinned to the node. */
  readonly agentId: string | undefined
  /** Some edge lets the run go on after this node has failed. */
  readonly failureTolerated: boolean
}

export type Inbound = {
  readonly source: string
  readonly rule: string
  /** Source and target belong to the same rounds of a loop: the target's n-th run needs the source's n-th. */
  readonly inStep: boolean
}

type Edge = { readonly source: string; readonly target: string; readonly rule: string }

export const ALL_RULES: readonly string[] = ['all_success', 'none_failed', 'all_complete']

export function graphOf(definition: unknown): Graph | undefined {
  const declared = list(get(definition, 'nodes')).filter(node => text(get(node, 'id')) !== undefined)
  if (declared.length === 0) return undefined
  const ids = declared.map(node => String(get(node, 'id')))
  const known = new Set(ids)
  const drawn = list(get(definition, 'edges'))
    .map(toEdge)
    .filter(edge => known.has(edge.source) && known.has(edge.target))
  const supervisors = idsOf(declared, 'core.orchestrator.supervisor')
  const edges = [...drawn, ...returns(supervisors, idsOf(declared, 'core.dispatch'), drawn)]
  const backward = backEdges([...supervisors, ...ids], edges)
  const loops = naturalLoops(edges, backward)
  const forward = groupBy(
    edges.filter(edge => !backward.has(edge)),
    edge => edge.target,
  )
  const outward = groupBy(edges, edge => edge.source)
  const retries = number(get(get(definition, 'settings'), 'maxRetries')) ?? 0
  const nodes = new Map<string, GraphNode>()
  for (const node of declared) {
    const id = String(get(node, 'id'))
    nodes.set(id, {
      id,
      typeId: text(get(node, 'typeId')),
      disabled: get(node, 'disabled') === true,
      maxRetries: number(get(get(node, 'settings'), 'maxRetries')) ?? retries,
      timeoutMs: number(get(get(node, 'settings'), 'timeoutMs')),
      config: fields(get(node, 'config')),
      inbound: (forward.get(id) ?? []).map(edge => ({
        source: edge.source,
        rule: edge.rule,
        inStep: inStep(loops, edge),
      })),
      leadsTo: (outward.get(id) ?? []).map(edge => edge.target),
      repeats: loops.membership.has(id),
      loops: loops.membership.get(id) ?? new Set(),
      agentId: text(get(get(node, 'agent'), 'agentId')),
      failureTolerated: (outward.get(id) ?? []).some(
        edge => edge.rule !== 'all_success' && edge.rule !== 'none_failed',
      ),
    })
  }
  return { nodes }
}

/** A node and all that its edges lead to, however far. */
export function nodesReachableFrom(graph: Graph | undefined, id: string): Set<string> {
  const reached = new Set([id])
  for (const here of reached) for (const next of graph?.nodes.get(here)?.leadsTo ?? []) reached.add(next)
  return reached
}

const idsOf = (declared: readonly unknown[], typeId: string): string[] =>
  declared.filter(node => get(node, 'typeId') === typeId).map(node => String(get(node, 'id')))

/** A dispatch that leads nowhere returns to the supervisor from which it is reached. */
function returns(supervisors: readonly string[], dispatches: readonly string[], edges: readonly Edge[]): Edge[] {
  const outward = groupBy(edges, edge => edge.source)
  return supervisors.flatMap(supervisor => {
    const reached = new Set([supervisor])
    for (const id of reached) for (const edge of outward.get(id) ?? []) reached.add(edge.target)
    return dispatches
      .filter(id => reached.has(id) && !outward.has(id))
      .map(id => ({ source: id, target: supervisor, rule: 'all_success' }))
  })
}

const toEdge = (edge: unknown): Edge => ({
  source: String(get(edge, 'sourceNodeId')),
  target: String(get(edge, 'targetNodeId')),
  rule: text(get(edge, 'triggerRule')) ?? 'all_success',
})

function groupBy(edges: readonly Edge[], key: (edge: Edge) => string): Map<string, Edge[]> {
  const groups = new Map<string, Edge[]>()
  for (const edge of edges) {
    const group = groups.get(key(edge))
    if (group === undefined) groups.set(key(edge), [edge])
    else group.push(edge)
  }
  return groups
}

/** Edges to a node that is still being explored, depth first from the entries: those that close a cycle. */
function backEdges(ids: readonly string[], edges: readonly Edge[]): Set<Edge> {
  const outward = groupBy(edges, edge => edge.source)
  const targets = new Set(edges.map(edge => edge.target))
  const found = new Set<Edge>()
  const state = new Map<string, 'exploring' | 'done'>()
  for (const root of [...ids.filter(id => !targets.has(id)), ...ids]) {
    if (state.has(root)) continue
    state.set(root, 'exploring')
    const path = [{ id: root, next: 0 }]
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const edge = outward.get(top.id)?.[top.next++]
      if (edge === undefined) {
        state.set(top.id, 'done')
        path.pop()
      } else if (state.get(edge.target) === 'exploring') found.add(edge)
      else if (!state.has(edge.target)) {
        state.set(edge.target, 'exploring')
        path.push({ id: edge.target, next: 0 })
      }
    }
  }
  return found
}

type Loops = {
  readonly headers: ReadonlySet<string>
  /** For each node on a cycle, the headers of the loops it is in. */
  readonly membership: ReadonlyMap<string, ReadonlySet<string>>
}

/** For each header, the nodes that reach a back edge to it without passing it. */
function naturalLoops(edges: readonly Edge[], backward: ReadonlySet<Edge>): Loops {
  const inward = groupBy(edges, edge => edge.target)
  const membership = new Map<string, Set<string>>()
  const join = (id: string, header: string): boolean => {
    const headers = membership.get(id)
    if (headers?.has(header)) return false
    if (headers === undefined) membership.set(id, new Set([header]))
    else headers.add(header)
    return true
  }
  for (const { source, target: header } of backward) {
    join(header, header)
    const todo = join(source, header) ? [source] : []
    for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
      for (const edge of inward.get(id) ?? []) if (join(edge.source, header)) todo.push(edge.source)
    }
  }
  return { headers: new Set([...backward].map(edge => edge.target)), membership }
}

function inStep(loops: Loops, edge: Edge): boolean {
  const source = loops.membership.get(edge.source)
  const target = loops.membership.get(edge.target)
  if (source === undefined || target === undefined || loops.headers.has(edge.target)) return false
  return source.size === target.size && [...source].every(header => target.has(header))
}
