-- Logs and what lists of runs are made of. What is Assay's own is qualified, because the search path is whatever the
-- connection has; `assay` stands for the schema in use. Columns come out in the port's spelling.

-- name: commit
SELECT assay.commit_batch($1::jsonb, $2::text[], $3::text[], $4::text[], $5, $6, $7, $8::text[], $9::jsonb) AS reply

-- part: event
seq AS sequence, type, node_id AS "nodeId", payload, secret, cause, foreign_cause AS "foreignCause", at, input, salt, hash,
  erased

-- part: event_size
seq AS sequence, octet_length(payload) + coalesce(octet_length(secret), 0) AS bytes

-- name: readEvents
-- What a fork shares comes from those who hold it; for other runs that is a look into an index and nothing more.
(SELECT {event} FROM assay.events WHERE run_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3)
UNION ALL
(SELECT shared.* FROM assay.prefixes p, LATERAL (
    SELECT {event} FROM assay.events
     WHERE run_id = p.source_run_id AND seq >= greatest(p.from_seq, $2) AND seq < p.upto ORDER BY seq LIMIT $3) shared
  WHERE p.run_id = $1 AND p.upto > $2 ORDER BY sequence LIMIT $3)
ORDER BY sequence LIMIT $3

-- name: readEventSizes
-- How large each is, found without reading them.
(SELECT {event_size} FROM assay.events WHERE run_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3)
UNION ALL
(SELECT shared.* FROM assay.prefixes p, LATERAL (
    SELECT {event_size} FROM assay.events
     WHERE run_id = p.source_run_id AND seq >= greatest(p.from_seq, $2) AND seq < p.upto ORDER BY seq LIMIT $3) shared
  WHERE p.run_id = $1 AND p.upto > $2 ORDER BY sequence LIMIT $3)
ORDER BY sequence LIMIT $3

-- name: readSnapshot
(SELECT length, state FROM assay.snapshots WHERE run_id = $1 AND length <= $2 ORDER BY length DESC LIMIT 1)
UNION ALL
(SELECT shared.* FROM assay.prefixes p, LATERAL (
    SELECT length, state FROM assay.snapshots
     WHERE run_id = p.source_run_id AND length <= least(p.upto, $2) ORDER BY length DESC LIMIT 1) shared
  WHERE p.run_id = $1 AND p.from_seq < $2)
ORDER BY length DESC LIMIT 1

-- part: run
run_id AS "runId", tenant, workflow_id AS "workflowId", workflow_digest AS "workflowDigest", status,
  parent_run_id AS "parentRunId", parent_node_id AS "parentNodeId", scope_id AS "scopeId", tags, length, owner, epoch,
  attempts, wake_at AS "wakeAt", created_at AS "createdAt", updated_at AS "updatedAt", ended_at AS "endedAt",
  CASE WHEN source_run_id IS NOT NULL THEN json_build_object('sourceRunId', source_run_id, 'fromSeq', from_seq,
    'mode', fork_mode, 'sourceLength', source_length) END AS fork, head, checkpoint

-- part: of_tenant
-- Null is every tenant's. A tenant that was erased finds nothing of what is left of its runs (S14).
($1::text IS NULL OR (tenant = $1 AND NOT EXISTS (SELECT 1 FROM assay.erasures e WHERE e.tenant = $1)))

-- part: not_purged
-- Of a run that was purged only its mark is left to be found.
NOT EXISTS (SELECT 1 FROM assay.purged p WHERE p.run_id = runs.run_id)

-- name: readRun
SELECT {run} FROM assay.runs WHERE run_id = $2 AND {of_tenant} AND {not_purged}

-- name: listRuns
-- Each filter is off when its parameter is null.
SELECT {run} FROM assay.runs
 WHERE {of_tenant} AND ($2::text IS NULL OR run_id < $2)
   AND ($3::text IS NULL OR workflow_id = $3) AND ($4::text IS NULL OR parent_run_id = $4)
   AND ($5::text[] IS NULL OR status = ANY ($5)) AND ($6::text IS NULL OR $6 = ANY (tags))
   AND ($7::text[] IS NULL OR workflow_id <> ALL ($7)) AND {not_purged}
 ORDER BY run_id DESC LIMIT $8

-- name: childrenOf
SELECT run_id AS "runId", status FROM assay.runs
 WHERE parent_run_id = $1 AND workflow_id <> ALL ($2::text[]) AND {not_purged} ORDER BY run_id DESC LIMIT $3

-- name: expiredRoots
SELECT run_id AS "runId", ended_at AS "endedAt" FROM assay.runs
 WHERE parent_run_id IS NULL AND ended_at < $1 AND (ended_at, run_id) > ($2, $3)
   AND ($4::text IS NULL OR tenant = $4) AND ($5::text IS NULL OR workflow_id = $5)
   AND tenant <> ALL ($6::text[]) AND workflow_id <> ALL ($7::text[]) AND {not_purged}
 ORDER BY ended_at, run_id LIMIT $8

-- name: unsealedRuns
SELECT run_id AS "runId", length, head FROM assay.runs WHERE unsealed_at IS NOT NULL
 ORDER BY unsealed_at, run_id LIMIT $1
