import { setImmediate } from 'node:timers/promises'
import type { RunRow } from '../engine/ports/run-index.js'
import type { Store } from '../engine/ports/store.js'
import { judgeErasure } from './erasure-mark.js'
import type { TrustedKeys } from './signing-key.js'
import { type GateAnomaly, type GateStore, verifyGateRows } from './verify-gates.js'
import { atEnd, type Expected, isAnomaly, type LogAnomaly, WALK_START, type Walk, walkOn } from './verify-log.js'

export type RunVerdict = {
  readonly events: number
  /** Events without a hash, written before logs were chained. */
  readonly older: number
  /** Events whose content was erased with their tenant's, and those of them that nothing but their successors prove. */
  readonly erased: number
  readonly unproven: number
  readonly anomalies: readonly RunAnomaly[]
}

type ErasureAnomaly = {
  readonly kind: 'content-missing' | 'erasure-forged' | 'key-unknown'
  readonly message: string
}

type RunAnomaly = (LogAnomaly & { readonly message: string }) | GateAnomaly | ErasureAnomaly

type LogStore = Pick<Store, 'readRun' | 'readErasure'> & GateStore

/** Where logs are, and whose signatures are believed. */
type Grounds = { readonly store: LogStore; readonly keys: () => Promise<TrustedKeys> }

const PAGE = 1000

/**
 * A run, or as much of it as goes into one slice: what is wrong with it, or how far it was followed. With nothing sealed
 * it is held to its row.
 */
export async function verifyPart(
  grounds: Grounds,
  row: RunRow,
  sealed: Expected | undefined,
  { from = WALK_START, atMost }: { readonly from?: Walk; readonly atMost: number },
): Promise<RunVerdict | Walk> {
  const walked = await walkLog(grounds.store, row.runId, sealed ?? row, from, atMost)
  if (walked.isPart) return walked.walk
  return sealed ? judgeSealed(grounds, row, sealed, walked) : judgeUnsealed(grounds, row, walked)
}

export const isVerdict = (result: RunVerdict | Walk): result is RunVerdict => 'anomalies' in result

type Walked = { readonly walk: Walk; readonly anomaly?: LogAnomaly | undefined; readonly isPart: boolean }

/** Checks a log against what was sealed, and what the row says against that too. */
async function judgeSealed(
  grounds: Grounds,
  row: RunRow,
  sealed: Expected,
  { walk, anomaly }: Walked,
): Promise<RunVerdict> {
  if (anomaly !== undefined) return verdict(walk, anomaly, 'the log does not end as it was sealed: it was written anew')
  const extra = await firstBeyond(grounds.store, row.runId, sealed.length)
  if (extra !== undefined) return verdict(walk, { kind: 'event-extra', sequence: extra })
  if (row.length !== sealed.length || row.head !== sealed.head)
    return verdict(walk, { kind: 'head-mismatch' }, 'the run’s record is not as it was sealed')
  return intact(grounds, row, walk)
}

/** Checks a log nobody has sealed yet: that it is a chain, and ends where the row says. It may grow meanwhile. */
async function judgeUnsealed(grounds: Grounds, row: RunRow, { walk, anomaly }: Walked): Promise<RunVerdict> {
  const { store } = grounds
  if (anomaly !== undefined) return verdict(walk, anomaly, 'the log does not end where the run’s record says')
  const extra = await firstBeyond(store, row.runId, row.length)
  if (extra === undefined) return intact(grounds, row, walk)
  const later = await store.readRun(null, row.runId)
  const hasGrown = later !== undefined && later.length > row.length
  return hasGrown ? intact(grounds, row, walk) : verdict(walk, { kind: 'event-extra', sequence: extra })
}

/**
 * Of a log that is as it was written: whether what the store derives from it is, too. Where content was erased nothing
 * can be derived, and content may be erased only with all that its tenant has.
 */
async function intact(grounds: Grounds, row: RunRow, walk: Walk): Promise<RunVerdict> {
  const { next, older, erased, unproven } = walk
  const rows = erased === 0 ? await verifyGateRows(grounds.store, row, next) : []
  return { events: next, older, erased, unproven, anomalies: [...rows, ...(await verifyErasure(grounds, row, erased))] }
}

/** What is gone must have been erased, and what is said to be erased must be so because somebody asked for it. */
async function verifyErasure({ store, keys }: Grounds, { tenant }: RunRow, erased: number): Promise<ErasureAnomaly[]> {
  const erasure = await store.readErasure(tenant)
  const gone = `the content of ${erased} events is gone`
  if (erasure === undefined)
    return erased === 0 ? [] : [{ kind: 'content-missing', message: `${gone}, but its tenant was not erased` }]
  const trouble = judgeErasure(erasure, await keys())
  if (trouble === undefined) return []
  const what = erased === 0 ? 'its tenant is marked as erased' : gone
  if (trouble === 'key-unknown')
    return [{ kind: trouble, message: `${what}, signed with key ${erasure.keyId}, which is not known here` }]
  const lacks = trouble === 'unsigned' ? 'is not signed' : `bears no signature of key ${erasure.keyId}`
  return [{ kind: 'erasure-forged', message: `${what}, but the mark of its tenant’s erasure ${lacks}` }]
}

async function walkLog(
  store: LogStore,
  runId: string,
  expected: Expected,
  from: Walk,
  atMost: number,
): Promise<Walked> {
  let walk = from
  while (walk.next < expected.length) {
    const left = from.next + atMost - walk.next
    if (left <= 0) return { walk, isPart: true }
    const page = await store.readEvents(runId, walk.next, Math.min(PAGE, left, expected.length - walk.next))
    if (page.length === 0) break
    const walked = walkOn(walk, page, expected.length)
    if (isAnomaly(walked)) return { walk, anomaly: walked, isPart: false }
    walk = walked
    // An embedded store answers without leaving this thread; everything else it serves must get its turn.
    await setImmediate()
  }
  return { walk, anomaly: atEnd(walk, expected), isPart: false }
}

const firstBeyond = async (store: LogStore, runId: string, length: number): Promise<number | undefined> =>
  (await store.readEvents(runId, length, 1))[0]?.sequence

const verdict = (walk: Walk, anomaly: LogAnomaly, ofHead = ''): RunVerdict => ({
  events: walk.next,
  older: walk.older,
  erased: walk.erased,
  unproven: walk.unproven,
  anomalies: [{ ...anomaly, message: describe(anomaly, ofHead) }],
})

function describe({ kind, sequence }: LogAnomaly, ofHead: string): string {
  if (kind === 'event-changed') return `event ${sequence} was changed`
  if (kind === 'event-missing') return `event ${sequence} is missing`
  return kind === 'event-extra' ? `event ${sequence} was added` : ofHead
}
