import type { Migration } from '../../migration.js'

/**
 * S13: what each tenant has, and how many runs are below each root. `writes/usage.ts` counts the bytes that a commit
 * appends; everything else, deletions above all, is counted by triggers, so that no writer can forget it. `runs_open`
 * leads from a host to one tenant's runs in the order of their time, so that tenants can take turns.
 */
export const usage: Migration = {
  version: 10,
  name: 'usage',
  sql: `
CREATE TABLE usage (
  tenant TEXT PRIMARY KEY,
  runs   INTEGER NOT NULL DEFAULT 0,
  bytes  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE families (
  root_run_id TEXT PRIMARY KEY,
  runs        INTEGER NOT NULL
) WITHOUT ROWID;

ALTER TABLE runs ADD COLUMN root_run_id TEXT;
WITH RECURSIVE family (run_id, root) AS (
  SELECT run_id, run_id FROM runs WHERE parent_run_id IS NULL
  UNION ALL
  SELECT r.run_id, f.root FROM family f JOIN runs r ON r.parent_run_id = f.run_id)
UPDATE runs SET root_run_id = f.root FROM family f WHERE f.run_id = runs.run_id AND runs.parent_run_id IS NOT NULL;
INSERT INTO families (root_run_id, runs)
SELECT root_run_id, count(*) FROM runs WHERE root_run_id IS NOT NULL GROUP BY 1;

INSERT INTO usage (tenant, runs) SELECT tenant, count(*) FILTER (WHERE ended_at IS NULL) FROM runs GROUP BY 1;
UPDATE usage SET bytes = usage.bytes + kept.bytes FROM (
  SELECT r.tenant, sum(${bytesOf('e.payload', 'e.secret', 'e.input')}) AS bytes
    FROM events e JOIN runs r USING (run_id) GROUP BY 1) kept WHERE kept.tenant = usage.tenant;
UPDATE usage SET bytes = usage.bytes + kept.bytes FROM (
  SELECT r.tenant, sum(${bytesOf('s.state')}) AS bytes
    FROM snapshots s JOIN runs r USING (run_id) GROUP BY 1) kept WHERE kept.tenant = usage.tenant;
INSERT INTO usage (tenant, bytes)
SELECT tenant, sum(${bytesOf('outcome')}) FROM invocations WHERE outcome IS NOT NULL AND tenant IS NOT NULL GROUP BY 1
ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;

CREATE TRIGGER runs_usage_open AFTER INSERT ON runs WHEN NEW.ended_at IS NULL BEGIN
  INSERT INTO usage (tenant, runs) VALUES (NEW.tenant, 1) ON CONFLICT (tenant) DO UPDATE SET runs = runs + 1;
END;
CREATE TRIGGER runs_usage_end AFTER UPDATE OF ended_at ON runs WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL BEGIN
  UPDATE usage SET runs = runs - 1 WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER runs_family AFTER INSERT ON runs WHEN NEW.root_run_id IS NOT NULL BEGIN
  INSERT INTO families (root_run_id, runs) VALUES (NEW.root_run_id, 1)
  ON CONFLICT (root_run_id) DO UPDATE SET runs = runs + 1;
END;
CREATE TRIGGER runs_usage_gone AFTER DELETE ON runs BEGIN
  UPDATE usage SET runs = runs - 1 WHERE tenant = OLD.tenant AND OLD.ended_at IS NULL;
  DELETE FROM families WHERE root_run_id = OLD.run_id;
END;
-- What belongs to a run is deleted before the run is.
CREATE TRIGGER events_usage_gone AFTER DELETE ON events BEGIN
  UPDATE usage SET bytes = bytes - (${bytesOf('OLD.payload', 'OLD.secret', 'OLD.input')})
   WHERE tenant = (SELECT tenant FROM runs WHERE run_id = OLD.run_id);
END;
CREATE TRIGGER snapshots_usage_gone AFTER DELETE ON snapshots BEGIN
  UPDATE usage SET bytes = bytes - (${bytesOf('OLD.state')})
   WHERE tenant = (SELECT tenant FROM runs WHERE run_id = OLD.run_id);
END;
CREATE TRIGGER invocations_usage AFTER UPDATE OF outcome ON invocations
  WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL AND NEW.tenant IS NOT NULL BEGIN
  INSERT INTO usage (tenant, bytes) VALUES (NEW.tenant, ${bytesOf('NEW.outcome')})
  ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER invocations_usage_gone AFTER DELETE ON invocations WHEN OLD.outcome IS NOT NULL BEGIN
  UPDATE usage SET bytes = bytes - (${bytesOf('OLD.outcome')}) WHERE tenant = OLD.tenant;
END;

DROP INDEX runs_open;
CREATE INDEX runs_open ON runs (owner, tenant, wake_at) WHERE ended_at IS NULL;
`,
}

/** Of UTF-8, as `length` counts them of a BLOB. */
function bytesOf(...columns: readonly string[]): string {
  return columns.map(column => `coalesce(length(CAST(${column} AS BLOB)), 0)`).join(' + ')
}
