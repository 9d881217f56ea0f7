import type { Migration } from '../../migration.js'
import { tables } from './0001-tables.js'
import { commit } from './0002-commit.js'
import { hosts } from './0003-hosts.js'

/** Ascending; a released step is never edited, a new one is added. */
export const MIGRATIONS: readonly Migration[] = [tables, commit, hosts]
