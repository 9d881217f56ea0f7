import { describe, expect, it } from 'vitest'
import type { WebhookHealth } from '../engine/ports/deliveries.js'
import {
  afterFailure,
  afterSuccess,
  circuitOf,
  FAILURES_TO_END,
  FAILURES_TO_OPEN,
  HEALTHY,
  OPEN_MS,
  WINDOW_MS,
} from './circuit.js'

const T = 1_800_000_000_000

const failing = (times: readonly number[], from: WebhookHealth = HEALTHY): WebhookHealth =>
  times.reduce((health, at) => afterFailure(health, at), from)

describe('the circuit of a subscription', () => {
  it('B1 R-HOOK-4: stays closed for three failures in a row and opens for an hour at the fourth', () => {
    const three = failing([T, T + 1, T + 2])
    expect([three.openUntil, three.consecutiveFailures, circuitOf(three, T + 3)]).toEqual([null, 3, 'closed'])
    const four = afterFailure(three, T + 3)
    expect(four).toEqual({
      state: 'active',
      consecutiveFailures: 4,
      openUntil: T + 3 + OPEN_MS,
      failures: [T, T + 1, T + 2, T + 3],
    })
    expect([FAILURES_TO_OPEN, OPEN_MS]).toEqual([4, 3_600_000])
  })

  it('B1: a success in between begins the count anew', () => {
    const health = failing([T + 4, T + 5, T + 6], afterSuccess(failing([T, T + 1, T + 2])))
    expect([health.consecutiveFailures, health.openUntil, health.failures.length]).toEqual([3, null, 6])
  })

  it('B2: is open until the hour is over, then half-open', () => {
    const open = failing([T, T, T, T])
    const at = [T, T + OPEN_MS - 1, T + OPEN_MS, T + 10 * OPEN_MS].map(now => circuitOf(open, now))
    expect(at).toEqual(['open', 'open', 'half-open', 'half-open'])
  })

  it('B2: a success closes it, a failure opens it for another hour', () => {
    const open = failing([T, T, T, T])
    const later = T + OPEN_MS + 5
    expect(afterSuccess(open)).toEqual({ ...open, consecutiveFailures: 0, openUntil: null })
    const again = afterFailure(open, later)
    expect([again.openUntil, again.consecutiveFailures]).toEqual([later + OPEN_MS, 5])
    expect(circuitOf(again, later)).toBe('open')
  })

  it('B2: once closed by a success, one failure does not open it again', () => {
    expect(afterFailure(afterSuccess(failing([T, T, T, T])), T + OPEN_MS).openUntil).toBeNull()
  })

  it('B3: a failure that comes in while it is open does not keep it open longer', () => {
    expect(failing([T, T, T, T, T + 1000, T + 2000]).openUntil).toBe(T + OPEN_MS)
  })

  it('B4 R-HOOK-4: the hundredth failure within seven days ends the subscription, and success does not bring it back', () => {
    const times = (count: number, step: number) => Array.from({ length: count }, (_, i) => T + i * step)
    expect([FAILURES_TO_END, WINDOW_MS]).toEqual([100, 604_800_000])
    expect(failing(times(99, 1000)).state).toBe('active')
    const ended = failing(times(100, 1000))
    expect(ended.state).toBe('failed')
    expect(afterSuccess(ended).state).toBe('failed')
    expect(afterFailure(ended, T + 2 * WINDOW_MS).state).toBe('failed')
  })

  it('B4: failures that are older than seven days do not count and are not kept', () => {
    const step = WINDOW_MS / 99
    const spread = failing(Array.from({ length: 500 }, (_, i) => T + Math.ceil(i * step)))
    expect(spread.state).toBe('active')
    expect(spread.failures.length).toBeLessThanOrEqual(99)
    const late = afterFailure(failing([T, T + 1]), T + WINDOW_MS)
    expect(late.failures).toEqual([T + 1, T + WINDOW_MS])
  })

  it('a success in good health is nothing to write down', () => {
    expect(afterSuccess(HEALTHY)).toBe(HEALTHY)
    const once = afterSuccess(failing([T]))
    expect(afterSuccess(once)).toBe(once)
  })

  it('agrees with a plain count of the rules over every history of nine outcomes', () => {
    for (let bits = 0; bits < 2 ** 9; bits++) {
      let health = HEALTHY
      let row = 0
      let openUntil: number | null = null
      for (let i = 0; i < 9; i++) {
        // Half an hour apart: a circuit that opens is half-open two outcomes later.
        const now = T + (i * OPEN_MS) / 2
        if ((bits >> i) & 1) {
          health = afterSuccess(health)
          row = 0
          openUntil = null
        } else {
          health = afterFailure(health, now)
          row += 1
          if (openUntil === null ? row >= 4 : now >= openUntil) openUntil = now + OPEN_MS
        }
        expect([bits, i, health.consecutiveFailures, health.openUntil]).toEqual([bits, i, row, openUntil])
      }
    }
  })
})
