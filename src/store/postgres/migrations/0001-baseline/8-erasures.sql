-- S14 is held here: a tenant that has a row in `erasures` gets no other row of what a request or a run makes. Whoever
-- inserts reads that table in the same transaction, and whoever marks locks it against all readers: what is inserted is
-- there before runs are counted, or finds the mark.
--
-- Runs up to `upto_run`, in the order of their ids, have no content left; no run of the tenant comes to be any more, so
-- none is passed over.

CREATE TABLE tenant_keys (
  tenant  text COLLATE "C" PRIMARY KEY,
  wrapped text NOT NULL
);

CREATE TABLE erasures (
  tenant      text COLLATE "C" PRIMARY KEY CHECK (tenant <> ''),
  asked_at    bigint NOT NULL,
  erased_at   bigint,
  upto_run    text COLLATE "C" NOT NULL DEFAULT '',
  lease_host  text COLLATE "C",
  lease_until bigint
);

CREATE FUNCTION refuse_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM erasures e WHERE e.tenant = NEW.tenant COLLATE "C") THEN
    RAISE EXCEPTION 'the tenant was erased' USING ERRCODE = 'AE410';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER runs_of_erased BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER api_keys_of_erased BEFORE INSERT ON api_keys FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER workflows_of_erased BEFORE INSERT ON workflows FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER standards_of_erased BEFORE INSERT ON standards FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER receipts_of_erased BEFORE INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER invocations_of_erased BEFORE INSERT ON invocations FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER webhooks_of_erased BEFORE INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER tenant_keys_of_erased BEFORE INSERT ON tenant_keys FOR EACH ROW EXECUTE FUNCTION refuse_erased();

-- How many runs are open; when there are none, the tenants are marked.
CREATE FUNCTION erase_tenants(names text[], at bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  open bigint;
BEGIN
  LOCK TABLE erasures IN ACCESS EXCLUSIVE MODE;
  SELECT count(*) INTO open FROM runs WHERE tenant = ANY (names) AND ended_at IS NULL;
  IF open > 0 THEN
    RETURN open;
  END IF;
  INSERT INTO erasures (tenant, asked_at) SELECT n, at FROM unnest(names) n ON CONFLICT DO NOTHING;
  DELETE FROM tenant_keys WHERE tenant = ANY (names);
  DELETE FROM api_keys WHERE tenant = ANY (names);
  PERFORM delete_webhook(w.tenant, w.webhook_id)
     FROM (SELECT * FROM webhooks WHERE tenant = ANY (names) ORDER BY webhook_id) w;
  RETURN 0;
END $$;

CREATE FUNCTION claim_erasure(claimer text, now bigint, lease_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  found_tenant text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(host_lock(claimer));
  IF NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = claimer AND state = 'alive') THEN
    RETURN NULL;
  END IF;
  SELECT e.tenant INTO found_tenant FROM erasures e
   WHERE e.erased_at IS NULL AND (e.lease_host IS NULL OR e.lease_until <= now
          OR NOT EXISTS (SELECT 1 FROM hosts h WHERE h.host_id = e.lease_host AND h.state = 'alive'))
   ORDER BY e.asked_at, e.tenant LIMIT 1 FOR UPDATE SKIP LOCKED;
  UPDATE erasures SET lease_host = claimer, lease_until = now + lease_ms WHERE tenant = found_tenant;
  RETURN found_tenant;
END $$;

CREATE FUNCTION holds_erasure(name text, eraser text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM erasures WHERE tenant = name AND erased_at IS NULL AND lease_host = eraser FOR UPDATE;
  RETURN FOUND;
END $$;

CREATE FUNCTION erase_events(name text, eraser text, run text, seqs bigint[], left_over text[]) RETURNS boolean
  LANGUAGE plpgsql AS $$
BEGIN
  IF NOT holds_erasure(name, eraser) THEN
    RETURN false;
  END IF;
  -- S13: of what is erased two bytes are left, those of an empty payload.
  INSERT INTO usage_changes (tenant, runs, bytes)
  SELECT name, 0, sum(2 - octet_length(e.payload) - coalesce(octet_length(e.secret), 0)
                        - coalesce(octet_length(e.input), 0))
    FROM events e
   WHERE e.run_id = run AND e.seq = ANY (seqs) AND e.erased IS NULL
     AND EXISTS (SELECT 1 FROM runs r WHERE r.run_id = run AND r.tenant = name)
  HAVING count(*) > 0;
  UPDATE events e SET payload = '{}', secret = NULL, input = NULL, salt = NULL, erased = u.erased
    FROM unnest(seqs, left_over) AS u(seq, erased)
   WHERE e.run_id = run AND e.seq = u.seq AND e.erased IS NULL
     AND EXISTS (SELECT 1 FROM runs r WHERE r.run_id = run AND r.tenant = name);
  RETURN true;
END $$;

CREATE FUNCTION erase_run(name text, eraser text, run text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF NOT holds_erasure(name, eraser) THEN
    RETURN false;
  END IF;
  DELETE FROM snapshots WHERE run_id = run;
  DELETE FROM merges WHERE run_id = run;
  DELETE FROM verdicts WHERE run_id = run;
  DELETE FROM staged WHERE run_id = run;
  DELETE FROM gated WHERE run_id = run;
  DELETE FROM invocations WHERE run_id = run;
  UPDATE runs SET tags = '{}', scope_id = NULL WHERE run_id = run;
  UPDATE erasures SET upto_run = run WHERE tenant = name;
  RETURN true;
END $$;

-- A tenant that is not erased to its end yet still has what its runs were started with.
CREATE FUNCTION finish_erasure(name text, eraser text, at bigint, at_most bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  counts bigint[] := '{}';
  n bigint;
  digests text[];
BEGIN
  IF NOT holds_erasure(name, eraser) THEN
    RETURN 'lost';
  END IF;
  IF EXISTS (SELECT 1 FROM runs WHERE tenant = name
                AND run_id > (SELECT e.upto_run FROM erasures e WHERE e.tenant = name)) THEN
    RETURN 'more';
  END IF;
  DELETE FROM receipts WHERE ctid = ANY (ARRAY(SELECT ctid FROM receipts WHERE tenant = name LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM standards WHERE ctid = ANY (ARRAY(SELECT ctid FROM standards WHERE tenant = name LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM deliveries WHERE ctid = ANY (ARRAY(SELECT ctid FROM deliveries WHERE tenant = name LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  IF at_most = ANY (counts) THEN
    RETURN 'more';
  END IF;
  digests := ARRAY(SELECT workflow_digest FROM runs WHERE tenant = name
                    UNION SELECT digest FROM workflows WHERE tenant = name);
  DELETE FROM workflows WHERE tenant = name;
  DELETE FROM definitions d WHERE d.digest = ANY (digests)
     AND NOT EXISTS (SELECT 1 FROM workflows w WHERE w.digest = d.digest)
     AND d.digest NOT IN (SELECT r.workflow_digest FROM runs r WHERE r.tenant <> name
       AND NOT EXISTS (SELECT 1 FROM erasures e WHERE e.tenant = r.tenant AND e.erased_at IS NOT NULL));
  UPDATE erasures SET erased_at = at, lease_host = NULL WHERE tenant = name;
  RETURN 'done';
END $$;
