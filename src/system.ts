import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock, Ids, Random } from './engine/ports/clock.js'

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

const SALT_BYTES = 16
/** Random bytes are asked for many at a time: one by one they cost more than the hash they salt. */
const POOL_BYTES = 256 * SALT_BYTES

/** UUIDs of version 7 that also sort within one millisecond; the random part comes from the runtime's own pool. */
class SortedIds implements Ids {
  #pool = Buffer.alloc(0)
  #used = POOL_BYTES
  #millisecond = 0
  #count = 0

  run(): string {
    const now = Date.now()
    if (now > this.#millisecond) {
      this.#millisecond = now
      this.#count = 0
    } else if (this.#count === 0xfff) {
      this.#millisecond += 1
      this.#count = 0
    } else {
      this.#count += 1
    }
    const time = this.#millisecond.toString(16).padStart(12, '0')
    const count = this.#count.toString(16).padStart(3, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${randomUUID().slice(19)}`
  }

  unique(): string {
    return randomBytes(16).toString('base64url')
  }

  salt(): string {
    if (this.#used === POOL_BYTES) {
      this.#pool = randomBytes(POOL_BYTES)
      this.#used = 0
    }
    this.#used += SALT_BYTES
    return this.#pool.toString('base64url', this.#used - SALT_BYTES, this.#used)
  }
}

export const systemIds: Ids = new SortedIds()

export const systemRandom: Random = () => Math.random()
