-- What is kept besides runs: workflows, standards, receipts of requests, effects and keys.
-- In workflows and standards tenant '' is shared with every tenant.

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

CREATE TABLE workflows (
  tenant      text COLLATE "C" NOT NULL,
  workflow_id text COLLATE "C" NOT NULL,
  digest      text NOT NULL REFERENCES definitions (digest),
  updated_at  bigint NOT NULL,
  PRIMARY KEY (tenant, workflow_id)
);

-- Whether a standard is deleted, its latest version says.
CREATE TABLE standards (
  tenant     text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL CHECK (kind IN ('gate', 'intent', 'knowledge')),
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL CHECK (version > 0),
  hash       text NOT NULL,
  body       text NOT NULL,
  updated_at bigint NOT NULL,
  deleted_at bigint,
  PRIMARY KEY (tenant, kind, id, version)
);

-- Writers of one take turns, so versions have no gaps. What was deleted and comes back as it was has its version again.
CREATE FUNCTION put_standard(new standards) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  latest standards;
BEGIN
  PERFORM pg_advisory_xact_lock(
    hashtextextended('assay.standard.' || jsonb_build_array(new.tenant, new.kind, new.id)::text, 0));
  SELECT * INTO latest FROM standards s
   WHERE s.tenant = new.tenant AND s.kind = new.kind AND s.id = new.id ORDER BY s.version DESC LIMIT 1;
  new.version := coalesce(latest.version, 0) + CASE WHEN latest.hash = new.hash THEN 0 ELSE 1 END;
  INSERT INTO standards AS s SELECT new.*
  ON CONFLICT (tenant, kind, id, version) DO UPDATE SET updated_at = excluded.updated_at, deleted_at = NULL
   WHERE s.deleted_at IS NOT NULL;
  RETURN new.version;
END $$;

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

CREATE FUNCTION replaceable(old receipts, digest text, now bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT old.digest = digest AND (old.state = 'retryable-failure' OR (old.state = 'pending' AND old.lease_until <= now))
$$;

CREATE FUNCTION receipt_json(r receipts) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('tenant', r.tenant, 'endpoint', r.endpoint, 'key', r.key, 'digest', r.digest,
    'state', r.state, 'leaseOwner', r.lease_owner, 'leaseUntil', r.lease_until, 'status', r.status,
    'headers', r.headers, 'body', r.body, 'at', r.at)
$$;

CREATE FUNCTION receipt_refusal(r jsonb) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_build_object('kind', 'receipt-exists', 'receipt', receipt_json(old)) FROM receipts old
   WHERE tenant = r->>'tenant' AND endpoint = r->>'endpoint' AND key = r->>'key'
     AND NOT replaceable(old, r->>'digest', (r->>'at')::bigint)
$$;

-- Effects, once each: `cache_key` is what an answer is found again by.
CREATE TABLE invocations (
  id        text PRIMARY KEY,
  run_id    text NOT NULL,
  node_id   text NOT NULL,
  ordinal   text NOT NULL,
  provider  text NOT NULL,
  host_id   text NOT NULL,
  at        bigint NOT NULL,
  claim     text NOT NULL,
  again     boolean NOT NULL,
  outcome   text,
  tenant    text NOT NULL DEFAULT '',
  attempt   integer NOT NULL DEFAULT 1 CHECK (attempt > 0),
  cache_key text CHECK (cache_key IS NULL OR outcome IS NOT NULL)
);
CREATE INDEX invocations_answers ON invocations (tenant, cache_key, at, id COLLATE "C") WHERE cache_key IS NOT NULL;
CREATE INDEX invocations_run ON invocations (run_id);

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
