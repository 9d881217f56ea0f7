import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../testing/manual-clock.js'
import { createMcpServer, pauseAfter } from './mcp-server.js'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

describe('a tool server that cannot be reached', () => {
  test('M2: pauses double from the second failure on, up to a minute', () => {
    expect([1, 2, 3, 4, 7, 8, 9, 1000].map(pauseAfter)).toEqual([
      0, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000,
    ])
  })

  test('M2: is tried again only when the pause is over', async () => {
    const clock = new ManualClock()
    let tries = 0
    const open = async () => {
      tries += 1
      throw Object.assign(new Error('swordfish'), { code: 'ENOENT' })
    }
    const server = createMcpServer({ name: 'srv', open, clock, log, timeoutMs: 1_000 })
    for (const [skip, expected] of [
      [0, 1],
      [0, 2],
      [0, 2],
      [999, 2],
      [1, 3],
      [1_999, 3],
      [1, 4],
    ] as const) {
      clock.skip(skip)
      expect(await server.list()).toBeUndefined()
      expect(tries).toBe(expected)
    }
    expect(server.problem()).toBe('the tool server "srv" cannot be used: it cannot be started (ENOENT)')
    await server.close()
  })

  test('M1: those who come while it is being connected wait for the same', async () => {
    const clock = new ManualClock()
    let tries = 0
    const open = async () => {
      tries += 1
      return new Promise<never>(() => undefined)
    }
    const server = createMcpServer({ name: 'srv', open, clock, log, timeoutMs: 1_000 })
    const lists = [server.list(), server.list(), server.list()]
    await clock.advance(1_000)
    expect(await Promise.all(lists)).toEqual([undefined, undefined, undefined])
    expect([tries, server.problem()]).toEqual([1, 'the tool server "srv" cannot be used: it does not answer'])
    await server.close()
    expect(await server.list()).toBeUndefined()
  })
})
