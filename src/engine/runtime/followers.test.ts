import { expect, test } from 'vitest'
import { systemClock } from '../../system.js'
import type { StoredEvent } from '../ports/event-log.js'
import type { Store } from '../ports/store.js'
import { Followers } from './followers.js'

const event = (sequence: number, characters: number): StoredEvent => ({
  sequence,
  type: 'node.completed',
  nodeId: null,
  payload: 'x'.repeat(characters),
  secret: null,
  cause: null,
  foreignCause: null,
  at: 0,
  input: null,
  salt: 's',
  hash: 'h',
  erased: null,
})

/** A reader that has had the first event of a run, and takes no more for now; `reads` are those of the log. */
async function reader() {
  const log = [event(0, 1)]
  const reads: number[] = []
  const readEvents: Store['readEvents'] = async (_runId, from) => {
    reads.push(from)
    return log.slice(from)
  }
  const followers = new Followers({ readEvents } as Store, systemClock)
  const leave = new AbortController()
  const following = followers.follow('run', 0, leave.signal)
  expect((await following.next()).value).toEqual(log)
  const tell = (...events: StoredEvent[]) => {
    log.push(...events)
    followers.publish('run', events)
  }
  const sequences = async () => ((await following.next()).value as StoredEvent[]).map(({ sequence }) => sequence)
  const end = async () => {
    leave.abort()
    expect((await following.next()).done).toBe(true)
    expect(followers.size).toBe(0)
  }
  expect(followers.size).toBe(1)
  return { tell, sequences, reads, end }
}

test('what was told while a reader was busy comes to it without a look at the log', async () => {
  const { tell, sequences, reads, end } = await reader()
  tell(event(1, 400_000))
  tell(event(2, 400_000), event(3, 100))
  expect(await sequences()).toEqual([1, 2, 3])
  expect(reads).toEqual([0])
  await end()
})

test.each([
  ['many events', 11, 100, 100],
  ['large events', 3, 1, 400_000],
])('for a reader that takes nothing no %s are kept: it has them from the log', async (_, times, each, characters) => {
  const { tell, sequences, reads, end } = await reader()
  const expected = Array.from({ length: times * each }, (__, i) => i + 1)
  for (let i = 0; i < times; i += 1)
    tell(...Array.from({ length: each }, (__, j) => event(1 + i * each + j, characters)))
  expect(await sequences()).toEqual(expected)
  expect(reads).toEqual([0, 1])
  // Kept up with again, it is told at once, as before.
  tell(event(expected.length + 1, 400_000))
  expect(await sequences()).toEqual([expected.length + 1])
  expect(reads).toEqual([0, 1])
  await end()
})
