-- name: read
SELECT * FROM purged WHERE run_id = ?1 AND (?2 IS NULL OR tenant = ?2);

-- name: unsealed
SELECT run_id AS runId, length, head FROM purged WHERE checkpoint IS NULL ORDER BY purged_at, run_id LIMIT ?;

-- part: family
-- A run with everything below it; a fork is nobody's child.
WITH RECURSIVE family (run_id) AS (
  SELECT ?1
   UNION
  SELECT r.run_id FROM family f JOIN runs r ON r.parent_run_id = f.run_id)

-- name: root
SELECT 1 FROM runs WHERE run_id = ? AND parent_run_id IS NULL;

-- name: obstacles
{family}
SELECT max(r.ended_at IS NULL) AS open,
       max(r.checkpoint IS NULL AND r.head <> '') AS unsealed,
       max(EXISTS (SELECT 1 FROM runs f WHERE f.source_run_id = r.run_id)) AS forked
  FROM family JOIN runs r USING (run_id);

-- name: mark
INSERT INTO purged (run_id, root_run_id, tenant, length, head, ended_at, purged_at)
{family}
SELECT r.run_id, ?1, r.tenant, r.length, r.head, r.ended_at, ?2 FROM family JOIN runs r USING (run_id);

-- part: nobodyIsTold
WHERE webhook_id IN (SELECT webhook_id FROM webhooks) AND run_id IN (SELECT run_id FROM family)

-- name: deleteDeliveries
{family} DELETE FROM deliveries {nobodyIsTold};

-- name: deleteLanes
{family} DELETE FROM lanes {nobodyIsTold};

-- name: claimable
SELECT run_id FROM purged p
 WHERE run_id = root_run_id AND is_stored = 1 AND checkpoint IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM purged u WHERE u.root_run_id = p.run_id AND u.is_stored = 1 AND u.checkpoint IS NULL)
   AND (lease_host IS NULL OR lease_until <= ?
        OR NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = lease_host AND state = 'alive'))
 ORDER BY run_id LIMIT 1;

-- name: lease
UPDATE purged SET lease_host = ?, lease_until = ? WHERE run_id = ?;

-- name: holder
SELECT lease_host FROM purged WHERE run_id = ? AND is_stored = 1;

-- name: nextOfFamily
-- The root is last: as long as it has rows, the family can be claimed again.
SELECT run_id FROM purged WHERE root_run_id = ?1 AND is_stored = 1 ORDER BY run_id = ?1, run_id DESC LIMIT 1;

-- name: deleteEvents
DELETE FROM events WHERE run_id = ?1 AND seq IN (SELECT seq FROM events WHERE run_id = ?1 ORDER BY seq DESC LIMIT ?2);

-- name: deleted
UPDATE purged SET is_stored = 0, lease_host = NULL WHERE run_id = ?;

-- What belongs to one run besides its events. What refers to a row is deleted before it.

-- name: deleteSnapshots
DELETE FROM snapshots WHERE run_id = ?;

-- name: deleteMerges
DELETE FROM merges WHERE run_id = ?;

-- name: deleteVerdicts
DELETE FROM verdicts WHERE run_id = ?;

-- name: deleteStaged
DELETE FROM staged WHERE run_id = ?;

-- name: deleteGated
DELETE FROM gated WHERE run_id = ?;

-- name: deleteInvocations
DELETE FROM invocations WHERE run_id = ?;

-- name: deletePrefixes
DELETE FROM prefixes WHERE run_id = ?;

-- name: deleteRun
DELETE FROM runs WHERE run_id = ?;
