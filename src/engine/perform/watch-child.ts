import type { Perform } from './performing.js'

/** Looks whether a child has ended. Its end wakes the parent in the same commit; looking again is always harmless. */
export const watchChild: Perform<'watch-child'> = async (shop, _run, { nodeId, childRunId }) => {
  const cell = shop.cells.get(childRunId)
  const ended = cell?.loaded?.state.phase === 'ended' || (await shop.store.readRun(null, childRunId))?.endedAt != null
  if (!ended) return undefined
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
