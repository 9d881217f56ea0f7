import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import type { RunEngine } from '../../src/engine/api.js'
import type { StoredEvent } from '../../src/engine/ports/event-log.js'
import { type Subscription, streamRun } from '../../src/http/streaming/sse.js'
import { SseConnection } from '../../src/http/streaming/sse-connection.js'
import { systemClock } from '../../src/system.js'
import { Turns, type TurnTaking } from '../../src/timing/turns.js'
import { framesOf } from './sockets.js'

const TURN_BYTES = 64 * 1024

/** A reader that takes everything at once; what it is given, turn by turn. */
class Reader extends EventEmitter {
  readonly writableNeedDrain = false
  readonly writableLength = 0
  text = ''

  constructor(private readonly given: (bytes: number) => void) {
    super()
  }

  write(data: string | Buffer): boolean {
    this.given(Buffer.byteLength(data))
    this.text += data.toString()
    return true
  }

  end(): void {
    this.emit('close')
  }
}

const event = (sequence: number, type: string, bytes: number): StoredEvent => ({
  sequence,
  type,
  nodeId: null,
  payload: JSON.stringify({ text: 'é'.repeat(bytes / 2) }),
  secret: null,
  cause: null,
  foreignCause: null,
  at: 0,
  input: null,
  salt: 's',
  hash: 'h',
  erased: null,
})

/** A history of some megabytes: many small events, and one that is larger than any turn. */
const HISTORY = [
  ...Array.from({ length: 400 }, (_, i) => event(i, 'node.completed', 4_000)),
  event(400, 'node.completed', 600_000),
  event(401, 'run.completed', 100),
]

async function* source(): AsyncGenerator<readonly StoredEvent[]> {
  for (let i = 0; i < HISTORY.length; i += 100) yield HISTORY.slice(i, i + 100)
}

type Given = { readonly reader: number; readonly bytes: number; readonly turn: number }

/** Several read the same history; each of their writes, with the turn that it came in. */
async function readers(count: number, modes: Subscription['modes'], turnBytes = TURN_BYTES, bufferMs = 0) {
  const given: Given[] = []
  const turns = new Turns()
  let turn = 0
  const counted: TurnTaking = {
    async next(name) {
      await turns.next(name)
      turn += 1
    },
    room: name => turns.room(name),
    spent: (name, steps) => turns.spent(name, steps),
  }
  const texts = await Promise.all(
    Array.from({ length: count }, async (_, reader) => {
      const raw = new Reader(bytes => given.push({ reader, bytes, turn }))
      const limits = { maxBufferBytes: 1_048_576, stallMs: 30_000, turnBytes }
      const connection = new SseConnection(raw as unknown as ServerResponse, systemClock, limits, counted, 't')
      const asked: Subscription = { tenant: 't', runId: 'r', modes, bufferMs, after: -1, resumed: false }
      await streamRun({} as RunEngine, systemClock, '3', connection, asked, source())
      return raw.text
    }),
  )
  return { given, texts }
}

test.each([0, 50])(
  'no reader gets more than its bytes in a turn, and a turn is one reader’s (bufferMs %i)',
  async bufferMs => {
    const { given, texts } = await readers(5, ['debug'], TURN_BYTES, bufferMs)
    expect(Math.max(...given.map(({ bytes }) => bytes))).toBeLessThanOrEqual(TURN_BYTES)
    expect(new Set(given.map(({ turn }) => turn)).size).toBe(given.length)
    expect(given.length).toBeGreaterThan(5 * 30)
    expect(new Set(texts).size).toBe(1)
  },
)

test('readers take turns: none is given twice while another waits', async () => {
  const { given } = await readers(5, ['debug'])
  for (let i = 0; i + 5 <= given.length; i += 5)
    expect([...new Set(given.slice(i, i + 5).map(({ reader }) => reader))].sort()).toEqual([0, 1, 2, 3, 4])
})

test('what is cut into turns is read as it is: every event, once, in order', async () => {
  const { texts } = await readers(2, ['debug'])
  for (const text of texts) {
    const frames = framesOf(text)
    expect(frames.map(({ id }) => id)).toEqual(HISTORY.map(({ sequence }) => sequence))
    expect(frames[400]?.data).toMatchObject({ payload: JSON.parse(HISTORY[400]!.payload) })
  }
})

test('a frame that is sent in pieces has nothing else within it', async () => {
  const reader = new Reader(() => undefined)
  const limits = { maxBufferBytes: TURN_BYTES, stallMs: 60_000, turnBytes: 10 }
  const turns = new Turns()
  const connection = new SseConnection(reader as unknown as ServerResponse, systemClock, limits, turns, 'acme')
  let pings = 0
  function* pieces() {
    yield 'id: 1\nevent: e\ndata: "'
    for (let i = 0; i < 20; i += 1) {
      connection.ping()
      pings += 1
      yield 'abcdefghij'
    }
    yield '"\n\n'
  }
  await connection.sendPieces(pieces())
  expect(pings).toBe(20)
  expect(reader.text).toBe(`id: 1\nevent: e\ndata: "${'abcdefghij'.repeat(20)}"\n\n`)
  connection.ping()
  expect(reader.text).toMatch(/\n\n:keepalive\n\n$/)
})
