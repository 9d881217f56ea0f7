import { expect, it } from 'vitest'
import type { NewStandard } from '../../../../src/engine/ports/standards.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const standard = (over: Partial<NewStandard> = {}): NewStandard => ({
  tenant: 'acme',
  kind: 'gate',
  id: 'quality',
  hash: 'hash-1',
  body: '{"gate_id":"quality"}',
  updatedAt: f.T0,
  ...over,
})

export function standardContract(open: () => Promise<Opened>): void {
  it('counts versions: one more with every change, the same one without', async () => {
    const { store } = await open()
    const first = standard()
    const second = standard({ hash: 'hash-2', body: '{"name":"second"}', updatedAt: f.T0 + 1 })
    expect(await store.putStandard(first)).toBe(1)
    expect(await store.putStandard({ ...first, updatedAt: f.T0 + 9 })).toBe(1)
    expect(await store.listStandards('acme')).toEqual([{ ...first, version: 1 }])
    expect(await store.putStandard(second)).toBe(2)
    expect(await store.putStandard(second)).toBe(2)
    expect(await store.listStandards('acme')).toEqual([{ ...second, version: 2 }])
    expect(await store.putStandard({ ...first, updatedAt: f.T0 + 2 })).toBe(3)
    expect(await store.listStandards('acme')).toEqual([{ ...first, updatedAt: f.T0 + 2, version: 3 }])
  })

  it('gives parallel writers of one standard a version each', async () => {
    const { store, peer } = await open()
    const second = await peer()
    const versions = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? store : second).putStandard(standard({ hash: `hash-${i}` }))),
    )
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
    expect(await store.listStandards('acme')).toMatchObject([{ version: 20 }])
  })

  it('deletes, keeps counting after it, and gives what comes back unchanged its version again', async () => {
    const { store } = await open()
    const name = { tenant: 'acme', kind: 'gate', id: 'quality', now: f.T0 + 5 } as const
    expect(await store.deleteStandard(name)).toBe(false)
    await store.putStandard(standard())
    await store.putStandard(standard({ hash: 'hash-2' }))
    for (const other of [{ tenant: null }, { tenant: 'other' }, { kind: 'intent' as const }, { id: 'none' }]) {
      expect(await store.deleteStandard({ ...name, ...other })).toBe(false)
    }
    expect(await store.deleteStandard(name)).toBe(true)
    expect(await store.deleteStandard(name)).toBe(false)
    expect(await store.listStandards('acme')).toEqual([])
    const back = standard({ hash: 'hash-2', updatedAt: f.T0 + 6 })
    expect(await store.putStandard(back)).toBe(2)
    expect(await store.listStandards('acme')).toEqual([{ ...back, version: 2 }])
    await store.deleteStandard(name)
    expect(await store.putStandard(standard())).toBe(3)
    expect(await store.listStandards('acme')).toEqual([{ ...standard(), version: 3 }])
  })

  it('S6 lists the tenant’s own and the shared ones, by kind and id, and nobody else’s', async () => {
    const { store } = await open()
    const shared = [standard({ tenant: null }), standard({ tenant: null, kind: 'intent', id: 'a' })]
    const own = [standard({ kind: 'knowledge' }), standard({ id: 'a' }), standard({ hash: 'own' })]
    for (const one of [...shared, ...own, standard({ tenant: 'other', id: 'theirs' })]) await store.putStandard(one)
    const listed = (await store.listStandards('acme')).map(({ tenant, kind, id }) => [tenant, kind, id])
    expect(listed).toEqual([
      ['acme', 'gate', 'a'],
      [null, 'gate', 'quality'],
      ['acme', 'gate', 'quality'],
      [null, 'intent', 'a'],
      ['acme', 'knowledge', 'quality'],
    ])
    expect(await store.listStandards('nobody')).toHaveLength(2)
  })
}
