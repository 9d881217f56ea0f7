import type { Checkpoint } from '../../../engine/ports/audit.js'
import type { Connection } from '../connection.js'

/** A repetition of the checkpoint that has the number is no conflict: the first answer may have been lost. */
export function putCheckpoint(db: Connection, checkpoint: Checkpoint): boolean {
  const { seq, at, keyId, prev, hash, signature } = checkpoint
  const taken = db.get('SELECT hash, signature FROM checkpoints WHERE seq = ?', seq)
  if (taken) return taken.hash === hash && taken.signature === signature
  const [runs, purged] = [JSON.stringify(checkpoint.runs), JSON.stringify(checkpoint.purged)]
  db.run(
    'INSERT INTO checkpoints (seq, at, key_id, prev, runs, purged, hash, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    seq,
    at,
    keyId,
    prev,
    runs,
    purged,
    hash,
    signature,
  )
  db.run(
    `UPDATE runs SET checkpoint = ?
      WHERE run_id IN (SELECT value ->> 'runId' FROM json_each(?)) AND checkpoint IS NULL`,
    seq,
    runs,
  )
  db.run(
    `UPDATE purged SET checkpoint = ?
      WHERE run_id IN (SELECT value ->> 'runId' FROM json_each(?)) AND checkpoint IS NULL`,
    seq,
    purged,
  )
  return true
}
