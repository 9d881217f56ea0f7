import type { Migration } from '../../migration.js'

/**
 * Effects know their tenant, their attempt and the key that an answer is found again by. A host of an older version that
 * is still at work names neither: its effects are first attempts, of a tenant that nobody looks for answers under.
 */
export const answers: Migration = {
  version: 9,
  name: 'answers',
  sql: `
ALTER TABLE invocations
  ALTER COLUMN ordinal TYPE text,
  ADD COLUMN tenant    text NOT NULL DEFAULT '',
  ADD COLUMN attempt   integer NOT NULL DEFAULT 1 CHECK (attempt > 0),
  ADD COLUMN cache_key text CHECK (cache_key IS NULL OR outcome IS NOT NULL);
UPDATE invocations i SET tenant = r.tenant FROM runs r WHERE r.run_id = i.run_id;
CREATE INDEX invocations_answers ON invocations (tenant, cache_key, at, id COLLATE "C") WHERE cache_key IS NOT NULL;
`,
}
