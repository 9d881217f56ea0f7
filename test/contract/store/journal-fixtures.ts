import type { WriteSecret } from '../../../src/core/journal/events.js'
import type { Reach, Space } from '../../../src/core/journal/place.js'
import { sha256 } from '../../../src/digest.js'
import type { GatedPoint, NewRun, StoredEvent, StreamAppend } from '../../../src/engine/ports/event-log.js'
import type { Content, OutsideWrite, WriteRow } from '../../../src/engine/ports/journal.js'
import type { Store } from '../../../src/engine/ports/store.js'
import * as f from './fixtures.js'
import { type Loose, placed } from './gate-fixtures.js'

export const SCOPE = 'user:1'

export const content = (text: string, over: Partial<Content> = {}): Content => ({
  contentId: f.id('content'),
  tenant: 'acme',
  runId: null,
  body: new TextEncoder().encode(text),
  text,
  sealed: false,
  pieces: 0,
  ...over,
})

type Told = Partial<WriteSecret> & { readonly nodeId?: string; readonly agentId?: string; readonly at?: number }

/** What an event says of a write whose content was kept before. */
export const secretOf = (kept: Content | null, over: Told = {}): WriteSecret => {
  const { nodeId: _node, agentId: _agent, at: _at, ...said } = over
  return {
    space: 'memory',
    scope: SCOPE,
    since: 1,
    ref: 'notes',
    id: 'a',
    op: kept ? 'put' : 'forget',
    tags: [],
    expiresAt: null,
    contentId: kept?.contentId ?? null,
    hash: kept ? sha256(kept.body) : null,
    bytes: kept?.body.byteLength ?? 0,
    contentType: null,
    ifMatch: null,
    seen: 0,
    ...said,
  }
}

const TYPES = {
  memory: { put: 'memory.written', forget: 'assay.memory.forgotten' },
  workspace: { put: 'assay.file.written', forget: 'assay.file.removed' },
} as const

export const wrote = (kept: Content | null, over: Told = {}): Loose => {
  const secret = secretOf(kept, over)
  const { nodeId = 'n1', agentId, at } = over
  const { space, op, ref, id } = secret
  const named = space === 'memory' ? { memoryRef: ref, memoryId: id } : { path: id }
  return sequence =>
    f.event(sequence, {
      type: TYPES[space][op],
      nodeId,
      payload: JSON.stringify({ ...named, nodeId, agentId }),
      secret: JSON.stringify(secret),
      ...(at === undefined ? {} : { at }),
    })
}

export const file = (over: Told = {}): Told => ({ space: 'workspace', scope: '', ref: '', id: 'a.txt', ...over })

export const completedNode =
  (since: number, nodeId = 'n1', resultHash?: string): Loose =>
  sequence =>
    f.event(sequence, {
      type: 'node.completed',
      nodeId,
      payload: '{"outputs":{}}',
      secret: JSON.stringify({ since, resultHash }),
    })

export const chained =
  (phase: 'child.completed' | 'output.harvested', childRunId: string, nodeId = 'n1', resultHash = 'h'): Loose =>
  sequence =>
    f.event(sequence, {
      type: 'core.workflowChain.event',
      nodeId,
      payload: JSON.stringify({ phase, workerId: 'wf', childRunId }),
      secret: JSON.stringify({ resultHash }),
    })

export const reworked =
  (nodeId: string, point = 'run', returned?: readonly string[]): Loose =>
  sequence =>
    f.event(sequence, {
      type: 'assay.rework.began',
      nodeId,
      payload: JSON.stringify({ point }),
      ...(returned ? { secret: JSON.stringify({ returned }) } : {}),
    })

export const readEntries =
  (rows: readonly string[]): Loose =>
  sequence =>
    f.event(sequence, {
      type: 'assay.journal.read',
      payload: JSON.stringify({ nodeId: 'n1', space: 'memory', entries: rows.length }),
      secret: JSON.stringify({ rows, digest: 'd' }),
    })

export const ended: Loose = sequence => f.terminal(sequence)

/** One store, one host, and short ways to write and read. */
export async function journaling(store: Store, tenant = 'acme') {
  const hostId = await f.host(store)
  const start = (run: Partial<NewRun> = {}, runId = f.id('run')) =>
    store
      .commit(f.commit(hostId, [f.creation(runId, {}, { tenant, ...run })]))
      .then(({ kind }) => (kind === 'committed' ? runId : Promise.reject(new Error(kind))))
  const stream = async (runId: string, ...events: Loose[]): Promise<StreamAppend> => {
    const { length } = (await store.readRun(null, runId))!
    const own = placed(length, events)
    return f.extension(runId, length, { events: own, ...(isEnd(own) ? { status: 'completed' } : {}) })
  }
  const tell = async (runId: string, ...events: Loose[]) =>
    store.commit(f.commit(hostId, [await stream(runId, ...events)]))
  const keep = async (text: string, over: Partial<Content> = {}) => {
    const kept = content(text, { tenant, ...over })
    await store.keepContent(kept)
    return kept
  }
  /** A put with its content, in a commit of its own. */
  const put = async (runId: string, text: string, over: Told = {}) =>
    tell(runId, wrote(await keep(text, { runId }), over))
  /** The words that a reach answers with for a key; null for a forget. */
  const said = async (reach: Partial<Reach> = {}, id = 'a', space: Space = 'memory', ref?: string) => {
    const row = await store.entryAt(tenant, space, whole(reach), {
      ref: ref ?? (space === 'memory' ? 'notes' : ''),
      id,
    })
    if (row === undefined) return undefined
    return row.op === 'forget' ? null : textOf(store, tenant, row)
  }
  return { store, hostId, tenant, start, stream, tell, keep, put, said }
}

const isEnd = (events: readonly StoredEvent[]): boolean => events.at(-1)?.type === 'run.completed'

/** All that is published in the scope, unless it says otherwise. */
export const whole = (over: Partial<Reach> = {}): Reach => ({ scope: SCOPE, upTo: 1_000_000, runs: [], ...over })

/** What the run sees of its own, and nothing that is published. */
export const ownOf = (runId: string, over: Partial<Reach> = {}): Reach => ({
  scope: SCOPE,
  upTo: 0,
  runs: [{ runId, before: 1_000_000 }],
  ...over,
})

export async function textOf(store: Store, tenant: string, { contentId }: WriteRow): Promise<string | undefined> {
  const found = contentId === null ? undefined : await store.readContent(tenant, contentId)
  return found && new TextDecoder().decode(found.body)
}

export const gate = (point: GatedPoint['point'], over: Partial<GatedPoint> = {}): GatedPoint => ({
  gateId: 'g',
  point,
  nodeId: point === 'run' ? '' : 'n1',
  workerId: null,
  // As in runs of version 2 of the rules: what is passed is not looked at here, only that something is.
  confirm: null,
  ...over,
})

export const outside = (kept: Content | null, over: Partial<OutsideWrite> = {}): OutsideWrite => ({
  space: 'memory',
  scope: SCOPE,
  ref: 'notes',
  id: 'a',
  op: kept ? 'put' : 'forget',
  tags: [],
  at: f.T0,
  expiresAt: null,
  content: kept,
  hash: kept ? sha256(kept.body) : null,
  contentType: null,
  ifMatch: null,
  ...over,
})
