import { expect, it } from 'vitest'
import type { TrailRecord } from '../../../../src/engine/ports/audit.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

export const trailRecord = (tenant: string, seq: number, over: Partial<TrailRecord> = {}): TrailRecord => ({
  tenant,
  seq,
  at: f.T0 + seq,
  principal: 'alice',
  credential: 'key_1',
  action: 'transcript.read',
  object: 'run:1',
  outcome: 'allowed',
  previous: seq === 1 ? '' : `hash-${seq - 1}`,
  hash: `hash-${seq}`,
  ...over,
})

export function trailContract(open: () => Promise<Opened>): void {
  it('S17 records of a tenant are dense from 1, and each names the hash of the one before', async () => {
    const { store } = await open()
    const [tenant, other] = [f.id('tenant'), f.id('tenant')]
    expect(await store.appendTrail(trailRecord(tenant, 2))).toBe(false)
    expect(await store.appendTrail(trailRecord(tenant, 1, { previous: 'made-up' }))).toBe(false)
    expect(await store.appendTrail(trailRecord(tenant, 1))).toBe(true)
    expect(await store.appendTrail(trailRecord(tenant, 1, { hash: 'another' }))).toBe(false)
    expect(await store.appendTrail(trailRecord(tenant, 2, { previous: 'another' }))).toBe(false)
    expect(await store.appendTrail(trailRecord(tenant, 2))).toBe(true)
    expect(await store.appendTrail(trailRecord(other, 1))).toBe(true)
    expect(await store.readTrail(tenant, { limit: 10 })).toEqual([trailRecord(tenant, 2), trailRecord(tenant, 1)])
    expect(await store.readTrail(tenant, { limit: 1 })).toEqual([trailRecord(tenant, 2)])
    expect(await store.readTrail(tenant, { limit: 10, before: 2 })).toEqual([trailRecord(tenant, 1)])
    expect(await store.readTrail(f.id('nobody'), { limit: 10 })).toEqual([])
  })

  it('S17 of several that would be the next at once, one is', async () => {
    const { store } = await open()
    const tenant = f.id('tenant')
    const wanted = Array.from({ length: 8 }, (_, i) => trailRecord(tenant, 1, { hash: `hash-of-${i}` }))
    const taken = await Promise.all(wanted.map(one => store.appendTrail(one)))
    expect(taken.filter(Boolean)).toHaveLength(1)
    expect(await store.readTrail(tenant, { limit: 10 })).toEqual([wanted[taken.indexOf(true)]])
  })

  it('S17 S11 a name with a control character is no record', async () => {
    const { store } = await open()
    const tenant = f.id('tenant')
    await expect(store.appendTrail(trailRecord(tenant, 1, { principal: 'a\u0000b' }))).rejects.toThrow(
      /control character/,
    )
    expect(await store.readTrail(tenant, { limit: 10 })).toEqual([])
  })
}
