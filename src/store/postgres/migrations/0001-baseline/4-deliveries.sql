-- Subscriptions and what they are to be told.
--
-- A lane is what one subscription is still to be told of one run. It exists as long as something is pending in it and
-- names the earliest of that, so nothing ever searches among deliveries. `due_at` is when it may be handed out next:
-- for a lane that is leased, the end of the lease. `claim` names the call that leased it.
--
-- Locks, in this order: the subscription's name (shared by commits that add to it; whoever deletes it takes it
-- exclusively, so that nothing is added to what is gone), a delivery's row, lanes by run. Adding to a lane locks it, so
-- that it is not deleted as empty at the same time.

CREATE TABLE webhooks (
  webhook_id text COLLATE "C" PRIMARY KEY,
  tenant     text COLLATE "C" NOT NULL,
  url        text NOT NULL,
  events     text[] NOT NULL,
  tags       text[] NOT NULL,
  secret     text NOT NULL,
  created_at bigint NOT NULL,
  health     json NOT NULL
);

CREATE TABLE deliveries (
  webhook_id  text COLLATE "C" NOT NULL,
  run_id      text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  tenant      text COLLATE "C" NOT NULL,
  event_type  text NOT NULL,
  at          bigint NOT NULL,
  state       text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed', 'dropped')),
  attempts    bigint NOT NULL DEFAULT 0,
  status      integer,
  error       text,
  finished_at bigint,
  PRIMARY KEY (webhook_id, run_id, seq),
  CHECK ((state = 'pending') = (finished_at IS NULL))
);
CREATE INDEX deliveries_recent ON deliveries (webhook_id, at, run_id, seq);
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE lanes (
  webhook_id text COLLATE "C" NOT NULL,
  run_id     text COLLATE "C" NOT NULL,
  next_seq   bigint NOT NULL,
  due_at     bigint NOT NULL,
  lease_host text COLLATE "C",
  claim      text COLLATE "C",
  PRIMARY KEY (webhook_id, run_id),
  CHECK ((lease_host IS NULL) = (claim IS NULL))
);
CREATE INDEX lanes_due ON lanes (due_at);
CREATE INDEX lanes_leased ON lanes (claim) WHERE claim IS NOT NULL;

CREATE FUNCTION webhook_lock(webhook text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$ SELECT hashtextextended('assay.webhook.' || webhook, 0) $$;

-- The caller holds the locks of the subscriptions. One that is gone is told nothing.
CREATE FUNCTION add_deliveries(added jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH wanted AS MATERIALIZED (
    SELECT d.* FROM jsonb_to_recordset(added)
             AS d("webhookId" text, "runId" text, sequence bigint, tenant text, "eventType" text, at bigint)
     WHERE (SELECT w.tenant FROM webhooks w WHERE w.webhook_id = d."webhookId") = d.tenant),
  locked AS (
    INSERT INTO lanes (webhook_id, run_id, next_seq, due_at)
    SELECT "webhookId", "runId", min(sequence), 0 FROM wanted
     GROUP BY 1, 2 ORDER BY "webhookId" COLLATE "C", "runId" COLLATE "C"
    -- Rows that are there are locked, although nothing in them changes.
    ON CONFLICT (webhook_id, run_id) DO UPDATE SET due_at = lanes.due_at WHERE false)
  INSERT INTO deliveries (webhook_id, run_id, seq, tenant, event_type, at)
  SELECT "webhookId", "runId", sequence, tenant, "eventType", at FROM wanted;
END $$;

-- A repetition waits for the lost call it repeats, and has what that one claimed.
CREATE FUNCTION claim_deliveries(claimer text, claim_id text, now bigint, lease_ms bigint, at_most bigint)
  RETURNS SETOF deliveries LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(host_lock(claimer));
  PERFORM pg_advisory_xact_lock(hashtextextended('assay.claim.' || claim_id, 0));
  IF NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = claimer AND state = 'alive') THEN
    RETURN;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM lanes WHERE claim = claim_id) THEN
    UPDATE lanes SET due_at = now + lease_ms, lease_host = claimer, claim = claim_id
     WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM (SELECT ctid FROM lanes WHERE due_at <= now ORDER BY due_at FOR UPDATE SKIP LOCKED) due
       UNION ALL
       SELECT ctid FROM (SELECT ctid FROM lanes l WHERE claim IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM hosts h WHERE h.host_id = l.lease_host AND h.state = 'alive') FOR UPDATE SKIP LOCKED) left_behind
       LIMIT at_most));
  END IF;
  RETURN QUERY SELECT d.* FROM lanes l
     JOIN deliveries d ON d.webhook_id = l.webhook_id AND d.run_id = l.run_id AND d.seq = l.next_seq
    WHERE l.claim = claim_id ORDER BY d.at, d.run_id, d.seq;
END $$;

CREATE FUNCTION finish_delivery(webhook text, run text, n bigint, outcome text, tries bigint, answer integer,
                                reason text, finished bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  lane lanes;
  following bigint;
BEGIN
  UPDATE deliveries SET state = outcome, attempts = tries, status = answer, error = reason, finished_at = finished
   WHERE webhook_id = webhook AND run_id = run AND seq = n AND state = 'pending';
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT * INTO lane FROM lanes WHERE webhook_id = webhook AND run_id = run FOR UPDATE;
  SELECT seq INTO following FROM deliveries
   WHERE webhook_id = webhook AND run_id = run AND seq >= lane.next_seq AND state = 'pending' ORDER BY seq LIMIT 1;
  IF following IS NULL THEN
    DELETE FROM lanes WHERE webhook_id = webhook AND run_id = run;
  ELSE
    UPDATE lanes SET next_seq = following, due_at = 0, lease_host = NULL, claim = NULL
     WHERE webhook_id = webhook AND run_id = run;
  END IF;
END $$;

CREATE FUNCTION postpone_deliveries(webhook text, until bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM lanes WHERE webhook_id = webhook AND (due_at < until OR claim IS NOT NULL) ORDER BY run_id FOR UPDATE;
  UPDATE lanes SET due_at = until, lease_host = NULL, claim = NULL
   WHERE webhook_id = webhook AND (due_at < until OR claim IS NOT NULL);
END $$;

CREATE FUNCTION delete_webhook(owner_id text, webhook text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(webhook_lock(webhook));
  DELETE FROM webhooks WHERE webhook_id = webhook AND tenant = owner_id;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  DELETE FROM deliveries WHERE webhook_id = webhook AND state = 'pending';
  PERFORM 1 FROM lanes WHERE webhook_id = webhook ORDER BY run_id FOR UPDATE;
  DELETE FROM lanes WHERE webhook_id = webhook;
  RETURN true;
END $$;
