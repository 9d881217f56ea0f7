import type { NewStandard, StandardKind } from '../../../engine/ports/standards.js'
import type { Connection } from '../connection.js'

/** What was deleted and comes back as it was has its version again. */
export function putStandard(db: Connection, standard: NewStandard): number {
  const { kind, id, hash, body, updatedAt } = standard
  const tenant = standard.tenant ?? ''
  const latest = db.get(
    `SELECT version, hash FROM standards WHERE tenant = ? AND kind = ? AND id = ? ORDER BY version DESC LIMIT 1`,
    tenant,
    kind,
    id,
  )
  const version = Number(latest?.version ?? 0) + (latest?.hash === hash ? 0 : 1)
  db.run(
    `INSERT INTO standards (tenant, kind, id, version, hash, body, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, deleted_at = NULL WHERE deleted_at IS NOT NULL`,
    tenant,
    kind,
    id,
    version,
    hash,
    body,
    updatedAt,
  )
  return version
}

export const deleteStandard = (
  db: Connection,
  { tenant, kind, id, now }: { tenant: string | null; kind: StandardKind; id: string; now: number },
): boolean =>
  db.run(
    `UPDATE standards SET deleted_at = ?4
      WHERE tenant = ?1 AND kind = ?2 AND id = ?3 AND deleted_at IS NULL
        AND version = (SELECT max(version) FROM standards WHERE tenant = ?1 AND kind = ?2 AND id = ?3)`,
    tenant ?? '',
    kind,
    id,
    now,
  ) > 0
