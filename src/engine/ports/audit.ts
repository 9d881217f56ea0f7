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
