-- Checkpoints, which vouch for runs that have ended, and what is left of runs that were purged.
--
-- A run that has a row in `purged` is not found any more, whatever is still stored of it; `is_stored` says whether
-- anything is. The lease of a family stands in the row of its root.
--
-- Whoever marks a family locks its runs, and whoever forks a run locks that run against it: a fork is either there
-- before the family is looked at, or finds it marked. Only ended runs are locked here, in the order in which commits
-- do.

CREATE TABLE checkpoints (
  seq       bigint PRIMARY KEY CHECK (seq >= 0),
  at        bigint NOT NULL,
  key_id    text NOT NULL,
  prev      text NOT NULL,
  runs      json NOT NULL,
  hash      text NOT NULL,
  signature text NOT NULL,
  purged    json NOT NULL DEFAULT '[]'
);

CREATE TABLE purged (
  run_id      text COLLATE "C" PRIMARY KEY,
  root_run_id text COLLATE "C" NOT NULL,
  tenant      text COLLATE "C" NOT NULL,
  length      bigint NOT NULL,
  head        text NOT NULL,
  ended_at    bigint NOT NULL,
  purged_at   bigint NOT NULL,
  checkpoint  bigint,
  is_stored   boolean NOT NULL DEFAULT true CHECK (is_stored OR checkpoint IS NOT NULL),
  lease_host  text COLLATE "C",
  lease_until bigint
);
CREATE INDEX purged_unsealed ON purged (purged_at, run_id) WHERE checkpoint IS NULL;
CREATE INDEX purged_stored ON purged (root_run_id, run_id) WHERE is_stored;

-- Locks runs in the order in which commits do. True for a repetition: it is what has the number.
CREATE FUNCTION put_checkpoint(new checkpoints, run_ids text[]) RETURNS boolean LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO checkpoints SELECT new.* ON CONFLICT (seq) DO NOTHING;
  IF NOT FOUND THEN
    RETURN (SELECT c.hash = new.hash AND c.signature = new.signature FROM checkpoints c WHERE c.seq = new.seq);
  END IF;
  PERFORM 1 FROM runs WHERE run_id = ANY (run_ids) ORDER BY run_id FOR UPDATE;
  UPDATE runs SET checkpoint = new.seq, unsealed_at = NULL WHERE run_id = ANY (run_ids) AND checkpoint IS NULL;
  UPDATE purged SET checkpoint = new.seq
   WHERE run_id IN (SELECT p->>'runId' FROM json_array_elements(new.purged) p) AND checkpoint IS NULL;
  RETURN true;
END $$;

CREATE FUNCTION family_of(root text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  WITH RECURSIVE family (run_id) AS (
    SELECT root COLLATE "C"
     UNION
    SELECT r.run_id FROM family f JOIN runs r ON r.parent_run_id = f.run_id)
  SELECT run_id FROM family
$$;

CREATE FUNCTION purge_family(root text, at bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  family text[];
  marked bigint;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM runs WHERE run_id = root AND parent_run_id IS NULL) THEN
    RETURN '{"kind":"gone"}';
  END IF;
  family := ARRAY(SELECT f FROM family_of(root) f);
  IF EXISTS (SELECT 1 FROM runs WHERE run_id = ANY (family) AND ended_at IS NULL) THEN
    RETURN '{"kind":"open"}';
  END IF;
  PERFORM 1 FROM runs WHERE run_id = ANY (family) ORDER BY run_id FOR UPDATE;
  IF EXISTS (SELECT 1 FROM purged WHERE run_id = root) THEN
    RETURN '{"kind":"gone"}';
  END IF;
  IF EXISTS (SELECT 1 FROM runs WHERE run_id = ANY (family) AND checkpoint IS NULL AND head <> '') THEN
    RETURN '{"kind":"unsealed"}';
  END IF;
  IF EXISTS (SELECT 1 FROM runs WHERE source_run_id = ANY (family)) THEN
    RETURN '{"kind":"forked"}';
  END IF;
  INSERT INTO purged (run_id, root_run_id, tenant, length, head, ended_at, purged_at)
  SELECT r.run_id, root, r.tenant, r.length, r.head, r.ended_at, at FROM runs r WHERE r.run_id = ANY (family);
  GET DIAGNOSTICS marked = ROW_COUNT;
  DELETE FROM deliveries d USING webhooks w WHERE d.webhook_id = w.webhook_id AND d.run_id = ANY (family);
  DELETE FROM lanes l USING webhooks w WHERE l.webhook_id = w.webhook_id AND l.run_id = ANY (family);
  RETURN jsonb_build_object('kind', 'purged', 'runs', marked);
END $$;

CREATE FUNCTION claim_purge(claimer text, now bigint, lease_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  root text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(host_lock(claimer));
  IF NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = claimer AND state = 'alive') THEN
    RETURN NULL;
  END IF;
  SELECT p.run_id INTO root FROM purged p
   WHERE p.run_id = p.root_run_id AND p.is_stored AND p.checkpoint IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM purged u WHERE u.root_run_id = p.run_id AND u.is_stored AND u.checkpoint IS NULL)
     AND (p.lease_host IS NULL OR p.lease_until <= now
          OR NOT EXISTS (SELECT 1 FROM hosts h WHERE h.host_id = p.lease_host AND h.state = 'alive'))
   ORDER BY p.run_id LIMIT 1 FOR UPDATE SKIP LOCKED;
  UPDATE purged SET lease_host = claimer, lease_until = now + lease_ms WHERE run_id = root;
  RETURN root;
END $$;

-- The root goes last: as long as it has a row, the family can be claimed again.
CREATE FUNCTION delete_purged(root text, deleter text, at_most bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  run text;
  deleted bigint;
BEGIN
  PERFORM 1 FROM purged WHERE run_id = root AND is_stored AND lease_host = deleter FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 'lost';
  END IF;
  SELECT run_id INTO run FROM purged WHERE root_run_id = root AND is_stored ORDER BY run_id = root, run_id DESC LIMIT 1;
  DELETE FROM events WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM events WHERE run_id = run ORDER BY seq DESC LIMIT at_most));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  IF deleted = at_most THEN
    RETURN 'more';
  END IF;
  DELETE FROM snapshots WHERE run_id = run;
  DELETE FROM merges WHERE run_id = run;
  DELETE FROM verdicts WHERE run_id = run;
  DELETE FROM staged WHERE run_id = run;
  DELETE FROM gated WHERE run_id = run;
  DELETE FROM prefixes WHERE run_id = run;
  DELETE FROM invocations WHERE run_id = run;
  DELETE FROM runs WHERE run_id = run;
  UPDATE purged SET is_stored = false, lease_host = NULL WHERE run_id = run;
  RETURN CASE WHEN run = root THEN 'done' ELSE 'more' END;
END $$;
