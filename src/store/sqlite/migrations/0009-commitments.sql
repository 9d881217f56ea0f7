-- Commitments are a third kind of standing stream.

DROP TRIGGER runs_usage_open;
CREATE TRIGGER runs_usage_open AFTER INSERT ON runs
WHEN NEW.ended_at IS NULL AND NEW.workflow_id NOT IN ('assay-goal', 'assay-schedule', 'assay-commitment') BEGIN
  INSERT INTO usage (tenant, runs) VALUES (NEW.tenant, 1) ON CONFLICT (tenant) DO UPDATE SET runs = runs + 1;
END;

DROP TRIGGER runs_usage_end;
CREATE TRIGGER runs_usage_end AFTER UPDATE OF ended_at ON runs
WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.workflow_id NOT IN ('assay-goal', 'assay-schedule', 'assay-commitment') BEGIN
  UPDATE usage SET runs = runs - 1 WHERE tenant = NEW.tenant;
END;

DROP TRIGGER runs_usage_gone;
CREATE TRIGGER runs_usage_gone AFTER DELETE ON runs BEGIN
  UPDATE usage SET runs = runs - 1
   WHERE tenant = OLD.tenant AND OLD.ended_at IS NULL AND OLD.workflow_id NOT IN ('assay-goal', 'assay-schedule', 'assay-commitment');
  DELETE FROM families WHERE root_run_id = OLD.run_id;
END;

DROP TRIGGER stream_runs_gone;
-- Runs that were purged are remembered for as long as their stream is: no number is given out again.
CREATE TRIGGER stream_runs_gone AFTER DELETE ON runs
WHEN OLD.workflow_id IN ('assay-goal', 'assay-schedule', 'assay-commitment') BEGIN
  DELETE FROM stream_runs WHERE stream_id = OLD.run_id;
END;

DROP TRIGGER events_stream_runs;
CREATE TRIGGER events_stream_runs AFTER INSERT ON events WHEN NEW.type = 'assay.stream.run.began' BEGIN
  SELECT CASE
    WHEN NOT EXISTS (
      SELECT 1 FROM runs r JOIN runs s ON s.run_id = NEW.run_id AND s.tenant = r.tenant
       WHERE r.run_id = NEW.payload ->> 'runId' AND s.workflow_id IN ('assay-goal', 'assay-schedule', 'assay-commitment'))
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
