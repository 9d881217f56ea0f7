import type { Migration } from '../../migration.js'

/**
 * S10 for what tools bring. A gate over a tool stands at the point `tool` of its node, and `worker_id` is the tool's id.
 * `assay.tool.delivered` merges what was staged of its call; `events_tools` refuses a return that gives the tool's words
 * to the agent past the gate.
 */
export const toolGates: Migration = {
  version: 9,
  name: 'tool-gates',
  sql: `
DROP TRIGGER events_gates;
DROP TRIGGER gate_events_staged;
DROP TRIGGER gate_events_merge;

CREATE TABLE kept_gated AS SELECT * FROM gated;
DROP TABLE gated;
-- worker_id '' is whichever worker; of a tool it is its id.
CREATE TABLE gated (
  run_id    TEXT NOT NULL REFERENCES runs (run_id),
  point     TEXT NOT NULL CHECK (point IN ('harvest', 'node', 'tool', 'run')),
  node_id   TEXT NOT NULL,
  gate_id   TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  confirm   TEXT CHECK (confirm IN ('full', 'none')),
  PRIMARY KEY (run_id, point, node_id, gate_id, worker_id)
) WITHOUT ROWID;
INSERT INTO gated (run_id, point, node_id, gate_id, worker_id, confirm)
SELECT run_id, point, node_id, gate_id, worker_id, confirm FROM kept_gated;
DROP TABLE kept_gated;

CREATE TRIGGER events_gates AFTER INSERT ON events
WHEN NEW.type = 'dws.verification.started' OR NEW.type = 'agent.verified'
  OR ((NEW.type = 'core.workflowChain.event' OR NEW.type = 'node.completed' OR NEW.type = 'run.completed'
        OR NEW.type = 'assay.tool.delivered')
      AND EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id)) BEGIN
  INSERT INTO gate_events VALUES (NEW.run_id, NEW.seq, NEW.type, NEW.node_id, NEW.payload, NEW.secret, NEW.at);
END;

CREATE TRIGGER gate_events_staged INSTEAD OF INSERT ON gate_events
WHEN NEW.type = 'dws.verification.started' AND NEW.payload ->> 'blocking' AND NEW.payload ->> 'point' <> 'none' BEGIN
  INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place, node_id, worker_id)
  VALUES (NEW.run_id, NEW.seq, NEW.payload ->> 'gateId', NEW.payload ->> 'attempt', NEW.payload ->> 'targetRef',
          NEW.payload ->> 'resultHash', NEW.payload ->> 'point',
          CASE NEW.payload ->> 'point' WHEN 'harvest' THEN NEW.payload ->> 'targetRef'
                                       WHEN 'tool' THEN NEW.payload ->> 'targetRef'
                                       WHEN 'node' THEN NEW.node_id ELSE '' END,
          coalesce(NEW.node_id, ''), coalesce(NEW.payload ->> 'workerId', ''));
END;

CREATE TRIGGER gate_events_merge INSTEAD OF INSERT ON gate_events
WHEN NEW.type IN ('core.workflowChain.event', 'node.completed', 'run.completed', 'assay.tool.delivered') BEGIN
  INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label, confirm,
                      event_hash)
  SELECT g.run_id, NEW.seq, g.gate_id, s.seq, s.target, s.result_hash, v.seq, v.verdict, v.label, g.confirm,
         NEW.secret ->> 'resultHash'
    FROM gated g
    LEFT JOIN staged s ON s.run_id = g.run_id AND s.seq = (
      SELECT max(seq) FROM staged
       WHERE run_id = g.run_id AND gate_id = g.gate_id AND point = g.point
         AND place = CASE g.point WHEN 'harvest' THEN NEW.payload ->> 'childRunId'
                                  WHEN 'tool' THEN NEW.payload ->> 'callId'
                                  WHEN 'node' THEN NEW.node_id ELSE '' END)
    LEFT JOIN verdicts v ON v.run_id = s.run_id AND v.seq = (
      SELECT max(seq) FROM verdicts
       WHERE run_id = s.run_id AND gate_id = s.gate_id AND target = s.target AND result_hash = s.result_hash)
   WHERE g.run_id = NEW.run_id AND CASE NEW.type
     WHEN 'run.completed' THEN g.point = 'run'
     WHEN 'node.completed' THEN g.point = 'node' AND g.node_id = NEW.node_id
     WHEN 'assay.tool.delivered' THEN g.point = 'tool' AND g.node_id = NEW.node_id
       AND g.worker_id = NEW.payload ->> 'toolId'
     ELSE g.point = 'harvest' AND g.node_id = NEW.node_id AND NEW.payload ->> 'phase' = 'output.harvested'
          AND g.worker_id IN ('', NEW.payload ->> 'workerId') END;
END;

CREATE TRIGGER events_tools AFTER INSERT ON events
WHEN NEW.type = 'agent.toolReturned' AND EXISTS (
    SELECT 1 FROM gated WHERE run_id = NEW.run_id AND point = 'tool' AND node_id = NEW.node_id
       AND worker_id = NEW.payload ->> 'toolId')
  AND NEW.secret ->> 'contents' IS NOT NULL AND NEW.secret ->> 'gated' IS NOT 1
  AND NEW.secret -> 'withheld' IS NULL BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_tools');
END;
`,
}
