import type { Migration } from '../../migration.js'

/** Whether a standard is deleted, its latest version says. Writers of one take turns, so versions have no gaps. */
export const standards: Migration = {
  version: 10,
  name: 'standards',
  sql: `
-- tenant '' is shared with every tenant.
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

-- What was deleted and comes back as it was has its version again.
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
`,
}
