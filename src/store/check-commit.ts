import type { Commit, StreamAppend } from '../engine/ports.js'

/** Throws when a commit is malformed. That is a bug of the caller, never a state of the world. */
export function checkCommit(commit: Commit): void {
  const { streams } = commit
  for (const stream of streams) checkStream(stream)
  if (streams.length > 1 && new Set(streams.map(stream => stream.runId)).size !== streams.length) {
    throw new Error(`commit ${commit.appendId} appends to one run twice`)
  }
}

function checkStream({ runId, expected, events, create }: StreamAppend): void {
  if ((expected === 0) !== (create !== undefined)) {
    throw new Error(`append to run ${runId} at ${expected} must ${expected === 0 ? '' : 'not '}create it`)
  }
  if (expected === 0 && events.length === 0) throw new Error(`run ${runId} cannot be created without an event`)
  let sequence = expected
  for (const event of events) {
    if (event.sequence !== sequence) {
      throw new Error(`append to run ${runId} has sequence ${event.sequence} in place of ${sequence}`)
    }
    sequence += 1
  }
}
