import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definitionShape } from '../../src/http/definition-shape.js'
import { replayDeterminism } from '../../src/wire/execution-model.js'
import { directoryOf } from './agent-directory.js'
import { registerAsking } from './asking.js'
import { node, startHttp, type TestHost, workflow } from './harness.js'
import { hasProtocolSchemas, schemaErrors } from './protocol-schemas.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp({
    config: { version: '9.9.9', conformance: true },
    deps: { fixtures: () => ['conformance-noop'], agents: directoryOf(['local.notes.writer']) },
  })
})
afterAll(() => host.close())

describe('discovery (contract core §1)', () => {
  test('R-DISC-1 R-DISC-2 R-DISC-6: is public JSON with the required fields and families at the root', async () => {
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
    expect(reply.text).not.toMatch(/acme|beta|ask_|alice/)
  })

  test('R-DISC-3: its ETag answers 304, also with Cache-Control: no-cache', async () => {
    const { etag } = (await host.call(null, { url: '/.well-known/openwop' })).headers as { etag: string }
    const headers = { 'if-none-match': etag, 'cache-control': 'no-cache' }
    expect((await host.call(null, { url: '/.well-known/openwop', headers })).status).toBe(304)
  })

  test('R-DISC-4: fixtures are advertised in conformance mode only', async () => {
    const plain = await startHttp({ deps: { fixtures: () => ['conformance-noop'] } })
    const { json } = await plain.call(null, { url: '/.well-known/openwop' })
    expect([json.fixtures, json.conformance]).toEqual([undefined, undefined])
    await plain.close()
  })

  test('fixtures that are registered later are advertised from then on', async () => {
    let fixtures: readonly string[] = []
    const late = await startHttp({ config: { conformance: true }, deps: { fixtures: () => fixtures } })
    const before = await late.call(null, { url: '/.well-known/openwop' })
    expect(before.json).not.toHaveProperty('fixtures')
    fixtures = ['conformance-noop']
    const after = await late.call(null, { url: '/.well-known/openwop' })
    expect(after.json.fixtures).toEqual(fixtures)
    expect(after.headers.etag).not.toBe(before.headers.etag)
    await late.close()
  })

  test('R-CAP-1, R-CAP-2: every family is at the root, and the same under capabilities', async () => {
    const { json } = await host.call(null, { url: '/.well-known/openwop' })
    for (const family of ['multiAgent', 'agents', 'limits', 'configurable', 'conformance', 'fixtures', 'subWorkflow'])
      expect(json).toHaveProperty(family)
    for (const [family, claims] of Object.entries(json.capabilities))
      expect([family, JSON.stringify(json[family])]).toEqual([family, JSON.stringify(claims)])
    const ofTheDocument = ['protocolVersion', 'supportedEnvelopes', 'schemaVersions', 'implementation']
    const ofTheEngine = ['engineVersion', 'eventLogSchemaVersion', 'supportedTransports', 'capabilities']
    const families = Object.keys(json).filter(name => ![...ofTheDocument, ...ofTheEngine].includes(name))
    expect(Object.keys(json.capabilities).sort()).toEqual(families.sort())
  })

  test('R-CAP-4, R-CAP-5, R-CAP-6, R-CAP-8, R-VERIFY-1, R-VERIFY-20: all versions of the loop are claimed, with the settings of this host', async () => {
    const orchestrator = {
      confidenceFloor: 0.8,
      confidenceInterruptKind: 'x-host-acme-review',
      transcriptWindow: 30,
    }
    const config = { orchestrator, hostId: 'acme.example/assay', limits: { maxLoopIterations: 12 } }
    const strict = await startHttp({ config })
    const { json } = await strict.call(null, { url: '/.well-known/openwop' })
    expect(json.multiAgent).toEqual({
      executionModel: {
        supported: true,
        version: 6,
        confidenceEscalationFloor: 0.8,
        confidenceEscalationInterruptKind: 'x-host-acme-review',
        crossChildMemoryConcurrency: 'strict',
        crossHostCausation: { supported: true, hostId: 'acme.example/assay', ancestryEndpointSupported: true },
        replayDeterminism: { supported: true, llmCacheKeyRecipe: 'spec-rfc-0041', refusalDivergenceEmission: true },
        statefulResume: true,
        transcriptWindow: 30,
        verifier: { supported: true, gating: true },
      },
    })
    expect(json.extensions.verification).toMatchObject({
      gating: true,
      placements: ['phase_exit', 'workflow_exit', 'checkpoint'],
    })
    expect(json.limits.maxLoopIterations).toBe(12)
    expect(json.configurable).toMatchObject({
      maxLoopIterations: { type: 'integer', min: 1, max: 12 },
      escalationThreshold: { type: 'number', min: 0, max: 1 },
    })
    await strict.close()
  })

  test('R-MEM-6: it says that writes of children are one after the other', async () => {
    const { json } = await host.call(null, { url: '/.well-known/openwop' })
    expect(json.multiAgent.executionModel.crossChildMemoryConcurrency).toBe('strict')
  })

  test('R-REPLAY-1 R-REPLAY-3 R-CAP-7: deterministic replay is claimed with version 4 and not before; the recipe is named, and refusals where they can differ', async () => {
    const { json } = await host.call(null, { url: '/.well-known/openwop' })
    const recipe = { llmCacheKeyRecipe: 'spec-rfc-0041' }
    expect(json.multiAgent.executionModel.replayDeterminism).toEqual({
      supported: true,
      ...recipe,
      refusalDivergenceEmission: true,
    })
    expect(replayDeterminism(3, false)).toEqual({ supported: false, ...recipe })
    for (const conformance of [true, false])
      expect(replayDeterminism(4, conformance)).toEqual({ supported: true, ...recipe, refusalDivergenceEmission: true })
  })

  test('R-ENV-4: what the model has that agents use is told, and that another may take its place', async () => {
    const { json } = await host.call(null, { url: '/.well-known/openwop' })
    expect(json.modelCapabilities).toEqual({ supported: true, advertised: [], substitutionSupported: true })
  })

  test('agents per tenant and sessions of tools are not claimed', async () => {
    const { json } = await host.call(null, { url: '/.well-known/openwop' })
    expect(json.agents.manifestRuntime.installScope).toBe('host')
    expect(json.toolCatalog).not.toHaveProperty('sessionLifecycle')
  })

  test('R-CAP-3, R-CAP-10, R-HANDOFF-11, R-EVENT-1, R-MAP-7: of agents only what runs here is claimed; mocks in conformance mode only', async () => {
    const { json } = await host.call(null, { url: '/.well-known/openwop' })
    expect(json.agents).toEqual({
      supported: true,
      orchestratorPattern: 'delegate',
      goals: { judge: 'verifier', continuation: ['schedule', 'manual'], requiresBounds: true },
      orchestrator: true,
      dispatch: true,
      dispatchMapping: true,
      subRunAttestation: true,
      reasoning: { verbosity: 'summary', tokenLimit: 512, streaming: true },
      manifestRuntime: { supported: true, handoffValidation: true, installScope: 'host' },
      commitments: { supported: true, fireConditions: ['time', 'predicate'] },
      memoryBackends: ['long-term'],
      memoryConsolidation: { supported: true, schedule: 'on-demand' },
      liveRuntime: {
        supported: true,
        structuredOutput: true,
        confidenceEscalation: true,
        sources: ['workflow-node', 'run-api', 'chat-mention'],
      },
    })
    expect(json.conformance).toEqual({ mockAgent: true })
  })

  test('R-MANIF-1, R-LIVE-1: agents of manifests are claimed as soon as there is one, and both claims go together', async () => {
    let agents = directoryOf([])
    const directory = {
      list: () => agents.list(),
      get: () => undefined,
      toolsLacking: async () => new Set<string>(),
      tools: async () => [],
      toolServers: async () => [],
    }
    const empty = await startHttp({ deps: { agents: directory } })
    const claims = async () => (await empty.call(null, { url: '/.well-known/openwop' })).json.agents
    expect(await claims()).not.toHaveProperty('manifestRuntime')
    expect(await claims()).not.toHaveProperty('liveRuntime')
    agents = directoryOf(['local.notes.writer'])
    expect(await claims()).toMatchObject({ manifestRuntime: { supported: true }, liveRuntime: { supported: true } })
    await empty.close()
  })

  test('R-CAP-3: providers, prices and ceilings are claimed as they are configured', async () => {
    const budget = { maxTokens: 5000, maxCostUsd: 0.5 }
    const agents = { providers: ['openai', 'scripted'], priced: true, maxRetries: 3, budget }
    const configured = await startHttp({ config: { agents } })
    const { json } = await configured.call(null, { url: '/.well-known/openwop' })
    expect(json).toMatchObject({
      aiProviders: { supported: ['openai', 'scripted'], byok: [] },
      providerUsage: { supported: true, costEstimates: true, currency: 'USD' },
      budget: { supported: true, dimensions: ['tokens', 'cost', 'toolCalls', 'retries', 'model'], enforce: 'hard' },
      envelopes: { reliability: { supported: true, maxRetryAttempts: 4 } },
      limits: { maxBudgetTokens: 5000, maxBudgetCostUsd: 0.5 },
      prompts: { supported: true, endpointsSupported: false, observability: 'hashed', agentBindings: true },
      toolHooks: { supported: true, prePostEvents: true, perToolAuthorization: true, perToolRateLimit: true },
    })
    if (hasProtocolSchemas) expect(schemaErrors('capabilities', json)).toEqual([])
    await configured.close()
  })

  test.skipIf(!hasProtocolSchemas)(
    'R-LOG-3 R-RUN-1 R-ERR-1: document, snapshot, events and errors satisfy the protocol’s schemas',
    async () => {
      const check = (name: string, value: unknown) => expect(schemaErrors(name, value)).toEqual([])
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
  test('R-DISC-5: describes every route of the table from the schemas that check requests', async () => {
    const { json } = await host.call(null, { url: '/v1/openapi.json' })
    expect(json.openapi).toMatch(/^3\.[1-9]/)
    for (const route of host.app.routeTable) {
      const operation = json.paths[route.path]?.[route.method.toLowerCase()]
      expect(operation?.operationId).toBe(route.operation)
      const scopes = [route.access, route.alsoNeeds].filter(scope => scope !== undefined && scope !== 'authenticated')
      const open = route.access === 'public' || route.access === 'token'
      expect(operation.security).toEqual(open ? [] : [{ key: scopes }])
    }
    const body = json.paths['/v1/runs'].post.requestBody.content['application/json'].schema
    const either = [{ required: ['workflowId'] }, { required: ['agentId'] }]
    expect(body).toMatchObject({ type: 'object', anyOf: either, additionalProperties: false })
    expect(Object.keys(body.properties.configurable['x-reserved'])).toEqual(
      expect.arrayContaining(['ai', 'budget', 'reasoningVerbosity']),
    )
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
    // A host without deployments must refuse a channel.
    const files = readdirSync(FIXTURES).filter(file => file !== 'conformance-agent-channel-dispatch.json')
    for (const file of files) {
      expect([file, definitionShape(JSON.parse(readFileSync(`${FIXTURES}/${file}`, 'utf8')))]).toEqual([
        file,
        undefined,
      ])
    }
  })

  const pinned = (agent: object) => definitionShape(workflow('w', [node('n', 'core.identity', { agent })]))

  test('R-EVENT-8: a node may pin the agent that acts in it', () => {
    expect(pinned({ agentId: 'abc' })).toBeUndefined()
    const all = { name: 'A', modelClass: 'code', memoryRef: 'm', version: '1.0.0', sourceManifestId: 's' }
    expect(pinned({ agentId: 'vendor.acme.support.tier1', ...all })).toBeUndefined()
  })

  test.each([
    [{}, 'agentId'],
    [{ agentId: 'ab' }, 'agentId'],
    [{ agentId: 'a'.repeat(257) }, 'agentId'],
    [{ agentId: 'abc', modelClass: 'clever' }, 'modelClass'],
    [{ agentId: 'abc', mood: 'good' }, 'mood'],
  ])('%j is no agent', (agent, field) => {
    expect(pinned(agent)).toMatchObject({
      code: 'validation_error',
      details: { field: `definition.nodes[0].agent.${field}` },
    })
  })

  test('R-CAP-3: a channel is refused and says why, because nothing is deployed here', () => {
    expect(pinned({ agentId: 'abc', channel: 'stable' })?.message).toBe(
      'definition.nodes[0].agent.channel is not supported, because agents are not deployed to channels here; pin a version instead; got "stable".',
    )
  })
})
