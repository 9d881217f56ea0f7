import type { GatedPoint, NewRun, StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Store } from '../../../src/engine/ports/store.js'
import * as f from './fixtures.js'

/** An event whose place in the log is not decided yet. */
export type Loose = (sequence: number) => StoredEvent

export type Point = GatedPoint['point']
export const POINTS: readonly Point[] = ['harvest', 'node', 'run']

type Judged = { readonly gateId: string; readonly target: string; readonly resultHash: string }

/** Gate `g` over what node `n1` hands over, where not said otherwise. */
export const gatedPoint = (point: Point, over: Partial<GatedPoint> = {}): GatedPoint => ({
  gateId: 'g',
  point,
  nodeId: 'n1',
  workerId: null,
  ...over,
})

export const staged =
  (point: Point | 'none', over: Partial<Judged & { nodeId: string; blocking: boolean; attempt: number }> = {}): Loose =>
  sequence => {
    const { gateId = 'g', target = 't', resultHash = 'h', nodeId = 'n1', blocking = true, attempt = 1 } = over
    const payload = JSON.stringify({ gateId, attempt, targetRef: target, resultHash, blocking, point })
    return f.event(sequence, { type: 'dws.verification.started', nodeId, payload })
  }

type Verdict = 'pass' | 'fail' | 'revise'

export const judged =
  (verdict: Verdict, over: Partial<Judged> & { why?: unknown; at?: number } = {}): Loose =>
  sequence => {
    const { gateId = 'g', target = 't', resultHash = 'h', why, at = f.T0 } = over
    const payload = JSON.stringify({ agentId: 'assay.verifier', target, verdict })
    const secret = JSON.stringify({ gateId, attempt: 1, resultHash, why })
    return f.event(sequence, { type: 'agent.verified', payload, secret, at })
  }

export const harvest = (over: Record<string, unknown> = {}, nodeId = 'n1'): Loose => {
  const payload = JSON.stringify({ phase: 'output.harvested', workerId: 'w', childRunId: 't', ...over })
  return sequence => f.event(sequence, { type: 'core.workflowChain.event', nodeId, payload })
}

/** The event that merges what is staged there: of child `t`, or node `n1`. */
export const merge = (point: Point): Loose => {
  if (point === 'harvest') return harvest()
  const [type, nodeId] = point === 'node' ? ['node.completed', 'n1'] : ['run.completed', null]
  return sequence => f.event(sequence, { type, nodeId })
}

export const placed = (from: number, events: readonly Loose[]): StoredEvent[] => events.map((one, i) => one(from + i))

/** A run with gates, and a way to write to it. */
export async function gatedRun(store: Store, hostId: string, gated: readonly GatedPoint[], run: Partial<NewRun> = {}) {
  const runId = await f.created(store, hostId, {}, { gated, ...run })
  const writer = writing(store, hostId, runId)
  return { runId, ...writer }
}

export function writing(store: Store, hostId: string, runId: string) {
  const append = async (...events: Loose[]) => {
    const { length } = (await store.readRun(null, runId))!
    return f.commit(hostId, [f.extension(runId, length, { events: placed(length, events) })])
  }
  return {
    /** All in one commit. */
    together: async (...events: Loose[]) => store.commit(await append(...events)),
    /** One commit each. */
    oneByOne: async (...events: Loose[]) => {
      for (const one of events) await store.commit(await append(one))
    },
    length: async () => (await store.readRun(null, runId))!.length,
  }
}
