-- Runs and their logs.
--
-- S5 is held here: dense by the primary key and `events_guard`, at most one terminal event by `events_terminal`, and
-- nothing after it by `events_guard`. Ids sort bytewise, as they do in JavaScript.
--
-- A fork has rows of its own only from `from_seq` on (S9). `prefixes` says who holds the rows before: those from
-- `from_seq` up to `upto` are held by `source_run_id`. A fork of a fork names the holders themselves, so reading never
-- climbs a chain. No foreign key leads to the source: its check would lock a row that commits lock in an order of their
-- own. What a fork is never changes, so `share_prefix` checks it once: constraints on `runs` would be paid for by every
-- append to any run.

CREATE TABLE runs (
  run_id          text COLLATE "C" PRIMARY KEY,
  tenant          text COLLATE "C" NOT NULL,
  workflow_id     text NOT NULL,
  workflow_digest text NOT NULL,
  status          text NOT NULL,
  parent_run_id   text COLLATE "C",
  parent_node_id  text,
  scope_id        text,
  tags            text[] NOT NULL,
  length          bigint NOT NULL CHECK (length > 0),
  -- S8: the host that writes it; the epoch counts how often that has changed.
  owner           text COLLATE "C" NOT NULL,
  epoch           bigint NOT NULL CHECK (epoch > 0),
  attempts        bigint NOT NULL CHECK (attempts >= 0),
  wake_at         bigint,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  ended_at        bigint,
  -- The hash of the last event; '' without a chain. In no index, not even in a predicate: it changes with every append.
  head            text NOT NULL DEFAULT '',
  source_run_id   text COLLATE "C",
  from_seq        bigint NOT NULL DEFAULT 0,
  source_length   bigint,
  fork_mode       text,
  -- S4: of forks only; one may be created without an event that could tell of its append.
  append_id       text,
  checkpoint      bigint,
  -- The end of a run that a checkpoint is to vouch for: it has a chain, and none covers it yet.
  unsealed_at     bigint,
  -- Null for a root.
  root_run_id     text COLLATE "C",
  CHECK (ended_at IS NULL OR wake_at IS NULL)
) WITH (fillfactor = 80);
CREATE INDEX runs_tenant ON runs (tenant, run_id);
-- From a host to one tenant's runs in the order of their time, so that tenants can take turns.
CREATE INDEX runs_open ON runs (owner, tenant, wake_at, run_id) WHERE ended_at IS NULL;
-- An orchestrator has as many children as it hands work over: its latest are found without sorting them all.
CREATE INDEX runs_parent ON runs (parent_run_id, run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX runs_scope ON runs (tenant, scope_id, run_id) WHERE scope_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX runs_unsealed ON runs (unsealed_at, run_id) WHERE unsealed_at IS NOT NULL;
CREATE INDEX runs_ended ON runs (ended_at, run_id) WHERE ended_at IS NOT NULL AND parent_run_id IS NULL;
CREATE INDEX runs_source ON runs (source_run_id) WHERE source_run_id IS NOT NULL;

CREATE TABLE events (
  run_id    text COLLATE "C" NOT NULL,
  seq       bigint NOT NULL CHECK (seq >= 0),
  type      text NOT NULL,
  node_id   text,
  payload   text NOT NULL,
  secret    text,
  cause     bigint CHECK (cause >= 0 AND cause < seq),
  at        bigint NOT NULL,
  epoch     bigint NOT NULL,
  -- S4: on the first event of each append only.
  append_id text,
  input     text,
  hash      text NOT NULL DEFAULT '',
  salt      text,
  -- S14: what the chain still needs of an event whose content was erased.
  erased    text,
  PRIMARY KEY (run_id, seq)
);
CREATE UNIQUE INDEX events_terminal ON events (run_id) WHERE type IN ('run.completed', 'run.failed', 'run.cancelled');

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

-- Looks at a whole INSERT at once, run by run, so a batch of appends pays for it once. Stands in for the foreign key to
-- `runs` too, whose check per row made up a third of the cost of an append. Scalar subqueries, because a join could be
-- planned to start from the large side.
CREATE FUNCTION events_guard() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
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
CREATE TRIGGER events_guard AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_guard();

-- Logs only grow, so it is enough to read the source's row, locked against a purge. The prefix comes before the run
-- that has it.
CREATE FUNCTION share_prefix(run text, tenant_id text, fork jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  source runs;
  n bigint := fork->>'fromSeq';
BEGIN
  SELECT * INTO source FROM runs WHERE run_id = fork->>'sourceRunId' AND tenant = tenant_id FOR KEY SHARE;
  IF source.run_id IS NULL OR NOT (fork->>'sourceLength')::bigint BETWEEN n AND source.length
     OR EXISTS (SELECT 1 FROM purged WHERE run_id = source.run_id) THEN
    RAISE EXCEPTION 'a fork has a source of its tenant with all the events it names' USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO prefixes (run_id, source_run_id, from_seq, upto)
  SELECT run, p.source_run_id, p.from_seq, least(p.upto, n) FROM prefixes p
   WHERE p.run_id = source.run_id AND p.from_seq < n
   UNION ALL
  SELECT run, source.run_id, source.from_seq, n WHERE source.from_seq < n;
END $$;
