import type { Migration } from '../../migration.js'

/**
 * S5 is held here: dense by the primary key and `events_guard`, at most one terminal event by `events_terminal`, and
 * nothing after it by `events_guard`. The guard looks at a whole INSERT at once, so a batch of appends pays for it once;
 * it stands in for the foreign key to `runs` too, whose check per row made up a third of the cost of an append.
 * `append_id` is set on the first event of each append only (S4). Ids sort bytewise, as they do in JavaScript.
 */
export const tables: Migration = {
  version: 1,
  name: 'tables',
  sql: `
CREATE TABLE runs (
  run_id          text COLLATE "C" PRIMARY KEY,
  tenant          text COLLATE "C" NOT NULL,
  workflow_id     text NOT NULL,
  workflow_digest text NOT NULL,
  status          text NOT NULL,
  parent_run_id   text COLLATE "C",
  parent_node_id  text,
  scope_id        text,
  tags            text[] NOT NULL,
  length          bigint NOT NULL CHECK (length > 0),
  owner           text COLLATE "C" NOT NULL,
  epoch           bigint NOT NULL CHECK (epoch > 0),
  attempts        bigint NOT NULL CHECK (attempts >= 0),
  wake_at         bigint,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  ended_at        bigint,
  CHECK (ended_at IS NULL OR wake_at IS NULL)
) WITH (fillfactor = 80);
CREATE INDEX runs_tenant ON runs (tenant, run_id);
CREATE INDEX runs_open ON runs (owner, wake_at) WHERE ended_at IS NULL;
CREATE INDEX runs_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX runs_scope ON runs (tenant, scope_id, run_id) WHERE scope_id IS NOT NULL AND ended_at IS NULL;

CREATE TABLE events (
  run_id    text COLLATE "C" NOT NULL,
  seq       bigint NOT NULL CHECK (seq >= 0),
  type      text NOT NULL,
  node_id   text,
  payload   text NOT NULL,
  secret    text,
  cause     bigint CHECK (cause >= 0 AND cause < seq),
  at        bigint NOT NULL,
  epoch     bigint NOT NULL,
  append_id text,
  PRIMARY KEY (run_id, seq)
);
CREATE UNIQUE INDEX events_terminal ON events (run_id) WHERE type IN ('run.completed', 'run.failed', 'run.cancelled');

-- Scalar subqueries, because a join could be planned to start from the large side.
CREATE FUNCTION events_guard() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  complaint text;
BEGIN
  SELECT CASE
    WHEN (SELECT true FROM runs r WHERE r.run_id = fresh.run_id) IS NULL
    THEN 'an event belongs to a run'
    WHEN (SELECT t.seq FROM events t WHERE t.run_id = fresh.run_id
             AND t.type IN ('run.completed', 'run.failed', 'run.cancelled')) < fresh.seq
    THEN 'a run has no event after its terminal one'
    WHEN fresh.seq > 0 AND (SELECT true FROM events e WHERE e.run_id = fresh.run_id AND e.seq = fresh.seq - 1) IS NULL
    THEN 'events of a run are dense from 0' END AS c
    INTO complaint FROM fresh ORDER BY c NULLS LAST LIMIT 1;
  IF complaint IS NOT NULL THEN
    RAISE EXCEPTION '%', complaint USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_guard AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_guard();

-- Lease times are this database's clock, so hosts whose clocks disagree still agree on a lease.
CREATE TABLE hosts (
  host_id     text COLLATE "C" PRIMARY KEY,
  host_name   text NOT NULL,
  lease_until timestamptz NOT NULL,
  state       text NOT NULL CHECK (state IN ('alive', 'fenced', 'released'))
);

CREATE TABLE definitions (
  digest     text PRIMARY KEY,
  definition text NOT NULL
);
CREATE FUNCTION definitions_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a definition never changes under its digest' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER definitions_immutable BEFORE UPDATE ON definitions
  FOR EACH ROW EXECUTE FUNCTION definitions_immutable();

-- tenant '' is shared with every tenant.
CREATE TABLE workflows (
  tenant      text COLLATE "C" NOT NULL,
  workflow_id text COLLATE "C" NOT NULL,
  digest      text NOT NULL REFERENCES definitions (digest),
  updated_at  bigint NOT NULL,
  PRIMARY KEY (tenant, workflow_id)
);

CREATE TABLE receipts (
  tenant      text NOT NULL,
  endpoint    text NOT NULL,
  key         text NOT NULL,
  digest      text NOT NULL,
  state       text NOT NULL CHECK (state IN ('pending', 'completed', 'retryable-failure', 'terminal-failure')),
  lease_owner text NOT NULL,
  lease_until bigint NOT NULL,
  status      integer NOT NULL,
  headers     json NOT NULL,
  body        text NOT NULL,
  at          bigint NOT NULL,
  claim       text,
  PRIMARY KEY (tenant, endpoint, key)
);
CREATE INDEX receipts_age ON receipts (at);

CREATE TABLE invocations (
  id       text PRIMARY KEY,
  run_id   text NOT NULL,
  node_id  text NOT NULL,
  ordinal  bigint NOT NULL,
  provider text NOT NULL,
  host_id  text NOT NULL,
  at       bigint NOT NULL,
  claim    text NOT NULL,
  again    boolean NOT NULL,
  outcome  text
);

CREATE TABLE api_keys (
  key_id     text COLLATE "C" PRIMARY KEY,
  hash       text NOT NULL UNIQUE,
  tenant     text NOT NULL,
  principal  text NOT NULL,
  scopes     text[] NOT NULL,
  test       boolean NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);
`,
}
