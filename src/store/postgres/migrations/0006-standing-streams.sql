-- Standing streams: logs beside those of runs, in the same tables. The last event of one is assay.stream.ended (S5); none is
-- counted among the unfinished runs of its tenant (S13); the runs that it starts are kept by what they are there for (S16).

CREATE FUNCTION is_stream(workflow text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT workflow IN ('assay-goal', 'assay-schedule')
$$;

DROP INDEX events_terminal;
CREATE UNIQUE INDEX events_terminal ON events (run_id)
  WHERE type IN ('run.completed', 'run.failed', 'run.cancelled', 'assay.stream.ended');

CREATE OR REPLACE FUNCTION events_guard() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  complaint text;
BEGIN
  SELECT CASE
    WHEN f.inherited IS NULL
    THEN 'an event belongs to a run'
    WHEN (SELECT t.seq FROM events t WHERE t.run_id = f.run_id
             AND t.type IN ('run.completed', 'run.failed', 'run.cancelled', 'assay.stream.ended')) < f.last
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

CREATE OR REPLACE FUNCTION end_of(events jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN events->-1->>'type' IN ('run.completed', 'run.failed', 'run.cancelled', 'assay.stream.ended')
              THEN (events->-1->>'at')::bigint END
$$;

CREATE TABLE stream_runs (
  stream_id text COLLATE "C" NOT NULL,
  role      text COLLATE "C" NOT NULL CHECK (role IN ('work', 'judge')),
  ordinal   bigint NOT NULL CHECK (ordinal > 0),
  run_id    text COLLATE "C" NOT NULL UNIQUE,
  tick      text COLLATE "C",
  PRIMARY KEY (stream_id, role, ordinal),
  UNIQUE (stream_id, role, tick)
);

DROP TRIGGER runs_usage_open ON runs;
CREATE TRIGGER runs_usage_open AFTER INSERT ON runs FOR EACH ROW
  WHEN (NEW.ended_at IS NULL AND NOT is_stream(NEW.workflow_id)) EXECUTE FUNCTION runs_usage();
DROP TRIGGER runs_usage_end ON runs;
CREATE TRIGGER runs_usage_end AFTER UPDATE OF ended_at ON runs FOR EACH ROW
  WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NOT is_stream(NEW.workflow_id))
  EXECUTE FUNCTION runs_usage();
DROP TRIGGER runs_usage_gone ON runs;
CREATE TRIGGER runs_usage_gone AFTER DELETE ON runs FOR EACH ROW
  WHEN (NOT is_stream(OLD.workflow_id)) EXECUTE FUNCTION runs_usage();

-- Runs that were purged are remembered for as long as their stream is: no number is given out again.
CREATE FUNCTION stream_runs_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM stream_runs WHERE stream_id = OLD.run_id;
  RETURN NULL;
END $$;
CREATE TRIGGER stream_runs_gone AFTER DELETE ON runs FOR EACH ROW
  WHEN (is_stream(OLD.workflow_id)) EXECUTE FUNCTION stream_runs_gone();

-- One by one, because each has to see the one before it.
CREATE FUNCTION events_stream_runs() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  began record;
  complaint text;
BEGIN
  FOR began IN SELECT f.run_id, f.payload::jsonb AS told FROM fresh f
                WHERE f.type = 'assay.stream.run.began' ORDER BY f.run_id, f.seq LOOP
    SELECT CASE
      WHEN NOT EXISTS (
        SELECT 1 FROM runs r JOIN runs s ON s.run_id = began.run_id AND s.tenant = r.tenant
         WHERE r.run_id = began.told->>'runId' AND is_stream(s.workflow_id))
      THEN 'stream_runs_begin'
      WHEN began.told->>'role' = 'work' AND (began.told->>'ordinal')::bigint > (
        SELECT (e.payload::jsonb->'bounds'->>'maxLoopIterations')::bigint FROM events e
         WHERE e.run_id = began.run_id AND e.seq = 0)
      THEN 'stream_runs_bound'
      WHEN (began.told->>'ordinal')::bigint <> 1 + coalesce((
        SELECT s.ordinal FROM stream_runs s WHERE s.stream_id = began.run_id AND s.role = began.told->>'role'
         ORDER BY s.ordinal DESC LIMIT 1), 0)
      THEN 'stream_runs_dense' END
      INTO complaint;
    IF complaint IS NOT NULL THEN
      RAISE EXCEPTION 'constraint failed: %', complaint USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO stream_runs (stream_id, role, ordinal, run_id, tick)
    VALUES (began.run_id, began.told->>'role', (began.told->>'ordinal')::bigint, began.told->>'runId', began.told->>'tick');
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER events_stream_runs AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_stream_runs();
