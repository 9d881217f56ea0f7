-- name: list
SELECT * FROM api_keys ORDER BY key_id;

-- name: find
SELECT * FROM api_keys WHERE hash = ?;

-- name: put
INSERT INTO api_keys (key_id, hash, tenant, principal, scopes, test, created_at, expires_at, revoked_at, made_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key_id) DO UPDATE SET hash = excluded.hash, tenant = excluded.tenant, principal = excluded.principal,
  scopes = excluded.scopes, test = excluded.test, created_at = excluded.created_at,
  expires_at = excluded.expires_at, revoked_at = excluded.revoked_at, made_by = excluded.made_by;

-- name: dataKey
SELECT wrapped FROM tenant_keys WHERE tenant = ?;

-- name: putDataKey
INSERT INTO tenant_keys (tenant, wrapped) VALUES (?, ?) ON CONFLICT DO NOTHING;
