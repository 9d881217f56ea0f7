import type { NewStandard, StandardKind } from '../../../engine/ports/standards.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

/** What was deleted and comes back as it was has its version again. */
export function putStandard(db: Connection, standard: NewStandard): number {
  const { kind, id, hash, body, updatedAt } = standard
  const tenant = standard.tenant ?? ''
  const latest = db.get(SQL.standards.latest, tenant, kind, id)
  const version = Number(latest?.version ?? 0) + (latest?.hash === hash ? 0 : 1)
  db.run(SQL.standards.put, tenant, kind, id, version, hash, body, updatedAt)
  return version
}

export const deleteStandard = (
  db: Connection,
  { tenant, kind, id, now }: { tenant: string | null; kind: StandardKind; id: string; now: number },
): boolean => db.run(SQL.standards.delete, tenant ?? '', kind, id, now) > 0
