import { describe, expect, it } from 'vitest'
import { sha256 } from '../../digest.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { glassVault } from '../../testing/agents.js'
import { createRunDesk } from './run-desk.js'

async function rig(...ids: string[]) {
  const store = new MemoryStore()
  for (const id of ids) {
    const body = Buffer.from(id)
    const content = { tenant: 'acme', contentId: id, runId: null, body, text: id, sealed: false }
    const key = { space: 'memory' as const, scope: 'team', ref: 'notes', id, op: 'put' as const, tags: [], at: 1 }
    const write = { ...key, expiresAt: null, content, hash: sha256(body), contentType: null, ifMatch: null }
    await store.writeOutside('acme', [write], null)
  }
  const settings = { maxBytes: { memory: 10, workspace: 10 }, maxEntries: { memory: 2, workspace: 2 }, fullText: true }
  const desk = createRunDesk({ store, vault: glassVault, redact: { text: text => text }, settings })
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
