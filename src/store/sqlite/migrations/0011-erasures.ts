import type { Migration } from '../../migration.js'

/** What belongs to one tenant and is made by a request or a run. */
const OF_A_TENANT = [
  'runs',
  'api_keys',
  'workflows',
  'standards',
  'receipts',
  'invocations',
  'webhooks',
  'tenant_keys',
] as const

/**
 * S14 is held here: a tenant that has a row in `erasures` gets no other. Its runs up to `upto_run`, in the order of
 * their ids, have no content left; no run of it comes to be any more, so none is passed over.
 */
export const erasures: Migration = {
  version: 11,
  name: 'erasures',
  sql: `
ALTER TABLE events ADD COLUMN erased TEXT;

CREATE TABLE tenant_keys (
  tenant  TEXT PRIMARY KEY,
  wrapped TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE erasures (
  tenant      TEXT PRIMARY KEY CHECK (tenant <> ''),
  asked_at    INTEGER NOT NULL,
  erased_at   INTEGER,
  upto_run    TEXT NOT NULL DEFAULT '',
  lease_host  TEXT,
  lease_until INTEGER
) WITHOUT ROWID;

-- S13: what is erased is no longer counted.
CREATE TRIGGER events_usage_erased AFTER UPDATE OF payload, secret, input ON events BEGIN
  UPDATE usage SET bytes = bytes - (${bytesOf('OLD')}) + (${bytesOf('NEW')})
   WHERE tenant = (SELECT tenant FROM runs WHERE run_id = NEW.run_id);
END;
${OF_A_TENANT.map(
  table => `
CREATE TRIGGER ${table}_of_erased BEFORE INSERT ON ${table}
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;`,
).join('')}
`,
}

/** Of UTF-8, as `length` counts them of a BLOB. */
function bytesOf(row: string): string {
  return ['payload', 'secret', 'input'].map(name => `coalesce(length(CAST(${row}.${name} AS BLOB)), 0)`).join(' + ')
}
