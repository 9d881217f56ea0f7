-- The journal: what runs write down for later (docs/design/journal.md, S15). Triggers make the rows of events, so whoever
-- writes an event writes them too, and only they give out positions.


-- The words themselves, stored before an event tells of them. `text` is what they are found by, null where the body is
-- sealed or no text; where it is the body, text_is_body says so and it is not stored twice. `words` are those of the text.
CREATE TABLE journal_contents (
  tenant       TEXT NOT NULL,
  content_id   TEXT NOT NULL,
  run_id       TEXT,
  hash         TEXT NOT NULL,
  sealed       INTEGER NOT NULL CHECK (sealed IN (0, 1)),
  text_is_body INTEGER NOT NULL CHECK (text_is_body IN (0, 1)),
  words        TEXT,
  text         BLOB,
  body         BLOB NOT NULL,
  PRIMARY KEY (tenant, content_id)
);
CREATE INDEX journal_contents_run ON journal_contents (run_id) WHERE run_id IS NOT NULL;

-- One for each event that tells of a write; those outside of runs have the run_id `tenant:` and the tenant, and the token of
-- the call that made them, by which a repetition knows its own.
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
CREATE INDEX journal_writes_keys ON journal_writes (tenant, space, ref, id);
CREATE INDEX journal_writes_contents ON journal_writes (tenant, content_id) WHERE content_id IS NOT NULL;
CREATE INDEX journal_writes_expiry ON journal_writes (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX journal_writes_tokens ON journal_writes (token) WHERE token IS NOT NULL;

-- What a run sees of its own, from event seq on and, if it left, up to left_seq. `scope` is where it gets its position when
-- this run publishes it; isolated says that nobody above reads there.
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

-- What lies before the horizon cannot be read any more. `entries` are the keys whose latest row is a put.
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

-- What is published. `until` is the next position of the same key, ended_at when that was given out. `span` is 0 for the
-- latest of a key, and else how many hexadecimal digits `until - pos` has: what was the latest at a position has begun
-- less than 16 ^ span before it, so that a look back at one does not pass by all that was superseded before.
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
CREATE UNIQUE INDEX journal_once ON journal (write_id, scope_id);
CREATE INDEX journal_keys ON journal (scope_id, ref, id, pos);
CREATE INDEX journal_spans ON journal (scope_id, span, pos);
CREATE INDEX journal_ref_spans ON journal (scope_id, ref, span, pos);
CREATE INDEX journal_ended ON journal (ended_at, until) WHERE until IS NOT NULL;

-- What puts are found by: words of the text, or where there is none `#` and each tag. Kept apart by scope, so that nothing of
-- another is looked at; deleted rows leave nothing behind.
CREATE TABLE journal_words (
  scope_id INTEGER NOT NULL,
  word     TEXT NOT NULL,
  span     INTEGER NOT NULL,
  pos      INTEGER NOT NULL,
  PRIMARY KEY (scope_id, word, span, pos)
) WITHOUT ROWID;

-- Who has read what, `name` being the run and the sequence of a write.
CREATE TABLE journal_reads (
  tenant TEXT NOT NULL,
  name   TEXT NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (tenant, name, run_id)
) WITHOUT ROWID;
CREATE INDEX journal_reads_run ON journal_reads (run_id);

-- A tenant's own stream, and how much was written outside of its runs.
CREATE TABLE tenant_streams (
  tenant TEXT PRIMARY KEY,
  events INTEGER NOT NULL DEFAULT 0,
  writes INTEGER NOT NULL DEFAULT 0
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


-- Which children a gate of a run stands before. A worker is a workflow, or an agent, for which the host makes one: its name is
-- the agent's, with a hash where that alone would not tell agents apart.
CREATE VIEW gated_children AS
SELECT g.run_id, g.node_id, c.run_id AS child_run_id
  FROM gated g JOIN runs c
    ON g.point = 'harvest' AND (g.worker_id = '' OR (g.worker_id = c.workflow_id
      OR (c.workflow_id = 'assay-agent-' || replace(g.worker_id, '.', '-') AND g.worker_id NOT GLOB '*[^a-z0-9.]*')
      OR substr(c.workflow_id, 1, length(c.workflow_id) - 13) = substr('assay-agent-' || lower(replace(g.worker_id, '.', '-')), 1, 100)));

-- Runs between which and their scopes a gate further up stands: before their parent, at its exit, or above it. Gates of a
-- run are there before it has children, and never change.
CREATE TABLE journal_held (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
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
INSERT INTO journal_held (run_id)
WITH RECURSIVE held (run_id) AS (
  SELECT r.run_id FROM runs r JOIN gated g ON g.run_id = r.parent_run_id AND g.point = 'run'
   UNION
  SELECT r.run_id FROM runs r JOIN gated_children g
      ON g.run_id = r.parent_run_id AND g.node_id = r.parent_node_id AND g.child_run_id = r.run_id
   UNION
  SELECT r.run_id FROM held h JOIN runs r ON r.parent_run_id = h.run_id)
SELECT run_id FROM held;


-- Publishing: the next position of the scope, unless the write has one there. Of a file that must have another version nothing is
-- written; the message says which.
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

-- Of each write and scope, what follows from the key's latest row there: a file's version, what its `if_match` is held
-- against, and by how much the entries of the scope become more. Where the scope has no row of it, that is what the writer saw.
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

-- What a put is found by.
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

-- A position is never given out twice and none is left out; it is the scope's head. The key's row before ends here.
CREATE TRIGGER journal_dense BEFORE INSERT ON journal
WHEN NEW.pos IS NOT (SELECT head FROM journal_scopes WHERE scope_id = NEW.scope_id)
  OR EXISTS (SELECT 1 FROM journal WHERE scope_id = NEW.scope_id AND pos >= NEW.pos) BEGIN
  SELECT RAISE(ABORT, 'positions of a scope are dense from 1');
END;
CREATE TRIGGER journal_supersedes AFTER INSERT ON journal BEGIN
  UPDATE journal SET until = NEW.pos, ended_at = NEW.at, span = length(printf('%x', NEW.pos - pos))
   WHERE scope_id = NEW.scope_id AND until IS NULL AND pos = (
     SELECT max(pos) FROM journal WHERE scope_id = NEW.scope_id AND ref = NEW.ref AND id = NEW.id AND pos < NEW.pos);
END;


-- What is in the layer of a run that nothing holds is published.
CREATE TRIGGER journal_layers_open AFTER INSERT ON journal_layers
WHEN NOT EXISTS (SELECT 1 FROM gated WHERE run_id = NEW.run_id AND point = 'run')
  AND NOT EXISTS (SELECT 1 FROM journal_held WHERE run_id = NEW.run_id) BEGIN
  INSERT INTO journal_publishing (write_id, scope, at)
  SELECT NEW.write_id, NEW.scope, at FROM events WHERE run_id = NEW.run_id AND seq = NEW.seq;
END;

-- As with gates, every event goes through one small trigger, and the work is behind a view. A replay writes nothing.
CREATE VIEW journal_events AS SELECT run_id, seq, type, node_id, payload, secret, at FROM events;
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

-- Where a gate stands before the node, the write is stored and no more.
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

-- What the attempt wrote that the event names; before the cut of a branch, into the branch's own scope.
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

-- What a child has left, once nothing stands between it and the run. A branch takes it from its source's children.
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

CREATE TRIGGER journal_events_rework INSTEAD OF INSERT ON journal_events WHEN NEW.type = 'assay.rework.began' BEGIN
  UPDATE journal_layers SET left_seq = NEW.seq
   WHERE run_id = NEW.run_id AND left_seq IS NULL
     AND (node_id = NEW.node_id OR node_id IN (SELECT value FROM json_each(NEW.secret, '$.returned'))) AND NOT EXISTS (
     SELECT 1 FROM journal_scopes s JOIN journal j ON j.scope_id = s.scope_id
      WHERE s.tenant = journal_layers.tenant AND s.space = journal_layers.space AND s.scope = journal_layers.scope
        AND j.write_id = journal_layers.write_id);
END;

CREATE TRIGGER journal_events_exit INSTEAD OF INSERT ON journal_events
WHEN NEW.type = 'run.completed' AND NOT EXISTS (SELECT 1 FROM journal_held WHERE run_id = NEW.run_id) BEGIN
  INSERT INTO journal_publishing (write_id, scope, at)
  SELECT write_id, scope, NEW.at FROM journal_layers
   WHERE run_id = NEW.run_id AND left_seq IS NULL ORDER BY seq, ord;
END;


CREATE TRIGGER journal_words_superseded AFTER UPDATE OF span ON journal BEGIN
  UPDATE journal_words SET span = NEW.span
   WHERE scope_id = OLD.scope_id AND word IN (SELECT value FROM journal_found_by WHERE write_id = OLD.write_id)
     AND span = OLD.span AND pos = OLD.pos;
END;

-- What goes takes with it what is of no use without it. Words go before what says which they are.
CREATE TRIGGER journal_words_gone BEFORE DELETE ON journal BEGIN
  DELETE FROM journal_words
   WHERE scope_id = OLD.scope_id AND word IN (SELECT value FROM journal_found_by WHERE write_id = OLD.write_id)
     AND span = OLD.span AND pos = OLD.pos;
END;
CREATE TRIGGER journal_entries_gone BEFORE DELETE ON journal
WHEN OLD.span = 0 AND (SELECT op FROM journal_writes WHERE write_id = OLD.write_id) = 'put' BEGIN
  UPDATE journal_scopes SET entries = entries - 1 WHERE scope_id = OLD.scope_id;
END;
CREATE TRIGGER journal_contents_words BEFORE DELETE ON journal_contents WHEN OLD.words IS NOT NULL BEGIN
  DELETE FROM journal_words WHERE (scope_id, word, span, pos) IN (
    SELECT j.scope_id, v.value, j.span, j.pos
      FROM journal_writes w JOIN journal j ON j.write_id = w.write_id JOIN json_each(OLD.words) v
     WHERE w.tenant = OLD.tenant AND w.content_id = OLD.content_id);
END;
CREATE TRIGGER journal_writes_tags BEFORE UPDATE OF tags ON journal_writes BEGIN
  DELETE FROM journal_words WHERE (scope_id, word, span, pos) IN (
    SELECT j.scope_id, '#' || lower(v.value), j.span, j.pos
      FROM journal j JOIN json_each(OLD.tags) v WHERE j.write_id = OLD.write_id);
END;
CREATE TRIGGER journal_gone AFTER DELETE ON journal BEGIN
  DELETE FROM journal_layers WHERE write_id = OLD.write_id
     AND scope = (SELECT scope FROM journal_scopes WHERE scope_id = OLD.scope_id);
  DELETE FROM journal_writes WHERE write_id = OLD.write_id
     AND NOT EXISTS (SELECT 1 FROM journal WHERE write_id = OLD.write_id)
     AND NOT EXISTS (SELECT 1 FROM journal_layers WHERE write_id = OLD.write_id);
END;
CREATE TRIGGER journal_writes_gone AFTER DELETE ON journal_writes BEGIN
  DELETE FROM journal_layers WHERE write_id = OLD.write_id;
  DELETE FROM journal_contents WHERE tenant = OLD.tenant AND content_id = OLD.content_id
     AND NOT EXISTS (SELECT 1 FROM journal_writes WHERE tenant = OLD.tenant AND content_id = OLD.content_id);
END;


-- S13: bodies are counted, once each.
CREATE TRIGGER journal_contents_usage AFTER INSERT ON journal_contents BEGIN
  INSERT INTO usage (tenant, bytes) VALUES (NEW.tenant, length(NEW.body))
  ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER journal_contents_usage_gone AFTER DELETE ON journal_contents BEGIN
  UPDATE usage SET bytes = bytes - length(OLD.body) WHERE tenant = OLD.tenant;
END;

-- S14.
CREATE TRIGGER journal_contents_of_erased BEFORE INSERT ON journal_contents
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;
CREATE TRIGGER journal_writes_of_erased BEFORE INSERT ON journal_writes
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;
CREATE TRIGGER tenant_events_of_erased BEFORE INSERT ON tenant_events
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;
