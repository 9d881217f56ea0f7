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
 * S13 is held here: a tenant that has a row in `erasures` gets no other. Its runs up to `upto_run`, in the order of
 * their ids, have no content left; no run of it comes to be any more, so none is passed over.
 */
export const erasures: Migration = {
  version: 9,
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
${OF_A_TENANT.map(
  table => `
CREATE TRIGGER ${table}_of_erased BEFORE INSERT ON ${table}
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;`,
).join('')}
`,
}
