import type { GatedPoint, NewRun, StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Store } from '../../../src/engine/ports/store.js'
import * as f from './fixtures.js'

/** An event whose place in the log is not decided yet. */
export type Loose = (sequence: number) => StoredEvent

export type Point = GatedPoint['point']
export const POINTS: readonly Point[] = ['harvest', 'node', 'tool', 'run']

/** The tool whose results a gate over a tool stands before. */
const TOOL = 'mcp:search'

type Judged = { readonly gateId: string; readonly target: string; readonly resultHash: string }

/** Gate `g` over what node `n1` hands over, where not said otherwise. */
export const gatedPoint = (point: Point, over: Partial<GatedPoint> = {}): GatedPoint => ({
  gateId: 'g',
  point,
  nodeId: 'n1',
  workerId: point === 'tool' ? TOOL : null,
  confirm: 'full',
  ...over,
})

export const staged =
  (
    point: Point | 'none',
    over: Partial<Judged & { nodeId: string; workerId: string; blocking: boolean; attempt: number }> = {},
  ): Loose =>
  sequence => {
    const { gateId = 'g', target = 't', resultHash = 'h', nodeId = 'n1', blocking = true, attempt = 1, workerId } = over
    const payload = JSON.stringify({ gateId, attempt, targetRef: target, resultHash, blocking, point, workerId })
    return f.event(sequence, { type: 'dws.verification.started', nodeId, payload })
  }

type Verdict = 'pass' | 'fail' | 'revise'

export const judged =
  (verdict: Verdict, over: Partial<Judged> & { label?: string; why?: unknown; at?: number } = {}): Loose =>
  sequence => {
    const { gateId = 'g', target = 't', resultHash = 'h', why, at = f.T0 } = over
    const { label = verdict === 'pass' ? 'verified' : undefined } = over
    const payload = JSON.stringify({ agentId: 'assay.verifier', target, verdict })
    const secret = JSON.stringify({ gateId, attempt: 1, resultHash, label: label || undefined, why })
    return f.event(sequence, { type: 'agent.verified', payload, secret, at })
  }

/** What a merging event says besides its place: the hash of what it merges, unless that is null. */
type Said = { readonly resultHash?: string | null; readonly goalSatisfied?: boolean }

const naming = ({ resultHash = 'h' }: Said): string | null =>
  resultHash === null ? null : JSON.stringify({ resultHash })

export const harvest = (over: Record<string, unknown> = {}, nodeId = 'n1', said: Said = {}): Loose => {
  const payload = JSON.stringify({ phase: 'output.harvested', workerId: 'w', childRunId: 't', ...over })
  return sequence => f.event(sequence, { type: 'core.workflowChain.event', nodeId, payload, secret: naming(said) })
}

/** The event that merges what is staged there: of child `t`, or node `n1`. */
export const merge = (point: Point, said: Said = {}): Loose => {
  if (point === 'harvest') return harvest({}, 'n1', said)
  if (point === 'tool') {
    const payload = JSON.stringify({ callId: 't', toolId: TOOL })
    return sequence => f.event(sequence, { type: 'assay.tool.delivered', nodeId: 'n1', payload, secret: naming(said) })
  }
  const { goalSatisfied } = said
  const payload = JSON.stringify({ outputs: {}, goalSatisfied })
  const [type, nodeId] = point === 'node' ? ['node.completed', 'n1'] : ['run.completed', null]
  return sequence => f.event(sequence, { type, nodeId, payload, secret: naming(said) })
}

/** What a tool has brought, as the fold is to take it. */
export const returned =
  (secret: { readonly [name: string]: unknown } = { contents: 'c' }, toolId = TOOL, nodeId = 'n1'): Loose =>
  sequence =>
    f.event(sequence, {
      type: 'agent.toolReturned',
      nodeId,
      payload: JSON.stringify({ toolId, callId: 't', status: 'ok' }),
      secret: JSON.stringify({ position: 0, ...secret }),
    })

export const MADE = ['variable.changed', 'channel.written', 'artifact.created'] as const

/** Something that may be made of a result: of node `n1`, where not said otherwise. */
export const made =
  (type: (typeof MADE)[number], nodeId = 'n1', artifactType = 'report'): Loose =>
  sequence =>
    f.event(sequence, { type, nodeId, payload: JSON.stringify({ nodeId, artifactType, name: 'x', next: 1 }) })

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
