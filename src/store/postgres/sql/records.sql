-- Workflows, standards, remembered responses, effects and keys.

-- part: workflow
nullif(w.tenant, '') AS tenant, w.workflow_id AS "workflowId", w.digest, d.definition, w.updated_at AS "updatedAt"

-- name: putWorkflow
WITH d AS (INSERT INTO assay.definitions (digest, definition) VALUES ($3, $4) ON CONFLICT DO NOTHING)
INSERT INTO assay.workflows (tenant, workflow_id, digest, updated_at) VALUES ($1, $2, $3, $5)
ON CONFLICT (tenant, workflow_id) DO UPDATE SET digest = excluded.digest, updated_at = excluded.updated_at

-- name: getWorkflow
SELECT {workflow} FROM assay.workflows w JOIN assay.definitions d USING (digest)
 WHERE w.tenant IN ($1, '') AND w.workflow_id = $2 ORDER BY w.tenant DESC LIMIT 1

-- name: listWorkflows
SELECT {workflow} FROM assay.workflows w JOIN assay.definitions d USING (digest)
 WHERE w.tenant = $1 OR (w.tenant = '' AND NOT EXISTS (
   SELECT 1 FROM assay.workflows own WHERE own.tenant = $1 AND own.workflow_id = w.workflow_id))
 ORDER BY w.workflow_id

-- name: getDefinition
SELECT definition FROM assay.definitions WHERE digest = $1

-- name: putStandard
-- A row has its columns in the order of the table.
SELECT assay.put_standard(ROW($1, $2, $3, NULL, $4, $5, $6, NULL)::assay.standards) AS version

-- name: deleteStandard
UPDATE assay.standards SET deleted_at = $4
 WHERE tenant = $1 AND kind = $2 AND id = $3 AND deleted_at IS NULL
   AND version = (SELECT max(version) FROM assay.standards WHERE tenant = $1 AND kind = $2 AND id = $3)
RETURNING 1

-- name: listStandards
SELECT nullif(tenant, '') AS tenant, kind, id, version, hash, body, updated_at AS "updatedAt" FROM assay.standards s
 WHERE tenant IN ($1, '') AND deleted_at IS NULL AND version = (
   SELECT max(l.version) FROM assay.standards l WHERE l.tenant = s.tenant AND l.kind = s.kind AND l.id = s.id)
 ORDER BY kind, id, s.tenant

-- name: getResponse
SELECT tenant, endpoint, key, digest, state, lease_owner AS "leaseOwner", lease_until AS "leaseUntil", status, headers,
       body, at
  FROM assay.receipts WHERE tenant = $1 AND endpoint = $2 AND key = $3

-- name: claimResponse
INSERT INTO assay.receipts AS old
  (tenant, endpoint, key, digest, state, lease_owner, lease_until, status, headers, body, at, claim)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (tenant, endpoint, key) DO UPDATE SET
  state = excluded.state, lease_owner = excluded.lease_owner, lease_until = excluded.lease_until,
  status = excluded.status, headers = excluded.headers, body = excluded.body, at = excluded.at, claim = excluded.claim
WHERE old.claim = excluded.claim OR assay.replaceable(old, excluded.digest, $13)
RETURNING 1

-- name: finishResponse
UPDATE assay.receipts SET digest = $4, state = $5, lease_until = $7, status = $8, headers = $9, body = $10, at = $11,
       claim = NULL
 WHERE tenant = $1 AND endpoint = $2 AND key = $3 AND state = 'pending' AND lease_owner = $6
   AND NOT EXISTS (SELECT 1 FROM assay.erasures e WHERE e.tenant = $1)

-- name: deleteResponse
DELETE FROM assay.receipts WHERE tenant = $1 AND endpoint = $2 AND key = $3

-- name: purgeResponses
WITH gone AS (DELETE FROM assay.receipts WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM assay.receipts WHERE at < $1 ORDER BY at LIMIT $2)) RETURNING 1)
SELECT count(*) AS purged FROM gone

-- name: claimEffect
INSERT INTO assay.invocations AS old
  (id, tenant, run_id, node_id, ordinal, provider, attempt, host_id, at, claim, again)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, false
 WHERE EXISTS (SELECT 1 FROM assay.hosts WHERE host_id = $8 AND state = 'alive')
ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, attempt = greatest(old.attempt, excluded.attempt),
  host_id = excluded.host_id, at = excluded.at, claim = excluded.claim,
  again = CASE WHEN old.claim = excluded.claim AND old.attempt = excluded.attempt THEN old.again
               ELSE old.attempt >= excluded.attempt END
WHERE old.outcome IS NULL AND (old.claim = excluded.claim
  OR NOT EXISTS (SELECT 1 FROM assay.hosts WHERE host_id = old.host_id AND state = 'alive'))
RETURNING again

-- name: readEffect
SELECT outcome FROM assay.invocations WHERE id = $1

-- name: releaseEffect
DELETE FROM assay.invocations WHERE id = $1 AND host_id = $2 AND outcome IS NULL

-- name: abandonEffect
UPDATE assay.invocations SET host_id = '', claim = '' WHERE id = $1 AND host_id = $2 AND outcome IS NULL

-- name: finishEffect
UPDATE assay.invocations SET outcome = $3, cache_key = $4 WHERE id = $1 AND host_id = $2 AND outcome IS NULL

-- name: findAnswer
SELECT outcome FROM assay.invocations WHERE tenant = $1 AND cache_key = $2
 ORDER BY at DESC, id COLLATE "C" DESC LIMIT 1

-- name: purgeEffects
WITH gone AS (DELETE FROM assay.invocations WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM assay.invocations i WHERE at < $1 AND outcome IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM assay.runs r WHERE r.run_id = i.run_id AND r.ended_at IS NULL) LIMIT $2)) RETURNING 1)
SELECT count(*) AS purged FROM gone

-- part: key
key_id AS "keyId", hash, tenant, principal, scopes, test, created_at AS "createdAt", expires_at AS "expiresAt",
  revoked_at AS "revokedAt", made_by AS "madeBy"

-- name: putKey
INSERT INTO assay.api_keys (key_id, hash, tenant, principal, scopes, test, created_at, expires_at, revoked_at, made_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (key_id) DO UPDATE SET hash = excluded.hash, tenant = excluded.tenant, principal = excluded.principal,
  scopes = excluded.scopes, test = excluded.test, created_at = excluded.created_at, expires_at = excluded.expires_at,
  revoked_at = excluded.revoked_at, made_by = excluded.made_by

-- name: listKeys
SELECT {key} FROM assay.api_keys ORDER BY key_id

-- name: findKey
SELECT {key} FROM assay.api_keys WHERE hash = $1

-- name: appendTrail
INSERT INTO assay.trail (tenant, seq, at, principal, credential, action, object, outcome, previous, hash)
SELECT $1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text
 WHERE $2::bigint = 1 + coalesce((SELECT max(seq) FROM assay.trail WHERE tenant = $1::text), 0)
   AND $9::text = coalesce((SELECT hash FROM assay.trail WHERE tenant = $1::text AND seq = $2::bigint - 1), '')
ON CONFLICT DO NOTHING
RETURNING seq

-- name: readTrail
SELECT tenant, seq, at, principal, credential, action, object, outcome, previous, hash FROM assay.trail
 WHERE tenant = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3
