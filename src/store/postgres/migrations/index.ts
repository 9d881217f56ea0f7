import { readdirSync } from 'node:fs'
import { type Migration, readMigrations } from '../../migration.js'
import { readSql } from '../../sql-file.js'

const BASELINE = new URL('./0001-baseline/', import.meta.url)

/** In several files, by subject, applied in their order. */
const baseline: Migration = {
  version: 1,
  name: 'baseline',
  sql: readdirSync(BASELINE)
    .sort()
    .map(file => readSql(new URL(file, BASELINE)))
    .join('\n'),
}

/** Ascending; a released step is never edited, a new one is added: `0002-name.sql`, in this folder. */
export const MIGRATIONS: readonly Migration[] = [baseline, ...readMigrations(new URL('./', import.meta.url))]
