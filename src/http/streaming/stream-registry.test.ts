import { describe, expect, test } from 'vitest'
import { noQuotas } from '../../core/quotas.js'
import { ManualClock } from '../../testing/manual-clock.js'
import type { Caller, KeyCache } from '../auth/key-cache.js'
import { StreamRegistry } from './stream-registry.js'

const SETTINGS = { quotas: noQuotas, maxPerKey: 2, pingMs: 15_000, recheckMs: 5_000 }

function registryOf(stillHolds: (caller: Caller) => Promise<boolean> = async () => true) {
  const clock = new ManualClock()
  const warned: string[] = []
  const log = { warn: (_about: unknown, message: string) => void warned.push(message) }
  const registry = new StreamRegistry({ stillHolds } as KeyCache, clock, log as never, SETTINGS)
  const open = (keyId = 'k1') => {
    const told = { pings: 0, closed: 0 }
    const caller = { keyId } as Caller
    const leave = registry.add({ caller, ping: () => (told.pings += 1), close: () => (told.closed += 1) })
    return { told, leave, caller }
  }
  return { clock, registry, open, warned }
}

describe('open streams', () => {
  test('are told "still here" as often as is set, and not at every look at their keys', async () => {
    const { clock, open } = registryOf()
    const { told } = open()
    await clock.advance(14_999)
    expect(told.pings).toBe(0)
    await clock.advance(1)
    expect(told.pings).toBe(1)
    await clock.advance(14_999)
    expect(told.pings).toBe(1)
    await clock.advance(1)
    expect(told.pings).toBe(2)
  })

  test('are told so whenever they were opened, and not once they have left', async () => {
    const { clock, open } = registryOf()
    const first = open()
    await clock.advance(10_000)
    const second = open('k2')
    await clock.advance(5_000)
    expect([first.told.pings, second.told.pings]).toEqual([1, 1])
    first.leave()
    await clock.advance(15_000)
    expect([first.told.pings, second.told.pings]).toEqual([1, 2])
  })

  test('of a key that holds no more are closed; those of others stay', async () => {
    const { clock, open } = registryOf(async ({ keyId }) => keyId !== 'revoked')
    const [gone, stays] = [open('revoked'), open()]
    await clock.advance(4_999)
    expect(gone.told.closed).toBe(0)
    await clock.advance(1)
    expect([gone.told.closed, stays.told.closed]).toEqual([1, 0])
  })

  test('stay open while their keys cannot be checked, and are checked again', async () => {
    const asked: string[] = []
    const { clock, open, warned } = registryOf(async ({ keyId }) => {
      asked.push(keyId)
      if (asked.length === 1) throw new Error('away')
      return false
    })
    const { told } = open()
    await clock.advance(5_000)
    expect([told.closed, warned.length]).toEqual([0, 1])
    await clock.advance(5_000)
    expect([told.closed, asked.length]).toEqual([1, 2])
  })

  test('are capped by key; one that leaves twice makes room once', () => {
    const { registry, open } = registryOf()
    const [first, second] = [open(), open()]
    expect(registry.refusal(first.caller)).toMatchObject({ code: 'rate_limited', details: { limit: 2, scope: 'key' } })
    expect(registry.refusal({ keyId: 'k2' } as Caller)).toBeUndefined()
    first.leave()
    first.leave()
    expect([registry.size, registry.refusal(second.caller)]).toEqual([1, undefined])
    open()
    expect(registry.refusal(second.caller)).toBeDefined()
  })

  test('are all closed at the end, and nothing is looked at any more', async () => {
    const asked: string[] = []
    const { clock, registry, open } = registryOf(async ({ keyId }) => asked.push(keyId) > 0)
    const streams = [open(), open('k2')]
    registry.closeAll()
    await clock.advance(60_000)
    expect(streams.map(({ told }) => [told.pings, told.closed])).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect(asked).toEqual([])
  })
})
