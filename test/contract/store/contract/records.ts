import { expect, it } from 'vitest'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

export function recordContract(open: () => Promise<Opened>): void {
  it('prefers the tenant’s own workflow to the shared one, and lists each id once', async () => {
    const { store } = await open()
    const shared = { tenant: null, workflowId: 'w', digest: 'd1', definition: '{"v":1}', updatedAt: f.T0 }
    const own = { tenant: 'acme', workflowId: 'w', digest: 'd2', definition: '{"v":2}', updatedAt: f.T0 + 1 }
    const second = { ...shared, workflowId: 'a', digest: 'd3', definition: '{"v":3}' }
    for (const record of [shared, own, second]) await store.putWorkflow(record)
    expect(await store.getWorkflow('acme', 'w')).toEqual(own)
    expect(await store.getWorkflow('other', 'w')).toEqual(shared)
    expect(await store.getWorkflow('acme', 'a')).toEqual(second)
    expect(await store.getWorkflow('acme', 'none')).toBeUndefined()
    expect(await store.listWorkflows('acme')).toEqual([second, own])
    expect(await store.listWorkflows('other')).toEqual([second, shared])
  })

  it('never changes a definition under its digest; a workflow moves to a new one', async () => {
    const { store } = await open()
    const v1 = { tenant: 'acme', workflowId: 'w', digest: 'd1', definition: '{"v":1}', updatedAt: f.T0 }
    await store.putWorkflow(v1)
    await store.putWorkflow({ ...v1, definition: '{ "v": 1 }', updatedAt: f.T0 + 1 })
    expect(await store.getDefinition('d1')).toBe('{"v":1}')
    await store.putWorkflow({ ...v1, digest: 'd2', definition: '{"v":2}', updatedAt: f.T0 + 2 })
    expect(await store.getWorkflow('acme', 'w')).toMatchObject({ digest: 'd2', definition: '{"v":2}' })
    expect(await store.getDefinition('d1')).toBe('{"v":1}')
    expect(await store.getDefinition('none')).toBeUndefined()
  })

  it('lets exactly one of 50 parallel requests claim a receipt', async () => {
    const { store } = await open()
    const base = f.receipt({ state: 'pending', leaseUntil: f.T0 + 1000 })
    const claims = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.claimReceipt({ ...base, leaseOwner: `request-${i}` }, f.T0)),
    )
    expect(claims.filter(one => one.claimed)).toHaveLength(1)
    const winner = await store.getReceipt(base)
    for (const one of claims) if (!one.claimed) expect(one.receipt).toEqual(winner)
  })

  it('lets a receipt be taken over once its lease is over, for the same request only', async () => {
    const { store } = await open()
    const pending = f.receipt({ state: 'pending', leaseOwner: 'a', leaseUntil: f.T0 + 1000 })
    expect(await store.claimReceipt(pending, f.T0)).toEqual({ claimed: true })
    const rival = { ...pending, leaseOwner: 'b', leaseUntil: f.T0 + 9000 }
    expect(await store.claimReceipt(rival, f.T0 + 999)).toEqual({ claimed: false, receipt: pending })
    const foreign = { ...rival, digest: 'another body' }
    expect(await store.claimReceipt(foreign, f.T0 + 2000)).toEqual({ claimed: false, receipt: pending })
    const takers = ['b', 'c', 'd'].map(leaseOwner => store.claimReceipt({ ...rival, leaseOwner }, f.T0 + 1000))
    expect((await Promise.all(takers)).filter(one => one.claimed)).toHaveLength(1)
  })

  it('finishes a receipt for its claimer only, and once', async () => {
    const { store } = await open()
    const pending = f.receipt({ state: 'pending', leaseOwner: 'a' })
    await store.claimReceipt(pending, f.T0)
    const done = { ...pending, state: 'completed', status: 200, body: '{}' } as const
    await store.finishReceipt({ ...done, leaseOwner: 'b' })
    expect(await store.getReceipt(pending)).toEqual(pending)
    await store.finishReceipt(done)
    await store.finishReceipt({ ...done, body: '{"late":true}' })
    expect(await store.getReceipt(pending)).toEqual(done)
    expect(await store.claimReceipt(pending, f.T0 + 1e9)).toEqual({ claimed: false, receipt: done })
    await store.deleteReceipt(pending)
    expect(await store.getReceipt(pending)).toBeUndefined()
    await store.finishReceipt(done)
    expect(await store.getReceipt(pending)).toBeUndefined()
  })

  it('lets the retry of a retryable failure claim again', async () => {
    const { store } = await open()
    const pending = f.receipt({ state: 'pending', leaseOwner: 'a', leaseUntil: f.T0 + 1000 })
    await store.claimReceipt(pending, f.T0)
    await store.finishReceipt({ ...pending, state: 'retryable-failure', status: 503 })
    expect(await store.claimReceipt({ ...pending, digest: 'x' }, f.T0)).toMatchObject({ claimed: false })
    expect(await store.claimReceipt(pending, f.T0)).toEqual({ claimed: true })
  })

  it('purges receipts by age', async () => {
    const { store } = await open()
    const receipts = Array.from({ length: 30 }, (_, i) => f.receipt({ at: f.T0 + i }))
    for (const receipt of receipts) await store.claimReceipt(receipt, f.T0)
    expect(await store.purgeReceipts(f.T0 + 20)).toBe(20)
    expect(await store.purgeReceipts(f.T0 + 20)).toBe(0)
    expect(await store.getReceipt(receipts[19]!)).toBeUndefined()
    expect(await store.getReceipt(receipts[20]!)).toEqual(receipts[20])
  })

  it('stores, lists, finds and changes API keys', async () => {
    const { store } = await open()
    const MAKERS = [
      { tenant: 'ops', principal: 'root' },
      { tenant: 'acme', principal: 'ann "x"' },
    ]
    const [a, b] = [
      f.apiKey({ keyId: 'key_a' }),
      f.apiKey({ keyId: 'key_b', test: true, expiresAt: f.T0 + 1, madeBy: MAKERS }),
    ]
    await store.putKey(b)
    await store.putKey(a)
    expect(await store.listKeys()).toEqual([a, b])
    expect(await store.findKey(b.hash)).toEqual(b)
    expect(await store.findKey(`${b.hash.slice(0, -1)}`)).toBeUndefined()
    const revoked = { ...b, revokedAt: f.T0 + 2, scopes: [] }
    await store.putKey(revoked)
    expect(await store.findKey(b.hash)).toEqual(revoked)
    await expect(store.putKey(f.apiKey({ hash: a.hash }))).rejects.toThrow()
    expect(await store.listKeys()).toEqual([a, revoked])
  })
}
