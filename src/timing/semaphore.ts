/** Runs work, so much of it at a time; the rest waits in order of arrival. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

export function createSemaphore(places: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = places
  return async work => {
    if (free > 0) free -= 1
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await work()
    } finally {
      // The place passes to the next in line, or becomes free.
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
