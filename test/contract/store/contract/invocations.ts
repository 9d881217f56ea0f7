import { expect, it } from 'vitest'
import type { Json } from '../../../../src/core/json.js'
import type { EffectClaim } from '../../../../src/engine/ports/effect-ledger.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const KEY = 'a'.repeat(64)

export function invocationContract(open: () => Promise<Opened>): void {
  it('lets exactly one of 50 parallel claims perform an effect', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const claim = f.claim(hostId)
    const states = await Promise.all(Array.from({ length: 50 }, () => store.claimEffect(claim)))
    expect(f.kinds(states)).toEqual({ claimed: 1, 'in-flight': 49 })
    expect(states).toContainEqual({ kind: 'claimed', again: false })
    await store.finishEffect(claim.id, hostId, { ok: true, output: [1, null, 'x'] })
    expect(await store.claimEffect(claim)).toEqual({ kind: 'done', outcome: { ok: true, output: [1, null, 'x'] } })
  })

  it('hands an unfinished effect of a fenced host to exactly one other, marked as possibly done', async () => {
    const { store } = await open()
    const name = f.id('name')
    const [old, peer] = [await f.host(store, name), await f.host(store)]
    const claim = f.claim(old)
    await store.claimEffect(claim)
    expect(await store.claimEffect({ ...claim, hostId: peer })).toEqual({ kind: 'in-flight' })
    await f.fence(store, name)
    const takers = Array.from({ length: 50 }, () => store.claimEffect({ ...claim, hostId: peer }))
    const states = await Promise.all(takers)
    expect(f.kinds(states)).toEqual({ claimed: 1, 'in-flight': 49 })
    expect(states).toContainEqual({ kind: 'claimed', again: true })
    await store.finishEffect(claim.id, old, 'late')
    expect(await store.claimEffect({ ...claim, hostId: peer })).toEqual({ kind: 'in-flight' })
    await store.finishEffect(claim.id, peer, null)
    await store.finishEffect(claim.id, peer, 'twice')
    expect(await store.claimEffect({ ...claim, hostId: peer })).toEqual({ kind: 'done', outcome: null })
  })

  it('an effect whose try failed for now can be claimed anew, and finished ones are forgotten when they are old', async () => {
    const { store } = await open()
    const [hostId, peer] = [await f.host(store), await f.host(store)]
    const claim = f.claim(hostId)
    await store.claimEffect(claim)
    await store.releaseEffect(claim.id, peer)
    expect(await store.claimEffect({ ...claim, hostId: peer })).toEqual({ kind: 'in-flight' })
    await store.releaseEffect(claim.id, hostId)
    expect(await store.claimEffect(claim)).toEqual({ kind: 'claimed', again: false })
    expect(await store.purgeEffects(claim.at + 1)).toBe(0)
    await store.finishEffect(claim.id, hostId, 'done')
    await store.releaseEffect(claim.id, hostId)
    expect(await store.claimEffect(claim)).toEqual({ kind: 'done', outcome: 'done' })
    expect(await store.purgeEffects(claim.at)).toBe(0)
    expect(await store.purgeEffects(claim.at + 1)).toBe(1)
  })

  it('lets go of an effect that may have happened: the same try is made again knowingly, the next one is fresh', async () => {
    const { store } = await open()
    const [hostId, peer] = [await f.host(store), await f.host(store)]
    const claim = f.claim(hostId)
    await store.claimEffect(claim)
    await store.abandonEffect(claim.id, peer)
    expect(await store.claimEffect({ ...claim, hostId: peer })).toEqual({ kind: 'in-flight' })
    await store.abandonEffect(claim.id, hostId)
    expect(await store.claimEffect(claim)).toEqual({ kind: 'claimed', again: true })
    await store.abandonEffect(claim.id, hostId)
    expect(await store.claimEffect({ ...claim, attempt: claim.attempt + 1 })).toEqual({
      kind: 'claimed',
      again: false,
    })
    await store.finishEffect(claim.id, hostId, 'done')
    await store.abandonEffect(claim.id, hostId)
    expect(await store.readEffect(claim.id)).toBe('done')
  })

  it('takes over the effect of a released host, and lets no fenced host start one', async () => {
    const { store } = await open()
    const name = f.id('name')
    const [leaver, zombie] = [await f.host(store), await f.host(store, name)]
    const peer = await f.fence(store, name)
    const claim = f.claim(leaver)
    await store.claimEffect(claim)
    await store.releaseHost(leaver)
    expect(await store.claimEffect({ ...claim, hostId: zombie })).toEqual({ kind: 'in-flight' })
    expect(await store.claimEffect(f.claim(zombie))).toEqual({ kind: 'in-flight' })
    expect(await store.claimEffect({ ...claim, hostId: peer })).toEqual({ kind: 'claimed', again: true })
  })

  it('the claim of a higher attempt than the abandoned one is a fresh try, and of the same or a lower one is not', async () => {
    const { store } = await open()
    const claims = [
      { abandoned: [1], attempt: 1, again: true },
      { abandoned: [1], attempt: 2, again: false },
      { abandoned: [2], attempt: 1, again: true },
      { abandoned: [2], attempt: 3, again: false },
      // The highest that was ever left open counts, in whatever order they were.
      { abandoned: [3, 2], attempt: 3, again: true },
      { abandoned: [1, 2], attempt: 2, again: true },
      { abandoned: [1, 2], attempt: 3, again: false },
    ]
    for (const { abandoned, attempt, again } of claims) {
      const claim = f.claim(await f.host(store))
      for (const left of abandoned) {
        const hostId = await f.host(store)
        expect(await store.claimEffect({ ...claim, hostId, attempt: left })).toMatchObject({ kind: 'claimed' })
        await store.releaseHost(hostId)
      }
      expect(await store.claimEffect({ ...claim, attempt }), JSON.stringify(abandoned)).toEqual({
        kind: 'claimed',
        again,
      })
    }
  })

  it('a higher attempt waits for a living host like any other, and gets an outcome that is there', async () => {
    const { store } = await open()
    const [hostId, peer] = [await f.host(store), await f.host(store)]
    const claim = f.claim(hostId)
    await store.claimEffect(claim)
    expect(await store.claimEffect({ ...claim, hostId: peer, attempt: 2 })).toEqual({ kind: 'in-flight' })
    await store.finishEffect(claim.id, hostId, 'first')
    expect(await store.claimEffect({ ...claim, attempt: 2 })).toEqual({ kind: 'done', outcome: 'first' })
  })

  it('reads the outcome of a finished effect only', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const claim = f.claim(hostId, { ordinal: '3.10' })
    expect(await store.readEffect(claim.id)).toBeUndefined()
    await store.claimEffect(claim)
    expect(await store.readEffect(claim.id)).toBeUndefined()
    await store.finishEffect(claim.id, hostId, { ok: true, contents: 'v1.sealed' })
    expect(await store.readEffect(claim.id)).toEqual({ ok: true, contents: 'v1.sealed' })
    const nothing = await finished(store, { hostId }, null)
    expect(await store.readEffect(nothing)).toBeNull()
  })

  it('R-REPLAY-17 finds the latest answer under a key, and never one of another tenant', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    expect(await store.findAnswer('acme', KEY)).toBeUndefined()
    // Neither the first nor the last that was kept.
    await finished(store, { hostId, tenant: 'acme', at: f.T0 }, 'oldest', KEY)
    await finished(store, { hostId, tenant: 'acme', at: f.T0 + 2 }, 'latest', KEY)
    await finished(store, { hostId, tenant: 'acme', at: f.T0 + 1 }, 'older', KEY)
    await finished(store, { hostId, tenant: 'rival', at: f.T0 + 3 }, 'of a rival', KEY)
    await finished(store, { hostId, tenant: 'acme', at: f.T0 + 4 }, 'under another key', 'b'.repeat(64))
    await finished(store, { hostId, tenant: 'acme', at: f.T0 + 5 }, 'without a key')
    await store.claimEffect(f.claim(hostId, { tenant: 'acme', at: f.T0 + 6 }))
    expect(await store.findAnswer('acme', KEY)).toBe('latest')
    expect(await store.findAnswer('rival', KEY)).toBe('of a rival')
    expect(await store.findAnswer('nobody', KEY)).toBeUndefined()
    expect(await store.findAnswer('', KEY)).toBeUndefined()
    expect(await store.findAnswer('acme', 'c'.repeat(64))).toBeUndefined()
  })

  it('an answer that came too late is not found', async () => {
    const { store } = await open()
    const name = f.id('name')
    const old = await f.host(store, name)
    const claim = f.claim(old)
    await store.claimEffect(claim)
    const peer = await f.fence(store, name)
    await store.claimEffect({ ...claim, hostId: peer })
    await store.finishEffect(claim.id, old, 'late', KEY)
    expect(await store.findAnswer('acme', KEY)).toBeUndefined()
    await store.finishEffect(claim.id, peer, 'in time')
    await store.finishEffect(claim.id, peer, 'twice', KEY)
    expect(await store.findAnswer('acme', KEY)).toBeUndefined()
    expect(await store.readEffect(claim.id)).toBe('in time')
  })

  it('forgets no effect of a run that has not ended, however old it is', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runIds = [await f.created(store, hostId), await f.created(store, hostId)]
    const ids: string[] = []
    for (const runId of runIds) ids.push(await finished(store, { hostId, runId }, runId, KEY))
    expect(await store.purgeEffects(f.T0 + 1)).toBe(0)
    const end = f.extension(runIds[0]!, 2, { events: [f.terminal(2)], status: 'completed' })
    await store.commit(f.commit(hostId, [end]))
    expect(await store.purgeEffects(f.T0 + 1)).toBe(1)
    expect(await store.readEffect(ids[0]!)).toBeUndefined()
    expect(await store.readEffect(ids[1]!)).toBe(runIds[1])
    expect(await store.findAnswer('acme', KEY)).toBe(runIds[1])
  })
}

/** Claims an effect and finishes it; tells its id. */
async function finished(
  store: Store,
  claim: Partial<EffectClaim> & { readonly hostId: string },
  outcome: Json,
  cacheKey?: string,
): Promise<string> {
  const { id } = f.claim(claim.hostId)
  await store.claimEffect(f.claim(claim.hostId, { id, ...claim }))
  await store.finishEffect(id, claim.hostId, outcome, cacheKey)
  return id
}
