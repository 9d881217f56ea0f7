import type { PerformEffect } from './effect-context.js'

/** Passes a stop on to a child. The child's own end reports back through watch-child. */
export const cancelChild: PerformEffect<'cancel-child'> = async (context, { runId }, { childRunId }) => {
  await context.runs.submit(childRunId, { type: 'CancelRun', by: 'parent', parentRunId: runId })
  return undefined
}
