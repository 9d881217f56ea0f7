import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spare, startHttp, type TestHost } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
})
afterAll(() => host.close())

const put = (id: string, payload: object) => host.call('alice', { method: 'PUT', url: `/v1/workflows/${id}`, payload })
const postKey = (payload: object, key: 'alice' | 'tester' | 'bob' = 'alice') =>
  host.call(key, { method: 'POST', url: '/v1/keys', payload })

describe('workflows', () => {
  test('R-REST-19: 201 when new, 200 when replaced, and read back verbatim with an ETag', async () => {
    const created = await put('spare', spare)
    expect([created.status, created.json.workflowId, created.json.shared]).toEqual([201, 'spare', false])
    expect((await put('spare', { ...spare, name: 'again' })).status).toBe(200)
    const read = await host.call('alice', { url: '/v1/workflows/spare' })
    expect(read.json).toEqual({ ...spare, name: 'again' })
    const headers = { 'if-none-match': read.headers.etag as string }
    expect((await host.call('alice', { url: '/v1/workflows/spare', headers })).status).toBe(304)
    const listed = (await host.call('alice', { url: '/v1/workflows' })).json.workflows
    expect(listed.map((workflow: { workflowId: string }) => workflow.workflowId)).toEqual(
      expect.arrayContaining(['spare', 'noop']),
    )
  })

  test('the id in the path must be the id in the body', async () => {
    expect((await put('other', spare)).json).toMatchObject({ error: 'validation_error', details: { field: 'body.id' } })
  })

  test('validate checks everything and stores nothing', async () => {
    const ask = (payload: object) => host.call('bob', { method: 'POST', url: '/v1/workflows:validate', payload })
    expect((await ask(spare)).json).toEqual({ valid: true, digest: expect.any(String) })
    expect((await host.call('bob', { url: '/v1/workflows/spare' })).status).toBe(404)
    const unknownType = { ...spare, nodes: [{ ...(spare as { nodes: object[] }).nodes[0], typeId: 'core.nonsense' }] }
    expect([400, 422]).toContain((await ask(unknownType)).status)
  })

  test('R-FLOW-1: a definition with an unknown member is 400 that names it', async () => {
    const reply = await put('spare', { ...spare, color: 'red' })
    expect(reply.json).toMatchObject({ error: 'validation_error', details: { field: 'body.color' } })
  })
})

describe('keys', () => {
  test('a new key works, is shown once, and stops working when revoked', async () => {
    const made = await postKey({ scopes: ['runs:read'], principal: 'robot' })
    expect(made.status).toBe(201)
    const headers = { authorization: `Bearer ${made.json.key}` }
    expect((await host.call(null, { url: '/v1/runs', headers })).status).toBe(200)
    const listed = await host.call('alice', { url: '/v1/keys' })
    expect(listed.text).not.toContain(made.json.key)
    expect(listed.text).not.toMatch(/hash|[0-9a-f]{64}/)
    expect((await host.call('alice', { method: 'DELETE', url: `/v1/keys/${made.json.keyId}` })).status).toBe(204)
    expect((await host.call('alice', { method: 'DELETE', url: `/v1/keys/${made.json.keyId}` })).status).toBe(204)
    expect((await host.call(null, { url: '/v1/runs', headers })).json.error).toBe('key_revoked')
  })

  test('test keys have their own prefix, and a test key cannot make a live one', async () => {
    expect((await postKey({ scopes: ['runs:read'], test: true })).json.key).toMatch(/^ask_test_[\w-]{43}$/)
    expect((await postKey({ scopes: ['runs:read'], test: false }, 'tester')).status).toBe(403)
    expect((await postKey({ scopes: ['runs:read'] }, 'tester')).json.test).toBe(true)
  })

  test('a key cannot grant a scope it lacks, nor make a key for another tenant', async () => {
    const limited = await postKey({ scopes: ['keys:manage', 'runs:read'] })
    const headers = { authorization: `Bearer ${limited.json.key}` }
    const payload = { scopes: ['runs:cancel'] }
    const reply = await host.call(null, { method: 'POST', url: '/v1/keys', headers, payload })
    expect([reply.status, reply.json.details]).toEqual([403, { scopeRequired: 'runs:cancel' }])
    expect((await postKey({ scopes: ['runs:read'], tenant: 'beta' })).json).toMatchObject({
      error: 'forbidden',
      details: { scopeRequired: 'tenants:manage' },
    })
  })

  test('an operator begins a new tenant with a key of its own, and may see and revoke it', async () => {
    const payload = { scopes: ['runs:read'], tenant: 'newcomer' }
    const made = await host.call('operator', { method: 'POST', url: '/v1/keys', payload })
    expect([made.status, made.json.tenant]).toEqual([201, 'newcomer'])
    const headers = { authorization: `Bearer ${made.json.key}` }
    expect((await host.call(null, { url: '/v1/runs', headers })).json.runs).toEqual([])
    expect((await host.call('operator', { method: 'DELETE', url: `/v1/keys/${made.json.keyId}` })).status).toBe(204)
    expect((await host.call(null, { url: '/v1/runs', headers })).json.error).toBe('key_revoked')
  })

  test.each([
    {},
    { scopes: [] },
    { scopes: ['root'] },
    { scopes: ['runs:read'], expiresAt: 'soon' },
    { scopes: ['runs:read'], expiresAt: '2020-01-01T00:00:00Z' },
    { scopes: ['runs:read'], principal: 'a~b' },
  ])('%j is 400', async payload => {
    expect((await postKey(payload)).json.error).toBe('validation_error')
  })
})
