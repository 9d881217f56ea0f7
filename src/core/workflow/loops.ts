import type { PlanEdge } from './plan.js'

type Arrow = Pick<PlanEdge, 'source' | 'target' | 'edge'>

/** For every loop node, what can be reached from its `body` port without passing through the loop itself. */
export function findBodies(
  size: number,
  edges: readonly Arrow[],
  isLoop: (index: number) => boolean,
): Map<number, Set<number>> {
  const outbound = adjacency(size, edges)
  const bodies = new Map<number, Set<number>>()
  for (let loop = 0; loop < size; loop += 1) {
    if (!isLoop(loop)) continue
    const body = new Set<number>()
    const queue = edges
      .filter(({ source, edge }) => source === loop && edge.sourceOutput === 'body')
      .map(({ target }) => target)
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (next === loop || body.has(next)) continue
      body.add(next)
      queue.push(...(outbound[next] ?? []))
    }
    bodies.set(loop, body)
  }
  return bodies
}

/** All other nodes that some way leads to from this one and back again. */
export function circleOf(
  size: number,
  edges: readonly Pick<PlanEdge, 'source' | 'target'>[],
  from: number,
): Set<number> {
  const backwards = edges.map(({ source, target }) => ({ source: target, target: source }))
  const before = reached(adjacency(size, backwards), from)
  return new Set([...reached(adjacency(size, edges), from)].filter(index => index !== from && before.has(index)))
}

function reached(outbound: readonly (readonly number[])[], from: number): Set<number> {
  const found = new Set<number>()
  const queue = [...(outbound[from] ?? [])]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (found.has(next)) continue
    found.add(next)
    queue.push(...(outbound[next] ?? []))
  }
  return found
}

/** The nodes of some cycle, first one repeated at the end, or undefined. Does not recurse: graphs may be deep. */
export function findCycle(size: number, edges: readonly Pick<PlanEdge, 'source' | 'target'>[]): number[] | undefined {
  const outbound = adjacency(size, edges)
  const state = new Uint8Array(size) // 0 unseen, 1 on the current path, 2 done
  for (let root = 0; root < size; root += 1) {
    if (state[root] !== 0) continue
    const path = [{ node: root, ways: (outbound[root] ?? []).values() }]
    state[root] = 1
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const { value: next } = last.ways.next()
      if (next === undefined) {
        state[last.node] = 2
        path.pop()
      } else if (state[next] === 1) {
        const walked = path.map(({ node }) => node)
        return [...walked.slice(walked.indexOf(next)), next]
      } else if (state[next] === 0) {
        state[next] = 1
        path.push({ node: next, ways: (outbound[next] ?? []).values() })
      }
    }
  }
  return undefined
}

function adjacency(size: number, edges: readonly Pick<PlanEdge, 'source' | 'target'>[]): number[][] {
  const outbound: number[][] = Array.from({ length: size }, () => [])
  for (const { source, target } of edges) outbound[source]?.push(target)
  return outbound
}
