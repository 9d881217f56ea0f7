import type { Migration } from '../../migration.js'

/**
 * S5 is held here: dense by the primary key and `events_guard`, at most one terminal event by `events_terminal`, and
 * nothing after it by `events_guard`. `append_id` is set on the first event of each append only (S4).
 */
export const initial: Migration = {
  version: 1,
  name: 'initial',
  sql: `
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
  CHECK (ended_at IS NULL OR wake_at IS NULL)
) WITHOUT ROWID;
CREATE INDEX runs_tenant ON runs (tenant, run_id);
CREATE INDEX runs_open ON runs (owner, wake_at) WHERE ended_at IS NULL;
CREATE INDEX runs_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX runs_scope ON runs (tenant, scope_id) WHERE scope_id IS NOT NULL AND ended_at IS NULL;

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
  PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX events_terminal ON events (run_id) WHERE type IN ('run.completed', 'run.failed', 'run.cancelled');
CREATE TRIGGER events_guard BEFORE INSERT ON events BEGIN
  SELECT RAISE(ABORT, 'a run has no event after its terminal one')
   WHERE EXISTS (SELECT 1 FROM events
                  WHERE run_id = NEW.run_id AND type IN ('run.completed', 'run.failed', 'run.cancelled'));
  SELECT RAISE(ABORT, 'events of a run are dense from 0')
   WHERE NEW.seq > 0 AND NOT EXISTS (SELECT 1 FROM events WHERE run_id = NEW.run_id AND seq = NEW.seq - 1);
END;

CREATE TABLE hosts (
  host_id     TEXT PRIMARY KEY,
  host_name   TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('alive', 'fenced', 'released'))
) WITHOUT ROWID;

CREATE TABLE definitions (
  digest     TEXT PRIMARY KEY,
  definition TEXT NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER definitions_immutable BEFORE UPDATE ON definitions BEGIN
  SELECT RAISE(ABORT, 'a definition never changes under its digest');
END;

-- tenant '' is shared with every tenant.
CREATE TABLE workflows (
  tenant      TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  digest      TEXT NOT NULL REFERENCES definitions (digest),
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, workflow_id)
) WITHOUT ROWID;

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

CREATE TABLE invocations (
  id       TEXT PRIMARY KEY,
  run_id   TEXT NOT NULL,
  node_id  TEXT NOT NULL,
  ordinal  INTEGER NOT NULL,
  provider TEXT NOT NULL,
  host_id  TEXT NOT NULL,
  at       INTEGER NOT NULL,
  claim    TEXT NOT NULL,
  again    INTEGER NOT NULL CHECK (again IN (0, 1)),
  outcome  TEXT
) WITHOUT ROWID;

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
) WITHOUT ROWID;
`,
}
