/** Signed proof of how runs ended. Part of the Store. */
export interface AuditStore {
  /** Runs that have ended and that no checkpoint covers yet, at most `limit`. */
  unsealedRuns(limit: number): Promise<SealedRun[]>
  /** Stores the checkpoint and marks its runs as covered; false, and nothing written, when its number is taken. */
  putCheckpoint(checkpoint: Checkpoint): Promise<boolean>
  /** Checkpoints from number `from` on, ascending, at most `limit`. */
  listCheckpoints(from: number, limit: number): Promise<Checkpoint[]>
  latestCheckpoint(): Promise<Checkpoint | undefined>
}

export type SealedRun = { readonly runId: string; readonly length: number; readonly head: string }

/** Checkpoints are numbered from 0 without a gap, over the whole database. */
export type Checkpoint = {
  readonly seq: number
  readonly at: number
  /** Which key signed: fingerprint of its public half. */
  readonly keyId: string
  /** Hash of the checkpoint before; empty for the first. */
  readonly prev: string
  readonly runs: readonly SealedRun[]
  /** Runs whose time is over, and whose rows may go: as they ended. */
  readonly purged: readonly SealedRun[]
  readonly hash: string
  readonly signature: string
}

/** The audit trail of each tenant (S17): who did what to which of its things, and whether they were let. Part of the Store. */
export interface TrailStore {
  /** Adds the next record of its tenant; false when another one is the next by now. */
  appendTrail(record: TrailRecord): Promise<boolean>
  /** Newest first, at most `limit`, those before `before` where that is given. */
  readTrail(tenant: string, query: TrailQuery): Promise<TrailRecord[]>
}

export type TrailQuery = { readonly before?: number; readonly limit: number }

/** Free of content: names of principals, ids, and words of our own. */
export type TrailRecord = TrailEntry & {
  /** From 1, without gaps. */
  readonly seq: number
  readonly at: number
  /** Hash of the record before; empty for the first. */
  readonly previous: string
  /** SHA-256 over the record and `previous`. */
  readonly hash: string
}

export type TrailEntry = {
  readonly tenant: string
  readonly principal: string
  /** Id of the key; `link` of whoever came through one; `host` of the host itself. */
  readonly credential: string
  readonly action: TrailAction
  /** What it was done to, such as `run:ID`; `-` where that has no id yet. */
  readonly object: string
  readonly outcome: TrailOutcome
}

/** `begun`: it is about to be done, and what became of it follows; where nothing follows, nobody was there to tell. */
export type TrailOutcome = 'begun' | 'allowed' | 'refused'

export type TrailAction =
  | 'transcript.read'
  | 'withheld.read'
  | 'artifact.read'
  | 'tool-servers.read'
  | 'run.export'
  | 'verdict.override'
  | 'key.create'
  | 'key.revoke'
  | 'runs.bulk-cancel'
  | 'run.purge'
  | 'tenant.erase'

/** Whoever records, and whoever looks. */
export interface Trail {
  /** Resolves when it is durable. What must not happen unrecorded waits for it. */
  record(entry: TrailEntry): Promise<void>
  list(tenant: string, query: TrailQuery): Promise<TrailPage>
}

/** Newest first; `isWhole`: every record of the page is as it was written, and follows the one before. */
export type TrailPage = { readonly records: readonly TrailRecord[]; readonly isWhole: boolean }
