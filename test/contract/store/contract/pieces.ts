import { expect, it } from 'vitest'
import { sha256 } from '../../../../src/digest.js'
import { MissingContent } from '../../../../src/engine/ports/event-log.js'
import type { Content } from '../../../../src/engine/ports/journal.js'
import type { Piece } from '../../../../src/engine/ports/pieces.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import { TenantErased } from '../../../../src/engine/ports/tenants.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import * as j from '../journal-fixtures.js'

const BODIES = ['one', 'two', 'three'].map(text => new TextEncoder().encode(text))
const PIECES_BYTES = 11
const LIST_BYTES = 3 * 65 - 1

const piece = (contentId: string, index: number, over: Partial<Piece> = {}): Piece => ({
  tenant: 'acme',
  contentId,
  index,
  at: f.T0,
  body: BODIES[index] as Uint8Array,
  ...over,
})

const made = (contentId: string, bodies: readonly Uint8Array[] = BODIES, over: Partial<Content> = {}): Content =>
  j.content(bodies.map(body => sha256(body)).join('\n'), {
    contentId,
    text: null,
    sealed: true,
    pieces: bodies.length,
    ...over,
  })

async function upload(store: Store, over: Partial<Piece> = {}, indexes: readonly number[] = [0, 1, 2]) {
  const contentId = f.id('content')
  for (const index of indexes) await store.keepPiece(piece(contentId, index, over))
  return contentId
}

const FILE = { space: 'workspace', scope: '', ref: '', id: 'a.bin' } as const
const written = (content: Content) => j.outside(content, FILE)
const usedBy = async (store: Store, tenant = 'acme') => (await store.usageOf(tenant)).storedBytes

/** Files that are too long for one row. */
export function pieceContract(open: () => Promise<Opened>): void {
  it('S15 become content when all of them are there, and are read one by one, by their tenant alone', async () => {
    const { store } = await open()
    const contentId = await upload(store, {}, [2, 0, 0, 1])
    expect(await store.writeOutside('acme', [written(made(contentId))], null)).toMatchObject({ kind: 'written' })
    const content = await store.readContent('acme', contentId)
    expect(content).toMatchObject({ pieces: 3, sealed: true, text: null, runId: null })
    for (const [index, body] of BODIES.entries()) {
      expect(Buffer.from((await store.readPiece('acme', contentId, index))!)).toEqual(Buffer.from(body))
      expect(await store.readPiece('beta', contentId, index)).toBe(undefined)
    }
    expect(await store.readPiece('acme', contentId, 3)).toBe(undefined)
    await store.dropUpload('acme', contentId)
    await store.keepPiece(piece(contentId, 1, { body: new Uint8Array(100) }))
    await store.keepPiece(piece(contentId, 3, { body: new Uint8Array(100) }))
    expect(await store.collectUploads(f.T0 + 1_000, 10)).toBe(0)
    expect(Buffer.from((await store.readPiece('acme', contentId, 1))!)).toEqual(Buffer.from(BODIES[1]!))
    expect([await store.readPiece('acme', contentId, 3), await usedBy(store)]).toEqual([
      undefined,
      PIECES_BYTES + LIST_BYTES,
    ])
  })

  it.each([
    ['one is lacking in the middle', [0, 2], BODIES],
    ['the last is lacking', [0, 1], BODIES],
    ['there is one more than is listed', [0, 1, 2], BODIES.slice(0, 2)],
    ['they are listed in another order', [0, 1, 2], BODIES.toReversed()],
    ['one is another', [0, 1, 2], [...BODIES.slice(0, 2), new Uint8Array(5)]],
    ['none is there', [], BODIES],
  ])('S15 are no content where %s, and nothing is written of it', async (_, indexes, listed) => {
    const { store } = await open()
    const contentId = await upload(store, {}, indexes)
    const writing = store.writeOutside('acme', [written(made(contentId, listed))], null)
    await expect(writing).rejects.toBeInstanceOf(MissingContent)
    expect(await store.readContent('acme', contentId)).toBe(undefined)
    expect(await store.heads('acme', undefined)).toEqual({ memory: 0, workspace: 0 })
  })

  it('S6 S15 of another tenant make up nothing', async () => {
    const { store } = await open()
    const contentId = await upload(store, { tenant: 'beta' })
    const writing = store.writeOutside('acme', [written(made(contentId))], null)
    await expect(writing).rejects.toBeInstanceOf(MissingContent)
  })

  it('S13 are counted from the first on, and go when nothing is made of them', async () => {
    const { store } = await open()
    const [dropped, kept] = [await upload(store), await upload(store, {}, [0])]
    expect(await usedBy(store)).toBe(PIECES_BYTES + 3)
    await store.dropUpload('beta', dropped)
    await store.dropUpload('acme', dropped)
    await store.dropUpload('acme', dropped)
    expect([await usedBy(store), await store.readPiece('acme', dropped, 0)]).toEqual([3, undefined])
    await store.keepPiece(piece(kept, 1, { at: f.T0 + 50 }))
    await upload(store, { at: f.T0 + 10 }, [1])
    await upload(store, { tenant: 'beta', at: f.T0 - 5 }, [1])
    expect([await store.collectUploads(f.T0 + 40, 1), await usedBy(store, 'beta')]).toEqual([1, 0])
    expect([await store.collectUploads(f.T0 + 40, 10), await usedBy(store)]).toEqual([1, 6])
    expect([await store.collectUploads(f.T0 + 50, 10), await store.collectUploads(f.T0 + 51, 10)]).toEqual([0, 1])
    expect(await usedBy(store)).toBe(0)
  })

  it('S12 S13 go with the content that they make up, whether that was collected or destroyed', async () => {
    const { store } = await open()
    const files = [await upload(store), await upload(store), await upload(store)]
    for (const contentId of files) await store.writeOutside('acme', [written(made(contentId))], null)
    expect(await usedBy(store)).toBe(3 * (PIECES_BYTES + LIST_BYTES))
    expect(await store.collectJournal(f.T0 + 1_000_000, 1)).toBe(1)
    expect(await usedBy(store)).toBe(2 * (PIECES_BYTES + LIST_BYTES))
    expect(await store.readPiece('acme', files[0]!, 0)).toBe(undefined)
    expect(await store.destroyContent('acme', 'workspace', '', { ref: '', id: 'a.bin' })).toBe(2)
    expect(await usedBy(store)).toBe(0)
    for (const contentId of files) expect(await store.readPiece('acme', contentId, 1)).toBe(undefined)
  })

  it('S14 of an erased tenant are refused, and deleted a few at a time, those of half uploads too', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const contentId = await upload(store, { tenant: 'gone' })
    const half = await upload(store, { tenant: 'gone' }, [0])
    await upload(store, { tenant: 'gone' }, [1])
    const content = made(contentId, BODIES, { tenant: 'gone' })
    await store.writeOutside('gone', [written(content)], null)
    const others = await upload(store)
    expect(await store.eraseTenants([f.mark('gone')])).toEqual({ kind: 'marked' })
    await expect(store.keepPiece(piece(half, 1, { tenant: 'gone' }))).rejects.toBeInstanceOf(TenantErased)
    expect(await store.claimErasure({ hostId, now: f.T0, leaseMs: 1000 })).toBe('gone')
    const step = () => store.finishErasure({ tenant: 'gone', hostId, at: f.T0, limit: 2 })
    let steps = 0
    while ((await step()) === 'more') steps += 1
    expect(steps).toBeGreaterThan(0)
    for (const id of [contentId, half])
      for (const index of [0, 1, 2]) expect(await store.readPiece('gone', id, index)).toBe(undefined)
    expect([await usedBy(store, 'gone'), await store.collectUploads(f.T0 + 1, 10)]).toEqual([0, 1])
    expect(await store.readPiece('acme', others, 0)).toBe(undefined)
  })
}
