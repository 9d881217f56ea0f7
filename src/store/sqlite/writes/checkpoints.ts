import type { Checkpoint } from '../../../engine/ports/audit.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

/** A repetition of the checkpoint that has the number is no conflict: the first answer may have been lost. */
export function putCheckpoint(db: Connection, checkpoint: Checkpoint): boolean {
  const { seq, at, keyId, prev, hash, signature } = checkpoint
  const taken = db.get(SQL.checkpoints.taken, seq)
  if (taken) return taken.hash === hash && taken.signature === signature
  const [runs, purged] = [JSON.stringify(checkpoint.runs), JSON.stringify(checkpoint.purged)]
  db.run(SQL.checkpoints.add, seq, at, keyId, prev, runs, purged, hash, signature)
  db.run(SQL.checkpoints.sealRuns, seq, runs)
  db.run(SQL.checkpoints.sealPurged, seq, purged)
  return true
}
