import { WORKSPACE_SCOPE } from '../../core/journal/place.js'
import type { Fork } from '../../core/replay/events.js'
import { type Commit, type CommitResult, MissingContent, type StoredEvent } from '../../engine/ports/event-log.js'
import {
  type Family,
  type FamilyRun,
  journalStep,
  type LayerEntry,
  readsIn,
  type ToldWrite,
  versionsOf,
} from '../journal-rules.js'
import { gateRowsOf } from './gates.js'
import {
  allOrNothing,
  contentKey,
  isSameWrite,
  type JournalTables,
  latestOf,
  publishedIn,
  scopeOf,
  setScope,
  writeNamed,
} from './journal-tables.js'
import type { Tables } from './tables.js'

type Conflict = Extract<CommitResult, { kind: 'workspace-conflict' }>

/** What the triggers on events do in SQL (S15). Nothing is changed where it throws or answers. */
export function writeJournal(tables: Tables, commit: Commit): Conflict | undefined {
  const family = familyIn(tables, commit)
  const work = (): Conflict | undefined => {
    for (const { runId, events } of commit.streams)
      for (const event of events) {
        const refusal = takeStep(tables.journal, family, runId, event)
        if (refusal) return { kind: 'workspace-conflict', runId, sequence: event.sequence, ...refusal }
      }
    return undefined
  }
  return allOrNothing(tables.journal, work, conflict => conflict !== undefined)
}

const isCompletion = ({ type }: StoredEvent): boolean => type === 'run.completed'

function familyIn(tables: Tables, { streams }: Commit): Family {
  const created = new Map(streams.flatMap(({ runId, create }) => (create ? [[runId, create] as const] : [])))
  const completed = new Set(streams.flatMap(({ runId, events }) => (events.some(isCompletion) ? runId : [])))
  return {
    run: runId => {
      const row = created.get(runId) ?? tables.runs.get(runId)
      if (row === undefined) return undefined
      const { tenant, workflowId, parentRunId, parentNodeId, fork } = row
      return {
        runId,
        tenant,
        workflowId,
        parentRunId,
        parentNodeId,
        isReplay: fork?.mode === 'replay',
        isCompleted: completed.has(runId) || tables.events.get(runId)?.at(-1)?.type === 'run.completed',
        gated: created.get(runId)?.gated ?? gateRowsOf(tables, runId).gated,
        shared: sharedBy(tables, fork),
      }
    },
    layerOf: runId => tables.journal.layers.get(runId) ?? [],
    writesOf: runId => tables.journal.writes.get(runId) ?? [],
  }
}

/** Whose events are read as those of a fork, the earliest first. */
export function sharedBy(tables: Tables, fork: Fork | null): FamilyRun['shared'] {
  if (fork === null || fork.fromSeq === 0) return []
  const source = tables.runs.get(fork.sourceRunId)?.fork ?? null
  const above = sharedBy(tables, source && { ...source, fromSeq: Math.min(source.fromSeq, fork.fromSeq) })
  const from = source?.fromSeq ?? 0
  return from < fork.fromSeq ? [...above, { runId: fork.sourceRunId, from, upto: fork.fromSeq }] : above
}

type Refusal = { readonly path: string; readonly currentVersion: number }

function takeStep(journal: JournalTables, family: Family, runId: string, event: StoredEvent): Refusal | undefined {
  const { sequence, nodeId, at } = event
  const read = readsIn(event)
  if (read.length > 0) journal.reads.set(runId, new Set([...(journal.reads.get(runId) ?? []), ...read]))
  const run = family.run(runId)
  if (run === undefined) throw new Error(`event ${sequence} of run ${runId}, which is not there`)
  const { write, enters, leaves, publishes } = journalStep(family, run, event)
  if (write) {
    refuseMissing(journal, write)
    journal.writes.set(runId, [...(journal.writes.get(runId) ?? []), write])
  }
  if (enters.length > 0) {
    const rows = enters.map(entry => ({ ...entry, seq: sequence, nodeId: nodeId ?? '', left: null }))
    journal.layers.set(runId, [...(journal.layers.get(runId) ?? []), ...rows])
  }
  if (leaves !== undefined) leaveLayer(journal, runId, leaves, sequence)
  for (const entry of publishes) {
    const refusal = publish(journal, entry, at)
    if (refusal) return refusal
  }
  return undefined
}

function refuseMissing({ contents }: JournalTables, { op, tenant, contentId, hash, id }: ToldWrite): void {
  if (op === 'put' && contents.get(contentKey(tenant, contentId ?? ''))?.hash !== (hash ?? ''))
    throw new MissingContent(`the content of ${id} is not stored, or is another`)
}

function leaveLayer(journal: JournalTables, runId: string, nodeIds: readonly string[], sequence: number): void {
  const isPublished = ({ write, scope }: LayerEntry) => {
    const told = writeNamed(journal, write)
    return told !== undefined && publishedIn(scopeOf(journal, told.tenant, told.space, scope), write) !== undefined
  }
  const rows = (journal.layers.get(runId) ?? []).map(row =>
    nodeIds.includes(row.nodeId) && row.left === null && !isPublished(row) ? { ...row, left: sequence } : row,
  )
  journal.layers.set(runId, rows)
}

/** Gives a write the next position of the scope, unless it has one there. */
function publish(journal: JournalTables, { write: name, scope: scopeName }: LayerEntry, at: number) {
  const write = writeNamed(journal, name)
  if (write === undefined) return undefined
  const scope = scopeOf(journal, write.tenant, write.space, scopeName)
  return publishedIn(scope, name) ? undefined : publishAt(journal, scopeName, write, at)
}

export function publishAt(
  journal: JournalTables,
  scopeName: string,
  write: ToldWrite,
  at: number,
): Refusal | undefined {
  const scope = scopeOf(journal, write.tenant, write.space, scopeName)
  const before = latestOf(scope, write)
  const isFile = write.space === 'workspace'
  const { current, counted } = versionsOf(
    before && { version: before.version ?? 0, op: before.write.op },
    isFile ? write.seen : 0,
  )
  if (isFile && write.ifMatch !== null && write.ifMatch !== current) return { path: write.id, currentVersion: current }
  const position = scope.head + 1
  const version = isFile ? counted + 1 : null
  const rows = before
    ? scope.rows.map(row => (row === before ? { ...row, until: position, endedAt: at } : row))
    : scope.rows
  const row = { position, write, version, at, until: null, endedAt: null }
  setScope(journal, { ...scope, head: position, rows: [...rows, row] })
  if (isFile && scopeName === WORKSPACE_SCOPE)
    tellTenant(journal, write.tenant, {
      type: 'workspace.updated',
      payload: JSON.stringify({ path: write.id, version }),
      at,
    })
  return undefined
}

export function tellTenant(
  journal: JournalTables,
  tenant: string,
  event: { readonly type: string; readonly payload: string; readonly at: number },
): void {
  const { events, writes } = journal.streams.get(tenant) ?? { events: [], writes: 0 }
  journal.streams.set(tenant, { events: [...events, { sequence: events.length, ...event }], writes })
}

export const isInLayer = (journal: JournalTables, write: ToldWrite): boolean =>
  [...journal.layers.values()].some(rows => rows.some(row => isSameWrite(row.write, write)))
