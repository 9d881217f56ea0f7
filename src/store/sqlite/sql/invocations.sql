-- name: outcome
SELECT outcome FROM invocations WHERE id = ?;

-- name: answer
SELECT outcome FROM invocations WHERE tenant = ? AND cache_key = ? ORDER BY at DESC, id DESC LIMIT 1;

-- name: held
SELECT host_id, claim, attempt, again, outcome FROM invocations WHERE id = ?;

-- name: claim
INSERT INTO invocations (id, tenant, run_id, node_id, ordinal, provider, attempt, host_id, at, claim, again)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, attempt = max(attempt, excluded.attempt),
  host_id = excluded.host_id, at = excluded.at, claim = excluded.claim, again = excluded.again;

-- name: finish
UPDATE invocations SET outcome = ?, cache_key = ? WHERE id = ? AND host_id = ? AND outcome IS NULL;

-- name: release
DELETE FROM invocations WHERE id = ? AND host_id = ? AND outcome IS NULL;

-- name: abandon
UPDATE invocations SET host_id = '', claim = '' WHERE id = ? AND host_id = ? AND outcome IS NULL;

-- name: purge
-- What an open run was told may be asked for again, however old it is.
DELETE FROM invocations WHERE id IN (
  SELECT id FROM invocations i WHERE at < ? AND outcome IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = i.run_id AND r.ended_at IS NULL) LIMIT ?);
