import type { NewStandard, Standard } from '../../engine/ports/standards.js'
import type { StandardRow, Tables } from './tables.js'

type Name = Pick<Standard, 'tenant' | 'kind' | 'id'>

const keyOf = ({ tenant, kind, id }: Name): string => JSON.stringify([tenant, kind, id])

/** What was deleted and comes back as it was has its version again. */
export function putStandard({ standards }: Tables, record: NewStandard): number {
  const versions = standards.get(keyOf(record)) ?? []
  const latest = versions.at(-1)
  if (latest?.hash !== record.hash) {
    const version = versions.length + 1
    standards.set(keyOf(record), [...versions, { ...record, version, deletedAt: null }])
    return version
  }
  if (latest.deletedAt !== null) {
    const { updatedAt } = record
    standards.set(keyOf(record), [...versions.slice(0, -1), { ...latest, updatedAt, deletedAt: null }])
  }
  return latest.version
}

export function deleteStandard({ standards }: Tables, { now, ...name }: Name & { readonly now: number }): boolean {
  const versions = standards.get(keyOf(name)) ?? []
  const latest = versions.at(-1)
  if (!latest || latest.deletedAt !== null) return false
  standards.set(keyOf(name), [...versions.slice(0, -1), { ...latest, deletedAt: now }])
  return true
}

export function listStandards({ standards }: Tables, tenant: string): Standard[] {
  const latest = [...standards.values()].flatMap(versions => versions.slice(-1))
  const found = latest.filter(one => (one.tenant === tenant || one.tenant === null) && one.deletedAt === null)
  return found.map(withoutDeletion).sort(byName)
}

function withoutDeletion(row: StandardRow): Standard {
  const { deletedAt: _, ...standard } = row
  return standard
}

/** A shared one before the tenant's own of the same name. */
const byName = (a: Standard, b: Standard): number => {
  if (a.kind !== b.kind) return a.kind < b.kind ? -1 : 1
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  return a.tenant === null ? -1 : 1
}
