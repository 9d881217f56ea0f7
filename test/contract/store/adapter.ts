import { afterEach } from 'vitest'
import type { Store } from '../../../src/engine/ports/store.js'

export type Adapter = {
  readonly name: string
  /** A store on fresh, empty data. */
  open(): Promise<Opened>
}

export type Opened = {
  readonly store: Store
  /** A store for a second host on the same data; the same instance where a database has one process only. */
  peer(): Promise<Store>
}

/** Opens fresh data once per test, at the first use, and closes everything after it. */
export function withStore(adapter: Adapter): () => Promise<Opened> {
  const toClose = new Set<Store>()
  afterEach(async () => {
    for (const store of toClose) await store.close()
    toClose.clear()
  })
  return async () => {
    const { store, peer } = await adapter.open()
    toClose.add(store)
    return {
      store,
      peer: async () => {
        const second = await peer()
        toClose.add(second)
        return second
      },
    }
  }
}
