import type { Migration } from '../../migration.js'

/**
 * S9: a fork's shared beginning is not copied. `prefixes` says which runs hold its rows, flattened: a fork of a fork
 * names the runs that really hold them, so that reading never follows a chain. The guard lets a fork's own events begin
 * where the shared ones end, and not at all behind a shared terminal event. `runs.append_id` is set for forks only: one
 * may be created without an event that could carry it (S4).
 *
 * While a lane is leased, `due_at` is the end of the lease. So one index finds what is due and what comes next.
 */
export const forksDeliveriesCheckpoints: Migration = {
  version: 2,
  name: 'forks, deliveries and checkpoints',
  sql: `
ALTER TABLE events ADD COLUMN input TEXT;
ALTER TABLE events ADD COLUMN hash TEXT NOT NULL DEFAULT '';

CREATE TABLE checkpoints (
  seq       INTEGER PRIMARY KEY CHECK (seq >= 0),
  at        INTEGER NOT NULL,
  key_id    TEXT NOT NULL,
  prev      TEXT NOT NULL,
  runs      TEXT NOT NULL,
  hash      TEXT NOT NULL,
  signature TEXT NOT NULL
);

ALTER TABLE runs ADD COLUMN source_run_id TEXT REFERENCES runs (run_id);
ALTER TABLE runs ADD COLUMN from_seq INTEGER NOT NULL DEFAULT 0 CHECK (from_seq >= 0);
ALTER TABLE runs ADD COLUMN source_length INTEGER;
ALTER TABLE runs ADD COLUMN fork_mode TEXT CHECK (fork_mode IN ('replay', 'branch'));
ALTER TABLE runs ADD COLUMN append_id TEXT;
ALTER TABLE runs ADD COLUMN head TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN checkpoint INTEGER REFERENCES checkpoints (seq);
CREATE INDEX runs_unsealed ON runs (ended_at, run_id)
  WHERE ended_at IS NOT NULL AND checkpoint IS NULL AND head <> '';

-- The events [from_seq, upto) of run_id are rows of source_run_id.
CREATE TABLE prefixes (
  run_id        TEXT NOT NULL REFERENCES runs (run_id),
  upto          INTEGER NOT NULL CHECK (upto > from_seq),
  source_run_id TEXT NOT NULL REFERENCES runs (run_id),
  from_seq      INTEGER NOT NULL CHECK (from_seq >= 0),
  PRIMARY KEY (run_id, upto)
) WITHOUT ROWID;

-- What the first events of a run fold to: a cache, safe to empty.
CREATE TABLE snapshots (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  length INTEGER NOT NULL,
  state  TEXT NOT NULL,
  PRIMARY KEY (run_id, length)
) WITHOUT ROWID;

DROP TRIGGER events_guard;
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
CREATE INDEX deliveries_pending ON deliveries (webhook_id, run_id, seq) WHERE state = 'pending';
CREATE INDEX deliveries_newest ON deliveries (webhook_id, at);
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE lanes (
  webhook_id TEXT NOT NULL REFERENCES webhooks (webhook_id),
  run_id     TEXT NOT NULL,
  due_at     INTEGER NOT NULL,
  lease_host TEXT,
  PRIMARY KEY (webhook_id, run_id)
) WITHOUT ROWID;
CREATE INDEX lanes_due ON lanes (due_at);
CREATE INDEX lanes_leased ON lanes (lease_host) WHERE lease_host IS NOT NULL;
`,
}
