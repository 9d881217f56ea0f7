-- name: state
SELECT state FROM hosts WHERE host_id = ?;

-- name: fenceNamesakes
UPDATE hosts SET state = 'fenced' WHERE host_name = ? AND host_id <> ? AND state = 'alive';

-- name: register
INSERT INTO hosts (host_id, host_name, lease_until, state) VALUES (?, ?, ?, 'alive')
ON CONFLICT (host_id) DO UPDATE SET lease_until = excluded.lease_until;

-- name: forget
-- A host without a row counts as fenced, so the row of one that holds nothing any more is not needed.
DELETE FROM hosts
 WHERE state <> 'alive' AND NOT EXISTS (SELECT 1 FROM runs WHERE owner = host_id AND ended_at IS NULL);

-- name: heartbeat
UPDATE hosts SET lease_until = ? WHERE host_id = ? AND state = 'alive';

-- name: release
UPDATE hosts SET state = 'released' WHERE host_id = ? AND state = 'alive';

-- name: fenceExpired
UPDATE hosts SET state = 'fenced' WHERE state = 'alive' AND lease_until <= ? AND host_id <> ?;

-- name: gone
SELECT host_id, state FROM hosts WHERE state <> 'alive' ORDER BY host_id;

-- name: lastingId
-- What was given stays; what was made gives way to it.
INSERT INTO host_identity (one, host_id, given) VALUES (1, ?, ?)
ON CONFLICT (one) DO UPDATE SET
  host_id = CASE WHEN host_identity.given < excluded.given THEN excluded.host_id ELSE host_identity.host_id END,
  given = max(host_identity.given, excluded.given)
RETURNING host_id;
