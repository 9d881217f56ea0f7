import type { WriteRow } from '../../engine/ports/journal.js'
import { FEW_KEYS, type JournalRows } from '../journal-reads.js'
import type { Statement } from './connections.js'
import type { Queries } from './queries.js'
import { SQL } from './statements.js'

export const journalRowsIn = (queries: Queries): JournalRows => ({
  own: async (tenant, space, { scope, upTo, runs }, key) => {
    const reach = [tenant, space, scope, upTo, JSON.stringify(runs)]
    const rows = await queries.readAll<WriteRow>(SQL.ownEntries, ...reach, key?.ref ?? null, key?.id ?? null)
    return rows.map(row => ({ ...row, scope }))
  },
  published: async (tenant, space, { scope, upTo }, { ref, id }) => {
    const row = await queries.readOne<WriteRow>(SQL.publishedEntry, tenant, space, scope, upTo, ref, id)
    return row && { ...row, scope }
  },
  listed: async (tenant, space, { scope, upTo }, { below, ref, prefix, tag, limit }) => {
    const filters = [ref ?? null, prefix ?? null, tag ?? null, limit]
    const from = [tenant, space, scope, upTo, below]
    const listing = async (): Promise<Statement> => {
      if (ref === undefined) return SQL.listEntries
      if (prefix === undefined) return SQL.listEntriesOfRef
      const counted = await queries.readOne<{ keys: number }>(SQL.countKeysOfPrefix, ...from, ref, prefix, FEW_KEYS)
      return (counted?.keys ?? 0) < FEW_KEYS ? SQL.listEntriesOfPrefix : SQL.listEntriesOfRef
    }
    const rows = await queries.readAll<WriteRow>(await listing(), ...from, ...filters)
    return rows.map(row => ({ ...row, scope }))
  },
  matching: async (tenant, space, { scope, upTo }, { words, ref, tag, limit }) => {
    const filters = [words, ref ?? null, tag ?? null, limit]
    const rows = await queries.readAll<WriteRow>(SQL.matchEntries, tenant, space, scope, upTo, ...filters)
    return rows.map(row => ({ ...row, scope }))
  },
  words: async (tenant, contentIds) => {
    const rows = await queries.readAll<{ words: readonly string[] | null }>(SQL.wordsOf, tenant, contentIds)
    return rows.map(({ words }) => words)
  },
})
