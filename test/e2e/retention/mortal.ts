import type { Store } from '../../../src/engine/ports/store.js'

export class Died extends Error {}

/** Lets `calls` calls through and dies before the next, or once that one is done. */
export function mortal(
  store: Store,
  calls: number,
  when: 'before' | 'after',
): { store: Store; hasDied: () => boolean } {
  let made = 0
  const hasDied = () => made > calls
  const handler: ProxyHandler<Store> = {
    get: (target, property) => {
      const value = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      return async (...given: unknown[]) => {
        made += 1
        if (made > calls && (when === 'before' || made > calls + 1)) throw new Died()
        const answer = await value.apply(target, given)
        if (hasDied()) throw new Died()
        return answer
      }
    },
  }
  return { store: new Proxy(store, handler), hasDied }
}
