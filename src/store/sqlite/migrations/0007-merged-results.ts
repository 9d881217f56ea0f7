import type { Migration } from '../../migration.js'

/**
 * S10 by content, not by order alone, in runs of version 3 of the rules and later: their rows in `gated` say what the
 * gate wants judged, older ones say null. An event that merges names the hash of what it merges: `merges_hash` compares
 * it with what was staged and passed, `merges_one_hash` the gates of one merge with each other, `merges_coverage` what
 * was judged with what the gate wants. `events_goal` refuses a run that says its goal is reached against a verdict that
 * stands, `events_writes` and `events_artifacts` what is made of a result before it is merged.
 *
 * Rows that are there stay: their events name neither a hash nor a label, and nothing asks them to.
 */
export const mergedResults: Migration = {
  version: 7,
  name: 'merged-results',
  sql: `
DROP TRIGGER events_gates;
DROP TRIGGER gate_events_staged;
DROP TRIGGER gate_events_verdict;
DROP TRIGGER gate_events_merge;

ALTER TABLE gated ADD COLUMN confirm TEXT CHECK (confirm IN ('full', 'none'));

-- Whose work it is, so that the latest verdict over each place can be told: worker_id '' is nobody's in particular.
ALTER TABLE staged ADD COLUMN node_id TEXT NOT NULL DEFAULT '';
ALTER TABLE staged ADD COLUMN worker_id TEXT NOT NULL DEFAULT '';
UPDATE staged SET (node_id, worker_id) = (
  SELECT coalesce(e.node_id, ''), coalesce(e.payload ->> 'workerId', '') FROM events e
   WHERE e.seq = staged.seq AND e.run_id = coalesce(
     (SELECT p.source_run_id FROM prefixes p WHERE p.run_id = staged.run_id AND p.upto > staged.seq
       ORDER BY p.upto LIMIT 1), staged.run_id));

CREATE TABLE kept_verdicts AS SELECT * FROM verdicts;
CREATE TABLE kept_merges AS SELECT * FROM merges;
DROP TABLE merges;
DROP TABLE verdicts;

-- tenant is null on those that a fork shares: they are listed once, with the run that was judged. label is what may be
-- said of a result that was passed, '' where the event does not say.
CREATE TABLE verdicts (
  run_id      TEXT NOT NULL REFERENCES runs (run_id),
  seq         INTEGER NOT NULL,
  gate_id     TEXT NOT NULL,
  target      TEXT NOT NULL,
  result_hash TEXT NOT NULL,
  verdict     TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'revise')),
  label       TEXT NOT NULL DEFAULT '',
  tenant      TEXT,
  at          INTEGER NOT NULL,
  PRIMARY KEY (run_id, seq),
  UNIQUE (run_id, gate_id, target, result_hash, seq, verdict, label)
) WITHOUT ROWID;
CREATE INDEX verdicts_newest ON verdicts (tenant, at) WHERE tenant IS NOT NULL;
CREATE INDEX verdicts_of_gate ON verdicts (tenant, gate_id, at) WHERE tenant IS NOT NULL;
INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, tenant, at)
SELECT run_id, seq, gate_id, target, result_hash, verdict, tenant, at FROM kept_verdicts;
DROP TABLE kept_verdicts;

CREATE TABLE merges (
  run_id      TEXT NOT NULL,
  seq         INTEGER NOT NULL,
  gate_id     TEXT NOT NULL,
  staged_seq  INTEGER NOT NULL,
  target      TEXT NOT NULL,
  result_hash TEXT NOT NULL,
  verdict_seq INTEGER NOT NULL,
  verdict     TEXT NOT NULL,
  label       TEXT NOT NULL DEFAULT '',
  confirm     TEXT,
  event_hash  TEXT,
  PRIMARY KEY (run_id, staged_seq),
  CONSTRAINT merges_pass CHECK (verdict = 'pass'),
  CONSTRAINT merges_order CHECK (staged_seq < verdict_seq AND verdict_seq < seq),
  CONSTRAINT merges_hash CHECK (CASE WHEN event_hash IS NULL THEN confirm IS NULL ELSE event_hash = result_hash END),
  CONSTRAINT merges_coverage CHECK (
    verdict <> 'pass' OR confirm IS NULL OR (label <> '' AND (confirm = 'none' OR label <> 'verified in part'))),
  FOREIGN KEY (run_id, staged_seq, gate_id, target, result_hash)
    REFERENCES staged (run_id, seq, gate_id, target, result_hash),
  FOREIGN KEY (run_id, verdict_seq, gate_id, target, result_hash, verdict, label)
    REFERENCES verdicts (run_id, seq, gate_id, target, result_hash, verdict, label)
) WITHOUT ROWID;
INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict)
SELECT run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict FROM kept_merges;
DROP TABLE kept_merges;

-- Reads as the others do, because a CHECK sees one row only.
CREATE TRIGGER merges_one_hash BEFORE INSERT ON merges
WHEN EXISTS (SELECT 1 FROM merges WHERE run_id = NEW.run_id AND seq = NEW.seq AND result_hash <> NEW.result_hash) BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_one_hash');
END;

CREATE TRIGGER events_gates AFTER INSERT ON events
WHEN NEW.type = 'dws.verification.started' OR NEW.type = 'agent.verified'
  OR ((NEW.type = 'core.workflowChain.event' OR NEW.type = 'node.completed' OR NEW.type = 'run.completed')
      AND EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id)) BEGIN
  INSERT INTO gate_events VALUES (NEW.run_id, NEW.seq, NEW.type, NEW.node_id, NEW.payload, NEW.secret, NEW.at);
END;

CREATE TRIGGER gate_events_staged INSTEAD OF INSERT ON gate_events
WHEN NEW.type = 'dws.verification.started' AND NEW.payload ->> 'blocking' AND NEW.payload ->> 'point' <> 'none' BEGIN
  INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place, node_id, worker_id)
  VALUES (NEW.run_id, NEW.seq, NEW.payload ->> 'gateId', NEW.payload ->> 'attempt', NEW.payload ->> 'targetRef',
          NEW.payload ->> 'resultHash', NEW.payload ->> 'point',
          CASE NEW.payload ->> 'point' WHEN 'harvest' THEN NEW.payload ->> 'targetRef'
                                       WHEN 'node' THEN NEW.node_id ELSE '' END,
          coalesce(NEW.node_id, ''), coalesce(NEW.payload ->> 'workerId', ''));
END;

-- A verdict without a secret is no gate's.
CREATE TRIGGER gate_events_verdict INSTEAD OF INSERT ON gate_events
WHEN NEW.type = 'agent.verified' AND NEW.secret IS NOT NULL BEGIN
  INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, label, tenant, at)
  VALUES (NEW.run_id, NEW.seq, NEW.secret ->> 'gateId', NEW.payload ->> 'target', NEW.secret ->> 'resultHash',
          NEW.payload ->> 'verdict', coalesce(NEW.secret ->> 'label', ''),
          (SELECT tenant FROM runs WHERE run_id = NEW.run_id), NEW.at);
END;

CREATE TRIGGER gate_events_merge INSTEAD OF INSERT ON gate_events
WHEN NEW.type IN ('core.workflowChain.event', 'node.completed', 'run.completed') BEGIN
  INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label, confirm,
                      event_hash)
  SELECT g.run_id, NEW.seq, g.gate_id, s.seq, s.target, s.result_hash, v.seq, v.verdict, v.label, g.confirm,
         NEW.secret ->> 'resultHash'
    FROM gated g
    LEFT JOIN staged s ON s.run_id = g.run_id AND s.seq = (
      SELECT max(seq) FROM staged
       WHERE run_id = g.run_id AND gate_id = g.gate_id AND point = g.point
         AND place = CASE g.point WHEN 'harvest' THEN NEW.payload ->> 'childRunId'
                                  WHEN 'node' THEN NEW.node_id ELSE '' END)
    LEFT JOIN verdicts v ON v.run_id = s.run_id AND v.seq = (
      SELECT max(seq) FROM verdicts
       WHERE run_id = s.run_id AND gate_id = s.gate_id AND target = s.target AND result_hash = s.result_hash)
   WHERE g.run_id = NEW.run_id AND CASE NEW.type
     WHEN 'run.completed' THEN g.point = 'run'
     WHEN 'node.completed' THEN g.point = 'node' AND g.node_id = NEW.node_id
     ELSE g.point = 'harvest' AND g.node_id = NEW.node_id AND NEW.payload ->> 'phase' = 'output.harvested'
          AND g.worker_id IN ('', NEW.payload ->> 'workerId') END;
END;

-- Of each verdict, whose work it was about.
CREATE VIEW judged_work AS
SELECT v.run_id, v.seq, v.gate_id, s.node_id, s.worker_id, v.verdict, v.label
  FROM verdicts v JOIN staged s ON s.run_id = v.run_id AND s.seq = (
    SELECT max(seq) FROM staged
     WHERE run_id = v.run_id AND gate_id = v.gate_id AND target = v.target AND result_hash = v.result_hash
       AND seq < v.seq);

-- SQLite gives the other columns of the row in which the maximum is.
CREATE TRIGGER events_goal AFTER INSERT ON events
WHEN NEW.type = 'run.completed' AND EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id AND confirm IS NOT NULL)
  AND NEW.payload ->> 'goalSatisfied' IS 1 AND EXISTS (
    SELECT 1 FROM (SELECT max(seq), verdict, label FROM judged_work
                    WHERE run_id = NEW.run_id AND gate_id IN (
                      SELECT gate_id FROM gated WHERE run_id = NEW.run_id AND confirm IS NOT NULL)
                    GROUP BY gate_id, node_id, worker_id)
     WHERE verdict <> 'pass' OR label IN ('forced', 'verified in part')) BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_goal');
END;

-- The latest staging at each gate that stands before everything a node brings, and what was said of it since.
CREATE VIEW gated_work AS
SELECT g.run_id, g.node_id, g.point, s.seq,
       (SELECT verdict FROM verdicts v
         WHERE v.run_id = s.run_id AND v.gate_id = s.gate_id AND v.target = s.target AND v.result_hash = s.result_hash
           AND v.seq > s.seq ORDER BY v.seq DESC LIMIT 1) AS verdict,
       EXISTS (SELECT 1 FROM merges m WHERE m.run_id = s.run_id AND m.staged_seq = s.seq) AS merged
  FROM gated g LEFT JOIN staged s ON s.run_id = g.run_id AND s.seq = (
    SELECT max(seq) FROM staged
     WHERE run_id = g.run_id AND gate_id = g.gate_id AND point = g.point AND node_id = g.node_id)
 WHERE g.point <> 'run' AND g.worker_id = '' AND g.confirm IS NOT NULL;

-- A worker's harvest may be told before it is written; a node's result is written before the node completes.
CREATE TRIGGER events_writes AFTER INSERT ON events
WHEN (NEW.type = 'variable.changed' OR NEW.type = 'channel.written') AND EXISTS (
  SELECT 1 FROM gated_work WHERE run_id = NEW.run_id AND node_id = NEW.node_id
     AND (verdict IS NOT 'pass' OR (point = 'node' AND merged))) BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_writes');
END;

-- While an agent's result is judged or about to be merged, only the record of the judgement is made at its node.
CREATE TRIGGER events_artifacts AFTER INSERT ON events
WHEN NEW.type = 'artifact.created' AND EXISTS (
  SELECT 1 FROM gated_work WHERE run_id = NEW.run_id AND node_id = NEW.node_id AND point = 'node'
     AND seq IS NOT NULL AND NOT merged AND (verdict IS NULL OR verdict = 'pass')
     AND NEW.payload ->> 'artifactType' IS NOT 'dws.verification-result') BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_artifacts');
END;
`,
}
