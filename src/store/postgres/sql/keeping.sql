-- Checkpoints, the purge of runs, keys of tenants and the erasure of tenants.

-- part: checkpoint
seq, at, key_id AS "keyId", prev, runs, purged, hash, signature

-- name: putCheckpoint
-- A row has its columns in the order of the table.
SELECT assay.put_checkpoint(ROW($1, $2, $3, $4, $5, $6, $7, $9)::assay.checkpoints, $8) AS stored

-- name: listCheckpoints
SELECT {checkpoint} FROM assay.checkpoints WHERE seq >= $1 ORDER BY seq LIMIT $2

-- name: latestCheckpoint
SELECT {checkpoint} FROM assay.checkpoints ORDER BY seq DESC LIMIT 1

-- name: purgeFamily
SELECT assay.purge_family($1, $2) AS result

-- name: unsealedPurges
SELECT run_id AS "runId", length, head FROM assay.purged WHERE checkpoint IS NULL ORDER BY purged_at, run_id LIMIT $1

-- name: claimPurge
SELECT assay.claim_purge($1, $2, $3) AS root

-- name: deletePurged
SELECT assay.delete_purged($1, $2, $3) AS result

-- name: readPurged
SELECT run_id AS "runId", root_run_id AS "rootRunId", tenant, length, head, ended_at AS "endedAt",
       purged_at AS "purgedAt", checkpoint
  FROM assay.purged WHERE run_id = $1 AND ($2::text IS NULL OR tenant = $2)

-- name: readDataKey
SELECT wrapped FROM assay.tenant_keys WHERE tenant = $1

-- name: putDataKey
INSERT INTO assay.tenant_keys (tenant, wrapped) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: eraseTenants
SELECT assay.erase_tenants($1, $2, $3, $4) AS runs

-- name: readErasure
SELECT tenant, asked_at AS "askedAt", erased_at AS "erasedAt", key_id AS "keyId", signature
  FROM assay.erasures WHERE tenant = $1

-- name: claimErasure
SELECT assay.claim_erasure($1, $2, $3) AS tenant

-- name: nextToErase
SELECT r.run_id AS "runId", r.from_seq AS "fromSeq", r.length FROM assay.erasures e
  JOIN assay.runs r ON r.tenant = e.tenant AND r.run_id > e.upto_run
 WHERE e.tenant = $1 ORDER BY r.run_id LIMIT 1

-- name: eraseEvents
SELECT assay.erase_events($1, $2, $3, $4, $5) AS held

-- name: eraseRun
SELECT assay.erase_run($1, $2, $3) AS held

-- name: finishErasure
SELECT assay.finish_erasure($1, $2, $3, $4) AS result
