import type { Migration } from '../../migration.js'

/** What the chain covers of an event's content is salted. */
export const salts: Migration = {
  version: 6,
  name: 'salts',
  sql: 'ALTER TABLE events ADD COLUMN salt TEXT;',
}
