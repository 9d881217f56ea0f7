-- name: list
SELECT * FROM webhooks WHERE ?1 IS NULL OR tenant = ?1 ORDER BY created_at, webhook_id;

-- name: isOfTenant
SELECT 1 FROM webhooks WHERE webhook_id = ? AND tenant = ?;

-- name: put
INSERT INTO webhooks (webhook_id, tenant, url, events, tags, secret, created_at, health)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (webhook_id) DO UPDATE SET tenant = excluded.tenant, url = excluded.url, events = excluded.events,
  tags = excluded.tags, secret = excluded.secret, created_at = excluded.created_at, health = excluded.health;

-- name: putHealth
UPDATE webhooks SET health = ? WHERE webhook_id = ?;

-- name: putSecret
UPDATE webhooks SET secret = ? WHERE webhook_id = ?;

-- What was delivered stays on record until it is purged; the rest goes with the subscription, which goes last.

-- name: deleteLanes
DELETE FROM lanes WHERE webhook_id = ?;

-- name: deletePending
DELETE FROM deliveries WHERE webhook_id = ? AND state = 'pending';

-- name: delete
DELETE FROM webhooks WHERE webhook_id = ?;
