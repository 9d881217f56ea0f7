import type { Migration } from '../../migration.js'
import { initial } from './0001-initial.js'

/** Ascending; a released step is never edited, a new one is added. */
export const MIGRATIONS: readonly Migration[] = [initial]

export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version
