import type { Migration } from '../../migration.js'

/**
 * Effects know their tenant, their attempt and the key that an answer is found again by. The table is made anew, because
 * an ordinal is a text now: a column of whole numbers would take "3.10" for "3.1".
 */
export const answers: Migration = {
  version: 4,
  name: 'answers',
  sql: `
CREATE TABLE invocations_new (
  id        TEXT PRIMARY KEY,
  tenant    TEXT NOT NULL,
  run_id    TEXT NOT NULL,
  node_id   TEXT NOT NULL,
  ordinal   TEXT NOT NULL,
  provider  TEXT NOT NULL,
  attempt   INTEGER NOT NULL CHECK (attempt > 0),
  host_id   TEXT NOT NULL,
  at        INTEGER NOT NULL,
  claim     TEXT NOT NULL,
  again     INTEGER NOT NULL CHECK (again IN (0, 1)),
  outcome   TEXT,
  cache_key TEXT CHECK (cache_key IS NULL OR outcome IS NOT NULL)
) WITHOUT ROWID;
INSERT INTO invocations_new (id, tenant, run_id, node_id, ordinal, provider, attempt, host_id, at, claim, again, outcome)
  SELECT i.id, coalesce(r.tenant, ''), i.run_id, i.node_id, i.ordinal, i.provider, 1, i.host_id, i.at, i.claim, i.again,
         i.outcome
    FROM invocations i LEFT JOIN runs r USING (run_id);
DROP TABLE invocations;
ALTER TABLE invocations_new RENAME TO invocations;
CREATE INDEX invocations_answers ON invocations (tenant, cache_key, at, id) WHERE cache_key IS NOT NULL;
`,
}
