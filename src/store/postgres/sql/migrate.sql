-- How the schema comes to be: in one transaction whose search path is that schema and nothing else.

-- name: takeTurns
SELECT pg_advisory_xact_lock(hashtextextended($1, 0))

-- name: createSchema
-- CREATE SCHEMA asks for the right to create one even if it is there.
DO $$
BEGIN
  IF to_regnamespace(current_setting('search_path')) IS NULL THEN
    EXECUTE format('CREATE SCHEMA %I', current_setting('search_path'));
  END IF;
END $$

-- name: createMigrations
CREATE TABLE IF NOT EXISTS migrations (
  version    integer PRIMARY KEY,
  name       text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)

-- name: readApplied
SELECT version, name FROM migrations ORDER BY version

-- name: putApplied
INSERT INTO migrations (version, name) VALUES ($1, $2)

-- name: pinFunctions
-- The texts of the steps name things without their schema. So every function looks for them in its own schema, whatever
-- the connection's search path: triggers too. Immutable ones name nothing but what is built in, and are left as they are,
-- so that they can be inlined. A function that a step defines anew loses its setting, so this comes after each.
DO $$
DECLARE
  pinned text := format('%I, pg_temp', current_schema());
  unpinned regprocedure;
BEGIN
  FOR unpinned IN SELECT p.oid FROM pg_proc p
                   WHERE p.pronamespace = current_schema()::regnamespace AND p.provolatile <> 'i'
                     AND NOT coalesce(p.proconfig, '{}') @> ARRAY['search_path=' || pinned] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %s', unpinned, pinned);
  END LOOP;
END $$
