import type { StreamRunBegan } from '../../core/standing/stream.js'
import type { Checkpoint } from '../../engine/ports/audit.js'
import type { Delivery, Webhook } from '../../engine/ports/deliveries.js'
import type { EffectClaim } from '../../engine/ports/effect-ledger.js'
import type { Snapshot, StoredEvent } from '../../engine/ports/event-log.js'
import type { GateRows } from '../../engine/ports/gate-rows.js'
import type { ApiKey } from '../../engine/ports/keys.js'
import type { RememberedResponse } from '../../engine/ports/remembered-responses.js'
import type { PurgedRun } from '../../engine/ports/retention.js'
import type { RunRow } from '../../engine/ports/run-index.js'
import type { Standard } from '../../engine/ports/standards.js'
import type { Erasure } from '../../engine/ports/tenants.js'
import type { TrailRecord } from '../../engine/ports/audit.js'
import type { WorkflowRecord } from '../../engine/ports/workflows.js'
import { emptyJournal, type JournalTables } from './journal-tables.js'

/** Rows are replaced, never changed in place, so they can be handed out as they are. */
export type Tables = {
  readonly runs: Map<string, RunRow>
  /** Ids of runs that have not ended. */
  readonly open: Set<string>
  /** Without those that a fork shares with its source. */
  readonly events: Map<string, StoredEvent[]>
  /** Of each run, in the order of their lengths. */
  readonly snapshots: Map<string, Snapshot[]>
  /** The append that wrote an event, by `firstOf(run, sequence)`, for the first event of each append. */
  readonly appends: Map<string, string>
  /** The append that created a fork, by run. */
  readonly forks: Map<string, string>
  readonly hosts: Map<string, HostRow>
  /** Of all hosts on this store; one entry at most. */
  readonly identity: Map<'host', { readonly id: string; readonly given: boolean }>
  readonly responses: Map<string, RememberedResponse>
  readonly invocations: Map<string, InvocationRow>
  readonly definitions: Map<string, string>
  readonly workflows: Map<string, Omit<WorkflowRecord, 'definition'>>
  /** All versions of each, oldest first. Only the latest counts as deleted or not. */
  readonly standards: Map<string, readonly StandardRow[]>
  /** By run; of runs that have any. */
  readonly gates: Map<string, GateRows>
  readonly keys: Map<string, ApiKey>
  readonly webhooks: Map<string, Webhook>
  /** By `deliveryKey`. */
  readonly deliveries: Map<string, Delivery>
  /** By `laneKey`; there is one as long as it has pending deliveries. */
  readonly lanes: Map<string, Lane>
  readonly checkpoints: Map<number, Checkpoint>
  /** By run. The lease of a family stands in the row of its root. */
  readonly purged: Map<string, PurgeRow>
  /** Bytes by tenant; unfinished runs by tenant. */
  readonly bytes: Map<string, number>
  readonly active: Map<string, number>
  /** The root of each child, and how many are below each root. */
  readonly roots: Map<string, string>
  readonly families: Map<string, number>
  /** By standing stream: the runs that it has started, in their order (S16). */
  readonly streamRuns: Map<string, readonly StreamRunBegan[]>
  /** By tenant. */
  readonly dataKeys: Map<string, string>
  readonly erasures: Map<string, ErasureRow>
  /** By tenant, in their order. */
  readonly trail: Map<string, readonly TrailRecord[]>
  readonly journal: JournalTables
}

/** What is pending for one subscription of one run. While it is leased, `dueAt` is the end of the lease. */
export type Lane = {
  readonly webhookId: string
  readonly runId: string
  readonly dueAt: number
  readonly leaseHost: string | null
  /** Sequences, ascending. */
  readonly pending: readonly number[]
}

export type HostRow = {
  readonly hostName: string
  readonly leaseUntil: number
  readonly state: 'alive' | 'fenced' | 'released'
}

export type StandardRow = Standard & { readonly deletedAt: number | null }

/** `outcome` is rendered JSON; undefined until the effect is finished. */
export type InvocationRow = EffectClaim & { readonly outcome?: string; readonly cacheKey?: string }

export type PurgeRow = PurgedRun & {
  readonly isStored: boolean
  readonly leaseHost: string | null
  readonly leaseUntil: number
}

/** Runs up to `uptoRun`, in the order of their ids, have no content left. */
export type ErasureRow = Erasure & {
  readonly uptoRun: string
  readonly leaseHost: string | null
  readonly leaseUntil: number
}

export const emptyTables = (): Tables => ({
  runs: new Map(),
  snapshots: new Map(),
  open: new Set(),
  events: new Map(),
  appends: new Map(),
  forks: new Map(),
  hosts: new Map(),
  identity: new Map(),
  responses: new Map(),
  invocations: new Map(),
  definitions: new Map(),
  workflows: new Map(),
  standards: new Map(),
  gates: new Map(),
  keys: new Map(),
  webhooks: new Map(),
  deliveries: new Map(),
  lanes: new Map(),
  checkpoints: new Map(),
  purged: new Map(),
  bytes: new Map(),
  active: new Map(),
  roots: new Map(),
  families: new Map(),
  streamRuns: new Map(),
  dataKeys: new Map(),
  erasures: new Map(),
  trail: new Map(),
  journal: emptyJournal(),
})

export function addTo(counts: Map<string, number>, name: string, change: number): void {
  if (change !== 0) counts.set(name, (counts.get(name) ?? 0) + change)
}

export const firstOf = (runId: string, sequence: number): string => `${runId}:${sequence}`

export const isAlive = (tables: Tables, hostId: string): boolean => tables.hosts.get(hostId)?.state === 'alive'
