-- Generated: what SQLite says of a database after all migrations. To write it anew:
-- npx vitest run --project unit src/store/sqlite/schema.test.ts --update

CREATE TABLE api_keys (
  key_id     TEXT PRIMARY KEY,
  hash       TEXT NOT NULL UNIQUE,
  tenant     TEXT NOT NULL,
  principal  TEXT NOT NULL,
  scopes     TEXT NOT NULL,
  test       INTEGER NOT NULL CHECK (test IN (0, 1)),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
, made_by TEXT NOT NULL DEFAULT '[]') WITHOUT ROWID;

CREATE TRIGGER api_keys_of_erased BEFORE INSERT ON api_keys
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TABLE checkpoints (
  seq       INTEGER PRIMARY KEY CHECK (seq >= 0),
  at        INTEGER NOT NULL,
  key_id    TEXT NOT NULL,
  prev      TEXT NOT NULL,
  runs      TEXT NOT NULL,
  hash      TEXT NOT NULL,
  signature TEXT NOT NULL,
  purged    TEXT NOT NULL DEFAULT '[]'
);

CREATE TABLE definitions (
  digest     TEXT PRIMARY KEY,
  definition TEXT NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER definitions_immutable BEFORE UPDATE ON definitions BEGIN
  SELECT RAISE(ABORT, 'a definition never changes under its digest');
END;

CREATE TABLE deliveries (
  webhook_id  TEXT NOT NULL,
  run_id      TEXT NOT NULL,
  seq         INTEGER NOT NULL,
  tenant      TEXT NOT NULL,
  event_type  TEXT NOT NULL,
  at          INTEGER NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'dropped')),
  attempts    INTEGER NOT NULL,
  status      INTEGER,
  error       TEXT,
  finished_at INTEGER,
  PRIMARY KEY (webhook_id, run_id, seq),
  CHECK ((state = 'pending') = (finished_at IS NULL))
) WITHOUT ROWID;

CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

CREATE INDEX deliveries_newest ON deliveries (webhook_id, at);

CREATE INDEX deliveries_pending ON deliveries (webhook_id, run_id, seq) WHERE state = 'pending';

CREATE TABLE erasures (
  tenant      TEXT PRIMARY KEY CHECK (tenant <> ''),
  asked_at    INTEGER NOT NULL,
  erased_at   INTEGER,
  upto_run    TEXT NOT NULL DEFAULT '',
  lease_host  TEXT,
  lease_until INTEGER
, key_id TEXT, signature TEXT) WITHOUT ROWID;

CREATE TABLE events (
  run_id    TEXT NOT NULL REFERENCES runs (run_id),
  seq       INTEGER NOT NULL CHECK (seq >= 0),
  type      TEXT NOT NULL,
  node_id   TEXT,
  payload   TEXT NOT NULL,
  secret    TEXT,
  cause     INTEGER CHECK (cause >= 0 AND cause < seq),
  at        INTEGER NOT NULL,
  epoch     INTEGER NOT NULL,
  append_id TEXT,
  input     TEXT,
  hash      TEXT NOT NULL DEFAULT '',
  salt      TEXT,
  erased    TEXT,
  PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;

CREATE UNIQUE INDEX events_terminal ON events (run_id) WHERE type IN ('run.completed', 'run.failed', 'run.cancelled');

CREATE TRIGGER events_artifacts AFTER INSERT ON events
WHEN NEW.type = 'artifact.created' AND EXISTS (
  SELECT 1 FROM gated_work WHERE run_id = NEW.run_id AND node_id = NEW.node_id AND point = 'node'
     AND seq IS NOT NULL AND NOT merged AND (verdict IS NULL OR verdict = 'pass')
     AND NEW.payload ->> 'artifactType' IS NOT 'dws.verification-result') BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_artifacts');
END;

CREATE TRIGGER events_gates AFTER INSERT ON events
WHEN NEW.type = 'dws.verification.started' OR NEW.type = 'agent.verified'
  OR ((NEW.type = 'core.workflowChain.event' OR NEW.type = 'node.completed' OR NEW.type = 'run.completed'
        OR NEW.type = 'assay.tool.delivered')
      AND EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id)) BEGIN
  INSERT INTO gate_events VALUES (NEW.run_id, NEW.seq, NEW.type, NEW.node_id, NEW.payload, NEW.secret, NEW.at);
END;

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

CREATE TRIGGER events_guard BEFORE INSERT ON events BEGIN
  SELECT CASE
    WHEN EXISTS (SELECT 1 FROM events
                  WHERE run_id = NEW.run_id AND type IN ('run.completed', 'run.failed', 'run.cancelled'))
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

CREATE TRIGGER events_tools AFTER INSERT ON events
WHEN NEW.type = 'agent.toolReturned' AND EXISTS (
    SELECT 1 FROM gated WHERE run_id = NEW.run_id AND point = 'tool' AND node_id = NEW.node_id
       AND worker_id = NEW.payload ->> 'toolId')
  AND NEW.secret ->> 'contents' IS NOT NULL AND NEW.secret ->> 'gated' IS NOT 1
  AND NEW.secret -> 'withheld' IS NULL BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_tools');
END;

CREATE TRIGGER events_usage_erased AFTER UPDATE OF payload, secret, input ON events BEGIN
  UPDATE usage SET bytes = bytes - (coalesce(length(CAST(OLD.payload AS BLOB)), 0)
                                    + coalesce(length(CAST(OLD.secret AS BLOB)), 0)
                                    + coalesce(length(CAST(OLD.input AS BLOB)), 0))
                                 + (coalesce(length(CAST(NEW.payload AS BLOB)), 0)
                                    + coalesce(length(CAST(NEW.secret AS BLOB)), 0)
                                    + coalesce(length(CAST(NEW.input AS BLOB)), 0))
   WHERE tenant = (SELECT tenant FROM runs WHERE run_id = NEW.run_id);
END;

CREATE TRIGGER events_usage_gone AFTER DELETE ON events BEGIN
  UPDATE usage SET bytes = bytes - (coalesce(length(CAST(OLD.payload AS BLOB)), 0)
                                    + coalesce(length(CAST(OLD.secret AS BLOB)), 0)
                                    + coalesce(length(CAST(OLD.input AS BLOB)), 0))
   WHERE tenant = (SELECT tenant FROM runs WHERE run_id = OLD.run_id);
END;

CREATE TRIGGER events_writes AFTER INSERT ON events
WHEN (NEW.type = 'variable.changed' OR NEW.type = 'channel.written') AND EXISTS (
  SELECT 1 FROM gated_work WHERE run_id = NEW.run_id AND node_id = NEW.node_id
     AND (verdict IS NOT 'pass' OR (point = 'node' AND merged))) BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_writes');
END;

CREATE TABLE families (
  root_run_id TEXT PRIMARY KEY,
  runs        INTEGER NOT NULL
) WITHOUT ROWID;

CREATE VIEW gate_events AS SELECT run_id, seq, type, node_id, payload, secret, at FROM events;

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

CREATE TRIGGER gate_events_verdict INSTEAD OF INSERT ON gate_events
WHEN NEW.type = 'agent.verified' AND NEW.secret IS NOT NULL BEGIN
  INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, label, tenant, at)
  VALUES (NEW.run_id, NEW.seq, NEW.secret ->> 'gateId', NEW.payload ->> 'target', NEW.secret ->> 'resultHash',
          NEW.payload ->> 'verdict', coalesce(NEW.secret ->> 'label', ''),
          (SELECT tenant FROM runs WHERE run_id = NEW.run_id), NEW.at);
END;

CREATE TABLE gated (
  run_id    TEXT NOT NULL REFERENCES runs (run_id),
  point     TEXT NOT NULL CHECK (point IN ('harvest', 'node', 'tool', 'run')),
  node_id   TEXT NOT NULL,
  gate_id   TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  confirm   TEXT CHECK (confirm IN ('full', 'none')),
  PRIMARY KEY (run_id, point, node_id, gate_id, worker_id)
) WITHOUT ROWID;

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

CREATE TABLE hosts (
  host_id     TEXT PRIMARY KEY,
  host_name   TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('alive', 'fenced', 'released'))
) WITHOUT ROWID;

CREATE TABLE invocations (
  id        TEXT PRIMARY KEY,
  tenant    TEXT NOT NULL,
  run_id    TEXT NOT NULL,
  node_id   TEXT NOT NULL,
  ordinal   TEXT NOT NULL,
  provider  TEXT NOT NULL,
  attempt   INTEGER NOT NULL CHECK (attempt > 0),
  host_id   TEXT NOT NULL,
  at        INTEGER NOT NULL,
  claim     TEXT NOT NULL,
  again     INTEGER NOT NULL CHECK (again IN (0, 1)),
  outcome   TEXT,
  cache_key TEXT CHECK (cache_key IS NULL OR outcome IS NOT NULL)
) WITHOUT ROWID;

CREATE INDEX invocations_answers ON invocations (tenant, cache_key, at, id) WHERE cache_key IS NOT NULL;

CREATE INDEX invocations_run ON invocations (run_id);

CREATE TRIGGER invocations_of_erased BEFORE INSERT ON invocations
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TRIGGER invocations_usage AFTER UPDATE OF outcome ON invocations
WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL AND NEW.tenant IS NOT NULL BEGIN
  INSERT INTO usage (tenant, bytes) VALUES (NEW.tenant, coalesce(length(CAST(NEW.outcome AS BLOB)), 0))
  ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER invocations_usage_gone AFTER DELETE ON invocations WHEN OLD.outcome IS NOT NULL BEGIN
  UPDATE usage SET bytes = bytes - (coalesce(length(CAST(OLD.outcome AS BLOB)), 0)) WHERE tenant = OLD.tenant;
END;

CREATE VIEW judged_work AS
SELECT v.run_id, v.seq, v.gate_id, s.node_id, s.worker_id, v.verdict, v.label
  FROM verdicts v JOIN staged s ON s.run_id = v.run_id AND s.seq = (
    SELECT max(seq) FROM staged
     WHERE run_id = v.run_id AND gate_id = v.gate_id AND target = v.target AND result_hash = v.result_hash
       AND seq < v.seq);

CREATE TABLE lanes (
  webhook_id TEXT NOT NULL REFERENCES webhooks (webhook_id),
  run_id     TEXT NOT NULL,
  due_at     INTEGER NOT NULL,
  lease_host TEXT,
  PRIMARY KEY (webhook_id, run_id)
) WITHOUT ROWID;

CREATE INDEX lanes_due ON lanes (due_at);

CREATE INDEX lanes_leased ON lanes (lease_host) WHERE lease_host IS NOT NULL;

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

CREATE TRIGGER merges_one_hash BEFORE INSERT ON merges
WHEN EXISTS (SELECT 1 FROM merges WHERE run_id = NEW.run_id AND seq = NEW.seq AND result_hash <> NEW.result_hash) BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: merges_one_hash');
END;

CREATE TABLE migrations (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE prefixes (
  run_id        TEXT NOT NULL REFERENCES runs (run_id),
  upto          INTEGER NOT NULL CHECK (upto > from_seq),
  source_run_id TEXT NOT NULL REFERENCES runs (run_id),
  from_seq      INTEGER NOT NULL CHECK (from_seq >= 0),
  PRIMARY KEY (run_id, upto)
) WITHOUT ROWID;

CREATE TABLE purged (
  run_id      TEXT PRIMARY KEY,
  root_run_id TEXT NOT NULL,
  tenant      TEXT NOT NULL,
  length      INTEGER NOT NULL,
  head        TEXT NOT NULL,
  ended_at    INTEGER NOT NULL,
  purged_at   INTEGER NOT NULL,
  checkpoint  INTEGER REFERENCES checkpoints (seq),
  is_stored   INTEGER NOT NULL DEFAULT 1 CHECK (is_stored = 1 OR checkpoint IS NOT NULL),
  lease_host  TEXT,
  lease_until INTEGER
) WITHOUT ROWID;

CREATE INDEX purged_stored ON purged (root_run_id, run_id) WHERE is_stored = 1;

CREATE INDEX purged_unsealed ON purged (purged_at, run_id) WHERE checkpoint IS NULL;

CREATE TABLE receipts (
  tenant      TEXT NOT NULL,
  endpoint    TEXT NOT NULL,
  key         TEXT NOT NULL,
  digest      TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('pending', 'completed', 'retryable-failure', 'terminal-failure')),
  lease_owner TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  status      INTEGER NOT NULL,
  headers     TEXT NOT NULL,
  body        TEXT NOT NULL,
  at          INTEGER NOT NULL,
  claim       TEXT,
  PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;

CREATE INDEX receipts_age ON receipts (at);

CREATE TRIGGER receipts_of_erased BEFORE INSERT ON receipts
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TABLE runs (
  run_id          TEXT PRIMARY KEY,
  tenant          TEXT NOT NULL,
  workflow_id     TEXT NOT NULL,
  workflow_digest TEXT NOT NULL,
  status          TEXT NOT NULL,
  parent_run_id   TEXT,
  parent_node_id  TEXT,
  scope_id        TEXT,
  tags            TEXT NOT NULL,
  length          INTEGER NOT NULL CHECK (length > 0),
  owner           TEXT NOT NULL,
  epoch           INTEGER NOT NULL CHECK (epoch > 0),
  attempts        INTEGER NOT NULL CHECK (attempts >= 0),
  wake_at         INTEGER,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  source_run_id   TEXT REFERENCES runs (run_id),
  from_seq        INTEGER NOT NULL DEFAULT 0 CHECK (from_seq >= 0),
  source_length   INTEGER,
  fork_mode       TEXT CHECK (fork_mode IN ('replay', 'branch')),
  append_id       TEXT,
  head            TEXT NOT NULL DEFAULT '',
  checkpoint      INTEGER REFERENCES checkpoints (seq),
  root_run_id     TEXT,
  CHECK (ended_at IS NULL OR wake_at IS NULL)
) WITHOUT ROWID;

CREATE INDEX runs_ended ON runs (ended_at, run_id) WHERE ended_at IS NOT NULL AND parent_run_id IS NULL;

CREATE INDEX runs_open ON runs (owner, tenant, wake_at) WHERE ended_at IS NULL;

CREATE INDEX runs_parent ON runs (parent_run_id, run_id) WHERE parent_run_id IS NOT NULL;

CREATE INDEX runs_scope ON runs (tenant, scope_id) WHERE scope_id IS NOT NULL AND ended_at IS NULL;

CREATE INDEX runs_source ON runs (source_run_id) WHERE source_run_id IS NOT NULL;

CREATE INDEX runs_tenant ON runs (tenant, run_id);

CREATE INDEX runs_unsealed ON runs (ended_at, run_id)
  WHERE ended_at IS NOT NULL AND checkpoint IS NULL AND head <> '';

CREATE TRIGGER runs_family AFTER INSERT ON runs WHEN NEW.root_run_id IS NOT NULL BEGIN
  INSERT INTO families (root_run_id, runs) VALUES (NEW.root_run_id, 1)
  ON CONFLICT (root_run_id) DO UPDATE SET runs = runs + 1;
END;

CREATE TRIGGER runs_of_erased BEFORE INSERT ON runs
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TRIGGER runs_usage_end AFTER UPDATE OF ended_at ON runs
WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL BEGIN
  UPDATE usage SET runs = runs - 1 WHERE tenant = NEW.tenant;
END;

CREATE TRIGGER runs_usage_gone AFTER DELETE ON runs BEGIN
  UPDATE usage SET runs = runs - 1 WHERE tenant = OLD.tenant AND OLD.ended_at IS NULL;
  DELETE FROM families WHERE root_run_id = OLD.run_id;
END;

CREATE TRIGGER runs_usage_open AFTER INSERT ON runs WHEN NEW.ended_at IS NULL BEGIN
  INSERT INTO usage (tenant, runs) VALUES (NEW.tenant, 1) ON CONFLICT (tenant) DO UPDATE SET runs = runs + 1;
END;

CREATE TABLE snapshots (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  length INTEGER NOT NULL,
  state  TEXT NOT NULL,
  PRIMARY KEY (run_id, length)
) WITHOUT ROWID;

CREATE TRIGGER snapshots_usage_gone AFTER DELETE ON snapshots BEGIN
  UPDATE usage SET bytes = bytes - (coalesce(length(CAST(OLD.state AS BLOB)), 0))
   WHERE tenant = (SELECT tenant FROM runs WHERE run_id = OLD.run_id);
END;

CREATE TABLE staged (
  run_id      TEXT NOT NULL REFERENCES runs (run_id),
  seq         INTEGER NOT NULL,
  gate_id     TEXT NOT NULL,
  attempt     INTEGER NOT NULL,
  target      TEXT NOT NULL,
  result_hash TEXT NOT NULL,
  point       TEXT NOT NULL,
  place       TEXT NOT NULL,
  node_id     TEXT NOT NULL DEFAULT '',
  worker_id   TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, seq),
  UNIQUE (run_id, seq, gate_id, target, result_hash)
) WITHOUT ROWID;

CREATE INDEX staged_places ON staged (run_id, gate_id, point, place, seq);

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

CREATE TRIGGER standards_of_erased BEFORE INSERT ON standards
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TABLE tenant_keys (
  tenant  TEXT PRIMARY KEY,
  wrapped TEXT NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER tenant_keys_of_erased BEFORE INSERT ON tenant_keys
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TABLE usage (
  tenant TEXT PRIMARY KEY,
  runs   INTEGER NOT NULL DEFAULT 0,
  bytes  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

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

CREATE TABLE webhooks (
  webhook_id TEXT PRIMARY KEY,
  tenant     TEXT NOT NULL,
  url        TEXT NOT NULL,
  events     TEXT NOT NULL,
  tags       TEXT NOT NULL,
  secret     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  health     TEXT NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER webhooks_of_erased BEFORE INSERT ON webhooks
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TABLE workflows (
  tenant      TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  digest      TEXT NOT NULL REFERENCES definitions (digest),
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, workflow_id)
) WITHOUT ROWID;

CREATE TRIGGER workflows_of_erased BEFORE INSERT ON workflows
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;
