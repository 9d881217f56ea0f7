import { isWaiting } from '../../core/run/state.js'
import type { Perform } from './performing.js'

/**
 * Looks what has become of a child. Its end wakes the parent in the same commit, and so does its waiting for someone,
 * which the parent mirrors; looking again is always harmless.
 */
export const watchChild: Perform<'watch-child'> = async (shop, _run, { nodeId, childRunId, status: known }) => {
  const cell = shop.cells.get(childRunId)
  const row = cell?.loaded?.state.phase === 'ended' ? undefined : await shop.store.readRun(null, childRunId)
  if (row && row.endedAt === null) {
    const status = isWaiting(row.status) ? row.status : 'running'
    return status === known ? undefined : { input: { type: 'ChildWaits', nodeId, childRunId, status } }
  }
  const child = await shop.runs.load(shop.cells.enter(childRunId))
  if (child?.state.phase !== 'ended') return undefined
  const { outcome, variables, channels, hidden } = child.state
  const error = outcome.status === 'failed' ? { error: outcome.error } : {}
  const told = { ...variables, ...channels }
  return {
    input: {
      type: 'ChildEnded',
      nodeId,
      childRunId,
      status: outcome.status,
      variables: told,
      hidden: [...hidden.variables, ...hidden.channels],
      ...error,
    },
  }
}
