import type { Migration } from '../../migration.js'

/** An orchestrator has as many children as it hands work over: its latest ones are found without sorting them all. */
export const latestChildren: Migration = {
  version: 8,
  name: 'latest children',
  sql: `
DROP INDEX runs_parent;
CREATE INDEX runs_parent ON runs (parent_run_id, run_id) WHERE parent_run_id IS NOT NULL;
`,
}
