import { MAX_EVENTS } from '../../core/run/advance.js'
import type { Recorded } from '../../core/run/event.js'
import { Replay } from '../../core/run/replay.js'
import { decode } from '../encode.js'
import type { Perform } from './performing.js'

/**
 * Goes on with a replay that its first commit did not finish. It is told again from its beginning, which gives the same
 * events, and what is not in its log yet is appended.
 */
export const retell: Perform<'retell'> = async (shop, run, { fork }, signal) => {
  const log = await shop.store.readEvents(fork.sourceRunId, 0, fork.sourceLength)
  const replay = new Replay(
    run.rules,
    fork,
    run.runId,
    log.map(row => decode(fork.sourceRunId, row)),
  )
  const known = run.state.phase === 'absent' ? 0 : run.state.next
  for (let events = some(replay, known); events !== undefined; events = some(replay, known)) {
    if (signal.aborted) return undefined
    await shop.runs.submit(run.runId, { type: 'Retold', events }, { asHolder: true })
  }
  return undefined
}

/** A commit's worth of events from `known` on; undefined when everything has been told. */
export function some(replay: Replay, known: number): readonly Recorded[] | undefined {
  const events: Recorded[] = []
  while (events.length < MAX_EVENTS) {
    const told = replay.next()
    if (told === undefined) break
    events.push(...told.filter(({ sequence }) => sequence >= known))
  }
  return events.length > 0 ? events : undefined
}
