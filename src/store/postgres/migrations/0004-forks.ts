import type { Migration } from '../../migration.js'

/**
 * A fork has rows of its own only from `from_seq` on (S9). `prefixes` says who holds the rows before: those from
 * `from_seq` up to `upto` are held by `source_run_id`. A fork of a fork names the holders themselves, so reading never climbs a chain.
 * `append_id` is set on forks only: one may be created without an event that could tell of its append (S4).
 * No foreign key leads to the source: its check would lock a row that commits lock in an order of their own.
 * `head` is in no index, not even in a predicate, because it changes with every append. What a fork is never changes,
 * so `share_prefix` checks it once: constraints on `runs` would be paid for by every append to any run.
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
  ADD COLUMN from_seq      bigint NOT NULL DEFAULT 0,
  ADD COLUMN source_length bigint,
  ADD COLUMN fork_mode     text,
  ADD COLUMN append_id     text;

CREATE TABLE prefixes (
  run_id        text COLLATE "C" NOT NULL,
  source_run_id text COLLATE "C" NOT NULL,
  from_seq      bigint NOT NULL CHECK (from_seq >= 0),
  upto          bigint NOT NULL CHECK (upto > from_seq),
  PRIMARY KEY (run_id, upto)
);

-- What the first events of a run fold to: a cache, safe to empty.
CREATE TABLE snapshots (
  run_id text COLLATE "C" NOT NULL,
  length bigint NOT NULL,
  state  text NOT NULL,
  PRIMARY KEY (run_id, length)
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
  IF source.run_id IS NULL OR NOT (fork->>'sourceLength')::bigint BETWEEN n AND source.length THEN
    RAISE EXCEPTION 'a fork has a source of its tenant with all the events it names' USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO prefixes (run_id, source_run_id, from_seq, upto)
  SELECT run, p.source_run_id, p.from_seq, least(p.upto, n) FROM prefixes p
   WHERE p.run_id = source.run_id AND p.from_seq < n
   UNION ALL
  SELECT run, source.run_id, source.from_seq, n WHERE source.from_seq < n;
END $$;

-- As before, but once per run instead of once per event, and with a fork's own events dense from where they begin.
CREATE OR REPLACE FUNCTION events_guard() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  complaint text;
BEGIN
  SELECT CASE
    WHEN f.inherited IS NULL
    THEN 'an event belongs to a run'
    WHEN (SELECT t.seq FROM events t WHERE t.run_id = f.run_id
             AND t.type IN ('run.completed', 'run.failed', 'run.cancelled')) < f.last
      OR (f.first > 0 AND f.first = f.inherited AND shared_end(f.run_id, f.first) IS NOT NULL)
    THEN 'a run has no event after its terminal one'
    WHEN f.count <= f.last - f.first OR (f.first <> f.inherited
      AND (SELECT true FROM events e WHERE e.run_id = f.run_id AND e.seq = f.first - 1) IS NULL)
    THEN 'events of a run are dense from 0' END AS c
    INTO complaint
    FROM (SELECT g.*, (SELECT r.from_seq FROM runs r WHERE r.run_id = g.run_id) AS inherited
            FROM (SELECT run_id, min(seq) AS first, max(seq) AS last, count(*) FROM fresh GROUP BY run_id) g
          OFFSET 0) f
   ORDER BY c NULLS LAST LIMIT 1;
  IF complaint IS NOT NULL THEN
    RAISE EXCEPTION '%', complaint USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
`,
}
