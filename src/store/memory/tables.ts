import type { ApiKey, InvocationClaim, Receipt, RunRow, StoredEvent, WorkflowRecord } from '../../engine/ports.js'

/** Rows are replaced, never changed in place, so they can be handed out as they are. */
export type Tables = {
  readonly runs: Map<string, RunRow>
  /** Ids of runs that have not ended. */
  readonly open: Set<string>
  readonly events: Map<string, StoredEvent[]>
  /** The append that wrote an event, by `firstOf(run, sequence)`, for the first event of each append. */
  readonly appends: Map<string, string>
  readonly hosts: Map<string, HostRow>
  readonly receipts: Map<string, Receipt>
  readonly invocations: Map<string, InvocationRow>
  readonly definitions: Map<string, string>
  readonly workflows: Map<string, Omit<WorkflowRecord, 'definition'>>
  readonly keys: Map<string, ApiKey>
}

export type HostRow = {
  readonly hostName: string
  readonly leaseUntil: number
  readonly state: 'alive' | 'fenced' | 'released'
}

/** `outcome` is rendered JSON; undefined until the effect is finished. */
export type InvocationRow = InvocationClaim & { readonly outcome?: string }

export const emptyTables = (): Tables => ({
  runs: new Map(),
  open: new Set(),
  events: new Map(),
  appends: new Map(),
  hosts: new Map(),
  receipts: new Map(),
  invocations: new Map(),
  definitions: new Map(),
  workflows: new Map(),
  keys: new Map(),
})

export const firstOf = (runId: string, sequence: number): string => `${runId}:${sequence}`

export const isAlive = (tables: Tables, hostId: string): boolean => tables.hosts.get(hostId)?.state === 'alive'
