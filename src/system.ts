import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import type { Clock, Ids } from './engine/ports.js'

/** The machine's clock. setTimeout cannot wait longer than 2^31 ms, so longer waits are cut and asked for again. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

export const systemIds: Ids = {
  run: () => v7(),
  unique: () => randomBytes(16).toString('base64url'),
}
