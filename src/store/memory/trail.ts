import type { TrailQuery, TrailRecord, TrailStore } from '../../engine/ports/audit.js'
import { refuseControls } from '../storable-text.js'
import { refuseErased } from './erasures.js'
import type { Tables } from './tables.js'

/** What the triggers on the trail do in SQL (S17). */
export abstract class MemoryTrail implements TrailStore {
  protected abstract readonly tables: Tables

  async appendTrail(record: TrailRecord): Promise<boolean> {
    const { tenant, seq, previous } = record
    refuseControls(record)
    refuseErased(this.tables, tenant)
    const told = this.tables.trail.get(tenant) ?? []
    if (seq !== told.length + 1 || previous !== (told.at(-1)?.hash ?? '')) return false
    this.tables.trail.set(tenant, [...told, record])
    return true
  }

  async readTrail(tenant: string, { before = Number.POSITIVE_INFINITY, limit }: TrailQuery): Promise<TrailRecord[]> {
    const told = this.tables.trail.get(tenant) ?? []
    return told
      .filter(({ seq }) => seq < before)
      .toReversed()
      .slice(0, limit)
  }
}
