import type { AuditStore, TrailStore } from './audit.js'
import type { DeliveryQueue, WebhookStore } from './deliveries.js'
import type { EffectLedger } from './effect-ledger.js'
import type { EventLog } from './event-log.js'
import type { GateLedger } from './gate-rows.js'
import type { HostRegistry } from './hosts.js'
import type { Journal, JournalKeeping } from './journal.js'
import type { KeyStore } from './keys.js'
import type { PieceStore } from './pieces.js'
import type { ResponseStore } from './remembered-responses.js'
import type { RetentionStore } from './retention.js'
import type { RunIndex } from './run-index.js'
import type { StandardStore } from './standards.js'
import type { DataKeyStore, TenantStore } from './tenants.js'
import type { WorkflowStore } from './workflows.js'

/**
 * What the engine needs of a database: all of its ports together. Whoever needs less asks for one of them.
 *
 * The Store contract, numbered; every adapter passes `test/contract/store/contract.ts`:
 *
 *  S1  commit is one transaction: all of it is durable when it resolves `committed`, none of it otherwise.
 *  S2  commit is compare-and-set: a stream whose `expected` is not its next sequence makes the whole commit `conflict`.
 *  S3  commit is fenced: a host that was fenced, or an `epoch` that is not the run's, makes it `fenced`.
 *  S4  an unknown outcome is resolved by looking up `appendId`; commit never reports a guess. If the store cannot be
 *      reached to find out, it rejects with StoreUnavailable and the caller must reload before it decides again.
 *  S5  a run's events are dense from 0; at most one is terminal, and it is last. SQL constraints hold this.
 *  S6  reads that take a tenant return nothing for another tenant's rows, in the query that fetches.
 *  S7  reads never wait for the writer.
 *  S8  a claim moves to another host only after the holder was fenced, and raises the run's epoch.
 *  S9  a run that is created as a fork shares the first `fromSeq` events of its source: they are read as its own, and
 *      writing it costs the same however many they are.
 *  S10 no result that a blocking gate judges is merged without a pass over exactly that result: the event that merges it
 *      is refused with UnverifiedMerge, and nothing of its commit is written. SQL constraints hold this, and they are
 *      fed from the events themselves, so no caller can leave them out. In runs of version 3 of the rules and later the
 *      merging event names the hash of what it merges, every gate there has passed that hash and what the gate wants
 *      judged, nothing is made of a result beforehand, and no run says that its goal is reached against a verdict that
 *      stands (docs/contract/store.md).
 *  S11 a text that holds a control character (U+0000 to U+001F) is never stored: the write is refused with
 *      UnstorableText, and nothing of it is written. Nothing is found by one, least of all what is stored under the part
 *      before a NUL. Contents are JSON, which escapes them.
 *  S12 a family of runs is purged as a whole: once it is marked, none of its runs is found or forked, and its rows are
 *      deleted only when a checkpoint tells of it. What a fork outside of it shares is never deleted.
 *  S13 what a tenant has is counted in the transaction that changes it: its unfinished runs, the bytes of its logs, kept
 *      states and outcomes, and the runs below each root. A commit whose new runs would cross one of its `quotas` is
 *      `over-quota`, also when several that would are made at once; one that creates nothing is never refused for it.
 *  S14 a tenant is erased for good: once it is marked it has no key, and nothing of it is stored any more, whoever asks:
 *      the write is refused with TenantErased. Its runs are found by the host alone; hashes of their events, and what
 *      these cover besides content, stay. None of its runs is open then; its standing streams are ended with the mark,
 *      and whoever holds one is fenced.
 *  S15 what runs write down for later is made of their events, in the transaction that writes these, by constraints that
 *      no caller can leave out (docs/design/journal.md). A write whose content is not stored, all pieces of it included, or
 *      has another hash, is refused with MissingContent; one whose file has another version than it must have makes the commit
 *      `workspace-conflict`. Positions of a scope are dense, and nothing has one that a blocking gate holds.
 *  S16 a standing stream (`core/standing`) is a log like that of a run, and no run: it is not counted among its tenant's
 *      unfinished ones. A run that it starts stands in its log: under one role ordinals are dense from 1, no tick has two
 *      runs, no run has two beginnings, every run is there and is its tenant's, and none has an ordinal beyond
 *      `bounds.maxLoopIterations` of the stream's first event. SQL constraints hold this, fed from the events themselves.
 *  S17 the audit trail of a tenant is only added to: its records are dense from 1, each names the hash of the one before it, of
 *      several that would be the next at once one is, and none is changed. They go with all of an erased tenant, and not
 *      otherwise. SQL constraints hold this.
 */
export type Store = DeliveryQueue &
  WebhookStore &
  AuditStore &
  EventLog &
  RetentionStore &
  RunIndex &
  GateLedger &
  HostRegistry &
  WorkflowStore &
  StandardStore &
  ResponseStore &
  EffectLedger &
  KeyStore &
  DataKeyStore &
  TenantStore &
  TrailStore &
  Journal &
  JournalKeeping &
  PieceStore & {
    /** Resolves when a small read goes through; rejects with StoreUnavailable otherwise. */
    ping(): Promise<void>
    close(): Promise<void>
  }
