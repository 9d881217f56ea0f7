-- The event of another host that led to this one, where one did. Such an event has no cause of its own log.
ALTER TABLE events ADD COLUMN foreign_cause text CHECK (foreign_cause IS NULL OR cause IS NULL);

-- As before, with that column.
CREATE OR REPLACE FUNCTION commit_batch(batch jsonb, writers text[], names text[], run_ids text[], forks boolean,
                             gates boolean, snapshots_kept boolean, webhook_ids text[],
                             journaled jsonb DEFAULT '[]') RETURNS jsonb
  LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
DECLARE
  refused jsonb[];
  s jsonb;
  ended bigint;
  woken text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM (SELECT DISTINCT host_lock(w) AS k FROM unnest(writers) w ORDER BY 1) l;
  PERFORM pg_advisory_xact_lock(k)
     FROM (SELECT DISTINCT hashtextextended('assay.name.' || n, 0) AS k FROM unnest(names) n ORDER BY 1) l;
  PERFORM 1 FROM runs WHERE run_id = ANY (run_ids) ORDER BY run_id FOR UPDATE;
  IF journaled <> '[]' THEN
    PERFORM lock_scopes(journaled);
  END IF;
  IF cardinality(webhook_ids) > 0 THEN
    PERFORM pg_advisory_xact_lock_shared(k)
       FROM (SELECT DISTINCT webhook_lock(w) AS k FROM unnest(webhook_ids) w ORDER BY 1) l;
  END IF;

  -- The order of the checks is part of the contract: host, receipt, each stream's sequence and epoch, scopes.
  SELECT array_agg(CASE
    WHEN NOT EXISTS (SELECT 1 FROM hosts h WHERE h.host_id = b.c->>'hostId' AND h.state = 'alive')
    THEN '{"kind":"fenced"}'
    ELSE coalesce(
      CASE WHEN b.c ? 'receipt' THEN receipt_refusal(b.c->'receipt') END,
      (SELECT CASE WHEN s.v ? 'create' OR r.length IS NULL OR (s.v->>'expected')::bigint <> r.length
                   THEN jsonb_build_object('kind', 'conflict', 'runId', s.v->>'runId')
                   ELSE '{"kind":"fenced"}' END
         FROM jsonb_array_elements(b.c->'streams') WITH ORDINALITY AS s(v, n)
         LEFT JOIN LATERAL (SELECT * FROM runs WHERE run_id = s.v->>'runId' OFFSET 0) r ON true
        WHERE s.v ? 'create' <> (r.length IS NULL) OR (s.v->>'expected')::bigint <> r.length
           OR (s.v->>'epoch')::bigint <> r.epoch OR (s.v->>'epoch' IS NOT NULL AND r.owner <> b.c->>'hostId')
        ORDER BY s.n LIMIT 1),
      (SELECT jsonb_build_object('kind', 'scope-active', 'runId', r.run_id)
         FROM jsonb_array_elements(b.c->'streams') AS s(v),
              LATERAL (SELECT run_id FROM runs
                        WHERE tenant = s.v->'create'->>'tenant' AND scope_id = s.v->'create'->>'scopeId'
                          AND scope_id IS NOT NULL AND ended_at IS NULL ORDER BY run_id LIMIT 1) r
        WHERE (s.v->'create'->>'exclusiveScope')::boolean LIMIT 1))
    END ORDER BY b.i) INTO refused
  FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i);

  FOR i IN 1 .. jsonb_array_length(batch) LOOP
    IF refused[i] IS NOT NULL AND was_applied(batch->(i - 1)) THEN
      refused[i] := '{"kind":"committed"}';
    END IF;
  END LOOP;

  refused := within_quotas(batch, refused);

  IF forks THEN
    PERFORM share_prefix(s.v->>'runId', s.v->'create'->>'tenant', f.v),
            share_gate_rows(s.v->>'runId', f.v->>'sourceRunId', (f.v->>'fromSeq')::bigint)
       FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
            LATERAL (SELECT s.v->'create'->'fork' OFFSET 0) AS f(v)
      WHERE refused[b.i] IS NULL AND f.v <> 'null';
  END IF;

  IF gates THEN
    INSERT INTO gated (run_id, point, node_id, gate_id, worker_id, confirm)
    SELECT s.v->>'runId', g.v->>'point', g.v->>'nodeId', g.v->>'gateId', coalesce(g.v->>'workerId', ''), g.v->>'confirm'
      FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
           jsonb_array_elements(s.v->'create'->'gated') AS g(v)
     WHERE refused[b.i] IS NULL;
  END IF;

  INSERT INTO runs (run_id, tenant, workflow_id, workflow_digest, parent_run_id, parent_node_id, scope_id, tags, status,
                    length, owner, epoch, attempts, wake_at, created_at, updated_at, ended_at, unsealed_at, head,
                    source_run_id, from_seq, source_length, fork_mode, append_id)
  SELECT s.v->>'runId', n.v->>'tenant', n.v->>'workflowId', n.v->>'workflowDigest', n.v->>'parentRunId',
         n.v->>'parentNodeId', n.v->>'scopeId', ARRAY(SELECT jsonb_array_elements_text(n.v->'tags')), s.v->>'status',
         (s.v->>'expected')::bigint + jsonb_array_length(e.v), b.c->>'hostId', 1, 0,
         CASE WHEN t.ended IS NULL THEN (s.v->>'wakeAt')::bigint END, t.first, t.last, t.ended,
         CASE WHEN s.v->>'head' <> '' THEN t.ended END, s.v->>'head',
         f.v->>'sourceRunId', coalesce((f.v->>'fromSeq')::bigint, 0), (f.v->>'sourceLength')::bigint, f.v->>'mode',
         CASE WHEN f.v->>'mode' IS NOT NULL THEN b.c->>'appendId' END
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
         LATERAL (SELECT s.v->'create' OFFSET 0) AS n(v), LATERAL (SELECT s.v->'events' OFFSET 0) AS e(v),
         LATERAL (SELECT n.v->'fork' OFFSET 0) AS f(v),
         -- Of what the run shares, when there is nothing else.
         LATERAL (SELECT
           coalesce((e.v->0->>'at')::bigint, (SELECT at FROM event_of(s.v->>'runId', 0))) AS first,
           coalesce((e.v->-1->>'at')::bigint,
                    (SELECT at FROM event_of(s.v->>'runId', (s.v->>'expected')::bigint - 1))) AS last,
           CASE WHEN e.v = '[]' THEN shared_end(s.v->>'runId', (s.v->>'expected')::bigint) ELSE end_of(e.v) END AS ended
           OFFSET 0) AS t
   WHERE refused[b.i] IS NULL AND n.v IS NOT NULL;

  FOR s IN SELECT t.v FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i),
                  jsonb_array_elements(b.c->'streams') AS t(v) WHERE refused[b.i] IS NULL AND NOT t.v ? 'create' LOOP
    ended := end_of(s->'events');
    UPDATE runs SET
      status = s->>'status',
      length = (s->>'expected')::bigint + jsonb_array_length(s->'events'),
      attempts = 0,
      updated_at = coalesce((s->'events'->-1->>'at')::bigint, updated_at),
      ended_at = coalesce(ended_at, ended),
      unsealed_at = CASE WHEN ended_at IS NULL AND s->>'head' <> '' THEN ended ELSE unsealed_at END,
      head = s->>'head',
      wake_at = CASE WHEN coalesce(ended_at, ended) IS NULL THEN (s->>'wakeAt')::bigint END
    WHERE run_id = s->>'runId';
  END LOOP;

  INSERT INTO events (run_id, seq, type, node_id, payload, secret, cause, foreign_cause, at, input, salt, hash, epoch,
                      append_id)
  SELECT r.run_id, e.sequence, e.type, e."nodeId", e.payload, e.secret, e.cause, e."foreignCause", e.at, e.input, e.salt,
         e.hash, r.epoch,
         CASE WHEN e.sequence = (s.v->>'expected')::bigint THEN b.c->>'appendId' END
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
         LATERAL (SELECT run_id, epoch FROM runs WHERE run_id = s.v->>'runId' OFFSET 0) r,
         jsonb_to_recordset(s.v->'events')
           AS e(sequence bigint, type text, "nodeId" text, payload text, secret text, cause bigint,
                "foreignCause" text, at bigint, input text, salt text, hash text)
   WHERE refused[b.i] IS NULL;

  IF snapshots_kept THEN
    INSERT INTO snapshots (run_id, length, state)
    SELECT s.v->>'runId', (s.v->>'expected')::bigint + jsonb_array_length(s.v->'events'), s.v->>'snapshot'
      FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v)
     WHERE refused[b.i] IS NULL AND s.v ? 'snapshot'
    ON CONFLICT DO NOTHING;
  END IF;

  IF cardinality(webhook_ids) > 0 THEN
    PERFORM add_deliveries(jsonb_agg(d.v))
       FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'deliveries') AS d(v)
      WHERE refused[b.i] IS NULL;
  END IF;

  -- Spelled so that no partial index seems to fit: of those, the planner may read all where one row is wanted.
  FOR woken IN SELECT DISTINCT w.id FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i),
                      jsonb_array_elements_text(b.c->'wakes') AS w(id) WHERE refused[b.i] IS NULL LOOP
    UPDATE runs SET wake_at = 0 WHERE run_id = woken AND coalesce(ended_at, -1) = -1 AND coalesce(wake_at, -1) <> 0;
  END LOOP;

  INSERT INTO receipts (tenant, endpoint, key, digest, state, lease_owner, lease_until, status, headers, body, at)
  SELECT n.v->>'tenant', n.v->>'endpoint', n.v->>'key', n.v->>'digest', n.v->>'state', n.v->>'leaseOwner',
         (n.v->>'leaseUntil')::bigint, (n.v->>'status')::integer, (n.v->'headers')::json, n.v->>'body',
         (n.v->>'at')::bigint
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), LATERAL (SELECT b.c->'receipt' OFFSET 0) AS n(v)
   WHERE refused[b.i] IS NULL AND n.v IS NOT NULL
  ON CONFLICT (tenant, endpoint, key) DO UPDATE SET
    digest = excluded.digest, state = excluded.state, lease_owner = excluded.lease_owner,
    lease_until = excluded.lease_until, status = excluded.status, headers = excluded.headers,
    body = excluded.body, at = excluded.at, claim = NULL;

  RETURN jsonb_build_object(
    'answers', to_jsonb(refused),
    'peers', (SELECT count(*) FROM hosts WHERE state = 'alive') > 1);
END $$;
