import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Commit } from '../../engine/ports/event-log.js'
import { settled } from '../../testing/manual-clock.js'
import { Hints } from './hints.js'

type Asked = { readonly values: unknown[]; readonly answer: (error?: Error) => void }

/** Connections that a test answers for. */
const { made, Connection } = await vi.hoisted(async () => {
  const { EventEmitter } = await import('node:events')
  class Connection extends EventEmitter {
    readonly asked: Asked[] = []
    readonly processID = 7
    ended = 0

    constructor() {
      super()
      made.push(this)
    }
    connect = async () => undefined
    escapeIdentifier = (name: string) => `"${name}"`
    end = async () => {
      this.ended += 1
    }
    query(text: string, values: unknown[] = []): Promise<void> {
      if (text.startsWith('LISTEN')) return Promise.resolve()
      return new Promise((resolve, reject) => {
        this.asked.push({ values, answer: error => (error ? reject(error) : resolve()) })
      })
    }
    get sent(): unknown[] {
      return this.asked.map(({ values }) => values[1])
    }
  }
  const made: Connection[] = []
  return { made, Connection }
})

vi.mock('pg', () => ({ default: { Client: Connection } }))

const commit = (runId: string, wakes: string[] = []) => ({ streams: [{ runId }], wakes }) as unknown as Commit

async function connected() {
  const hints = new Hints({ schema: 's', url: 'postgres://127.0.0.1/x' } as never)
  await settled()
  return { hints, connection: made[0]! }
}

beforeEach(() => void made.splice(0))

describe('hints', () => {
  test('that wait while one is being sent share the next, and each run is named once', async () => {
    const { hints, connection } = await connected()
    hints.committed([commit('a', ['parent'])])
    expect(connection.sent).toEqual([['a\nparent']])
    hints.committed([commit('b')])
    hints.committed([commit('c'), commit('b')])
    await settled()
    expect(connection.sent).toHaveLength(1)
    connection.asked[0]!.answer()
    await settled()
    expect(connection.sent).toEqual([['a\nparent'], ['b\nc']])
    connection.asked[1]!.answer()
    await settled()
    expect(connection.sent).toHaveLength(2)
    await hints.close()
  })

  test('of before there is a connection are sent when there is one', async () => {
    const hints = new Hints({ schema: 's', url: 'postgres://127.0.0.1/x' } as never)
    hints.committed([commit('early')])
    expect(made[0]!.sent).toEqual([])
    await settled()
    expect(made[0]!.sent).toEqual([['early']])
    await hints.close()
  })

  test('are no more than a NOTIFY carries at once', async () => {
    const { hints, connection } = await connected()
    const runIds = Array.from({ length: 500 }, (_, i) => `run-${i}`.padEnd(36, 'x'))
    hints.committed(runIds.map(runId => commit(runId)))
    const [payloads] = connection.sent as string[][]
    expect(payloads!.length).toBeGreaterThan(1)
    for (const payload of payloads!) expect(payload.length).toBeLessThanOrEqual(7_000)
    expect(payloads!.join('\n').split('\n')).toEqual(runIds)
    await hints.close()
  })

  test('from others are told to who listens, its own are not', async () => {
    const { hints, connection } = await connected()
    const heard: string[] = []
    const stop = hints.on(runId => heard.push(runId))
    connection.emit('notification', { payload: 'a\nb', processId: 8 })
    connection.emit('notification', { payload: 'own', processId: 7 })
    stop()
    connection.emit('notification', { payload: 'late', processId: 8 })
    expect(heard).toEqual(['a', 'b'])
    await hints.close()
  })

  test('a connection that fails is given up once and made again once', async () => {
    vi.useFakeTimers()
    try {
      const hints = new Hints({ schema: 's', url: 'postgres://127.0.0.1/x' } as never)
      await vi.advanceTimersByTimeAsync(0)
      const [connection] = made
      connection!.emit('error', new Error('gone'))
      connection!.emit('error', new Error('gone'))
      hints.committed([commit('a')])
      expect(connection!.sent).toEqual([])
      await vi.advanceTimersByTimeAsync(49)
      expect(made).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(1)
      expect(made).toHaveLength(2)
      expect(made[1]!.sent).toEqual([['a']])
      await vi.advanceTimersByTimeAsync(10_000)
      expect(made).toHaveLength(2)
      await hints.close()
      expect(made[1]!.ended).toBe(1)
    } finally {
      vi.useRealTimers()
    }
  })
})
