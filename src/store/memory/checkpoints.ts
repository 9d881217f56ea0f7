import type { Checkpoint, SealedRun } from '../../engine/ports/audit.js'
import type { Tables } from './tables.js'

/** Oldest end first. A run without a head has ended before there was a chain: there is nothing to vouch for. */
export function unsealedRuns(tables: Tables, limit: number): SealedRun[] {
  const runs = [...tables.runs.values()].flatMap(({ runId, length, head, endedAt, checkpoint }) =>
    endedAt !== null && checkpoint === null && head !== '' ? [{ runId, length, head, endedAt }] : [],
  )
  runs.sort((a, b) => a.endedAt - b.endedAt || (a.runId < b.runId ? -1 : 1))
  return runs.slice(0, limit).map(({ runId, length, head }) => ({ runId, length, head }))
}

/** A repetition of the checkpoint that has the number is no conflict. */
export function putCheckpoint(tables: Tables, checkpoint: Checkpoint): boolean {
  const { seq, hash, signature, runs, purged } = checkpoint
  const taken = tables.checkpoints.get(seq)
  if (taken) return taken.hash === hash && taken.signature === signature
  tables.checkpoints.set(seq, checkpoint)
  for (const { runId } of runs) {
    const run = tables.runs.get(runId)
    if (run?.checkpoint === null) tables.runs.set(runId, { ...run, checkpoint: seq })
  }
  for (const { runId } of purged) {
    const mark = tables.purged.get(runId)
    if (mark?.checkpoint === null) tables.purged.set(runId, { ...mark, checkpoint: seq })
  }
  return true
}

export const checkpointsFrom = (tables: Tables, from: number): Checkpoint[] =>
  [...tables.checkpoints.values()].filter(({ seq }) => seq >= from).sort((a, b) => a.seq - b.seq)
