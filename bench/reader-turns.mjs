// What readers of logs are given in one round of the event loop, in bytes: with their turns, and with turns taken away. Counted,
// not timed, so that it is the same on every machine. `node bench/reader-turns.mjs`, after a build.
import { EventEmitter } from 'node:events'
import { SseConnection } from '../dist/http/streaming/sse-connection.js'
import { streamRun } from '../dist/http/streaming/sse.js'
import { systemClock } from '../dist/system.js'
import { NO_TURNS, Turns } from '../dist/timing/turns.js'

const TURN_BYTES = 64 * 1024
/** A page of a log, as `engine/runtime/followers.ts` reads it. */
const PAGE_BYTES = 256 * 1024
const PAGES = 4

const event = (sequence, bytes) => ({
  sequence,
  type: 'node.completed',
  nodeId: null,
  payload: JSON.stringify({ text: 'x'.repeat(bytes) }),
  secret: null,
  cause: null,
  at: 0,
})

/** A log that is read page by page, each in a round of its own. */
async function* pages(eventBytes) {
  const each = Math.floor(PAGE_BYTES / eventBytes)
  for (let page = 0; page < PAGES; page += 1) {
    await new Promise(resolve => setImmediate(resolve))
    yield Array.from({ length: each }, (_, i) => event(page * each + i, eventBytes))
  }
}

/** The most, and the sum, of what so many readers are given in a round. */
async function given(readers, eventBytes, turns, turnBytes) {
  let [round, most, total, rounds, isOver] = [0, 0, 0, 0, false]
  const endRound = () => {
    most = Math.max(most, round)
    round = 0
    rounds += 1
    if (!isOver) setImmediate(endRound)
  }
  setImmediate(endRound)
  const read = async () => {
    const raw = Object.assign(new EventEmitter(), { writableNeedDrain: false, writableLength: 0 })
    raw.write = bytes => {
      round += bytes.length
      total += bytes.length
      return true
    }
    const limits = { maxBufferBytes: TURN_BYTES, stallMs: 60_000, turnBytes }
    const connection = new SseConnection(raw, systemClock, limits, turns, 'attacker')
    const about = { tenant: 'attacker', runId: 'run', modes: ['debug'], bufferMs: 0, after: -1, resumed: false }
    await streamRun(undefined, systemClock, '1', connection, about, pages(eventBytes))
  }
  await Promise.all(Array.from({ length: readers }, read))
  isOver = true
  return { most, total, rounds }
}

for (const [name, readers, bytes] of [
  ['streams', 990, 25_000],
  ['histories', 250, 6_000],
]) {
  const bounded = await given(readers, bytes, new Turns(), TURN_BYTES)
  const free = await given(readers, bytes, NO_TURNS, Number.POSITIVE_INFINITY)
  const times = (free.most / bounded.most).toFixed(0)
  console.log(
    `${name}: ${readers} readers, the most in a round: ${bounded.most} bytes; turns taken away: ${free.most} (${times} times)`,
  )
}
