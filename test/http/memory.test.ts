import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/testing/manual-clock.js'
import { type HostOptions, type KeyName, startHttp, type TestHost } from './harness.js'
import { entry, listed, MEMORY, type Remembered, remember } from './journal-fixtures.js'

let host: TestHost
const start = async (options: HostOptions = {}) => {
  host = await startHttp(options)
}
beforeEach(() => start())
afterEach(() => host.close())

const put = (given: Remembered, tenant = 'acme') => remember(host.store, tenant, given)
const ids = async (query: { [name: string]: string }, key: KeyName = 'alice'): Promise<string[]> => {
  const reply = await host.call(key, { url: listed({ scope: 'team', ...query }) })
  expect(reply.status, reply.text).toBe(200)
  return reply.json.entries.map(({ id }: { id: string }) => id)
}
const consolidate = (key: KeyName = 'alice', payload: object = { scope: 'team', memoryRef: 'notes' }) =>
  host.call(key, { method: 'POST', url: `${MEMORY}:consolidate`, payload })
const told = async (key: KeyName = 'alice') => (await host.call(key, { url: '/v1/host/assay/stream' })).json.events

describe('entries of memory', () => {
  test('are listed newest first, by reference and tag, and found by their words', async () => {
    await put({ id: 'a', text: 'Snow falls in Oslo.', tags: ['weather'] })
    await put({ id: 'b', text: 'Rain falls in Bergen.', tags: ['weather', 'rain'] })
    await put({ id: 'c', text: 'Ann likes snow.', ref: 'people' })
    await put({ id: 'd', text: 'elsewhere', scope: 'other' })
    expect(await ids({})).toEqual(['c', 'b', 'a'])
    expect(await ids({ ref: 'notes' })).toEqual(['b', 'a'])
    expect(await ids({ tag: 'rain' })).toEqual(['b'])
    expect((await ids({ q: 'snow' })).sort()).toEqual(['a', 'c'])
    expect(await ids({ q: 'snow oslo' })).toEqual(['a'])
    expect(await ids({ q: 'snow', ref: 'people' })).toEqual(['c'])
    expect(await ids({ limit: '1' })).toEqual(['c'])
    expect(await ids({ ref: 'never' })).toEqual([])
  })

  test('are shown complete by their id, and cut in lists', async () => {
    const text = 'x'.repeat(5_000)
    await put({ id: 'a/b c', text, tags: ['t'] })
    const one = await host.call('alice', { url: entry('a/b c', { ref: 'notes', scope: 'team' }) })
    expect(one.json).toMatchObject({ id: 'a/b c', memoryRef: 'notes', scope: 'team', content: text, tags: ['t'] })
    expect(one.json).not.toHaveProperty('runId')
    expect(one.headers['cache-control']).toBe('private, no-store')
    const [cut] = (await host.call('alice', { url: listed({ scope: 'team' }) })).json.entries
    expect(cut).toMatchObject({ truncated: true, bytes: 5_000 })
    expect(cut.content).toHaveLength(2_000)
  })

  test('scopes are listed with how much is in them', async () => {
    await put({ id: 'a', text: 'x' })
    await put({ id: 'a', text: 'y' })
    await put({ id: 'b', text: 'y', scope: 'zoo' })
    expect((await host.call('alice', { url: `${MEMORY}/scopes` })).json.scopes).toEqual([
      { scope: 'team', entries: 1, writes: 2, oldestReadable: 0 },
      { scope: 'zoo', entries: 1, writes: 1, oldestReadable: 0 },
    ])
    expect((await host.call('alice', { url: `${MEMORY}/scopes?after=team` })).json.scopes).toHaveLength(1)
  })

  test('R-MEM-17: that have expired are nowhere to be found', async () => {
    await host.close()
    const clock = new ManualClock(1_000_000)
    await start({ clock })
    await put({ id: 'a', text: 'snow', at: 1_000_000, expiresAt: 1_000_500 })
    expect([await ids({}), await ids({ q: 'snow' })]).toEqual([['a'], ['a']])
    await clock.advance(500)
    expect([await ids({}), await ids({ q: 'snow' })]).toEqual([[], []])
    const query = { ref: 'notes', scope: 'team' }
    expect((await host.call('alice', { url: entry('a', query) })).status).toBe(404)
    expect((await host.call('alice', { url: entry('a', query), method: 'DELETE' })).status).toBe(404)
  })
})

describe('forgetting', () => {
  const forget = (id: string, more: { [name: string]: string } = {}, key: KeyName = 'alice') =>
    host.call(key, { method: 'DELETE', url: entry(id, { ref: 'notes', scope: 'team', ...more }) })

  test('makes an entry unfindable, and says who holds a copy and what removes those', async () => {
    await put({ id: 'a', text: 'snow' })
    const reply = await forget('a')
    expect(reply.status, reply.text).toBe(200)
    expect(reply.json).toMatchObject({ id: 'a', copies: { runs: 0, runIds: [] }, destroyedVersions: 0 })
    expect(reply.json.note).toMatch(/still see it.*destroy=true.*retention of runs, or erasing the tenant/)
    expect([await ids({}), await ids({ q: 'snow' })]).toEqual([[], []])
    expect((await forget('a')).status).toBe(404)
  })

  test('with destroy=true ends the content of every version, also of what was forgotten before', async () => {
    await put({ id: 'a', text: 'one' })
    await put({ id: 'a', text: 'two' })
    await forget('a')
    const reply = await forget('a', { destroy: 'true' })
    expect([reply.status, reply.json.destroyedVersions]).toEqual([200, 2])
    expect(reply.json.note).toMatch(/forks that would see it are refused/)
    expect((await forget('a', { destroy: 'true' })).status).toBe(404)
  })

  test('takes a scope of its own', async () => {
    await put({ id: 'a', text: 'one' })
    const reply = await forget('a', {}, 'reader')
    expect([reply.status, reply.json.details]).toEqual([403, { scopeRequired: 'memory:forget' }])
  })
})

describe('R-MEM-22: consolidation', () => {
  test('keeps one of entries that say the same under the same tags, tells of it once, and does nothing the second time', async () => {
    await put({ id: 'a', text: 'snow', tags: ['x', 'y'] })
    await put({ id: 'b', text: 'snow', tags: ['y', 'x'] })
    await put({ id: 'c', text: 'snow', tags: ['x'] })
    await put({ id: 'd', text: 'rain' })
    await put({ id: 'e', text: 'snow', tags: ['x', 'y'], ref: 'other' })
    const first = await consolidate()
    expect(first.json).toEqual({
      memoryRef: 'notes',
      scope: 'team',
      inputCount: 4,
      outputCount: 3,
      mergedIds: ['a'],
      redactedIds: [],
    })
    expect(await ids({})).toEqual(['e', 'd', 'c', 'b'])
    const event = {
      type: 'agent.memory.consolidated',
      payload: { memoryRef: 'notes', inputCount: 4, outputCount: 3, mergedIds: ['a'], trigger: 'on-demand' },
    }
    expect(await told()).toMatchObject([event])
    const second = await consolidate()
    expect(second.json).toMatchObject({ inputCount: 3, outputCount: 3, mergedIds: [] })
    expect(await told()).toHaveLength(1)
    expect(JSON.stringify(await told())).not.toContain('snow')
    expect(await told('bob')).toEqual([])
  })

  test('keeps the one that lasts longest, and leaves out what has expired', async () => {
    await host.close()
    const clock = new ManualClock(1_000_000)
    await start({ clock })
    await put({ id: 'lasting', text: 'snow', at: 1_000_000 })
    await put({ id: 'newer', text: 'snow', at: 1_000_001, expiresAt: 2_000_000 })
    await put({ id: 'over', text: 'snow', at: 1_000_002, expiresAt: 1_000_100 })
    await clock.advance(1_000)
    expect((await consolidate()).json).toMatchObject({ inputCount: 2, outputCount: 1, mergedIds: ['newer'] })
    expect(await ids({})).toEqual(['lasting'])
  })

  test('what stays is redacted anew, with what the host has learned since', async () => {
    await put({ id: 'a', text: 'the key is hunter2-hunter2' })
    await put({ id: 'b', text: 'the key is hunter2-hunter2' })
    host.learnSecret('CRM_KEY', 'hunter2-hunter2')
    expect((await consolidate()).json).toMatchObject({ mergedIds: ['a'], redactedIds: ['b'] })
    const { entries } = (await host.call('alice', { url: listed({ scope: 'team' }) })).json
    expect(entries).toMatchObject([{ id: 'b', content: 'the key is [REDACTED:CRM_KEY]' }])
    expect((await consolidate()).json).toMatchObject({ mergedIds: [], redactedIds: [] })
    expect(await told()).toHaveLength(1)
  })

  test('of nothing is nothing', async () => {
    expect((await consolidate()).json).toMatchObject({ inputCount: 0, outputCount: 0 })
    expect(await told()).toEqual([])
  })
})

test('R-MEM-14: the same scopes, references and ids in two tenants never meet, on any path', async () => {
  const same = { id: 'a', scope: 'team', ref: 'notes', tags: ['t'] }
  const spare = { id: 'b', scope: 'team', ref: 'notes', tags: ['t'] }
  for (const [tenant, word] of [
    ['acme', 'snow'],
    ['beta', 'rain'],
  ] as const) {
    await put({ ...same, text: `${word} of ${tenant}` }, tenant)
    await put({ ...spare, text: `${word} of ${tenant}` }, tenant)
  }
  const query = { ref: 'notes', scope: 'team' }
  const texts = async (key: KeyName, more = {}) =>
    (await host.call(key, { url: listed({ scope: 'team', ...more }) })).json.entries.map(
      ({ content }: { content: string }) => content,
    )
  expect([await texts('alice'), await texts('bob')]).toEqual([
    ['snow of acme', 'snow of acme'],
    ['rain of beta', 'rain of beta'],
  ])
  expect([await texts('bob', { q: 'snow' }), await texts('bob', { q: 'acme' })]).toEqual([[], []])
  expect(await texts('bob', { tag: 't' })).toEqual(['rain of beta', 'rain of beta'])
  expect((await host.call('bob', { url: entry('a', query) })).json.content).toBe('rain of beta')
  expect(await texts('tester')).toEqual([])
  expect((await host.call('bob', { url: `${MEMORY}/scopes` })).json.scopes).toMatchObject([{ writes: 2 }])

  expect((await consolidate('bob')).json).toMatchObject({ inputCount: 2, outputCount: 1, mergedIds: ['a'] })
  expect(await texts('alice')).toHaveLength(2)
  const gone = await host.call('bob', { method: 'DELETE', url: entry('b', { ...query, destroy: 'true' }) })
  expect(gone.json.destroyedVersions).toBe(1)
  expect(await texts('alice')).toEqual(['snow of acme', 'snow of acme'])

  await put({ id: 'only', text: 'of acme alone' })
  const [foreign, never] = [
    await host.call('bob', { url: entry('only', query) }),
    await host.call('bob', { url: entry('never', query) }),
  ]
  expect([foreign.status, foreign.text]).toEqual([404, never.text])
  const deletions = [
    await host.call('bob', { url: entry('only', { ...query, destroy: 'true' }), method: 'DELETE' }),
    await host.call('bob', { url: entry('never', { ...query, destroy: 'true' }), method: 'DELETE' }),
  ]
  expect(deletions.map(({ status, text }) => [status, text])).toEqual([
    [404, never.text],
    [404, never.text],
  ])
  expect(await told('alice')).toEqual([])
})

describe('mistakes', () => {
  test.each([
    [{}, /query\.scope is required, unless query\.at .*memory\/scopes lists/],
    [{ scope: 'team', at: 'r:1' }, /cannot both be given/],
    [{ scope: 'team', limit: '0' }, /query\.limit must be at least 1; got 0/],
    [{ at: 'yesterday' }, /query\.at must match/],
  ])('%j is refused', async (query, message) => {
    const reply = await host.call('alice', { url: listed(query as { [name: string]: string }) })
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
    expect(reply.json.message).toMatch(message)
  })

  test('an entry is asked for with its reference', async () => {
    const reply = await host.call('alice', { url: `${MEMORY}/entries/a?scope=team` })
    expect(reply.json.message).toMatch(/query\.ref is required; add it/)
  })

  test('what is no reference or id finds nothing', async () => {
    for (const ref of ['../../etc', '\0', 'x'.repeat(1400), '']) expect(await ids({ ref })).toEqual([])
    const reply = await host.call('alice', { url: entry('\0', { ref: 'notes', scope: 'team' }) })
    expect(reply.status).toBe(404)
  })
})

test('switched off, every route of memory is 501, and discovery claims nothing of it', async () => {
  await host.close()
  await start({ config: { memory: { enabled: false } } })
  const rows = host.app.routeTable.filter(({ path }) => path.startsWith(MEMORY))
  expect(rows).toHaveLength(5)
  for (const { method, path } of rows) {
    const reply = await host.call('alice', { method, url: path.replace('{memoryId}', 'x') })
    expect([path, reply.status, reply.json.error]).toEqual([path, 501, 'capability_not_provided'])
  }
  const { memory, agents, multiAgent } = (await host.call(null, { url: '/.well-known/openwop' })).json
  expect([memory, agents.memoryBackends, agents.memoryConsolidation]).toEqual([undefined, undefined, undefined])
  expect(multiAgent.executionModel).not.toHaveProperty('crossChildMemoryConcurrency')
})

test('R-CAP-11 R-MEM-1 R-MEM-16: discovery claims memory with all that belongs to it', async () => {
  const { memory, agents, multiAgent, workspace } = (await host.call(null, { url: '/.well-known/openwop' })).json
  expect(memory).toMatchObject({
    supported: true,
    maxEntrySizeBytes: 65_536,
    ttlSupported: true,
    attribution: { supported: true, emitsWriteEvents: true },
  })
  expect(agents).toMatchObject({
    memoryBackends: ['long-term'],
    memoryConsolidation: { supported: true, schedule: 'on-demand' },
  })
  expect(multiAgent.executionModel).toMatchObject({ version: 6, crossChildMemoryConcurrency: 'strict' })
  expect(workspace).toEqual({ supported: true, versioned: true, maxFileBytes: 8_388_608, maxFiles: 10_000 })
})
