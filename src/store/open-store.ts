import { fileURLToPath } from 'node:url'
import type { Store } from '../engine/ports/store.js'
import { MemoryStore } from './memory/memory-store.js'
import type { PostgresStoreOptions } from './postgres/postgres-store.js'
import { openSqliteStore, type SqliteStoreOptions } from './sqlite/sqlite-store.js'

export type StoreOptions = { readonly sqlite?: SqliteStoreOptions; readonly postgres?: PostgresStoreOptions }

/** `memory:`, `sqlite:<path>`, `postgres://…` or `postgresql://…`. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  if (url === 'memory:') return new MemoryStore()
  if (url.startsWith('sqlite:')) return openSqliteStore(sqlitePath(url), options.sqlite)
  if (/^postgres(ql)?:\/\//.test(url)) {
    // Its client is loaded only by hosts that need it.
    const { openPostgresStore } = await import('./postgres/postgres-store.js')
    return openPostgresStore(url, options.postgres)
  }
  throw new Error(`unknown database "${url.split(':')[0]}:": use memory:, sqlite:<path> or postgres://…`)
}

function sqlitePath(url: string): string {
  const path = url.slice('sqlite:'.length)
  if (path === '' || path === ':memory:') throw new Error('sqlite: needs the path of a file; for none, use memory:')
  return path.startsWith('///') ? fileURLToPath(`file:${path}`) : path
}
