-- name: read
SELECT tenant, asked_at AS askedAt, erased_at AS erasedAt, key_id AS keyId, signature FROM erasures WHERE tenant = ?;

-- name: openRuns
-- Standing streams, which may never end, are none.
SELECT count(*) AS runs FROM runs
 WHERE tenant IN (SELECT value FROM json_each(?)) AND ended_at IS NULL
   AND workflow_id NOT IN (SELECT value FROM json_each(?));

-- name: endStreams
-- They are nobody's any more: whoever holds one is fenced.
UPDATE runs SET status = 'cancelled', ended_at = ?2, wake_at = NULL, epoch = epoch + 1
 WHERE tenant = ?1 AND ended_at IS NULL;

-- name: mark
INSERT INTO erasures (tenant, asked_at, key_id, signature) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant) DO UPDATE
   SET asked_at = excluded.asked_at, key_id = excluded.key_id, signature = excluded.signature;

-- name: deleteLanes
DELETE FROM lanes WHERE webhook_id IN (SELECT webhook_id FROM webhooks WHERE tenant = ?);

-- name: deleteWebhooks
DELETE FROM webhooks WHERE tenant = ?;

-- name: deleteApiKeys
DELETE FROM api_keys WHERE tenant = ?;

-- name: deleteDataKey
DELETE FROM tenant_keys WHERE tenant = ?;

-- name: claimable
SELECT tenant FROM erasures
 WHERE erased_at IS NULL
   AND (lease_host IS NULL OR lease_until <= ?
        OR NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = lease_host AND state = 'alive'))
 ORDER BY asked_at, tenant LIMIT 1;

-- name: lease
UPDATE erasures SET lease_host = ?, lease_until = ? WHERE tenant = ?;

-- name: holder
SELECT lease_host FROM erasures WHERE tenant = ? AND erased_at IS NULL;

-- name: nextRun
SELECT r.run_id AS runId, r.from_seq AS fromSeq, r.length FROM erasures e
  JOIN runs r ON r.tenant = e.tenant AND r.run_id > e.upto_run
 WHERE e.tenant = ? ORDER BY r.run_id LIMIT 1;

-- name: eraseEvent
UPDATE events SET payload = '{}', secret = NULL, input = NULL, salt = NULL, erased = ?
 WHERE run_id = ? AND seq = ? AND erased IS NULL
   AND EXISTS (SELECT 1 FROM runs r WHERE r.run_id = events.run_id AND r.tenant = ?);

-- name: eraseRun
UPDATE runs SET tags = '[]', scope_id = NULL WHERE run_id = ?;

-- name: passRun
UPDATE erasures SET upto_run = ? WHERE tenant = ?;

-- name: isRunLeft
SELECT 1 FROM runs WHERE tenant = ?1 AND run_id > (SELECT upto_run FROM erasures WHERE tenant = ?1) LIMIT 1;

-- Of these a tenant may have many: a limited number at a time.

-- name: deleteResponses
DELETE FROM receipts WHERE (tenant, endpoint, key) IN
  (SELECT tenant, endpoint, key FROM receipts WHERE tenant = ? LIMIT ?);

-- name: deleteStandards
DELETE FROM standards WHERE (tenant, kind, id, version) IN
  (SELECT tenant, kind, id, version FROM standards WHERE tenant = ? LIMIT ?);

-- name: deleteDeliveries
DELETE FROM deliveries WHERE (webhook_id, run_id, seq) IN
  (SELECT webhook_id, run_id, seq FROM deliveries WHERE tenant = ? LIMIT ?);

-- name: digests
SELECT workflow_digest AS digest FROM runs WHERE tenant = ?1 UNION SELECT digest FROM workflows WHERE tenant = ?1;

-- name: deleteWorkflows
DELETE FROM workflows WHERE tenant = ?;

-- name: deleteDefinitions
-- Those that nobody else has run or may run. A tenant that is not erased to its end yet is somebody.
DELETE FROM definitions
 WHERE digest IN (SELECT value FROM json_each(?1))
   AND digest NOT IN (SELECT digest FROM workflows)
   AND digest NOT IN (
     SELECT workflow_digest FROM runs
      WHERE tenant <> ?2 AND tenant NOT IN (SELECT tenant FROM erasures WHERE erased_at IS NOT NULL));

-- name: finish
UPDATE erasures SET erased_at = ?, lease_host = NULL WHERE tenant = ?;
