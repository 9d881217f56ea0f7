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

CREATE TRIGGER trail_erased AFTER UPDATE OF erased_at ON erasures WHEN NEW.erased_at IS NOT NULL BEGIN
  DELETE FROM trail WHERE tenant = NEW.tenant;
END;

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
  erased    TEXT, foreign_cause TEXT CHECK (foreign_cause IS NULL OR cause IS NULL),
  PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;

CREATE UNIQUE INDEX events_terminal ON events (run_id)
  WHERE type IN ('run.completed', 'run.failed', 'run.cancelled', 'assay.stream.ended');

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

CREATE TRIGGER events_journal AFTER INSERT ON events
WHEN (NEW.type = 'memory.written' OR NEW.type = 'assay.memory.forgotten'
      OR NEW.type = 'assay.file.written' OR NEW.type = 'assay.file.removed'
      OR (NEW.type = 'node.completed'
          AND EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id AND point = 'node' AND node_id = NEW.node_id))
      OR (NEW.type = 'core.workflowChain.event'
          AND EXISTS (SELECT 1 FROM journal_layers WHERE run_id = NEW.payload ->> 'childRunId'))
      OR (NEW.type = 'assay.rework.began' AND NEW.payload ->> 'point' = 'run')
      OR (NEW.type = 'run.completed' AND EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id AND point = 'run')))
  AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id AND fork_mode = 'replay') BEGIN
  INSERT INTO journal_events VALUES (NEW.run_id, NEW.seq, NEW.type, NEW.node_id, NEW.payload, NEW.secret, NEW.at);
END;

CREATE TRIGGER events_journal_read AFTER INSERT ON events
WHEN NEW.type = 'assay.journal.read' AND NEW.secret IS NOT NULL BEGIN
  INSERT OR IGNORE INTO journal_reads (tenant, name, run_id)
  SELECT r.tenant, v.value, r.run_id FROM runs r, json_each(NEW.secret, '$.rows') v WHERE r.run_id = NEW.run_id;
END;

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

CREATE VIEW gated_children AS
SELECT g.run_id, g.node_id, c.run_id AS child_run_id
  FROM gated g JOIN runs c
    ON g.point = 'harvest' AND (g.worker_id = '' OR (g.worker_id = c.workflow_id
      OR (c.workflow_id = 'assay-agent-' || replace(g.worker_id, '.', '-') AND g.worker_id NOT GLOB '*[^a-z0-9.]*')
      OR substr(c.workflow_id, 1, length(c.workflow_id) - 13) = substr('assay-agent-' || lower(replace(g.worker_id, '.', '-')), 1, 100)));

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

CREATE TABLE host_identity (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  host_id TEXT NOT NULL,
  given   INTEGER NOT NULL CHECK (given IN (0, 1))
);

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

CREATE TABLE journal (
  scope_id INTEGER NOT NULL REFERENCES journal_scopes (scope_id),
  pos      INTEGER NOT NULL CHECK (pos > 0),
  write_id INTEGER NOT NULL REFERENCES journal_writes (write_id),
  ref      TEXT NOT NULL,
  id       TEXT NOT NULL,
  version  INTEGER,
  at       INTEGER NOT NULL,
  until    INTEGER CHECK (until > pos),
  ended_at INTEGER,
  span     INTEGER NOT NULL DEFAULT 0 CHECK ((span = 0) = (until IS NULL)),
  PRIMARY KEY (scope_id, pos)
) WITHOUT ROWID;

CREATE INDEX journal_ended ON journal (ended_at, until) WHERE until IS NOT NULL;

CREATE INDEX journal_keys ON journal (scope_id, ref, id, pos);

CREATE UNIQUE INDEX journal_once ON journal (write_id, scope_id);

CREATE INDEX journal_ref_spans ON journal (scope_id, ref, span, pos);

CREATE INDEX journal_spans ON journal (scope_id, span, pos);

CREATE TRIGGER journal_dense BEFORE INSERT ON journal
WHEN NEW.pos IS NOT (SELECT head FROM journal_scopes WHERE scope_id = NEW.scope_id)
  OR EXISTS (SELECT 1 FROM journal WHERE scope_id = NEW.scope_id AND pos >= NEW.pos) BEGIN
  SELECT RAISE(ABORT, 'positions of a scope are dense from 1');
END;

CREATE TRIGGER journal_entries_gone BEFORE DELETE ON journal
WHEN OLD.span = 0 AND (SELECT op FROM journal_writes WHERE write_id = OLD.write_id) = 'put' BEGIN
  UPDATE journal_scopes SET entries = entries - 1 WHERE scope_id = OLD.scope_id;
END;

CREATE TRIGGER journal_gone AFTER DELETE ON journal BEGIN
  DELETE FROM journal_layers WHERE write_id = OLD.write_id
     AND scope = (SELECT scope FROM journal_scopes WHERE scope_id = OLD.scope_id);
  DELETE FROM journal_writes WHERE write_id = OLD.write_id
     AND NOT EXISTS (SELECT 1 FROM journal WHERE write_id = OLD.write_id)
     AND NOT EXISTS (SELECT 1 FROM journal_layers WHERE write_id = OLD.write_id);
END;

CREATE TRIGGER journal_supersedes AFTER INSERT ON journal BEGIN
  UPDATE journal SET until = NEW.pos, ended_at = NEW.at, span = length(printf('%x', NEW.pos - pos))
   WHERE scope_id = NEW.scope_id AND until IS NULL AND pos = (
     SELECT max(pos) FROM journal WHERE scope_id = NEW.scope_id AND ref = NEW.ref AND id = NEW.id AND pos < NEW.pos);
END;

CREATE TRIGGER journal_words_gone BEFORE DELETE ON journal BEGIN
  DELETE FROM journal_words
   WHERE scope_id = OLD.scope_id AND word IN (SELECT value FROM journal_found_by WHERE write_id = OLD.write_id)
     AND span = OLD.span AND pos = OLD.pos;
END;

CREATE TRIGGER journal_words_superseded AFTER UPDATE OF span ON journal BEGIN
  UPDATE journal_words SET span = NEW.span
   WHERE scope_id = OLD.scope_id AND word IN (SELECT value FROM journal_found_by WHERE write_id = OLD.write_id)
     AND span = OLD.span AND pos = OLD.pos;
END;

CREATE TABLE journal_contents (
  tenant       TEXT NOT NULL,
  content_id   TEXT NOT NULL,
  run_id       TEXT,
  hash         TEXT NOT NULL,
  sealed       INTEGER NOT NULL CHECK (sealed IN (0, 1)),
  text_is_body INTEGER NOT NULL CHECK (text_is_body IN (0, 1)),
  words        TEXT,
  text         BLOB,
  body         BLOB NOT NULL, pieces INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, content_id)
);

CREATE INDEX journal_contents_run ON journal_contents (run_id) WHERE run_id IS NOT NULL;

CREATE TRIGGER journal_contents_of_erased BEFORE INSERT ON journal_contents
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TRIGGER journal_contents_pieces BEFORE INSERT ON journal_contents
WHEN NEW.pieces > 0
 AND NOT EXISTS (SELECT 1 FROM journal_contents WHERE tenant = NEW.tenant AND content_id = NEW.content_id)
 AND (SELECT count(*) <> NEW.pieces OR max(piece) <> NEW.pieces - 1
          OR CAST(group_concat(hash, char(10) ORDER BY piece) AS BLOB) IS NOT NEW.body
        FROM journal_pieces WHERE tenant = NEW.tenant AND content_id = NEW.content_id) BEGIN
  SELECT RAISE(ABORT, 'the content of a write is not stored, or is another');
END;

CREATE TRIGGER journal_contents_pieces_gone AFTER DELETE ON journal_contents WHEN OLD.pieces > 0 BEGIN
  DELETE FROM journal_pieces WHERE tenant = OLD.tenant AND content_id = OLD.content_id;
END;

CREATE TRIGGER journal_contents_usage AFTER INSERT ON journal_contents BEGIN
  INSERT INTO usage (tenant, bytes) VALUES (NEW.tenant, length(NEW.body))
  ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER journal_contents_usage_gone AFTER DELETE ON journal_contents BEGIN
  UPDATE usage SET bytes = bytes - length(OLD.body) WHERE tenant = OLD.tenant;
END;

CREATE TRIGGER journal_contents_whole AFTER INSERT ON journal_contents WHEN NEW.pieces > 0 BEGIN
  DELETE FROM journal_uploads WHERE tenant = NEW.tenant AND content_id = NEW.content_id;
END;

CREATE TRIGGER journal_contents_words BEFORE DELETE ON journal_contents WHEN OLD.words IS NOT NULL BEGIN
  DELETE FROM journal_words WHERE (scope_id, word, span, pos) IN (
    SELECT j.scope_id, v.value, j.span, j.pos
      FROM journal_writes w JOIN journal j ON j.write_id = w.write_id JOIN json_each(OLD.words) v
     WHERE w.tenant = OLD.tenant AND w.content_id = OLD.content_id);
END;

CREATE VIEW journal_events AS SELECT run_id, seq, type, node_id, payload, secret, at FROM events;

CREATE TRIGGER journal_events_child INSTEAD OF INSERT ON journal_events WHEN NEW.type = 'core.workflowChain.event' BEGIN
  INSERT INTO journal_layers (run_id, seq, ord, write_id, tenant, space, scope, ref, id, node_id, isolated)
  SELECT NEW.run_id, NEW.seq, row_number() OVER (ORDER BY a.seq, a.ord), a.write_id, a.tenant, a.space, a.target, a.ref, a.id,
         NEW.node_id, a.isolated OR a.target = 'run:' || NEW.run_id
    FROM (SELECT l.*, CASE WHEN c.parent_run_id = NEW.run_id THEN l.scope ELSE 'fork:' || NEW.run_id END AS target
            FROM runs c JOIN runs r ON r.run_id = NEW.run_id AND r.tenant = c.tenant
            JOIN journal_layers l ON l.run_id = c.run_id AND l.left_seq IS NULL
           WHERE c.run_id = NEW.payload ->> 'childRunId' AND c.parent_node_id = NEW.node_id
             AND (c.parent_run_id = NEW.run_id OR (NOT l.isolated AND EXISTS (
               SELECT 1 FROM prefixes p WHERE p.run_id = NEW.run_id AND p.source_run_id = c.parent_run_id)))
             -- Past a gate at its exit there is only one way out.
             AND (NOT EXISTS (SELECT 1 FROM gated g WHERE g.run_id = c.run_id AND g.point = 'run')
                  OR EXISTS (SELECT 1 FROM events e WHERE e.run_id = c.run_id AND e.type = 'run.completed'))
             -- Gates are asked by the worker that the event names (S10): it must be the child's.
             AND CASE WHEN EXISTS (SELECT 1 FROM gated_children g WHERE g.run_id = NEW.run_id AND g.node_id = NEW.node_id
                                      AND g.child_run_id = c.run_id)
                 THEN NEW.payload ->> 'phase' = 'output.harvested' AND ((NEW.payload ->> 'workerId') = c.workflow_id
                   OR (c.workflow_id = 'assay-agent-' || replace(NEW.payload ->> 'workerId', '.', '-') AND (NEW.payload ->> 'workerId') NOT GLOB '*[^a-z0-9.]*')
                   OR substr(c.workflow_id, 1, length(c.workflow_id) - 13) = substr('assay-agent-' || lower(replace(NEW.payload ->> 'workerId', '.', '-')), 1, 100))
                 ELSE NEW.payload ->> 'phase' = 'child.completed' END) a
   ORDER BY a.seq, a.ord;
END;

CREATE TRIGGER journal_events_exit INSTEAD OF INSERT ON journal_events
WHEN NEW.type = 'run.completed' AND NOT EXISTS (SELECT 1 FROM journal_held WHERE run_id = NEW.run_id) BEGIN
  INSERT INTO journal_publishing (write_id, scope, at)
  SELECT write_id, scope, NEW.at FROM journal_layers
   WHERE run_id = NEW.run_id AND left_seq IS NULL ORDER BY seq, ord;
END;

CREATE TRIGGER journal_events_node INSTEAD OF INSERT ON journal_events WHEN NEW.type = 'node.completed' BEGIN
  INSERT INTO journal_layers (run_id, seq, ord, write_id, tenant, space, scope, ref, id, node_id, isolated)
  SELECT NEW.run_id, NEW.seq, row_number() OVER (ORDER BY a.seq), a.write_id, a.tenant, a.space, a.target, a.ref, a.id,
         NEW.node_id, a.target = 'run:' || NEW.run_id
    FROM (SELECT w.*, 'fork:' || NEW.run_id AS target FROM prefixes p JOIN journal_writes w
              ON w.run_id = p.source_run_id AND w.seq >= p.from_seq AND w.seq < p.upto
           WHERE p.run_id = NEW.run_id AND w.node_id = NEW.node_id AND w.since = NEW.secret ->> 'since'
           UNION ALL
          SELECT w.*, w.scope FROM journal_writes w
           WHERE w.run_id = NEW.run_id AND w.node_id = NEW.node_id AND w.since = NEW.secret ->> 'since') a
   ORDER BY a.seq;
END;

CREATE TRIGGER journal_events_rework INSTEAD OF INSERT ON journal_events WHEN NEW.type = 'assay.rework.began' BEGIN
  UPDATE journal_layers SET left_seq = NEW.seq
   WHERE run_id = NEW.run_id AND left_seq IS NULL
     AND (node_id = NEW.node_id OR node_id IN (SELECT value FROM json_each(NEW.secret, '$.returned'))) AND NOT EXISTS (
     SELECT 1 FROM journal_scopes s JOIN journal j ON j.scope_id = s.scope_id
      WHERE s.tenant = journal_layers.tenant AND s.space = journal_layers.space AND s.scope = journal_layers.scope
        AND j.write_id = journal_layers.write_id);
END;

CREATE TRIGGER journal_events_write INSTEAD OF INSERT ON journal_events
WHEN NEW.type IN ('memory.written', 'assay.memory.forgotten', 'assay.file.written', 'assay.file.removed') BEGIN
  SELECT RAISE(ABORT, 'the content of a write is not stored, or is another')
   WHERE NEW.type IN ('memory.written', 'assay.file.written') AND NOT EXISTS (
     SELECT 1 FROM journal_contents c
      WHERE c.tenant = (SELECT tenant FROM runs WHERE run_id = NEW.run_id)
        AND c.content_id = NEW.secret ->> 'contentId' AND c.hash = NEW.secret ->> 'hash');

  INSERT INTO journal_writes (run_id, seq, tenant, space, scope, ref, id, op, node_id, since, agent_id, tags, at, expires_at,
                              content_id, hash, bytes, content_type, if_match, seen)
  VALUES (NEW.run_id, NEW.seq, (SELECT tenant FROM runs WHERE run_id = NEW.run_id),
          CASE WHEN NEW.type IN ('memory.written', 'assay.memory.forgotten') THEN 'memory' ELSE 'workspace' END,
          NEW.secret ->> 'scope', NEW.secret ->> 'ref', NEW.secret ->> 'id',
          CASE WHEN NEW.type IN ('memory.written', 'assay.file.written') THEN 'put' ELSE 'forget' END,
          coalesce(NEW.node_id, ''), NEW.secret ->> 'since', NEW.payload ->> 'agentId', NEW.secret -> 'tags', NEW.at,
          NEW.secret ->> 'expiresAt', NEW.secret ->> 'contentId', NEW.secret ->> 'hash', NEW.secret ->> 'bytes',
          NEW.secret ->> 'contentType', NEW.secret ->> 'ifMatch', NEW.secret ->> 'seen');

  INSERT INTO journal_layers (run_id, seq, ord, write_id, tenant, space, scope, ref, id, node_id, isolated)
  SELECT w.run_id, w.seq, 0, w.write_id, w.tenant, w.space, w.scope, w.ref, w.id, w.node_id,
         w.scope = 'run:' || w.run_id
    FROM journal_writes w
   WHERE w.run_id = NEW.run_id AND w.seq = NEW.seq AND NOT EXISTS (
     SELECT 1 FROM gated g WHERE g.run_id = w.run_id AND g.point = 'node' AND g.node_id = w.node_id);
END;

CREATE VIEW journal_found_by AS
SELECT w.write_id, v.value
  FROM journal_writes w JOIN journal_contents c ON c.tenant = w.tenant AND c.content_id = w.content_id
  JOIN json_each(c.words) v
 WHERE w.op = 'put' AND c.words IS NOT NULL
 UNION ALL
SELECT w.write_id, '#' || lower(v.value)
  FROM journal_writes w JOIN json_each(w.tags) v
 WHERE w.op = 'put' AND NOT EXISTS (
   SELECT 1 FROM journal_contents c
    WHERE c.tenant = w.tenant AND c.content_id = w.content_id AND c.words IS NOT NULL);

CREATE TABLE journal_held (run_id TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE journal_layers (
  run_id   TEXT NOT NULL,
  seq      INTEGER NOT NULL,
  ord      INTEGER NOT NULL,
  write_id INTEGER NOT NULL,
  tenant   TEXT NOT NULL,
  space    TEXT NOT NULL,
  scope    TEXT NOT NULL,
  ref      TEXT NOT NULL,
  id       TEXT NOT NULL,
  node_id  TEXT NOT NULL,
  isolated INTEGER NOT NULL,
  left_seq INTEGER,
  PRIMARY KEY (run_id, seq, ord)
) WITHOUT ROWID;

CREATE INDEX journal_layers_keys ON journal_layers (run_id, space, scope, ref, id, seq, ord);

CREATE INDEX journal_layers_writes ON journal_layers (write_id);

CREATE TRIGGER journal_layers_open AFTER INSERT ON journal_layers
WHEN NOT EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id AND point = 'run')
  AND NOT EXISTS (SELECT 1 FROM journal_held WHERE run_id = NEW.run_id) BEGIN
  INSERT INTO journal_publishing (write_id, scope, at)
  SELECT NEW.write_id, NEW.scope, at FROM events WHERE run_id = NEW.run_id AND seq = NEW.seq;
END;

CREATE VIEW journal_next AS
SELECT w.write_id, s.scope_id, s.scope, s.head, w.ref, w.id,
       CASE WHEN w.space = 'workspace' THEN w.if_match END AS if_match,
       CASE WHEN l.write_id IS NULL THEN w.seen WHEN p.op = 'put' THEN l.version ELSE 0 END AS current,
       CASE WHEN w.space = 'workspace' THEN coalesce(l.version, w.seen) + 1 END AS version,
       (w.op = 'put') - (p.op IS 'put' AND l.until IS NULL) AS gained
  FROM journal_writes w
  JOIN journal_scopes s ON s.tenant = w.tenant AND s.space = w.space
  LEFT JOIN journal l ON l.scope_id = s.scope_id AND l.pos = (
    SELECT max(pos) FROM journal WHERE scope_id = s.scope_id AND ref = w.ref AND id = w.id)
  LEFT JOIN journal_writes p ON p.write_id = l.write_id;

CREATE TABLE journal_pieces (
  tenant     TEXT NOT NULL,
  content_id TEXT NOT NULL,
  piece      INTEGER NOT NULL CHECK (piece >= 0),
  hash       TEXT NOT NULL,
  at         INTEGER NOT NULL,
  body       BLOB NOT NULL,
  PRIMARY KEY (tenant, content_id, piece)
);

CREATE TRIGGER journal_pieces_come AFTER INSERT ON journal_pieces BEGIN
  INSERT INTO journal_uploads (tenant, content_id, at) VALUES (NEW.tenant, NEW.content_id, NEW.at)
  ON CONFLICT (tenant, content_id) DO UPDATE SET at = max(at, excluded.at);
END;

CREATE TRIGGER journal_pieces_of_erased BEFORE INSERT ON journal_pieces
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TRIGGER journal_pieces_of_whole BEFORE INSERT ON journal_pieces
WHEN EXISTS (SELECT 1 FROM journal_contents WHERE tenant = NEW.tenant AND content_id = NEW.content_id) BEGIN
  SELECT RAISE(IGNORE);
END;

CREATE TRIGGER journal_pieces_usage AFTER INSERT ON journal_pieces BEGIN
  INSERT INTO usage (tenant, bytes) VALUES (NEW.tenant, length(NEW.body))
  ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER journal_pieces_usage_gone AFTER DELETE ON journal_pieces BEGIN
  UPDATE usage SET bytes = bytes - length(OLD.body) WHERE tenant = OLD.tenant;
END;

CREATE VIEW journal_publishing AS SELECT write_id, scope, at FROM journal_writes;

CREATE TRIGGER journal_publish INSTEAD OF INSERT ON journal_publishing
WHEN NOT EXISTS (SELECT 1 FROM journal_writes w JOIN journal_scopes s
                    ON s.tenant = w.tenant AND s.space = w.space AND s.scope = NEW.scope
                  JOIN journal j ON j.write_id = w.write_id AND j.scope_id = s.scope_id
                 WHERE w.write_id = NEW.write_id) BEGIN
  INSERT INTO journal_scopes (tenant, space, scope)
  SELECT tenant, space, NEW.scope FROM journal_writes WHERE write_id = NEW.write_id
  ON CONFLICT DO NOTHING;

  SELECT RAISE(ABORT, 'workspace conflict ' || json_object('path', n.id, 'currentVersion', n.current))
    FROM journal_next n WHERE n.write_id = NEW.write_id AND n.scope = NEW.scope AND n.if_match <> n.current;

  UPDATE journal_scopes SET head = journal_scopes.head + 1, entries = entries + n.gained
    FROM journal_next n WHERE n.write_id = NEW.write_id AND n.scope = NEW.scope AND journal_scopes.scope_id = n.scope_id;

  INSERT INTO journal (scope_id, pos, write_id, ref, id, version, at)
  SELECT n.scope_id, n.head, n.write_id, n.ref, n.id, n.version, NEW.at
    FROM journal_next n WHERE n.write_id = NEW.write_id AND n.scope = NEW.scope;

  INSERT OR IGNORE INTO journal_words (scope_id, word, span, pos)
  SELECT j.scope_id, v.value, 0, j.pos
    FROM journal_writes w JOIN journal_scopes s ON s.tenant = w.tenant AND s.space = w.space AND s.scope = NEW.scope
    JOIN journal j ON j.write_id = w.write_id AND j.scope_id = s.scope_id
    JOIN journal_found_by v ON v.write_id = w.write_id
   WHERE w.write_id = NEW.write_id;

  INSERT INTO tenant_events (tenant, seq, type, payload, at)
  SELECT w.tenant, coalesce((SELECT t.events FROM tenant_streams t WHERE t.tenant = w.tenant), 0), 'workspace.updated',
         json_object('path', w.id, 'version', j.version), NEW.at
    FROM journal_writes w JOIN journal_scopes s ON s.tenant = w.tenant AND s.space = w.space AND s.scope = ''
    JOIN journal j ON j.write_id = w.write_id AND j.scope_id = s.scope_id
   WHERE w.write_id = NEW.write_id AND w.space = 'workspace' AND NEW.scope = '';
END;

CREATE TABLE journal_reads (
  tenant TEXT NOT NULL,
  name   TEXT NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (tenant, name, run_id)
) WITHOUT ROWID;

CREATE INDEX journal_reads_run ON journal_reads (run_id);

CREATE TABLE journal_scopes (
  scope_id INTEGER PRIMARY KEY,
  tenant   TEXT NOT NULL,
  space    TEXT NOT NULL,
  scope    TEXT NOT NULL,
  head     INTEGER NOT NULL DEFAULT 0,
  horizon  INTEGER NOT NULL DEFAULT 0,
  entries  INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant, space, scope)
);

CREATE TABLE journal_uploads (
  tenant     TEXT NOT NULL,
  content_id TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (tenant, content_id)
) WITHOUT ROWID;

CREATE INDEX journal_uploads_at ON journal_uploads (at);

CREATE TRIGGER journal_uploads_gone AFTER DELETE ON journal_uploads
WHEN NOT EXISTS (SELECT 1 FROM journal_contents WHERE tenant = OLD.tenant AND content_id = OLD.content_id) BEGIN
  DELETE FROM journal_pieces WHERE tenant = OLD.tenant AND content_id = OLD.content_id;
END;

CREATE TABLE journal_words (
  scope_id INTEGER NOT NULL,
  word     TEXT NOT NULL,
  span     INTEGER NOT NULL,
  pos      INTEGER NOT NULL,
  PRIMARY KEY (scope_id, word, span, pos)
) WITHOUT ROWID;

CREATE TABLE journal_writes (
  write_id     INTEGER PRIMARY KEY,
  run_id       TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  tenant       TEXT NOT NULL,
  space        TEXT NOT NULL CHECK (space IN ('memory', 'workspace')),
  scope        TEXT NOT NULL,
  ref          TEXT NOT NULL,
  id           TEXT NOT NULL,
  op           TEXT NOT NULL CHECK (op IN ('put', 'forget')),
  node_id      TEXT NOT NULL,
  since        INTEGER NOT NULL,
  agent_id     TEXT,
  tags         TEXT NOT NULL,
  at           INTEGER NOT NULL,
  expires_at   INTEGER,
  content_id   TEXT,
  hash         TEXT,
  bytes        INTEGER NOT NULL,
  content_type TEXT,
  if_match     INTEGER,
  seen         INTEGER NOT NULL,
  token        TEXT,
  UNIQUE (run_id, seq)
);

CREATE INDEX journal_writes_attempts ON journal_writes (run_id, node_id, since, seq);

CREATE INDEX journal_writes_contents ON journal_writes (tenant, content_id) WHERE content_id IS NOT NULL;

CREATE INDEX journal_writes_expiry ON journal_writes (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX journal_writes_keys ON journal_writes (tenant, space, ref, id);

CREATE INDEX journal_writes_tokens ON journal_writes (token) WHERE token IS NOT NULL;

CREATE TRIGGER journal_writes_gone AFTER DELETE ON journal_writes BEGIN
  DELETE FROM journal_layers WHERE write_id = OLD.write_id;
  DELETE FROM journal_contents WHERE tenant = OLD.tenant AND content_id = OLD.content_id
     AND NOT EXISTS (SELECT 1 FROM journal_writes WHERE tenant = OLD.tenant AND content_id = OLD.content_id);
END;

CREATE TRIGGER journal_writes_of_erased BEFORE INSERT ON journal_writes
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TRIGGER journal_writes_tags BEFORE UPDATE OF tags ON journal_writes BEGIN
  DELETE FROM journal_words WHERE (scope_id, word, span, pos) IN (
    SELECT j.scope_id, '#' || lower(v.value), j.span, j.pos
      FROM journal j JOIN json_each(OLD.tags) v WHERE j.write_id = OLD.write_id);
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

CREATE TRIGGER runs_held AFTER INSERT ON runs WHEN NEW.parent_run_id IS NOT NULL
  AND (EXISTS (SELECT 1 FROM journal_held WHERE run_id = NEW.parent_run_id)
    OR EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.parent_run_id AND point = 'run')
    OR EXISTS (SELECT 1 FROM gated_children WHERE run_id = NEW.parent_run_id AND node_id = NEW.parent_node_id
                  AND child_run_id = NEW.run_id)
    OR NOT EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.parent_run_id)) BEGIN
  INSERT INTO journal_held (run_id) VALUES (NEW.run_id);
END;

CREATE TRIGGER runs_held_gone AFTER DELETE ON runs BEGIN
  DELETE FROM journal_held WHERE run_id = OLD.run_id;
END;

CREATE TRIGGER runs_of_erased BEFORE INSERT ON runs
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TRIGGER runs_usage_end AFTER UPDATE OF ended_at ON runs
WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.workflow_id NOT IN ('assay-goal', 'assay-schedule', 'assay-commitment') BEGIN
  UPDATE usage SET runs = runs - 1 WHERE tenant = NEW.tenant;
END;

CREATE TRIGGER runs_usage_gone AFTER DELETE ON runs BEGIN
  UPDATE usage SET runs = runs - 1
   WHERE tenant = OLD.tenant AND OLD.ended_at IS NULL AND OLD.workflow_id NOT IN ('assay-goal', 'assay-schedule', 'assay-commitment');
  DELETE FROM families WHERE root_run_id = OLD.run_id;
END;

CREATE TRIGGER runs_usage_open AFTER INSERT ON runs
WHEN NEW.ended_at IS NULL AND NEW.workflow_id NOT IN ('assay-goal', 'assay-schedule', 'assay-commitment') BEGIN
  INSERT INTO usage (tenant, runs) VALUES (NEW.tenant, 1) ON CONFLICT (tenant) DO UPDATE SET runs = runs + 1;
END;

CREATE TRIGGER stream_runs_gone AFTER DELETE ON runs
WHEN OLD.workflow_id IN ('assay-goal', 'assay-schedule', 'assay-commitment') BEGIN
  DELETE FROM stream_runs WHERE stream_id = OLD.run_id;
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

CREATE TABLE stream_runs (
  stream_id TEXT NOT NULL,
  role      TEXT NOT NULL CHECK (role IN ('work', 'judge')),
  ordinal   INTEGER NOT NULL CHECK (ordinal > 0),
  run_id    TEXT NOT NULL UNIQUE,
  tick      TEXT,
  PRIMARY KEY (stream_id, role, ordinal),
  UNIQUE (stream_id, role, tick)
) WITHOUT ROWID;

CREATE TABLE tenant_events (
  tenant  TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  type    TEXT NOT NULL,
  payload TEXT NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (tenant, seq)
) WITHOUT ROWID;

CREATE TRIGGER tenant_events_counted AFTER INSERT ON tenant_events BEGIN
  INSERT INTO tenant_streams (tenant, events) VALUES (NEW.tenant, 1)
  ON CONFLICT (tenant) DO UPDATE SET events = events + 1;
END;

CREATE TRIGGER tenant_events_of_erased BEFORE INSERT ON tenant_events
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

CREATE TABLE tenant_streams (
  tenant TEXT PRIMARY KEY,
  events INTEGER NOT NULL DEFAULT 0,
  writes INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE trail (
  tenant     TEXT NOT NULL,
  seq        INTEGER NOT NULL CHECK (seq > 0),
  at         INTEGER NOT NULL,
  principal  TEXT NOT NULL,
  credential TEXT NOT NULL,
  action     TEXT NOT NULL,
  object     TEXT NOT NULL,
  outcome    TEXT NOT NULL CHECK (outcome IN ('begun', 'allowed', 'refused')),
  previous   TEXT NOT NULL,
  hash       TEXT NOT NULL,
  PRIMARY KEY (tenant, seq)
) WITHOUT ROWID;

CREATE TRIGGER trail_chained BEFORE INSERT ON trail
WHEN NEW.seq <> 1 + (SELECT coalesce(max(seq), 0) FROM trail WHERE tenant = NEW.tenant)
  OR NEW.previous <> coalesce((SELECT hash FROM trail WHERE tenant = NEW.tenant AND seq = NEW.seq - 1), '') BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: trail_chained');
END;

CREATE TRIGGER trail_kept BEFORE DELETE ON trail
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE tenant = OLD.tenant AND erased_at IS NOT NULL) BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: trail_kept');
END;

CREATE TRIGGER trail_of_erased BEFORE INSERT ON trail
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

CREATE TRIGGER trail_unchanged BEFORE UPDATE ON trail BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: trail_unchanged');
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
