-- Hosts, the work that waits for them, and what tenants have.

-- name: registerHost
SELECT assay.register_host($1, $2, $3) AS state

-- name: heartbeat
UPDATE assay.hosts SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
 WHERE host_id = $1 AND state = 'alive' RETURNING 1

-- name: releaseHost
SELECT assay.release_host($1)

-- name: fenceExpired
SELECT assay.fence_expired($1)

-- name: claimOrphans
SELECT assay.claim_orphans($1, $2, $3, $4) AS claimed

-- name: dueRuns
-- Tenants take turns, by their weights.
SELECT d.run_id AS "runId", d.epoch, d.attempts, d.wake_at AS "wakeAt", d.length
  FROM assay.tenants_of($1) AS t(tenant),
       LATERAL (SELECT run_id, epoch, attempts, wake_at, length, row_number() OVER (ORDER BY wake_at, run_id) AS n
         FROM (SELECT * FROM assay.runs r
                WHERE r.owner = $1 AND r.ended_at IS NULL AND r.tenant = t.tenant AND r.wake_at <= $2
                ORDER BY r.wake_at, r.run_id LIMIT $3) first) d
 ORDER BY d.n / assay.weight_of($4::jsonb, t.tenant), t.tenant, d.n LIMIT $3

-- name: usageOf
SELECT runs AS "activeRuns", bytes AS "storedBytes" FROM assay.usage_of($1)

-- name: foldUsage
SELECT assay.fold_usage()

-- name: ping
SELECT 1

-- name: lastingId
-- What was given stays; what was made gives way to it.
INSERT INTO assay.host_identity (host_id, given) VALUES ($1, $2)
ON CONFLICT (one) DO UPDATE SET
  host_id = CASE WHEN host_identity.given OR NOT excluded.given THEN host_identity.host_id ELSE excluded.host_id END,
  given = host_identity.given OR excluded.given
RETURNING host_id AS "hostId"
