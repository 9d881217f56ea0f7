import {
  isTooDeep,
  type JournalView,
  type LayerBefore,
  type Place,
  type Places,
  SPACES,
} from '../../core/journal/place.js'
import { branchTooDeep } from '../../core/journal/refusals.js'
import { branchPlaces } from '../../core/journal/start.js'
import { type Refusal, refuse } from '../../core/problem.js'
import type { Fork } from '../../core/replay/events.js'
import { retold, startOf } from '../../core/replay/fork.js'
import type { Rules } from '../../core/run/decide.js'
import { goneFrom, type MomentDeps, viewOfRun } from '../journal/moment.js'
import type { RunRow } from '../ports/run-index.js'
import type { Store } from '../ports/store.js'
import type { Past } from './fork-changes.js'

type Cutting = {
  readonly rules: Rules
  readonly source: RunRow
  readonly past: Past
  readonly fork: Fork
  /** Of the fork. */
  readonly runId: string
  /** Memory is that of another event of the source than the cut. */
  readonly memoryAsOf?: number
}

/**
 * Where a fork stands in memory and workspace (R-MEM-8). R-MEM-10, R-MEM-12: what of that is not kept any more is found out
 * here, by the very places that a branch then has; undefined where its source had none.
 */
export async function placesOfFork(deps: MomentDeps, cutting: Cutting): Promise<Places | Refusal | undefined> {
  const { source, fork, memoryAsOf, runId } = cutting
  const { fromSeq, mode } = fork
  const seen = seenAtCut(cutting)
  if (seen === undefined) return memoryAsOf === undefined ? undefined : noMemory(source)
  if (mode === 'branch' && isTooDeep(seen.journal)) return branchTooDeep(source.runId)
  const writer = await writerAt(deps.store, source, fromSeq)
  if (mode === 'branch' && seen.isHeld && (await isToldAgain(deps.store, source, fromSeq)))
    return heldElsewhere(source, writer)
  const cut = branchPlaces(seen.journal, runId, writer, seen.at)
  const places = memoryAsOf === undefined ? cut : await asOf(deps, source, cut, memoryAsOf)
  if ('code' in places) return places
  for (const space of SPACES) {
    const beneath = places[space]?.beneath ?? []
    const moment = { runId: source.runId, seq: fromSeq }
    const gone =
      (await goneFrom(deps, source.tenant, space, beneath, moment)) ?? (await unwritten(deps, source, beneath, fromSeq))
    if (gone) return gone
  }
  return places
}

/** `isHeld`: something may have been written there that a gate has not let pass yet. */
type Seen = { readonly journal: Places; readonly at: number; readonly isHeld: boolean }

/** Before its first event a run saw what was there when it was started. */
function seenAtCut({ rules, past: { cut }, fork: { fromSeq }, runId }: Cutting): Seen | undefined {
  const [first] = cut.shared
  if (fromSeq === 0) {
    const journal = first && startOf(first, runId, first.at).journal
    return journal && { journal, at: first.at, isHeld: false }
  }
  const state = retold(rules, cut.before, runId, cut.shared)
  if (state.phase !== 'active' || !state.journal) return undefined
  return { journal: state.journal, at: state.lastAt, isHeld: state.gated !== undefined && state.open.length > 0 }
}

/** What a fork shares was written by its source, and so was all that a replay tells. */
async function writerAt(store: Store, row: RunRow, before: number): Promise<LayerBefore> {
  const { fork, tenant, runId } = row
  if (!fork || (before > fork.fromSeq && fork.mode !== 'replay')) return { runId, before }
  const source = await store.readRun(tenant, fork.sourceRunId)
  if (!source) throw new Error(`run ${fork.sourceRunId} is gone, and its fork ${runId} is not`)
  return writerAt(store, source, Math.min(before, fork.sourceLength))
}

/** What a replay only tells is not held for it: a gate of its branch would find nothing to let pass. */
async function isToldAgain(store: Store, { fork, tenant }: RunRow, before: number): Promise<boolean> {
  if (!fork) return false
  if (fork.mode === 'replay' && before > fork.fromSeq) return true
  const source = before > fork.fromSeq ? null : await store.readRun(tenant, fork.sourceRunId)
  return source !== null && source !== undefined && isToldAgain(store, source, before)
}

const heldElsewhere = ({ runId }: RunRow, writer: LayerBefore): Refusal =>
  refuse(
    'validation_error',
    `Run ${runId} tells again what run ${writer.runId} did, and work is before a gate at event ${writer.before}; branch off run ${writer.runId} there, or where no work is held.`,
    { field: 'runId', sourceRunId: writer.runId, fromSeq: writer.before },
  )

async function asOf(deps: MomentDeps, source: RunRow, places: Places, seq: number): Promise<Places | Refusal> {
  const { runId, tenant, length } = source
  if (places.memory === undefined) return noMemory(source)
  if (seq < 1 || seq > length) {
    const message = `assay.memoryAsOf is ${seq}; give an event of run ${runId} before which its memory is taken, from 1 to ${length}.`
    return refuse('invalid_from_seq', message, { field: 'body.assay.memoryAsOf', sourceRunId: runId, length })
  }
  const seen = await viewOfRun(deps, tenant, 'memory', { runId, seq })
  if (!seen.ok) return seen.refusal
  const memory: Place = { ...places.memory, beneath: seen.view }
  return { ...places, memory }
}

/** A run whose own writes are seen has to be there still. */
async function unwritten(
  { store }: MomentDeps,
  { tenant, runId }: RunRow,
  view: JournalView,
  fromSeq: number,
): Promise<Refusal | undefined> {
  for (const layer of view.flatMap(({ runs }) => runs)) {
    if (layer.runId === runId || (await store.readRun(tenant, layer.runId))) continue
    const message = `What run ${runId} saw before event ${fromSeq} was written in part by run ${layer.runId}, whose log is gone; it cannot be forked there.`
    const details = { sourceRunId: runId, fromSeq, reason: 'event_log_unavailable' }
    return refuse('replay_memory_snapshot_unavailable', message, details)
  }
  return undefined
}

const noMemory = ({ runId }: RunRow): Refusal =>
  refuse('validation_error', `assay.memoryAsOf is given, and run ${runId} had no memory there; leave it out.`, {
    field: 'body.assay.memoryAsOf',
  })
