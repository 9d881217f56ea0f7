import type { Migration } from '../../migration.js'

/**
 * `unsealed_at` is the end of a run that a checkpoint is to vouch for: it has a chain, and none covers it yet. Runs
 * that ended before there were chains never have it, so nobody reads past them again and again.
 */
export const checkpoints: Migration = {
  version: 6,
  name: 'checkpoints',
  sql: `
ALTER TABLE runs
  ADD COLUMN checkpoint  bigint,
  ADD COLUMN unsealed_at bigint;
CREATE INDEX runs_unsealed ON runs (unsealed_at, run_id) WHERE unsealed_at IS NOT NULL;

CREATE TABLE checkpoints (
  seq       bigint PRIMARY KEY CHECK (seq >= 0),
  at        bigint NOT NULL,
  key_id    text NOT NULL,
  prev      text NOT NULL,
  runs      json NOT NULL,
  hash      text NOT NULL,
  signature text NOT NULL
);

-- Locks runs in the order in which commits do. True for a repetition: it is what has the number.
CREATE FUNCTION put_checkpoint(new checkpoints, run_ids text[]) RETURNS boolean LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO checkpoints SELECT new.* ON CONFLICT (seq) DO NOTHING;
  IF NOT FOUND THEN
    RETURN (SELECT c.hash = new.hash AND c.signature = new.signature FROM checkpoints c WHERE c.seq = new.seq);
  END IF;
  PERFORM 1 FROM runs WHERE run_id = ANY (run_ids) ORDER BY run_id FOR UPDATE;
  UPDATE runs SET checkpoint = new.seq, unsealed_at = NULL WHERE run_id = ANY (run_ids) AND checkpoint IS NULL;
  RETURN true;
END $$;
`,
}
