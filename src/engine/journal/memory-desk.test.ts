import { describe, expect, it } from 'vitest'
import { sha256 } from '../../digest.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { glassVault } from '../../testing/agents.js'
import { createMemoryDesk } from './memory-desk.js'

const ENTRIES = 400
/** Of entries that are looked for, before any is opened. */
const PAGES = 2

/** A scope in which every other entry says the same, under one tag. */
async function rig() {
  const store = new MemoryStore()
  const writes = Array.from({ length: ENTRIES }, (_, i) => {
    const body = Buffer.from(i % 2 === 0 ? 'the same s3cr3t' : `another ${i}`)
    const content = {
      tenant: 'acme',
      contentId: `c${i}`,
      runId: null,
      body,
      text: body.toString(),
      sealed: false,
      pieces: 0,
    }
    const key = { space: 'memory' as const, scope: 'team', ref: 'notes', id: `k${i}`, op: 'put' as const, tags: ['t'] }
    return {
      ...key,
      at: i,
      expiresAt: null,
      content,
      hash: sha256(body),
      bytes: body.length,
      contentType: null,
      ifMatch: null,
    }
  })
  await store.writeOutside('acme', writes, null)
  let made = 0
  const turns: (readonly [name: string, what: 'room' | number])[] = []
  const deps = {
    store,
    vault: glassVault,
    redact: { text: (text: string) => text.replaceAll('s3cr3t', '[REDACTED:x]') },
    clock: { now: () => ENTRIES },
    ids: { unique: () => `new-${made++}` },
    plans: () => ({ pinned: () => Promise.reject(new Error('not asked for')) }),
    turns: {
      next: async () => undefined,
      room: (name: string) => void turns.push([name, 'room']),
      spent: (name: string, steps: number) => void turns.push([name, steps]),
    },
  }
  return { desk: createMemoryDesk(deps as never, { fullText: true }), turns }
}

describe('whoever opens many entries', () => {
  it('takes turns with other tenants at each of them', async () => {
    const { desk, turns } = await rig()
    const answer = await desk.consolidate('acme', 'team', 'notes')
    expect(answer).toMatchObject({ ok: true, value: { inputCount: ENTRIES, outputCount: ENTRIES / 2 + 1 } })
    expect(turns.filter(([, what]) => what === 'room')).toHaveLength(ENTRIES + PAGES)
    const spent = turns.flatMap(([name, what]) => (what === 'room' ? [] : [[name, what > 1_000]]))
    expect(spent).toEqual(Array.from({ length: ENTRIES + PAGES }, () => ['acme', true]))
    expect(turns.slice(0, 3).map(([, what]) => what === 'room')).toEqual([true, false, true])
  })

  it('R-MEM-22: of equals one stays, redacted anew; the second pass finds nothing to do', async () => {
    const { desk } = await rig()
    const first = await desk.consolidate('acme', 'team', 'notes')
    expect(first.ok && [first.value.mergedIds.length, first.value.redactedIds]).toEqual([
      ENTRIES / 2 - 1,
      [`k${ENTRIES - 2}`],
    ])
    const again = await desk.consolidate('acme', 'team', 'notes')
    const left = ENTRIES / 2 + 1
    expect(again).toMatchObject({
      ok: true,
      value: { inputCount: left, outputCount: left, mergedIds: [], redactedIds: [] },
    })
  })
})
