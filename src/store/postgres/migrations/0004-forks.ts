import type { Migration } from '../../migration.js'

/**
 * A fork has rows of its own only from `from_seq` on (S9). `prefixes` says who holds the rows before: [from_seq, upto)
 * of each is held by `source_run_id`. A fork of a fork names the holders themselves, so reading never climbs a chain.
 * `append_id` is set on forks only: one may be created without an event that could tell of its append (S4).
 * No foreign key leads to the source: its check would lock a row that commits lock in an order of their own.
 * `head` is in no index, not even in a predicate, because it changes with every append.
 */
export const forks: Migration = {
  version: 4,
  name: 'forks',
  sql: `
ALTER TABLE events
  ADD COLUMN input text,
  ADD COLUMN hash  text NOT NULL DEFAULT '';

ALTER TABLE runs
  ADD COLUMN head          text NOT NULL DEFAULT '',
  ADD COLUMN source_run_id text COLLATE "C",
  ADD COLUMN from_seq      bigint NOT NULL DEFAULT 0 CHECK (from_seq >= 0 AND from_seq <= length),
  ADD COLUMN source_length bigint CHECK (source_length >= from_seq),
  ADD COLUMN fork_mode     text CHECK (fork_mode IN ('replay', 'branch')),
  ADD COLUMN append_id     text,
  ADD CHECK (num_nulls(source_run_id, source_length, fork_mode, append_id) IN (0, 4)),
  ADD CHECK (from_seq = 0 OR source_run_id IS NOT NULL);

CREATE TABLE prefixes (
  run_id        text COLLATE "C" NOT NULL,
  source_run_id text COLLATE "C" NOT NULL,
  from_seq      bigint NOT NULL CHECK (from_seq >= 0),
  upto          bigint NOT NULL CHECK (upto > from_seq),
  PRIMARY KEY (run_id, upto)
);

CREATE FUNCTION event_of(run text, n bigint) RETURNS SETOF events LANGUAGE sql STABLE AS $$
  SELECT * FROM events WHERE seq = n AND run_id = coalesce(
    (SELECT p.source_run_id FROM prefixes p WHERE p.run_id = run AND p.upto > n ORDER BY p.upto LIMIT 1), run)
$$;

-- When a run has ended by what it shares; null when that is not the end.
CREATE FUNCTION shared_end(run text, inherited bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT at FROM event_of(run, inherited - 1) WHERE type IN ('run.completed', 'run.failed', 'run.cancelled')
$$;

-- Logs only grow, so it is enough to read the source's row. The prefix comes before the run that has it.
CREATE FUNCTION share_prefix(run text, tenant_id text, fork jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  source runs;
  n bigint := fork->>'fromSeq';
BEGIN
  SELECT * INTO source FROM runs WHERE run_id = fork->>'sourceRunId' AND tenant = tenant_id;
  IF source.run_id IS NULL OR source.length < (fork->>'sourceLength')::bigint THEN
    RAISE EXCEPTION 'a fork has a source of its tenant with all the events it names' USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO prefixes (run_id, source_run_id, from_seq, upto)
  SELECT run, p.source_run_id, p.from_seq, least(p.upto, n) FROM prefixes p
   WHERE p.run_id = source.run_id AND p.from_seq < n
   UNION ALL
  SELECT run, source.run_id, source.from_seq, n WHERE source.from_seq < n;
END $$;

CREATE OR REPLACE FUNCTION events_guard() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  complaint text;
BEGIN
  SELECT CASE
    WHEN f.inherited IS NULL
    THEN 'an event belongs to a run'
    WHEN (SELECT t.seq FROM events t WHERE t.run_id = f.run_id
             AND t.type IN ('run.completed', 'run.failed', 'run.cancelled')) < f.seq
    THEN 'a run has no event after its terminal one'
    WHEN f.seq = f.inherited
    THEN CASE WHEN f.seq > 0 AND shared_end(f.run_id, f.seq) IS NOT NULL
              THEN 'a run has no event after its terminal one' END
    WHEN (SELECT true FROM events e WHERE e.run_id = f.run_id AND e.seq = f.seq - 1) IS NULL
    THEN 'events of a run are dense from 0' END AS c
    INTO complaint
    FROM (SELECT fresh.run_id, fresh.seq, (SELECT r.from_seq FROM runs r WHERE r.run_id = fresh.run_id) AS inherited
            FROM fresh OFFSET 0) f
   ORDER BY c NULLS LAST LIMIT 1;
  IF complaint IS NOT NULL THEN
    RAISE EXCEPTION '%', complaint USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
`,
}
