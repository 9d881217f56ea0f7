-- name: list
SELECT * FROM standards s
 WHERE tenant IN (?, '') AND deleted_at IS NULL
   AND version = (SELECT max(version) FROM standards WHERE tenant = s.tenant AND kind = s.kind AND id = s.id)
 ORDER BY kind, id, tenant;

-- name: latest
SELECT version, hash FROM standards WHERE tenant = ? AND kind = ? AND id = ? ORDER BY version DESC LIMIT 1;

-- name: put
INSERT INTO standards (tenant, kind, id, version, hash, body, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, deleted_at = NULL WHERE deleted_at IS NOT NULL;

-- name: delete
UPDATE standards SET deleted_at = ?4
 WHERE tenant = ?1 AND kind = ?2 AND id = ?3 AND deleted_at IS NULL
   AND version = (SELECT max(version) FROM standards WHERE tenant = ?1 AND kind = ?2 AND id = ?3);
