import type { Clock } from '../engine/ports/clock.js'

/** Resolves after `ms`, or as soon as `signal` aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const done = () => {
      disarm()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const disarm = clock.after(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}
