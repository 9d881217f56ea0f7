import { describe, expect, it } from 'vitest'
import { noQuotas, type TenantQuotas } from '../../core/quotas.js'
import { sha256 } from '../../digest.js'
import { createSecretRegister } from '../../secrets/redactor.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { ManualClock } from '../../testing/manual-clock.js'
import { Turns } from '../../timing/turns.js'
import { createTenantVaults } from '../../vault/tenant-vaults.js'
import { createVault } from '../../vault/vault.js'
import { openPieces } from './content.js'
import { PIECE_BYTES } from './masking.js'
import { contentOfPieces, receiveFile, type UploadDeps } from './upload.js'

const MAX = 64 * 1024 * 1024
const CHUNK = 64 * 1024

function rig(quotas: Partial<TenantQuotas> = {}) {
  const clock = new ManualClock()
  const store = new MemoryStore()
  const register = createSecretRegister()
  const vault = createTenantVaults({ host: createVault([Buffer.alloc(32, 1)]), store, clock })
  let ids = 0
  const deps: UploadDeps & { readonly store: MemoryStore } = {
    store,
    usage: store,
    quotas: () => ({ ...noQuotas('acme'), ...quotas }),
    turns: new Turns(),
    clock,
    ids: { unique: () => `upload-${++ids}` },
    vault,
    redact: register.redact,
  }
  const used = async () => (await store.usageOf('acme')).storedBytes
  return { deps, store, used }
}

async function* chunks(
  total: number,
  seen: (sent: number) => void = () => undefined,
  fill = 7,
): AsyncGenerator<Buffer> {
  for (let sent = 0; sent < total; sent += CHUNK) {
    seen(sent)
    yield Buffer.alloc(Math.min(CHUNK, total - sent), fill)
  }
}

describe('a file that comes', () => {
  it('holds a few pieces, and not as much as it is long', async () => {
    const { deps, used } = rig()
    let held = 0
    let stored = 0
    const store = {
      ...deps.store,
      keepPiece: async (piece: { body: Uint8Array }) => {
        stored += piece.body.length
      },
    } as unknown as MemoryStore
    const seen = (sent: number) => {
      held = Math.max(held, sent - stored)
    }
    const found = await receiveFile({ ...deps, store }, 'acme', chunks(24 * PIECE_BYTES, seen), { maxFileBytes: MAX })
    expect(found.ok).toBe(true)
    expect(stored).toBeGreaterThan(24 * PIECE_BYTES)
    expect(held).toBeLessThan(3 * PIECE_BYTES)
    expect(await used()).toBe(0)
  })

  it('is whole where it is short, and nothing is stored of it; a longer one is what was sent, sealed in pieces', async () => {
    const { deps, store, used } = rig()
    const short = await receiveFile(deps, 'acme', chunks(PIECE_BYTES), { maxFileBytes: MAX })
    const all = Buffer.alloc(PIECE_BYTES, 7)
    expect(short.ok && [short.value.sha256, short.value.whole?.equals(all)]).toEqual([sha256(all), true])
    expect(await used()).toBe(0)
    const long = await receiveFile(deps, 'acme', chunks(3 * PIECE_BYTES + 5), { maxFileBytes: MAX })
    if (!long.ok || !long.value.pieces) throw new Error('it has no pieces')
    const { pieces } = long.value
    const sent = Buffer.alloc(3 * PIECE_BYTES + 5, 7)
    expect([long.value.sha256, pieces.bytes, pieces.hashes.length]).toEqual([sha256(sent), sent.length, 4])
    const { content, hash } = contentOfPieces('acme', pieces)
    expect(hash).toBe(sha256(content.body))
    await store.keepContent(content)
    const read: Buffer[] = []
    for await (const piece of openPieces(deps, content)) read.push(piece)
    expect(Buffer.concat(read).equals(sent)).toBe(true)
    const stored = Buffer.from((await store.readPiece('acme', pieces.contentId, 1))!)
    expect(stored.includes(Buffer.alloc(32, 7))).toBe(false)
  })

  it('does not open where its pieces have changed places', async () => {
    const { deps, store } = rig()
    const long = await receiveFile(deps, 'acme', chunks(3 * PIECE_BYTES), { maxFileBytes: MAX })
    if (!long.ok || !long.value.pieces) throw new Error('it has no pieces')
    const { content } = contentOfPieces('acme', long.value.pieces)
    const swapped = {
      ...deps,
      store: { ...store, readPiece: (t: string, id: string, i: number) => store.readPiece(t, id, 1 - i) },
    }
    const reading = async () => {
      for await (const _ of openPieces(swapped as never, content));
    }
    await expect(reading()).rejects.toThrow(/have been changed, or are not its own/)
  })

  it.each([
    ['too large', { maxFileBytes: 3 * PIECE_BYTES }, {}, 'workspace_too_large'],
    ['over the quota of its tenant', { maxFileBytes: MAX }, { storedBytes: 2 * PIECE_BYTES }, 'quota_exceeded'],
  ] as const)('and is %s is refused in the middle, and leaves nothing', async (_, limits, quotas, code) => {
    const { deps, used } = rig(quotas)
    let sent = 0
    const found = await receiveFile(
      deps,
      'acme',
      chunks(MAX / 2, at => (sent = at)),
      limits,
    )
    expect(found).toMatchObject({ ok: false, refusal: { code } })
    expect(sent).toBeLessThan(6 * PIECE_BYTES)
    expect(await used()).toBe(0)
  })

  it('and breaks off leaves nothing', async () => {
    const { deps, used } = rig()
    let most = 0
    async function* breaking() {
      for await (const chunk of chunks(8 * PIECE_BYTES)) {
        most = Math.max(most, await used())
        if (most > 2 * PIECE_BYTES) throw new Error('gone away')
        yield chunk
      }
    }
    await expect(receiveFile(deps, 'acme', breaking(), { maxFileBytes: MAX })).rejects.toThrow('gone away')
    expect(most).toBeGreaterThan(2 * PIECE_BYTES)
    expect(await used()).toBe(0)
  })
})
