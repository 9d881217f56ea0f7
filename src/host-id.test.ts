import { describe, expect, test } from 'vitest'
import { ConfigError, loadConfig } from './config.js'
import { isNamed } from './core/names.js'
import { settleHostId } from './host-id.js'
import { MemoryStore } from './store/memory/memory-store.js'
import { systemIds } from './system.js'

const at = (store = new MemoryStore()) => ({ store, ids: systemIds })

describe('R-CAP-6: the id by which others know a host', () => {
  test('is made once for each database, and is a name that a setting could give', async () => {
    const [one, other] = [at(), at()]
    const made = await settleHostId(undefined, one)
    expect(made).toMatch(/^assay-[0-9a-f]{20}$/)
    expect(isNamed('hostId', made)).toBe(true)
    expect(await settleHostId(undefined, one)).toBe(made)
    expect(await settleHostId(undefined, other)).not.toBe(made)
  })

  test('is the same for hosts that start at once on one database, whoever is first', async () => {
    const shared = at()
    const ids = await Promise.all(Array.from({ length: 8 }, () => settleHostId(undefined, shared)))
    expect(new Set(ids).size).toBe(1)
  })

  test('is the operator’s where there is one, also after one was made, and stays when the setting is left out', async () => {
    const shared = at()
    await settleHostId(undefined, shared)
    expect(await settleHostId('acme.example/assay', shared)).toBe('acme.example/assay')
    expect(await settleHostId(undefined, shared)).toBe('acme.example/assay')
    expect(await settleHostId('acme.example/assay', shared)).toBe('acme.example/assay')
  })

  test('cannot become another: two hosts with two ids on one database do not both start', async () => {
    const shared = at()
    const started = await Promise.allSettled(['a.example', 'b.example'].map(id => settleHostId(id, shared)))
    const [kept] = started.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
    const refused = started.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    expect(refused).toHaveLength(1)
    expect(refused[0]).toBeInstanceOf(ConfigError)
    expect(refused[0].message).toContain(`this database is that of host "${kept}"`)
    expect(await settleHostId(undefined, shared)).toBe(kept)
  })
})

describe('the setting', () => {
  const configured = (flags: { [name: string]: string }, env: { [name: string]: string } = {}) =>
    loadConfig({ data: '/nowhere', ...flags }, env, '/').hostId

  test('comes from a flag or a variable, and is absent by default', () => {
    expect(configured({})).toBeUndefined()
    expect(configured({ hostId: 'acme.example/assay' })).toBe('acme.example/assay')
    expect(configured({}, { ASSAY_HOST_ID: 'acme.example:8443/a_b-c' })).toBe('acme.example:8443/a_b-c')
  })

  test.each(['', ' ', '-acme', 'acme/', 'ac me', 'acme\n', 'äcme', 'a'.repeat(256), 'a?b', 'a#b', 'a"b'])(
    'cannot be %j',
    hostId => {
      expect(() => configured({ hostId })).toThrow(ConfigError)
    },
  )
})
