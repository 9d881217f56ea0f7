-- part: notPurged
-- Of a run that was purged only its mark is left to be found.
NOT EXISTS (SELECT 1 FROM purged WHERE purged.run_id = runs.run_id)

-- part: notErased
-- A tenant that was erased finds nothing of what is left of its runs (S14).
NOT EXISTS (SELECT 1 FROM erasures WHERE erasures.tenant = runs.tenant)

-- name: read
-- The tenant is part of the query that fetches (S6); null is every tenant's.
SELECT * FROM runs WHERE run_id = ?1 AND {notPurged} AND (?2 IS NULL OR (tenant = ?2 AND {notErased}));

-- part: listed
-- What is null is not asked for. A text is less than any blob: so x'' is behind the last run there is.
{notPurged} AND run_id < coalesce(?1, x'')
   AND (?2 IS NULL OR workflow_id = ?2)
   AND workflow_id NOT IN (SELECT value FROM json_each(?3))
   AND (?4 IS NULL OR status IN (SELECT value FROM json_each(?4)))
   AND (?5 IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?5))
 ORDER BY run_id DESC LIMIT ?6

-- One form for each index that leads to the newest: of all, of a tenant, of a parent.

-- name: list
SELECT * FROM runs WHERE {listed};

-- name: listOfTenant
SELECT * FROM runs WHERE tenant = ?7 AND {notErased} AND {listed};

-- name: listOfParent
SELECT * FROM runs WHERE parent_run_id = ?7 AND (?8 IS NULL OR (tenant = ?8 AND {notErased})) AND {listed};

-- name: children
SELECT run_id AS runId, status FROM runs
 WHERE parent_run_id = ? AND {notPurged} AND workflow_id NOT IN (SELECT value FROM json_each(?))
 ORDER BY run_id DESC LIMIT ?;

-- name: due
SELECT run_id AS runId, epoch, attempts, wake_at AS wakeAt, length FROM runs
 WHERE owner = ? AND ended_at IS NULL AND tenant = ? AND wake_at <= ? ORDER BY wake_at, run_id LIMIT ?;

-- name: nextTenantHeld
-- Tenants are found one by one through the index, so that it costs nothing how many runs each has.
SELECT tenant FROM runs WHERE owner = ? AND ended_at IS NULL AND tenant > ? ORDER BY tenant LIMIT 1;

-- name: orphansWithTime
SELECT run_id, wake_at FROM runs
 WHERE owner = ? AND ended_at IS NULL AND tenant = ? AND wake_at IS NOT NULL ORDER BY wake_at LIMIT ?;

-- name: orphansWithoutTime
SELECT run_id, wake_at FROM runs
 WHERE owner = ? AND ended_at IS NULL AND tenant = ? AND wake_at IS NULL LIMIT ?;

-- name: adopt
UPDATE runs SET owner = ?, epoch = epoch + 1, attempts = attempts + ? WHERE run_id = ?;

-- name: place
SELECT length, epoch, owner FROM runs WHERE run_id = ?;

-- name: root
SELECT coalesce(root_run_id, run_id) AS root FROM runs WHERE run_id = ?;

-- name: activeInScope
SELECT run_id FROM runs
 WHERE tenant = ? AND scope_id = ? AND scope_id IS NOT NULL AND ended_at IS NULL ORDER BY run_id LIMIT 1;

-- name: appendId
SELECT append_id FROM runs WHERE run_id = ?;

-- name: create
INSERT INTO runs (run_id, tenant, workflow_id, workflow_digest, parent_run_id, parent_node_id, scope_id, tags,
                  status, length, owner, epoch, attempts, wake_at, created_at, updated_at, ended_at, head,
                  source_run_id, from_seq, source_length, fork_mode, append_id, root_run_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?,
        ?, ?, ?, 1, 0, ?, ?, ?, ?, ?,
        ?, ?, ?, ?, ?, ?);

-- name: extend
UPDATE runs SET status = ?2, length = ?3, head = ?4, attempts = 0, updated_at = coalesce(?5, updated_at),
                ended_at = coalesce(ended_at, ?6), wake_at = CASE WHEN coalesce(ended_at, ?6) IS NULL THEN ?7 END
 WHERE run_id = ?1;

-- name: wake
UPDATE runs SET wake_at = 0 WHERE run_id = ? AND ended_at IS NULL;

-- name: source
-- What a fork begins with.
SELECT tenant, length, ended_at AS endedAt FROM runs WHERE run_id = ? AND {notPurged};

-- name: unsealed
SELECT run_id AS runId, length, head FROM runs
 WHERE ended_at IS NOT NULL AND checkpoint IS NULL AND head <> '' ORDER BY ended_at, run_id LIMIT ?;

-- name: expiredRoots
-- Roots that ended before a time, with an end and an id above those given.
SELECT run_id AS runId, ended_at AS endedAt FROM runs
 WHERE parent_run_id IS NULL AND ended_at < ?1 AND (ended_at, run_id) > (?2, ?3)
   AND (?4 IS NULL OR tenant = ?4) AND (?5 IS NULL OR workflow_id = ?5)
   AND tenant NOT IN (SELECT value FROM json_each(?6)) AND workflow_id NOT IN (SELECT value FROM json_each(?7))
   AND {notPurged}
 ORDER BY ended_at, run_id LIMIT ?8;
