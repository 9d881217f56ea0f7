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

  it('lets exactly one of 50 parallel requests claim a response', async () => {
    const { store } = await open()
    const base = f.response({ state: 'pending', leaseUntil: f.T0 + 1000 })
    const claims = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.claimResponse({ ...base, leaseOwner: `request-${i}` }, f.T0)),
    )
    expect(claims.filter(one => one.claimed)).toHaveLength(1)
    const winner = await store.getResponse(base)
    for (const one of claims) if (!one.claimed) expect(one.response).toEqual(winner)
  })

  it('lets a response be taken over once its lease is over, for the same request only', async () => {
    const { store } = await open()
    const pending = f.response({ state: 'pending', leaseOwner: 'a', leaseUntil: f.T0 + 1000 })
    expect(await store.claimResponse(pending, f.T0)).toEqual({ claimed: true })
    const rival = { ...pending, leaseOwner: 'b', leaseUntil: f.T0 + 9000 }
    expect(await store.claimResponse(rival, f.T0 + 999)).toEqual({ claimed: false, response: pending })
    const foreign = { ...rival, digest: 'another body' }
    expect(await store.claimResponse(foreign, f.T0 + 2000)).toEqual({ claimed: false, response: pending })
    const takers = ['b', 'c', 'd'].map(leaseOwner => store.claimResponse({ ...rival, leaseOwner }, f.T0 + 1000))
    expect((await Promise.all(takers)).filter(one => one.claimed)).toHaveLength(1)
  })

  it('finishes a response for its claimer only, and once', async () => {
    const { store } = await open()
    const pending = f.response({ state: 'pending', leaseOwner: 'a' })
    await store.claimResponse(pending, f.T0)
    const done = { ...pending, state: 'completed', status: 200, body: '{}' } as const
    await store.finishResponse({ ...done, leaseOwner: 'b' })
    expect(await store.getResponse(pending)).toEqual(pending)
    await store.finishResponse(done)
    await store.finishResponse({ ...done, body: '{"late":true}' })
    expect(await store.getResponse(pending)).toEqual(done)
    expect(await store.claimResponse(pending, f.T0 + 1e9)).toEqual({ claimed: false, response: done })
    await store.deleteResponse(pending)
    expect(await store.getResponse(pending)).toBeUndefined()
    await store.finishResponse(done)
    expect(await store.getResponse(pending)).toBeUndefined()
  })

  it('lets the retry of a retryable failure claim again', async () => {
    const { store } = await open()
    const pending = f.response({ state: 'pending', leaseOwner: 'a', leaseUntil: f.T0 + 1000 })
    await store.claimResponse(pending, f.T0)
    await store.finishResponse({ ...pending, state: 'retryable-failure', status: 503 })
    expect(await store.claimResponse({ ...pending, digest: 'x' }, f.T0)).toMatchObject({ claimed: false })
    expect(await store.claimResponse(pending, f.T0)).toEqual({ claimed: true })
  })

  it('purges responses by age', async () => {
    const { store } = await open()
    const responses = Array.from({ length: 30 }, (_, i) => f.response({ at: f.T0 + i }))
    for (const response of responses) await store.claimResponse(response, f.T0)
    expect(await store.purgeResponses(f.T0 + 20)).toBe(20)
    expect(await store.purgeResponses(f.T0 + 20)).toBe(0)
    expect(await store.getResponse(responses[19]!)).toBeUndefined()
    expect(await store.getResponse(responses[20]!)).toEqual(responses[20])
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
