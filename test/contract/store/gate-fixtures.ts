import { expect } from 'vitest'
import { type GatedPoint, type NewRun, type StoredEvent, UnverifiedMerge } from '../../../src/engine/ports/event-log.js'
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

/**
 * What a host of version 2 of the rules wrote: `merged` has merged what worker `w` brought, `going` is about to, and
 * `fork` shares the latter's staging. As SQL, one statement each; its tables have no more columns than they had then.
 */
export function olderGateRows(noTags: string): string[] {
  const run = (runId: string, length: number, fromSeq = 0) =>
    `INSERT INTO runs (run_id, tenant, workflow_id, workflow_digest, status, tags, length, owner, epoch, attempts,
                       created_at, updated_at, from_seq)
     VALUES ('${runId}', 'acme', 'wf', 'd', 'running', '${noTags}', ${length}, 'h', 1, 0, 0, 0, ${fromSeq})`
  const gate = (runId: string) =>
    `INSERT INTO gated (run_id, point, node_id, gate_id, worker_id) VALUES ('${runId}', 'harvest', 'n1', 'g', '')`
  const log = (runId: string, events: readonly Loose[]) =>
    placed(0, events).map(({ sequence, type, nodeId, payload, secret }) => {
      const values = [runId, type, nodeId, payload, secret].map(text => (text === null ? 'NULL' : `'${text}'`))
      return `INSERT INTO events (run_id, type, node_id, payload, secret, seq, at, epoch)
              VALUES (${values.join(', ')}, ${sequence}, 0, 1)`
    })
  const begun = [f.event, f.event, staged('harvest', { workerId: 'w' }), judged('pass', { label: '' })]
  return [
    run('merged', 5),
    gate('merged'),
    ...log('merged', [...begun, harvest({}, 'n1', { resultHash: null })]),
    run('going', 4),
    gate('going'),
    ...log('going', begun),
    run('fork', 3, 3),
    gate('fork'),
    `INSERT INTO prefixes (run_id, upto, source_run_id, from_seq) VALUES ('fork', 3, 'going', 0)`,
    `INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place)
     SELECT 'fork', seq, gate_id, attempt, target, result_hash, point, place FROM staged WHERE run_id = 'going'`,
  ]
}

/** What is there of it after the upgrade, and that runs of it go on by their own rules. */
export async function expectUpgradedGates(store: Store): Promise<void> {
  const judgedRow = { gateId: 'g', target: 't', resultHash: 'h' }
  const gated = [gatedPoint('harvest', { confirm: null })]
  const row = { sequence: 2, ...judgedRow, attempt: 1, point: 'harvest', place: 't', nodeId: 'n1', workerId: 'w' }
  const pass = { sequence: 3, ...judgedRow, verdict: 'pass', label: '', tenant: 'acme', at: 0 }
  const merged = { staged: 2, judged: 3, verdict: 'pass', label: '', confirm: null, eventHash: null }
  const merges = [{ sequence: 4, ...judgedRow, ...merged }]
  expect(await store.readGateRows('merged')).toEqual({ gated, staged: [row], verdicts: [pass], merges })
  expect(await store.readGateRows('fork')).toEqual({ gated, staged: [row], verdicts: [], merges: [] })
  await writing(store, 'h', 'going').together(harvest({}, 'n1', { resultHash: null }))
  expect(await store.readGateRows('going')).toEqual({ gated, staged: [row], verdicts: [pass], merges })
  await expect(writing(store, 'h', 'fork').together(harvest())).rejects.toBeInstanceOf(UnverifiedMerge)
}
