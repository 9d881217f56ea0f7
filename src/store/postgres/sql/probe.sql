-- What a host looks at when it starts: whether connections and the database are what they must be.

-- name: markSession
SELECT set_config('assay.session', $1, false)

-- name: readMark
SELECT current_setting('assay.session', true) AS mark

-- name: readSettings
SELECT current_setting('synchronous_commit') AS "synchronousCommit",
       current_setting('default_transaction_isolation') AS isolation, current_setting('search_path') AS "searchPath",
       (current_schemas(true))[1] AS first, pg_my_temp_schema()::regnamespace::text AS temporary

-- name: tryLock
SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS got

-- name: insertOrphan
-- An event of no run: `events_guard` has to see it. What is written comes undone either way, as the block fails.
DO $$
BEGIN
  INSERT INTO assay.events (run_id, seq, type, payload, at, epoch) VALUES ('assay.probe', 0, 'probe', '{}', 0, 1);
  RAISE EXCEPTION 'no trigger has seen it' USING ERRCODE = 'AS001';
EXCEPTION WHEN check_violation THEN
  NULL;
END $$

-- name: lockStep
SELECT 1 FROM assay.migrations WHERE version = 1 FOR UPDATE

-- name: lockStepUnlessLocked
SELECT 1 FROM assay.migrations WHERE version = 1 FOR UPDATE SKIP LOCKED
