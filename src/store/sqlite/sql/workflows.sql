-- part: workflow
SELECT w.*, d.definition FROM workflows w JOIN definitions d USING (digest)

-- name: get
-- The tenant's own, else the shared one.
{workflow} WHERE w.tenant IN (?, '') AND w.workflow_id = ? ORDER BY w.tenant DESC LIMIT 1;

-- name: list
{workflow}
 WHERE w.tenant = ?1
    OR (w.tenant = '' AND NOT EXISTS (
         SELECT 1 FROM workflows own WHERE own.tenant = ?1 AND own.workflow_id = w.workflow_id))
 ORDER BY w.workflow_id;

-- name: definition
SELECT definition FROM definitions WHERE digest = ?;

-- name: putDefinition
INSERT INTO definitions (digest, definition) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: put
INSERT INTO workflows (tenant, workflow_id, digest, updated_at) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET digest = excluded.digest, updated_at = excluded.updated_at;
