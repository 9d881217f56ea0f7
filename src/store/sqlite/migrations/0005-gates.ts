import type { Migration } from '../../migration.js'

/**
 * S10 is held here. `gated` says where a run's blocking gates stand; the other tables are fed by triggers from the
 * events themselves, so whoever writes an event writes them too. An event that merges a result puts a row into `merges`
 * for each gate it passes, out of the latest staging there and the latest verdict over exactly what was staged:
 * NOT NULL refuses it where either is missing, CHECK and the foreign key where that verdict is no pass or is older than
 * the staging, the primary key where the same staging was merged before.
 *
 * `place` is how the merging event names what is staged: a harvest by the child run, a node by itself; a run has one.
 */
export const gates: Migration = {
  version: 5,
  name: 'gates',
  sql: `
-- tenant '' is shared with every tenant. Whether it is deleted, the latest version says.
CREATE TABLE standards (
  tenant     TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('gate', 'intent', 'knowledge')),
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL CHECK (version > 0),
  hash       TEXT NOT NULL,
  body       TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER,
  PRIMARY KEY (tenant, kind, id, version)
) WITHOUT ROWID;

-- worker_id '' is whichever worker.
CREATE TABLE gated (
  run_id    TEXT NOT NULL REFERENCES runs (run_id),
  point     TEXT NOT NULL CHECK (point IN ('harvest', 'node', 'run')),
  node_id   TEXT NOT NULL,
  gate_id   TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  PRIMARY KEY (run_id, point, node_id, gate_id, worker_id)
) WITHOUT ROWID;

CREATE TABLE staged (
  run_id      TEXT NOT NULL REFERENCES runs (run_id),
  seq         INTEGER NOT NULL,
  gate_id     TEXT NOT NULL,
  attempt     INTEGER NOT NULL,
  target      TEXT NOT NULL,
  result_hash TEXT NOT NULL,
  point       TEXT NOT NULL,
  place       TEXT NOT NULL,
  PRIMARY KEY (run_id, seq),
  UNIQUE (run_id, seq, gate_id, target, result_hash)
) WITHOUT ROWID;
CREATE INDEX staged_places ON staged (run_id, gate_id, point, place, seq);

-- tenant is null on those that a fork shares: they are listed once, with the run that was judged.
CREATE TABLE verdicts (
  run_id      TEXT NOT NULL REFERENCES runs (run_id),
  seq         INTEGER NOT NULL,
  gate_id     TEXT NOT NULL,
  target      TEXT NOT NULL,
  result_hash TEXT NOT NULL,
  verdict     TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'revise')),
  tenant      TEXT,
  at          INTEGER NOT NULL,
  PRIMARY KEY (run_id, seq),
  UNIQUE (run_id, gate_id, target, result_hash, seq, verdict)
) WITHOUT ROWID;
CREATE INDEX verdicts_newest ON verdicts (tenant, at) WHERE tenant IS NOT NULL;
CREATE INDEX verdicts_of_gate ON verdicts (tenant, gate_id, at) WHERE tenant IS NOT NULL;

CREATE TABLE merges (
  run_id      TEXT NOT NULL,
  seq         INTEGER NOT NULL,
  gate_id     TEXT NOT NULL,
  staged_seq  INTEGER NOT NULL,
  target      TEXT NOT NULL,
  result_hash TEXT NOT NULL,
  verdict_seq INTEGER NOT NULL,
  verdict     TEXT NOT NULL,
  PRIMARY KEY (run_id, staged_seq),
  CONSTRAINT merges_pass CHECK (verdict = 'pass'),
  CONSTRAINT merges_order CHECK (staged_seq < verdict_seq AND verdict_seq < seq),
  FOREIGN KEY (run_id, staged_seq, gate_id, target, result_hash)
    REFERENCES staged (run_id, seq, gate_id, target, result_hash),
  FOREIGN KEY (run_id, verdict_seq, gate_id, target, result_hash, verdict)
    REFERENCES verdicts (run_id, seq, gate_id, target, result_hash, verdict)
) WITHOUT ROWID;

-- Every event goes through this trigger, so it is small: the work is behind a view, which few events reach. And it
-- compares one by one, because SQLite would fill a table with the values of an IN each time.
CREATE VIEW gate_events AS SELECT run_id, seq, type, node_id, payload, secret, at FROM events;
CREATE TRIGGER events_gates AFTER INSERT ON events
WHEN NEW.type = 'dws.verification.started' OR NEW.type = 'agent.verified'
  OR ((NEW.type = 'core.workflowChain.event' OR NEW.type = 'node.completed' OR NEW.type = 'run.completed')
      AND EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id)) BEGIN
  INSERT INTO gate_events VALUES (NEW.run_id, NEW.seq, NEW.type, NEW.node_id, NEW.payload, NEW.secret, NEW.at);
END;

CREATE TRIGGER gate_events_staged INSTEAD OF INSERT ON gate_events
WHEN NEW.type = 'dws.verification.started' AND NEW.payload ->> 'blocking' AND NEW.payload ->> 'point' <> 'none' BEGIN
  INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place)
  VALUES (NEW.run_id, NEW.seq, NEW.payload ->> 'gateId', NEW.payload ->> 'attempt', NEW.payload ->> 'targetRef',
          NEW.payload ->> 'resultHash', NEW.payload ->> 'point',
          CASE NEW.payload ->> 'point' WHEN 'harvest' THEN NEW.payload ->> 'targetRef'
                                       WHEN 'node' THEN NEW.node_id ELSE '' END);
END;

-- A verdict without a secret is no gate's.
CREATE TRIGGER gate_events_verdict INSTEAD OF INSERT ON gate_events
WHEN NEW.type = 'agent.verified' AND NEW.secret IS NOT NULL BEGIN
  INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, tenant, at)
  VALUES (NEW.run_id, NEW.seq, NEW.secret ->> 'gateId', NEW.payload ->> 'target', NEW.secret ->> 'resultHash',
          NEW.payload ->> 'verdict', (SELECT tenant FROM runs WHERE run_id = NEW.run_id), NEW.at);
END;

CREATE TRIGGER gate_events_merge INSTEAD OF INSERT ON gate_events
WHEN NEW.type IN ('core.workflowChain.event', 'node.completed', 'run.completed') BEGIN
  INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict)
  SELECT g.run_id, NEW.seq, g.gate_id, s.seq, s.target, s.result_hash, v.seq, v.verdict
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
`,
}
