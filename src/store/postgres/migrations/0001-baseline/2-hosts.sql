-- Who may write, and who takes over (S8). A host's state changes only under its exclusive lock.

-- Lease times are this database's clock, so hosts whose clocks disagree still agree on a lease.
CREATE TABLE hosts (
  host_id     text COLLATE "C" PRIMARY KEY,
  host_name   text NOT NULL,
  lease_until timestamptz NOT NULL,
  state       text NOT NULL CHECK (state IN ('alive', 'fenced', 'released'))
);

CREATE FUNCTION host_lock(host_id text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$ SELECT hashtextextended('assay.host.' || host_id, 0) $$;

CREATE FUNCTION register_host(id text, name text, lease_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  earlier text;
  current text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('assay.host-name.' || name, 0));
  SELECT state INTO current FROM hosts WHERE host_id = id;
  IF current <> 'alive' THEN
    RETURN current;
  END IF;
  FOR earlier IN SELECT host_id FROM hosts WHERE host_name = name AND host_id <> id AND state = 'alive' ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(host_lock(earlier));
    UPDATE hosts SET state = 'fenced' WHERE host_id = earlier AND state = 'alive';
  END LOOP;
  INSERT INTO hosts (host_id, host_name, lease_until, state)
  VALUES (id, name, clock_timestamp() + lease_ms * interval '1 millisecond', 'alive')
  ON CONFLICT (host_id) DO UPDATE SET lease_until = excluded.lease_until;
  -- A host without a row counts as fenced, so the row of one that holds nothing any more is not needed.
  DELETE FROM hosts WHERE state <> 'alive'
     AND NOT EXISTS (SELECT 1 FROM runs WHERE owner = host_id AND ended_at IS NULL);
  RETURN 'alive';
END $$;

CREATE FUNCTION release_host(id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(host_lock(id));
  UPDATE hosts SET state = 'released' WHERE host_id = id AND state = 'alive';
END $$;

-- Holds no lock of the asking host: two hosts that fence each other must not wait for each other.
CREATE FUNCTION fence_expired(asking text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  late text;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = asking AND state = 'alive') THEN
    RETURN;
  END IF;
  FOR late IN SELECT host_id FROM hosts
               WHERE state = 'alive' AND lease_until <= clock_timestamp() AND host_id <> asking ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(host_lock(late));
    UPDATE hosts SET state = 'fenced' WHERE host_id = late AND state = 'alive' AND lease_until <= clock_timestamp();
  END LOOP;
END $$;

-- Found one by one through the index, so that it costs nothing how many runs each has.
CREATE FUNCTION tenants_of(holder text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  WITH RECURSIVE t(tenant) AS (
    (SELECT r.tenant FROM runs r WHERE r.owner = holder AND r.ended_at IS NULL ORDER BY r.tenant LIMIT 1)
    UNION ALL
    SELECT (SELECT r.tenant FROM runs r WHERE r.owner = holder AND r.ended_at IS NULL AND r.tenant > t.tenant
             ORDER BY r.tenant LIMIT 1) FROM t WHERE t.tenant IS NOT NULL)
  SELECT tenant FROM t WHERE tenant IS NOT NULL
$$;

CREATE FUNCTION weight_of(weights jsonb, tenant text) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(weights->'of'->>tenant, weights->>'others')::double precision
$$;

-- More are looked at than are wanted: some may be in the hands of another host that claims.
CREATE FUNCTION claim_orphans(claimer text, work_owed bigint, at_most bigint, weights jsonb) RETURNS bigint
  LANGUAGE plpgsql AS $$
DECLARE
  claimed bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(host_lock(claimer));
  IF NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = claimer AND state = 'alive') THEN
    RETURN 0;
  END IF;
  WITH found AS MATERIALIZED (
    SELECT r.run_id, row_number() OVER (PARTITION BY t.tenant ORDER BY r.wake_at NULLS LAST, r.run_id)
                       / weight_of(weights, t.tenant) AS turn, t.tenant
      FROM hosts h, LATERAL tenants_of(h.host_id) AS t(tenant),
           LATERAL (SELECT o.run_id, o.wake_at FROM runs o
                     WHERE o.owner = h.host_id AND o.ended_at IS NULL AND o.tenant = t.tenant
                     ORDER BY o.wake_at NULLS LAST, o.run_id LIMIT 4 * at_most) r
     WHERE h.state <> 'alive'
     ORDER BY turn, t.tenant LIMIT 4 * at_most),
  orphans AS MATERIALIZED (
    SELECT r.run_id, r.wake_at <= work_owed AND h.state = 'fenced' AS interrupted
      FROM found f JOIN runs r ON r.run_id = f.run_id JOIN hosts h ON h.host_id = r.owner
     WHERE h.state <> 'alive' AND r.ended_at IS NULL
     ORDER BY f.turn, f.tenant LIMIT at_most FOR UPDATE OF r SKIP LOCKED)
  UPDATE runs SET owner = claimer, epoch = epoch + 1, attempts = attempts + CASE WHEN orphans.interrupted THEN 1 ELSE 0 END
    FROM orphans WHERE runs.run_id = orphans.run_id;
  GET DIAGNOSTICS claimed = ROW_COUNT;
  RETURN claimed;
END $$;
