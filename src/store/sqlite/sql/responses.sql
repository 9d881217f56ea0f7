-- name: get
SELECT * FROM receipts WHERE tenant = ? AND endpoint = ? AND key = ?;

-- name: put
-- Inserts, or replaces what may be replaced: the caller has looked, in the same transaction.
INSERT INTO receipts (tenant, endpoint, key, digest, state, lease_owner, lease_until, status, headers, body, at, claim)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, endpoint, key) DO UPDATE SET
  digest = excluded.digest, state = excluded.state, lease_owner = excluded.lease_owner,
  lease_until = excluded.lease_until, status = excluded.status, headers = excluded.headers,
  body = excluded.body, at = excluded.at, claim = excluded.claim;

-- name: isClaimedBy
SELECT 1 FROM receipts WHERE tenant = ? AND endpoint = ? AND key = ? AND claim = ?;

-- name: delete
DELETE FROM receipts WHERE tenant = ? AND endpoint = ? AND key = ?;

-- name: purge
DELETE FROM receipts WHERE (tenant, endpoint, key) IN
  (SELECT tenant, endpoint, key FROM receipts WHERE at < ? ORDER BY at LIMIT ?);
