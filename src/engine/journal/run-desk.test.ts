import { describe, expect, it } from 'vitest'
import { sha256 } from '../../digest.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { glassVault } from '../../testing/agents.js'
import { NO_TURNS } from '../../timing/turns.js'
import { createRunDesk } from './run-desk.js'

async function rig(...ids: string[]) {
  const store = new MemoryStore()
  for (const id of ids) {
    const body = Buffer.from(id)
    const content = { tenant: 'acme', contentId: id, runId: null, body, text: id, sealed: false, pieces: 0 }
    const key = { space: 'memory' as const, scope: 'team', ref: 'notes', id, op: 'put' as const, tags: [], at: 1 }
    const write = { ...key, expiresAt: null, content, hash: sha256(body), contentType: null, ifMatch: null }
    await store.writeOutside('acme', [write], null)
  }
  const settings = { maxBytes: { memory: 10, workspace: 10 }, maxEntries: { memory: 2, workspace: 2 }, fullText: true }
  const desk = createRunDesk({ store, vault: glassVault, redact: { text: text => text }, turns: NO_TURNS, settings })
  const { memory: upTo } = await store.heads('acme', 'team')
  const view = [{ scope: 'team', upTo, runs: [], at: 2 }]
  const seat = { tenant: 'acme', runId: 'r', id: 'e', desk: { memory: { scope: 'team', view } } } as never
  const put = (id: string, content = 'x') => desk.put(seat, { space: 'memory', ref: 'notes', id, content, tags: [] })
  return { put }
}

describe('what a run may keep', () => {
  it('is so many entries of a scope; those that are there can be written over', async () => {
    const { put } = await rig('a', 'b')
    expect(await put('c')).toEqual({
      ok: false,
      message: expect.stringMatching(/there are 2 already.*forget one first/),
    })
    expect(await put('a')).toMatchObject({ ok: true })
    expect(await (await rig('a')).put('b')).toMatchObject({ ok: true })
  })

  it('counts what is there, not how often it was written', async () => {
    const { put } = await rig('a', 'a', 'a')
    expect(await put('b')).toMatchObject({ ok: true })
  })

  it('is so many bytes of an entry, and says both', async () => {
    const { put } = await rig()
    const refused = { ok: false, message: expect.stringMatching(/takes 11 bytes; an entry of memory may have 10/) }
    expect(await put('a', 'x'.repeat(11))).toEqual(refused)
  })
})

describe('what a run is shown of its files', () => {
  it('is their names, of whatever kind they are: none of them is opened', async () => {
    const store = new MemoryStore()
    const opened: string[] = []
    const watched = new Proxy(store, {
      get(whole, name) {
        if (name === 'readContent') opened.push(String(name))
        const value = Reflect.get(whole, name)
        return typeof value === 'function' ? value.bind(whole) : value
      },
    })
    for (const [id, body] of [
      ['a.md', Buffer.from('text')],
      ['b.png', Buffer.from([0, 255])],
    ] as const) {
      const content = { tenant: 'acme', contentId: id, runId: null, body, text: null, sealed: false, pieces: 0 }
      const key = { space: 'workspace' as const, scope: '', ref: '', id, op: 'put' as const, tags: [], at: 1 }
      const write = { ...key, expiresAt: null, content, hash: sha256(body), contentType: 'x/y', ifMatch: null }
      await store.writeOutside('acme', [write], null)
    }
    const settings = { maxBytes: { memory: 9, workspace: 9 }, maxEntries: { memory: 9, workspace: 9 }, fullText: true }
    const desk = createRunDesk({
      store: watched,
      vault: glassVault,
      redact: { text: text => text },
      turns: NO_TURNS,
      settings,
    })
    const view = [{ scope: '', upTo: 2, runs: [], at: 2 }]
    const seat = { tenant: 'acme', runId: 'r', id: 'e', desk: { workspace: { scope: '', view } } } as never
    const looked = await desk.list(seat, 'workspace', { ref: '', limit: 9 })
    expect(looked).toMatchObject({ ok: true, entries: [{ id: 'b.png' }, { id: 'a.md' }], read: { space: 'workspace' } })
    expect(looked.ok && looked.read.rows).toHaveLength(2)
    expect(opened).toEqual([])
    await desk.read(seat, 'workspace', { ref: '', id: 'a.md' })
    expect(opened).toHaveLength(1)
  })
})

describe('names that hold a secret', () => {
  it('are none: nothing is kept under them', async () => {
    const settings = { maxBytes: { memory: 9, workspace: 9 }, maxEntries: { memory: 9, workspace: 9 }, fullText: true }
    const redact = { text: (text: string) => text.replaceAll('s3cr3t', '[REDACTED:x]') }
    const desk = createRunDesk({ store: new MemoryStore(), vault: glassVault, redact, turns: NO_TURNS, settings })
    const place = { scope: 'team', view: [{ scope: 'team', upTo: 0, runs: [], at: 2 }] }
    const seat = { tenant: 'acme', runId: 'r', id: 'e', desk: { memory: place, workspace: place } } as never
    const refused = { ok: false, message: expect.stringContaining('its name holds a secret') }
    const entry = { space: 'memory' as const, ref: 'notes', id: 'k', content: 'x', tags: [] }
    expect(await desk.put(seat, entry)).toMatchObject({ ok: true })
    expect(await desk.put(seat, { ...entry, id: 'a s3cr3t' })).toEqual(refused)
    expect(await desk.put(seat, { ...entry, ref: 's3cr3t' })).toEqual(refused)
    const file = { ...entry, space: 'workspace' as const, ref: '', id: 'a.md' }
    expect(await desk.put(seat, { ...file, contentType: 'text/s3cr3t' })).toEqual(refused)
    expect(await desk.put(seat, { ...file, id: 's3cr3t.md' })).toEqual(refused)
    // R-MEM-15: in words they are masked.
    expect(await desk.put(seat, { ...entry, tags: ['s3cr3t'] })).toMatchObject({ entry: { tags: ['[REDACTED:x]'] } })
  })
})

describe('a scope that is full, and words that are looked for', () => {
  it('are gone through in turns of their tenant, page by page', async () => {
    const store = new MemoryStore()
    const body = Buffer.from('snow')
    const written = Array.from({ length: 450 }, (_, i) => {
      const content = { tenant: 'acme', contentId: `c${i}`, runId: null, body, text: 'snow', sealed: false, pieces: 0 }
      const key = { space: 'memory' as const, scope: 'team', ref: 'notes', id: `k${i}`, op: 'put' as const, tags: [] }
      const about = { at: 1, expiresAt: null, content, hash: sha256(body), bytes: 4, contentType: null, ifMatch: null }
      return { ...key, ...about }
    })
    await store.writeOutside('acme', written, null)
    const told: (string | number)[] = []
    const turns = {
      next: async () => undefined,
      room: (name: string) => void told.push(name),
      spent: (_: string, steps: number) => void told.push(steps),
    }
    const settings = {
      maxBytes: { memory: 9, workspace: 9 },
      maxEntries: { memory: 450, workspace: 9 },
      fullText: true,
    }
    const desk = createRunDesk({ store, vault: glassVault, redact: { text: text => text }, turns, settings })
    const view = [{ scope: 'team', upTo: 450, runs: [], at: 2 }]
    const seat = { tenant: 'acme', runId: 'r', id: 'e', desk: { memory: { scope: 'team', view } } } as never
    const refused = await desk.put(seat, { space: 'memory', ref: 'notes', id: 'one more', content: 'x', tags: [] })
    expect(refused).toMatchObject({ ok: false, message: expect.stringContaining('there are 450 already') })
    expect(told.splice(0)).toEqual(['acme', 200_000, 'acme', 200_000, 'acme', 50_000])
    expect(await desk.search(seat, 'memory', { query: 'snow', limit: 3 })).toMatchObject({ entries: [{}, {}, {}] })
    expect(told).toEqual(['acme', 1_000 + 3 * 4 * 10])
  })

  it('is full also with what gates hold of this run and of those above it', async () => {
    const asked: object[] = []
    const store = new MemoryStore()
    store.countEntries = async (_tenant, _space, _scope, held = []) => {
      asked.push(held)
      return held.length === 0 ? 4 : 10
    }
    const settings = { maxBytes: { memory: 9, workspace: 9 }, maxEntries: { memory: 10, workspace: 9 }, fullText: true }
    const deps = { store, vault: glassVault, redact: { text: (text: string) => text }, turns: NO_TURNS }
    const runs = [
      { runId: 'r', before: 7 },
      { runId: 'above', before: 3 },
    ]
    const view = [{ scope: 'team', upTo: 4, runs, at: 2 }]
    const seat = { tenant: 'acme', runId: 'r', id: 'e', desk: { memory: { scope: 'team', view } } } as never
    const entry = { space: 'memory' as const, ref: 'notes', id: 'one more', content: 'x', tags: [] }
    const one = { ...settings, maxEntries: { memory: 6, workspace: 9 } }
    expect(await createRunDesk({ ...deps, settings: one }).put(seat, entry)).toEqual({
      ok: false,
      message: expect.stringContaining('there are 6 already'),
    })
    const roomy = { ...settings, maxEntries: { memory: 11, workspace: 9 } }
    expect(await createRunDesk({ ...deps, settings: roomy }).put(seat, entry)).toMatchObject({ ok: true })
    expect(asked).toEqual([[], runs, [], runs])
    // So far below it, nothing that the logs can have told of fills it up.
    const wide = { ...settings, maxEntries: { memory: 5_000, workspace: 9 } }
    expect(await createRunDesk({ ...deps, settings: wide }).put(seat, entry)).toMatchObject({ ok: true })
    expect(asked).toHaveLength(5)
  })
})
