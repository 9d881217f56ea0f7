import type { Perform } from './effect-context.js'

/** Passes a stop on to a child. The child's own end reports back through watch-child. */
export const cancelChild: Perform<'cancel-child'> = async (shop, { runId }, { childRunId }) => {
  await shop.runs.submit(childRunId, { type: 'CancelRun', by: 'parent', parentRunId: runId })
  return undefined
}
