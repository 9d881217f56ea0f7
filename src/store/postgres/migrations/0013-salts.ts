import type { Migration } from '../../migration.js'
import { commitGates } from './0012-commit-gates.js'

/** What the chain covers of an event's content is salted. The commit is that of 0012, which also stores the salt. */
export const salts: Migration = {
  version: 13,
  name: 'salts',
  sql: `
ALTER TABLE events ADD COLUMN salt text;

${commitGates.sql
  .slice(commitGates.sql.indexOf('CREATE FUNCTION commit_batch'))
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace('cause, at, input, hash, epoch, append_id)', 'cause, at, input, salt, hash, epoch, append_id)')
  .replace('e.input, e.hash,', 'e.input, e.salt, e.hash,')
  .replace('input text, hash text)', 'input text, salt text, hash text)')}`,
}
