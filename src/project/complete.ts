import { isObject, type Json, type JsonObject } from '../core/json.js'

/**
 * Fills in what a person need not write: a definition must carry names, positions, empty lists and edge ids, and a
 * hand-written file rarely has reason to. Whatever is present stays as it is, right or wrong, for the host to judge.
 */
export function completeDefinition(given: JsonObject, fallbackId: string): JsonObject {
  const id = given.id ?? fallbackId
  return {
    id,
    name: id,
    version: '1.0.0',
    edges: [],
    triggers: [],
    variables: [],
    metadata: {},
    settings: {},
    ...given,
    ...(Array.isArray(given.nodes) && { nodes: given.nodes.map(completeNode) }),
    ...(Array.isArray(given.edges) && { edges: completeEdges(given.edges) }),
  }
}

function completeNode(node: Json, index: number): Json {
  if (!isObject(node)) return node
  return { name: node.id ?? '', position: { x: 200 * index, y: 0 }, config: {}, inputs: {}, ...node }
}

function completeEdges(edges: readonly Json[]): Json {
  const taken = new Set(edges.map(edge => (isObject(edge) ? edge.id : undefined)))
  return edges.map((edge, index) => {
    if (!isObject(edge) || edge.id !== undefined) return edge
    let id = `edge-${index + 1}`
    while (taken.has(id)) id += '-'
    taken.add(id)
    return { id, ...edge }
  })
}
