import { present } from '../../core/present.js'
import type { FileConflict } from '../../core/run/input.js'
import type { CommitResult, StreamAppend } from '../ports/event-log.js'

/** The store would not publish a file; nothing of the commit is written. */
export class PublishRefused extends Error {
  constructor(readonly conflict: FileConflict) {
    super(`file "${conflict.path}" has version ${conflict.currentVersion} now`)
  }
}

/** Where the event stands that would have published it. */
export function conflictOf(
  { runId, sequence, path, currentVersion }: Extract<CommitResult, { kind: 'workspace-conflict' }>,
  streams: readonly StreamAppend[],
): FileConflict {
  const events = streams.find(stream => stream.runId === runId)?.events
  const { type, nodeId, payload } = present(
    events?.find(event => event.sequence === sequence),
    `event ${sequence} of run ${runId} in the commit`,
  )
  const at = nodeId === null ? {} : { nodeId }
  const found = { path, currentVersion }
  if (type === 'run.completed') return { ...found, point: 'run' }
  if (type === 'node.completed') return { ...found, point: 'node', ...at }
  if (type !== 'core.workflowChain.event') return { ...found, point: 'write', ...at }
  const { childRunId } = JSON.parse(payload) as { childRunId: string }
  return { ...found, point: 'harvest', ...at, childRunId }
}
