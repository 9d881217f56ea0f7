import type { Migration } from '../../migration.js'

/**
 * `commit_batch` applies many commits in one transaction and one round trip; each is answered on its own: null for
 * committed, else the refusal as the port spells it. The commits of a batch share no run, receipt or scope.
 *
 * Locks are taken up front and in one order everywhere: writing hosts (shared; whoever fences a host takes it
 * exclusively, so a fence waits for what is under way and stops what comes after), then the names of things that may
 * not exist yet (new runs, receipts, scopes), then existing run rows by id. So batches wait for each other but never
 * in a circle, and a repetition waits for the lost call it repeats before it looks whether that call was applied.
 */
export const commit: Migration = {
  version: 2,
  name: 'commit',
  sql: `
CREATE FUNCTION host_lock(host_id text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$ SELECT hashtextextended('assay.host.' || host_id, 0) $$;

CREATE FUNCTION replaceable(old receipts, digest text, now bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT old.digest = digest AND (old.state = 'retryable-failure' OR (old.state = 'pending' AND old.lease_until <= now))
$$;

CREATE FUNCTION receipt_json(r receipts) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('tenant', r.tenant, 'endpoint', r.endpoint, 'key', r.key, 'digest', r.digest,
    'state', r.state, 'leaseOwner', r.lease_owner, 'leaseUntil', r.lease_until, 'status', r.status,
    'headers', r.headers, 'body', r.body, 'at', r.at)
$$;

-- The order of the checks is part of the contract: host, receipt, each stream's sequence and epoch, scopes.
CREATE FUNCTION refusal_of(c jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  writer text := c->>'hostId';
  fresh jsonb := c->'receipt';
  old receipts;
  s jsonb;
  run record;
  active text;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = writer AND state = 'alive') THEN
    RETURN '{"kind":"fenced"}';
  END IF;
  IF fresh IS NOT NULL THEN
    SELECT * INTO old FROM receipts
     WHERE tenant = fresh->>'tenant' AND endpoint = fresh->>'endpoint' AND key = fresh->>'key';
    IF FOUND AND NOT replaceable(old, fresh->>'digest', (fresh->>'at')::bigint) THEN
      RETURN jsonb_build_object('kind', 'receipt-exists', 'receipt', receipt_json(old));
    END IF;
  END IF;
  FOR s IN SELECT value FROM jsonb_array_elements(c->'streams') LOOP
    SELECT length, epoch, owner INTO run FROM runs WHERE run_id = s->>'runId';
    IF (s->>'expected')::bigint <> coalesce(run.length, 0) THEN
      RETURN jsonb_build_object('kind', 'conflict', 'runId', s->>'runId');
    END IF;
    IF (s->>'epoch')::bigint <> run.epoch OR (s->>'epoch' IS NOT NULL AND run.owner <> writer) THEN
      RETURN '{"kind":"fenced"}';
    END IF;
  END LOOP;
  FOR s IN SELECT value->'create' FROM jsonb_array_elements(c->'streams')
            WHERE (value->'create'->>'exclusiveScope')::boolean LOOP
    SELECT run_id INTO active FROM runs
     WHERE tenant = s->>'tenant' AND scope_id = s->>'scopeId' AND scope_id IS NOT NULL AND ended_at IS NULL LIMIT 1;
    IF FOUND THEN
      RETURN jsonb_build_object('kind', 'scope-active', 'runId', active);
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

-- S4: a repetition of an append whose outcome was not known.
CREATE FUNCTION was_applied(c jsonb) RETURNS boolean LANGUAGE sql AS $$
  SELECT coalesce((
    SELECT e.append_id = c->>'appendId'
      FROM jsonb_array_elements(c->'streams') WITH ORDINALITY AS s(value, i)
      LEFT JOIN events e ON e.run_id = s.value->>'runId' AND e.seq = (s.value->>'expected')::bigint
     WHERE jsonb_array_length(s.value->'events') > 0
     ORDER BY s.i LIMIT 1), false)
$$;

CREATE FUNCTION put_receipt(r jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO receipts (tenant, endpoint, key, digest, state, lease_owner, lease_until, status, headers, body, at)
  VALUES (r->>'tenant', r->>'endpoint', r->>'key', r->>'digest', r->>'state', r->>'leaseOwner',
          (r->>'leaseUntil')::bigint, (r->>'status')::integer, (r->'headers')::json, r->>'body', (r->>'at')::bigint)
  ON CONFLICT (tenant, endpoint, key) DO UPDATE SET
    digest = excluded.digest, state = excluded.state, lease_owner = excluded.lease_owner,
    lease_until = excluded.lease_until, status = excluded.status, headers = excluded.headers,
    body = excluded.body, at = excluded.at, claim = NULL
$$;

CREATE FUNCTION write_runs(c jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  s jsonb;
  fresh jsonb;
  last jsonb;
  ended bigint;
BEGIN
  FOR s IN SELECT value FROM jsonb_array_elements(c->'streams') LOOP
    last := s->'events'->-1;
    ended := CASE WHEN last->>'type' IN ('run.completed', 'run.failed', 'run.cancelled') THEN (last->>'at')::bigint END;
    fresh := s->'create';
    IF fresh IS NOT NULL THEN
      INSERT INTO runs (run_id, tenant, workflow_id, workflow_digest, parent_run_id, parent_node_id, scope_id, tags,
                        status, length, owner, epoch, attempts, wake_at, created_at, updated_at, ended_at)
      VALUES (s->>'runId', fresh->>'tenant', fresh->>'workflowId', fresh->>'workflowDigest', fresh->>'parentRunId',
              fresh->>'parentNodeId', fresh->>'scopeId', ARRAY(SELECT jsonb_array_elements_text(fresh->'tags')),
              s->>'status', jsonb_array_length(s->'events'), c->>'hostId', 1, 0,
              CASE WHEN ended IS NULL THEN (s->>'wakeAt')::bigint END,
              (s->'events'->0->>'at')::bigint, (last->>'at')::bigint, ended);
    ELSE
      UPDATE runs SET
        status = s->>'status',
        length = (s->>'expected')::bigint + jsonb_array_length(s->'events'),
        attempts = 0,
        updated_at = coalesce((last->>'at')::bigint, updated_at),
        ended_at = coalesce(ended_at, ended),
        wake_at = CASE WHEN coalesce(ended_at, ended) IS NULL THEN (s->>'wakeAt')::bigint END
      WHERE run_id = s->>'runId';
    END IF;
  END LOOP;
  IF c->'wakes' <> '[]' THEN
    UPDATE runs SET wake_at = 0
     WHERE run_id IN (SELECT jsonb_array_elements_text(c->'wakes')) AND ended_at IS NULL AND wake_at IS DISTINCT FROM 0;
  END IF;
  IF c->'receipt' IS NOT NULL THEN
    PERFORM put_receipt(c->'receipt');
  END IF;
END $$;

CREATE FUNCTION commit_batch(batch jsonb, writers text[], names text[], run_ids text[]) RETURNS jsonb
  LANGUAGE plpgsql AS $$
DECLARE
  c jsonb;
  refused jsonb;
  answers jsonb[] := '{}';
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM (SELECT DISTINCT host_lock(w) AS k FROM unnest(writers) w ORDER BY 1) l;
  PERFORM pg_advisory_xact_lock(k)
     FROM (SELECT DISTINCT hashtextextended('assay.name.' || n, 0) AS k FROM unnest(names) n ORDER BY 1) l;
  PERFORM 1 FROM runs WHERE run_id = ANY (run_ids) ORDER BY run_id FOR UPDATE;
  FOR c IN SELECT value FROM jsonb_array_elements(batch) LOOP
    refused := refusal_of(c);
    IF refused IS NULL THEN
      PERFORM write_runs(c);
      answers := answers || 'null'::jsonb;
    ELSIF was_applied(c) THEN
      answers := answers || '{"kind":"committed"}'::jsonb;
    ELSE
      answers := answers || refused;
    END IF;
  END LOOP;
  INSERT INTO events (run_id, seq, type, node_id, payload, secret, cause, at, epoch, append_id)
  SELECT s.value->>'runId', e.sequence, e.type, e."nodeId", e.payload, e.secret, e.cause, e.at, r.epoch,
         CASE WHEN e.sequence = (s.value->>'expected')::bigint THEN b.value->>'appendId' END
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(value, i)
   CROSS JOIN jsonb_array_elements(b.value->'streams') AS s(value)
    JOIN runs r ON r.run_id = s.value->>'runId'
   CROSS JOIN jsonb_to_recordset(s.value->'events')
      AS e(sequence bigint, type text, "nodeId" text, payload text, secret text, cause bigint, at bigint)
   WHERE answers[b.i] = 'null';
  RETURN jsonb_build_object(
    'answers', to_jsonb(answers),
    'peers', (SELECT count(*) FROM hosts WHERE state = 'alive') > 1);
END $$;
`,
}
