-- name: add
-- A subscription may have been deleted since the commit was made; then there is nobody to tell.
INSERT INTO deliveries (webhook_id, run_id, seq, tenant, event_type, at, state, attempts)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, 'pending', 0
 WHERE EXISTS (SELECT 1 FROM webhooks WHERE webhook_id = ?1 AND tenant = ?4);

-- name: openLane
INSERT INTO lanes (webhook_id, run_id, due_at) VALUES (?, ?, 0) ON CONFLICT DO NOTHING;

-- name: freeLanesOfGone
UPDATE lanes SET due_at = 0, lease_host = NULL
 WHERE lease_host IS NOT NULL AND lease_host NOT IN (SELECT host_id FROM hosts WHERE state = 'alive');

-- name: dueLanes
SELECT webhook_id, run_id FROM lanes WHERE due_at <= ? ORDER BY due_at LIMIT ?;

-- name: leaseLane
UPDATE lanes SET due_at = ?, lease_host = ? WHERE webhook_id = ? AND run_id = ?;

-- name: freeLane
UPDATE lanes SET due_at = ?, lease_host = NULL WHERE webhook_id = ? AND run_id = ?;

-- name: closeLane
DELETE FROM lanes WHERE webhook_id = ? AND run_id = ?;

-- name: postpone
UPDATE lanes SET due_at = CASE WHEN lease_host IS NULL THEN max(due_at, ?1) ELSE ?1 END, lease_host = NULL
 WHERE webhook_id = ?2;

-- name: nextDue
SELECT min(due_at) AS at FROM lanes;

-- name: firstPending
-- INDEXED BY: by its primary key it would first pass by all that the lane has delivered before.
SELECT * FROM deliveries INDEXED BY deliveries_pending
 WHERE webhook_id = ? AND run_id = ? AND state = 'pending' ORDER BY seq LIMIT 1;

-- name: record
-- The outcome of a try; nothing when the delivery is no longer pending.
UPDATE deliveries SET state = ?, finished_at = ?, attempts = ?, status = ?, error = ?
 WHERE webhook_id = ? AND run_id = ? AND seq = ? AND state = 'pending';

-- name: list
SELECT * FROM deliveries WHERE webhook_id = ? AND tenant = ? ORDER BY at DESC, run_id DESC, seq DESC LIMIT ?;

-- name: purge
DELETE FROM deliveries WHERE (webhook_id, run_id, seq) IN
  (SELECT webhook_id, run_id, seq FROM deliveries
    WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?);
