-- S13: what each tenant has, and how many runs are below each root, counted by triggers, so that no writer can forget
-- it. A change is a row of its own in `usage_changes`: a row for each tenant would make all commits of a tenant wait
-- for each other. `fold_usage`, which every host calls now and then, adds them up; what a tenant has is the sum of both
-- tables, read at once.

CREATE TABLE usage (
  tenant text COLLATE "C" PRIMARY KEY,
  runs   bigint NOT NULL,
  bytes  bigint NOT NULL
);
CREATE TABLE usage_changes (
  tenant text COLLATE "C" NOT NULL,
  runs   bigint NOT NULL,
  bytes  bigint NOT NULL
);
CREATE INDEX usage_changes_tenant ON usage_changes (tenant);
CREATE TABLE families (
  root_run_id text COLLATE "C" PRIMARY KEY,
  runs        bigint NOT NULL
);

CREATE FUNCTION usage_of(whose text, OUT runs bigint, OUT bytes bigint) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(u.runs), 0)::bigint, coalesce(sum(u.bytes), 0)::bigint FROM (
    SELECT u.runs, u.bytes FROM usage u WHERE u.tenant = whose
    UNION ALL
    SELECT c.runs, c.bytes FROM usage_changes c WHERE c.tenant = whose) u
$$;

CREATE FUNCTION fold_usage() RETURNS void LANGUAGE sql AS $$
  WITH gone AS (
    DELETE FROM usage_changes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM usage_changes LIMIT 10000 FOR UPDATE SKIP LOCKED)) RETURNING tenant, runs, bytes)
  INSERT INTO usage AS u (tenant, runs, bytes)
  SELECT tenant, sum(runs), sum(bytes) FROM gone GROUP BY tenant ORDER BY tenant
  ON CONFLICT (tenant) DO UPDATE SET runs = u.runs + excluded.runs, bytes = u.bytes + excluded.bytes
$$;

CREATE FUNCTION runs_root() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.root_run_id := coalesce(
    (SELECT coalesce(p.root_run_id, p.run_id) FROM runs p WHERE p.run_id = NEW.parent_run_id), NEW.parent_run_id);
  RETURN NEW;
END $$;
CREATE TRIGGER runs_root BEFORE INSERT ON runs FOR EACH ROW WHEN (NEW.parent_run_id IS NOT NULL)
  EXECUTE FUNCTION runs_root();

CREATE FUNCTION runs_family() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO families AS f (root_run_id, runs) VALUES (NEW.root_run_id, 1)
  ON CONFLICT (root_run_id) DO UPDATE SET runs = f.runs + 1;
  RETURN NULL;
END $$;
CREATE TRIGGER runs_family AFTER INSERT ON runs FOR EACH ROW WHEN (NEW.root_run_id IS NOT NULL)
  EXECUTE FUNCTION runs_family();

CREATE FUNCTION runs_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO usage_changes (tenant, runs, bytes) VALUES (NEW.tenant, 1, 0);
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO usage_changes (tenant, runs, bytes) VALUES (NEW.tenant, -1, 0);
  ELSE
    DELETE FROM families WHERE root_run_id = OLD.run_id;
    IF OLD.ended_at IS NULL THEN
      INSERT INTO usage_changes (tenant, runs, bytes) VALUES (OLD.tenant, -1, 0);
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER runs_usage_open AFTER INSERT ON runs FOR EACH ROW WHEN (NEW.ended_at IS NULL)
  EXECUTE FUNCTION runs_usage();
CREATE TRIGGER runs_usage_end AFTER UPDATE OF ended_at ON runs FOR EACH ROW
  WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION runs_usage();
CREATE TRIGGER runs_usage_gone AFTER DELETE ON runs FOR EACH ROW EXECUTE FUNCTION runs_usage();

-- What events and snapshots take up, a statement at a time.
CREATE FUNCTION bytes_of_events() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO usage_changes (tenant, runs, bytes)
  SELECT r.tenant, 0, sum(coalesce(octet_length(t.payload), 0) + coalesce(octet_length(t.secret), 0)
                          + coalesce(octet_length(t.input), 0))
    FROM fresh t, LATERAL (SELECT tenant FROM runs WHERE run_id = t.run_id OFFSET 0) r GROUP BY r.tenant;
  RETURN NULL;
END $$;
CREATE TRIGGER usage_bytes_of_events AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION bytes_of_events();

CREATE FUNCTION bytes_of_events_gone() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO usage_changes (tenant, runs, bytes)
  SELECT r.tenant, 0, -sum(coalesce(octet_length(t.payload), 0) + coalesce(octet_length(t.secret), 0)
                          + coalesce(octet_length(t.input), 0))
    FROM gone t, LATERAL (SELECT tenant FROM runs WHERE run_id = t.run_id OFFSET 0) r GROUP BY r.tenant;
  RETURN NULL;
END $$;
CREATE TRIGGER usage_bytes_of_events_gone AFTER DELETE ON events REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION bytes_of_events_gone();

CREATE FUNCTION bytes_of_snapshots() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO usage_changes (tenant, runs, bytes)
  SELECT r.tenant, 0, sum(coalesce(octet_length(t.state), 0))
    FROM fresh t, LATERAL (SELECT tenant FROM runs WHERE run_id = t.run_id OFFSET 0) r GROUP BY r.tenant;
  RETURN NULL;
END $$;
CREATE TRIGGER usage_bytes_of_snapshots AFTER INSERT ON snapshots REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION bytes_of_snapshots();

CREATE FUNCTION bytes_of_snapshots_gone() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO usage_changes (tenant, runs, bytes)
  SELECT r.tenant, 0, -sum(coalesce(octet_length(t.state), 0))
    FROM gone t, LATERAL (SELECT tenant FROM runs WHERE run_id = t.run_id OFFSET 0) r GROUP BY r.tenant;
  RETURN NULL;
END $$;
CREATE TRIGGER usage_bytes_of_snapshots_gone AFTER DELETE ON snapshots REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION bytes_of_snapshots_gone();

CREATE FUNCTION bytes_of_outcomes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO usage_changes (tenant, runs, bytes) VALUES (NEW.tenant, 0, octet_length(NEW.outcome));
  ELSE
    INSERT INTO usage_changes (tenant, runs, bytes) VALUES (OLD.tenant, 0, -octet_length(OLD.outcome));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER bytes_of_outcomes AFTER UPDATE OF outcome ON invocations FOR EACH ROW
  WHEN (OLD.outcome IS NULL AND NEW.outcome IS NOT NULL) EXECUTE FUNCTION bytes_of_outcomes();
CREATE TRIGGER bytes_of_outcomes_gone AFTER DELETE ON invocations FOR EACH ROW
  WHEN (OLD.outcome IS NOT NULL) EXECUTE FUNCTION bytes_of_outcomes();

CREATE FUNCTION over_quota(quota text, quotas jsonb, remaining bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('kind', 'over-quota', 'quota', quota, 'limit', quotas->quota, 'left', greatest(0, remaining))
$$;

-- Judges a batch after all other checks. Far from its quota a tenant's batches do not wait for each other: those that
-- are under way at once cannot reach it; 5,000 is more than all hosts together have under way. Near it they are judged
-- one after the other. The rows of `families` are locked in order, after everything else that a batch locks.
CREATE FUNCTION within_quotas(batch jsonb, refused jsonb[]) RETURNS jsonb[] LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
DECLARE
  q jsonb;
  f record;
  used record;
  kin bigint;
  opened jsonb := '{}';
  born jsonb := '{}';
BEGIN
  PERFORM pg_advisory_xact_lock(l.k) FROM (
    SELECT DISTINCT hashtextextended('assay.quota.' || n.tenant, 0) AS k
      FROM (SELECT s.v->'create'->>'tenant' AS tenant, min((b.c->'quotas'->>'activeRuns')::bigint) AS most
              FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v)
             WHERE refused[b.i] IS NULL AND b.c ? 'quotas' AND s.v->'create'->>'tenant' IS NOT NULL
             GROUP BY 1) n, LATERAL usage_of(n.tenant) u
     WHERE u.runs + 5000 >= n.most ORDER BY 1) l;
  PERFORM 1 FROM families WHERE root_run_id IN (
    SELECT coalesce(r.root_run_id, r.run_id)
      FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
           LATERAL (SELECT root_run_id, run_id FROM runs WHERE run_id = s.v->'create'->>'parentRunId' OFFSET 0) r
     WHERE refused[b.i] IS NULL AND b.c ? 'quotas') ORDER BY root_run_id FOR UPDATE;

  FOR i IN 1 .. jsonb_array_length(batch) LOOP
    q := batch->(i - 1)->'quotas';
    CONTINUE WHEN refused[i] IS NOT NULL OR q IS NULL;
    SELECT min(n.v->>'tenant') AS tenant, count(*) FILTER (WHERE n.v->>'parentRunId' IS NULL) AS roots,
           count(*) FILTER (WHERE n.v->>'parentRunId' IS NULL AND end_of(s.v->'events') IS NULL) AS opening,
           count(*) FILTER (WHERE n.v->>'parentRunId' IS NOT NULL) AS children, min(n.v->>'parentRunId') AS root
      INTO f
      FROM jsonb_array_elements(batch->(i - 1)->'streams') AS s(v), LATERAL (SELECT s.v->'create' OFFSET 0) AS n(v)
     WHERE n.v IS NOT NULL;
    CONTINUE WHEN f.tenant IS NULL;
    IF f.roots > 0 THEN
      SELECT u.runs + coalesce((opened->>f.tenant)::bigint, 0) AS runs, u.bytes INTO used FROM usage_of(f.tenant) u;
      IF used.bytes >= (q->>'storedBytes')::bigint THEN
        refused[i] := over_quota('storedBytes', q, 0);
      ELSIF f.opening > 0 AND used.runs + f.opening > (q->>'activeRuns')::bigint THEN
        refused[i] := over_quota('activeRuns', q, (q->>'activeRuns')::bigint - used.runs);
      END IF;
    END IF;
    IF refused[i] IS NULL AND f.children > 0 THEN
      f.root := coalesce((SELECT coalesce(r.root_run_id, r.run_id) FROM runs r WHERE r.run_id = f.root), f.root);
      SELECT coalesce((SELECT m.runs FROM families m WHERE m.root_run_id = f.root), 0)
             + coalesce((born->>f.root)::bigint, 0) INTO kin;
      IF kin + f.children > (q->>'childrenPerRoot')::bigint THEN
        refused[i] := over_quota('childrenPerRoot', q, (q->>'childrenPerRoot')::bigint - kin);
      ELSE
        born := born || jsonb_build_object(f.root, coalesce((born->>f.root)::bigint, 0) + f.children);
      END IF;
    END IF;
    IF refused[i] IS NULL AND f.opening > 0 THEN
      opened := opened || jsonb_build_object(f.tenant, coalesce((opened->>f.tenant)::bigint, 0) + f.opening);
    END IF;
  END LOOP;
  RETURN refused;
END $$;
