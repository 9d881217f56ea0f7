import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definitionShape } from '../../src/http/definition-shape.js'
import { registerAsking } from './asking.js'
import { startHttp, type TestHost } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp({ config: { version: '9.9.9', conformance: true, fixtures: ['conformance-noop'] } })
})
afterAll(() => host.close())

const SCHEMAS = '/work/shared/openwop/schemas'

/** The protocol's own schemas, where they are at hand; they are not part of this repository. */
function protocolSchema(name: string) {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  for (const file of readdirSync(SCHEMAS, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.json')) ajv.addSchema(JSON.parse(readFileSync(`${SCHEMAS}/${file}`, 'utf8')))
  }
  return ajv.getSchema(`https://openwop.dev/spec/v1/${name}.schema.json`)!
}

describe('discovery (contract core §1)', () => {
  test('is public JSON with the required fields and families at the root', async () => {
    const reply = await host.call(null, { url: '/.well-known/openwop' })
    expect(reply.status).toBe(200)
    expect(reply.headers['cache-control']).toBe('public, max-age=300')
    expect(reply.json).toMatchObject({
      protocolVersion: '1.0',
      supportedEnvelopes: ['clarification.request'],
      schemaVersions: {},
      engineVersion: 1,
      implementation: { name: 'assay', version: '9.9.9' },
      runs: { pauseResume: { supported: true } },
      replay: { supported: true, modes: ['replay', 'branch'], sideEffectSuppression: 'recorded-outcome' },
      debugBundle: { supported: true },
      webhooks: { supported: true, signatureAlgorithms: ['v1'], durable: false },
      auth: { profiles: ['openwop-audit-log-integrity'], auditLogIntegrity: { hashChain: true } },
      extensions: { interrupts: { signedCallbackTokens: true } },
      fixtures: ['conformance-noop'],
    })
    expect(reply.json.limits.maxRequestBodyBytes).toBe(1024 * 1024)
    expect(reply.json.capabilities.idempotency).toEqual(reply.json.idempotency)
    expect(reply.text).not.toContain('"edit"')
  })

  test('its ETag answers 304, also with Cache-Control: no-cache', async () => {
    const { etag } = (await host.call(null, { url: '/.well-known/openwop' })).headers as { etag: string }
    const headers = { 'if-none-match': etag, 'cache-control': 'no-cache' }
    expect((await host.call(null, { url: '/.well-known/openwop', headers })).status).toBe(304)
  })

  test('fixtures are advertised in conformance mode only', async () => {
    const plain = await startHttp({ config: { fixtures: ['conformance-noop'] } })
    expect((await plain.call(null, { url: '/.well-known/openwop' })).json).not.toHaveProperty('fixtures')
    await plain.close()
  })

  test.skipIf(!existsSync(SCHEMAS))(
    'document, snapshot, events and errors satisfy the protocol’s schemas',
    async () => {
      const check = (name: string, value: unknown) => {
        const validate = protocolSchema(name)
        expect(validate(value), `${name}: ${JSON.stringify(validate.errors)}`).toBe(true)
      }
      check('capabilities', (await host.call(null, { url: '/.well-known/openwop' })).json)
      await registerAsking(host)
      for (const workflowId of ['noop', 'approve', 'clarify', 'event']) {
        const created = await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId } })
        check('run-snapshot', (await host.call('alice', { url: created.json.statusUrl })).json)
        for (const event of (await host.call('alice', { url: `${created.json.eventsUrl}/poll` })).json.events)
          check('run-event', event)
      }
      check('error-envelope', (await host.call(null, { url: '/v1/runs' })).json)
    },
  )
})

describe('OpenAPI', () => {
  test('describes every route of the table from the schemas that check requests', async () => {
    const { json } = await host.call(null, { url: '/v1/openapi.json' })
    expect(json.openapi).toMatch(/^3\.[1-9]/)
    for (const route of host.app.routeTable) {
      const operation = json.paths[route.path]?.[route.method.toLowerCase()]
      expect(operation?.operationId).toBe(route.operation)
      const scopes = [route.access, route.alsoNeeds].filter(scope => scope !== undefined)
      const open = route.access === 'public' || route.access === 'token'
      expect(operation.security).toEqual(open ? [] : [{ key: scopes }])
    }
    const body = json.paths['/v1/runs'].post.requestBody.content['application/json'].schema
    expect(body).toMatchObject({ type: 'object', required: ['workflowId'], additionalProperties: false })
  })

  test('every schema in it compiles', async () => {
    const { json } = await host.call(null, { url: '/v1/openapi.json' })
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    const schemas: object[] = []
    JSON.stringify(json, (key, value) => {
      if (key === 'schema' && value.$ref === undefined) schemas.push(value)
      return value
    })
    expect(schemas.length).toBeGreaterThan(20)
    for (const schema of schemas) expect(() => ajv.compile(schema)).not.toThrow()
  })
})

const FIXTURES = '/work/shared/openwop/fixtures'

describe('workflow definitions', () => {
  test.skipIf(!existsSync(FIXTURES))('the protocol’s own fixtures have the documented shape', async () => {
    for (const file of readdirSync(FIXTURES)) {
      expect([file, definitionShape(JSON.parse(readFileSync(`${FIXTURES}/${file}`, 'utf8')))]).toEqual([
        file,
        undefined,
      ])
    }
  })
})
