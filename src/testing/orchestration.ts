import type { JsonObject } from '../core/json.js'
import type { Recorded } from '../core/run/events.js'
import type { Scenario } from './given-when-then.js'
import type { Sketch } from './workflow.js'

export const next = (...nextWorkerIds: string[]) => ({ kind: 'next-worker', nextWorkerIds })
export const terminate = { kind: 'terminate' }

type Around = Partial<Sketch> & {
  readonly dispatch?: JsonObject
  /** The agent that the supervisor pins. */
  readonly agentId?: string
}

/** A supervisor and the dispatch that it feeds, with what a test puts around them. */
export const loopOf = (config: JsonObject, { dispatch = {}, agentId, nodes, edges, ...more }: Around = {}): Sketch => {
  const sup = { type: 'core.orchestrator.supervisor', config, ...(agentId === undefined ? {} : { agent: { agentId } }) }
  return {
    id: 'conformance-loop',
    ...more,
    nodes: { sup, dispatch: { type: 'core.dispatch', config: dispatch }, ...nodes },
    edges: edges ?? ['sup > dispatch', 'dispatch > sup'],
  }
}

/** The same, the supervisor following a script. */
export const scripted = (plan: readonly JsonObject[], around: Around = {}): Sketch =>
  loopOf({ mockDispatchPlan: plan }, around)

type Place = { readonly nodeId?: string; readonly worker?: number; readonly since?: number }

/** The world has made a child for a worker. */
export const begins = (
  run: Scenario,
  childRunId: string,
  { nodeId = 'dispatch', worker = 0, since, agentId }: Place & { readonly agentId?: string } = {},
): Scenario =>
  run.when({
    type: 'ChildStarted',
    nodeId,
    since: since ?? run.sequence('node.started', nodeId),
    worker,
    childRunId,
    ...(agentId === undefined ? {} : { agentId }),
  })

/** There can be no child for a worker. */
export const refuses = (
  run: Scenario,
  code: string,
  { nodeId = 'dispatch', worker = 0, since }: Place = {},
): Scenario =>
  run.when({
    type: 'ChildRefused',
    nodeId,
    since: since ?? run.sequence('node.started', nodeId),
    worker,
    error: { code, message: `no child: ${code}` },
  })

type End = {
  readonly nodeId?: string
  readonly status?: 'completed' | 'failed' | 'cancelled'
  readonly hidden?: readonly string[]
  readonly checksum?: string
  readonly error?: { readonly code: string; readonly message: string; readonly details?: JsonObject }
}

/** A child has ended, with those of its variables that are mapped back. */
export const ends = (run: Scenario, childRunId: string, variables: JsonObject = {}, more: End = {}): Scenario =>
  run.when({ type: 'ChildEnded', nodeId: 'dispatch', status: 'completed', hidden: [], ...more, childRunId, variables })

/** A person answers what a node asks. */
export const answer = (nodeId: string, value: JsonObject, by = 'ann') => ({
  type: 'ResolveInterrupt' as const,
  nodeId,
  value,
  by,
  via: 'key' as const,
  shownHash: 'h',
})

/** One line per event, with the sequence of its cause; a hand-off by phase and worker, a decision by its turn. */
export const trace = (run: Scenario, from = 0): string[] =>
  run.log.slice(from).map(event => `${nameOf(event)}${event.cause === undefined ? '' : ` [${event.cause}]`}`)

function nameOf(event: Recorded): string {
  if (event.type === 'core.workflowChain.event') return `${event.payload.phase} ${event.payload.workerId}`
  if (event.type === 'runOrchestrator.decided') return `decided ${event.payload.iteration}`
  return event.nodeId === undefined ? event.type : `${event.type} ${event.nodeId}`
}

/** What was told under that type, or in that phase of a hand-off. */
export const payloads = (run: Scenario, type: string): JsonObject[] =>
  run.log
    .filter(event => (event.type === 'core.workflowChain.event' ? event.payload.phase : event.type) === type)
    .map(({ payload }) => payload as unknown as JsonObject)
