-- Subscriptions and what they are to be told.

-- name: putWebhook
INSERT INTO assay.webhooks (webhook_id, tenant, url, events, tags, secret, created_at, health)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (webhook_id) DO UPDATE SET tenant = excluded.tenant, url = excluded.url, events = excluded.events,
  tags = excluded.tags, secret = excluded.secret, created_at = excluded.created_at, health = excluded.health

-- name: deleteWebhook
SELECT assay.delete_webhook($1, $2) AS deleted

-- name: listWebhooks
SELECT webhook_id AS "webhookId", tenant, url, events, tags, secret, created_at AS "createdAt", health
  FROM assay.webhooks WHERE $1::text IS NULL OR tenant = $1 ORDER BY created_at, webhook_id

-- name: putWebhookHealth
UPDATE assay.webhooks SET health = $2 WHERE webhook_id = $1

-- name: putWebhookSecret
UPDATE assay.webhooks SET secret = $2 WHERE webhook_id = $1

-- part: delivery
webhook_id AS "webhookId", tenant, run_id AS "runId", seq AS sequence, event_type AS "eventType", at, state, attempts,
  status, error, finished_at AS "finishedAt"

-- name: claimDeliveries
SELECT {delivery} FROM assay.claim_deliveries($1, $2, $3, $4, $5)

-- name: finishDelivery
SELECT assay.finish_delivery($1, $2, $3, $7, $4, $5, $6, $8)

-- name: retryDelivery
WITH tried AS (UPDATE assay.deliveries SET attempts = $4, status = $5, error = $6
   WHERE webhook_id = $1 AND run_id = $2 AND seq = $3 AND state = 'pending' RETURNING 1)
UPDATE assay.lanes SET due_at = $7, lease_host = NULL, claim = NULL
 WHERE webhook_id = $1 AND run_id = $2 AND EXISTS (SELECT 1 FROM tried)

-- name: postponeDeliveries
SELECT assay.postpone_deliveries($1, $2)

-- name: nextDeliveryAt
SELECT due_at AS at FROM assay.lanes ORDER BY due_at LIMIT 1

-- name: listDeliveries
SELECT {delivery} FROM assay.deliveries WHERE webhook_id = $2 AND tenant = $1
 ORDER BY at DESC, run_id DESC, seq DESC LIMIT $3

-- name: purgeDeliveries
WITH gone AS (DELETE FROM assay.deliveries WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM assay.deliveries WHERE finished_at < $1 ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED))
  RETURNING 1)
SELECT count(*) AS purged FROM gone
