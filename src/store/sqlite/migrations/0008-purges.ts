import type { Migration } from '../../migration.js'

/**
 * What is left of runs that were purged. A run that has a row here is not found any more, whatever is still stored of
 * it; `is_stored` says whether anything is. The lease of a family stands in the row of its root.
 */
export const purges: Migration = {
  version: 8,
  name: 'purges',
  sql: `
ALTER TABLE checkpoints ADD COLUMN purged TEXT NOT NULL DEFAULT '[]';

CREATE TABLE purged (
  run_id      TEXT PRIMARY KEY,
  root_run_id TEXT NOT NULL,
  tenant      TEXT NOT NULL,
  length      INTEGER NOT NULL,
  head        TEXT NOT NULL,
  ended_at    INTEGER NOT NULL,
  purged_at   INTEGER NOT NULL,
  checkpoint  INTEGER REFERENCES checkpoints (seq),
  is_stored   INTEGER NOT NULL DEFAULT 1 CHECK (is_stored = 1 OR checkpoint IS NOT NULL),
  lease_host  TEXT,
  lease_until INTEGER
) WITHOUT ROWID;
CREATE INDEX purged_unsealed ON purged (purged_at, run_id) WHERE checkpoint IS NULL;
CREATE INDEX purged_stored ON purged (root_run_id, run_id) WHERE is_stored = 1;

CREATE INDEX runs_ended ON runs (ended_at, run_id) WHERE ended_at IS NOT NULL AND parent_run_id IS NULL;
CREATE INDEX runs_source ON runs (source_run_id) WHERE source_run_id IS NOT NULL;
CREATE INDEX invocations_run ON invocations (run_id);
`,
}
