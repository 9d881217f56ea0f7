import type { Fork } from '../core/replay/events.js'
import type { NewDelivery } from '../engine/ports/deliveries.js'
import type { Commit, StreamAppend } from '../engine/ports/event-log.js'
import { refuseControls } from './storable-text.js'

/** Throws when a commit is malformed, which is a bug of the caller, or holds a text that cannot be stored (S11). */
export function checkCommit(commit: Commit): void {
  const { streams, ...others } = commit
  const { deliveries } = others
  refuseControls(others)
  for (const stream of streams) {
    checkTexts(stream)
    checkStream(stream)
  }
  if (streams.length > 1 && new Set(streams.map(stream => stream.runId)).size !== streams.length) {
    throw new Error(`commit ${commit.appendId} appends to one run twice`)
  }
  for (const delivery of deliveries ?? []) checkDelivery(delivery, streams)
}

/** Field by field where there are many: every event of every run passes here. */
function checkTexts({ events, ...others }: StreamAppend): void {
  refuseControls(others)
  for (const { type, nodeId, payload, secret, foreignCause, input, salt, hash } of events) {
    refuseControls(type)
    refuseControls(nodeId)
    refuseControls(payload)
    refuseControls(secret)
    refuseControls(foreignCause)
    refuseControls(input)
    refuseControls(salt)
    refuseControls(hash)
  }
}

function checkStream({ runId, expected, events, create }: StreamAppend): void {
  if (create?.fork) checkFork(runId, create.fork)
  const misplaced = create ? expected !== (create.fork?.fromSeq ?? 0) : expected === 0
  if (misplaced) throw new Error(`append to run ${runId} at ${expected} cannot ${create ? 'create' : 'extend'} it`)
  // A fork that shares nothing is no exception: a run without any event has not begun.
  if (expected === 0 && events.length === 0) throw new Error(`run ${runId} cannot be created without an event`)
  let sequence = expected
  for (const event of events) {
    if (event.sequence !== sequence) {
      throw new Error(`append to run ${runId} has sequence ${event.sequence} in place of ${sequence}`)
    }
    sequence += 1
  }
}

function checkFork(runId: string, { fromSeq, sourceLength }: Fork): void {
  if (fromSeq < 0 || fromSeq > sourceLength) {
    throw new Error(`run ${runId} cannot share ${fromSeq} of ${sourceLength} events`)
  }
}

function checkDelivery({ runId, sequence }: NewDelivery, streams: readonly StreamAppend[]): void {
  const stream = streams.find(one => one.runId === runId)
  if (!stream || sequence < stream.expected || sequence >= stream.expected + stream.events.length) {
    throw new Error(`delivery of event ${sequence} of run ${runId}, which this commit does not write`)
  }
}
