import type { JsonObject } from '../../core/json.js'
import { type Refusal, refuse } from '../../core/problem.js'
import type { InspectedRun, RunEngine } from '../api.js'

/** Where a run is gone on with to try its failed node again: the first event that is not kept. */
export type RetryPoint = { readonly nodeId: string; readonly fromSeq: number }

/** Events that are looked through at once. */
const PAGE = 256

/**
 * The node that a failed run is to be tried again from: the one that is named, or the one it has failed for; before its
 * first attempt, so that it has all of its retries again.
 */
export async function failedNodeOf(
  engine: Pick<RunEngine, 'readEvents'>,
  view: InspectedRun,
  wanted: string | undefined,
): Promise<RetryPoint | Refusal> {
  const { state, status } = view
  if (state.phase !== 'ended' || state.outcome.status !== 'failed')
    return refuse('nothing_to_retry', `the run is ${status}, not failed`, { runStatus: status })
  const nodeId = wanted ?? state.outcome.failedNodeId
  if (nodeId === undefined) return noNode(`the run did not fail for one of its nodes: ${state.outcome.error.message}`)
  const failed = view.plan.nodes.flatMap(({ node, index }) => (state.nodes[index]?.is === 'failed' ? [node.id] : []))
  if (!failed.includes(nodeId)) {
    const others = failed.length === 0 ? 'none has' : `those that have are ${failed.join(', ')}`
    return noNode(`node ${JSON.stringify(nodeId)} of the run has not failed; ${others}`)
  }
  const fromSeq = await firstAttemptOf(engine, view, nodeId)
  return fromSeq === undefined ? noNode(`node ${JSON.stringify(nodeId)} failed before it began`) : { nodeId, fromSeq }
}

const noNode = (why: string): Refusal =>
  refuse('nothing_to_retry', `${why}; branch off where it is to go on with POST /v1/runs/{runId}:fork`)

async function firstAttemptOf(
  engine: Pick<RunEngine, 'readEvents'>,
  { tenant, runId }: InspectedRun,
  nodeId: string,
): Promise<number | undefined> {
  let found: number | undefined
  for (let at = 0; ; at += PAGE) {
    const events = (await engine.readEvents(tenant, runId, at, PAGE)) ?? []
    for (const event of events)
      if (event.type === 'node.started' && event.nodeId === nodeId && attemptOf(event.payload) === 0)
        found = event.sequence
    if (events.length < PAGE) return found
  }
}

const attemptOf = (payload: string): number => Number((JSON.parse(payload) as JsonObject).attempt)
