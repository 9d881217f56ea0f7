import { readMigrations } from '../../migration.js'

/** Ascending; a released step is never edited, a new one is added. */
export const MIGRATIONS = readMigrations(new URL('./', import.meta.url))
