import { setMaxListeners } from 'node:events'
import type { Clock } from '../../engine/ports/clock.js'

export type WithinEnd<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled' }

/**
 * Runs `work` under a signal that aborts when time is over or `signal` aborts, and does not wait for it any longer
 * then: what is not ours need not listen to the signal. Never rejects.
 */
export function within<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<WithinEnd<T>> {
  if (signal.aborted) return Promise.resolve({ kind: 'cancelled' })
  return new Promise(resolve => {
    const inner = new AbortController()
    const end = (ended: WithinEnd<T>) => {
      disarm()
      signal.removeEventListener('abort', cancel)
      resolve(ended)
      if (ended.kind !== 'done') inner.abort(new Error(ended.kind))
    }
    const cancel = () => end({ kind: 'cancelled' })
    const disarm = clock.after(ms, () => end({ kind: 'timeout' }))
    // As many calls as like share a signal, each with a listener of its own that it takes away again.
    setMaxListeners(0, signal)
    signal.addEventListener('abort', cancel, { once: true })
    started(work, inner.signal).then(
      value => end({ kind: 'done', value }),
      error => end({ kind: 'threw', error }),
    )
  })
}

/** What throws before its first `await` has failed like any other. */
const started = async <T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> => work(signal)
