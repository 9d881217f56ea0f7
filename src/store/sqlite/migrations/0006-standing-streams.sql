-- Standing streams: logs beside those of runs, in the same tables. The last event of one is assay.stream.ended (S5); none is
-- counted among the unfinished runs of its tenant (S13); the runs that it starts are kept by what they are there for (S16).

DROP INDEX events_terminal;
CREATE UNIQUE INDEX events_terminal ON events (run_id)
  WHERE type IN ('run.completed', 'run.failed', 'run.cancelled', 'assay.stream.ended');

DROP TRIGGER events_guard;
CREATE TRIGGER events_guard BEFORE INSERT ON events BEGIN
  SELECT CASE
    WHEN EXISTS (SELECT 1 FROM events
                  WHERE run_id = NEW.run_id
                    AND type IN ('run.completed', 'run.failed', 'run.cancelled', 'assay.stream.ended'))
    THEN RAISE(ABORT, 'a run has no event after its terminal one')
    -- Nearly always so; what follows is for the first event only.
    WHEN EXISTS (SELECT 1 FROM events WHERE run_id = NEW.run_id AND seq = NEW.seq - 1) THEN NULL
    WHEN EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id AND from_seq <> NEW.seq)
    THEN RAISE(ABORT, 'events of a run are dense from 0')
    WHEN EXISTS (SELECT 1 FROM prefixes p JOIN events e ON e.run_id = p.source_run_id AND e.seq = NEW.seq - 1
                  WHERE p.run_id = NEW.run_id AND p.upto = NEW.seq
                    AND e.type IN ('run.completed', 'run.failed', 'run.cancelled'))
    THEN RAISE(ABORT, 'a run has no event after its terminal one')
  END;
END;

DROP TRIGGER runs_usage_open;
CREATE TRIGGER runs_usage_open AFTER INSERT ON runs
WHEN NEW.ended_at IS NULL AND NEW.workflow_id NOT IN ('assay-goal', 'assay-schedule') BEGIN
  INSERT INTO usage (tenant, runs) VALUES (NEW.tenant, 1) ON CONFLICT (tenant) DO UPDATE SET runs = runs + 1;
END;

DROP TRIGGER runs_usage_end;
CREATE TRIGGER runs_usage_end AFTER UPDATE OF ended_at ON runs
WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.workflow_id NOT IN ('assay-goal', 'assay-schedule') BEGIN
  UPDATE usage SET runs = runs - 1 WHERE tenant = NEW.tenant;
END;

DROP TRIGGER runs_usage_gone;
CREATE TRIGGER runs_usage_gone AFTER DELETE ON runs BEGIN
  UPDATE usage SET runs = runs - 1
   WHERE tenant = OLD.tenant AND OLD.ended_at IS NULL AND OLD.workflow_id NOT IN ('assay-goal', 'assay-schedule');
  DELETE FROM families WHERE root_run_id = OLD.run_id;
END;

CREATE TABLE stream_runs (
  stream_id TEXT NOT NULL,
  role      TEXT NOT NULL CHECK (role IN ('work', 'judge')),
  ordinal   INTEGER NOT NULL CHECK (ordinal > 0),
  run_id    TEXT NOT NULL UNIQUE,
  tick      TEXT,
  PRIMARY KEY (stream_id, role, ordinal),
  UNIQUE (stream_id, role, tick)
) WITHOUT ROWID;

-- Runs that were purged are remembered for as long as their stream is: no number is given out again.
CREATE TRIGGER stream_runs_gone AFTER DELETE ON runs
WHEN OLD.workflow_id IN ('assay-goal', 'assay-schedule') BEGIN
  DELETE FROM stream_runs WHERE stream_id = OLD.run_id;
END;

CREATE TRIGGER events_stream_runs AFTER INSERT ON events WHEN NEW.type = 'assay.stream.run.began' BEGIN
  SELECT CASE
    WHEN NOT EXISTS (
      SELECT 1 FROM runs r JOIN runs s ON s.run_id = NEW.run_id AND s.tenant = r.tenant
       WHERE r.run_id = NEW.payload ->> 'runId' AND s.workflow_id IN ('assay-goal', 'assay-schedule'))
    THEN RAISE(ABORT, 'CHECK constraint failed: stream_runs_begin')
    WHEN NEW.payload ->> 'role' = 'work' AND NEW.payload ->> 'ordinal' > (
      SELECT payload ->> '$.bounds.maxLoopIterations' FROM events WHERE run_id = NEW.run_id AND seq = 0)
    THEN RAISE(ABORT, 'CHECK constraint failed: stream_runs_bound')
    WHEN NEW.payload ->> 'ordinal' <> 1 + (
      SELECT coalesce(max(ordinal), 0) FROM stream_runs WHERE stream_id = NEW.run_id AND role = NEW.payload ->> 'role')
    THEN RAISE(ABORT, 'CHECK constraint failed: stream_runs_dense')
  END;
  INSERT INTO stream_runs (stream_id, role, ordinal, run_id, tick)
  VALUES (NEW.run_id, NEW.payload ->> 'role', NEW.payload ->> 'ordinal', NEW.payload ->> 'runId', NEW.payload ->> 'tick');
END;
