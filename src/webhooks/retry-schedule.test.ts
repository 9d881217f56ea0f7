import { describe, expect, it } from 'vitest'
import { nextTry } from './retry-schedule.js'

const delivery = { at: 1_000_000 }

describe('when a failed delivery is tried again', () => {
  it('waits twice as long each time, from a second to five minutes', () => {
    const waits = Array.from({ length: 12 }, (_, i) => (nextTry(delivery, i + 1, 1_000_000) ?? 0) - 1_000_000)
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300].map(seconds => seconds * 1000))
  })

  it('gives up after twenty tries, or a day after the event', () => {
    expect(nextTry(delivery, 19, 2_000_000)).toBe(2_300_000)
    expect(nextTry(delivery, 20, 2_000_000)).toBeUndefined()
    expect(nextTry(delivery, 1, 1_000_000 + 86_399_999)).toBeDefined()
    expect(nextTry(delivery, 1, 1_000_000 + 86_400_000)).toBeUndefined()
  })
})
