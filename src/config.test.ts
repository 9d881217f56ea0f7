import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { assertSafeBinding, ConfigError, isLoopback, loadClientConfig, loadConfig, storeOf } from './config.js'

let dir: string
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-config-'))
  return () => fs.rmSync(dir, { recursive: true })
})

const write = (name: string, text: string) => fs.writeFileSync(path.join(dir, name), text)

const problemsOf = (load: () => unknown): readonly string[] => {
  try {
    load()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('loadConfig', () => {
  test('has defaults that are safe to start with', () => {
    const config = loadConfig({}, {}, dir)
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 4100,
      data: path.join(dir, '.assay'),
      database: { kind: 'sqlite', file: path.join(dir, '.assay/assay.db') },
      project: undefined,
      apiKey: undefined,
      conformance: false,
      fixtures: undefined,
      leaseMs: 10_000,
      orchestrator: { confidenceFloor: 0.5, confidenceInterruptKind: 'approval', transcriptWindow: 200 },
    })
    expect(config.limits).toMatchObject({ maxNodeExecutions: 100_000, maxRequestBodyBytes: 1_048_576, maxDepth: 16 })
    expect(config.limits.maxLoopIterations).toBe(10_000)
    expect(Object.isFrozen(config) && Object.isFrozen(config.limits)).toBe(true)
  })

  test('flags win over the environment, the environment over the file, the file over defaults', () => {
    write('assay.config.yaml', 'port: 1\nleaseMs: 1111\nlimits: { maxDepth: 3 }\n')
    const env = { ASSAY_PORT: '2', ASSAY_LEASE_MS: '2222' }
    expect(loadConfig({ port: '3' }, env, dir)).toMatchObject({ port: 3, leaseMs: 2222, limits: { maxDepth: 3 } })
  })

  test('a host keeps its name over a restart, and no other data folder has it', () => {
    const nameOf = (data: string) => loadConfig({ data, port: '0' }, {}, dir).hostName
    expect(nameOf('a')).toBe(nameOf('a'))
    expect(nameOf('a')).not.toBe(nameOf('b'))
  })

  test('an empty variable is as good as none', () => {
    expect(loadConfig({}, { ASSAY_PORT: '' }, dir).port).toBe(4100)
  })

  test('paths in the file start at the file, others at the working folder', () => {
    fs.mkdirSync(path.join(dir, 'shop'))
    write('shop/assay.config.json', '{"data": "state", "database": "sqlite:db/shop.db"}')
    const config = loadConfig({ project: 'shop' }, {}, dir)
    expect(config.data).toBe(path.join(dir, 'shop/state'))
    expect(config.database).toEqual({ kind: 'sqlite', file: path.join(dir, 'shop/db/shop.db') })
    expect(loadConfig({ project: 'shop', data: 'here' }, {}, dir).data).toBe(path.join(dir, 'here'))
  })

  test('the working folder is the project when it looks like one', () => {
    expect(loadConfig({}, {}, dir).project).toBeUndefined()
    fs.mkdirSync(path.join(dir, 'workflows'))
    expect(loadConfig({}, {}, dir).project).toBe(dir)
  })

  test('DATABASE_URL is understood, and ASSAY_DATABASE comes first', () => {
    const url = 'postgres://u:p@db/assay'
    expect(loadConfig({}, { DATABASE_URL: url }, dir).database).toEqual({ kind: 'postgres', url, pooled: false })
    expect(loadConfig({}, { DATABASE_URL: url, ASSAY_DATABASE: 'memory:' }, dir).database).toEqual({ kind: 'memory' })
  })

  test('says how PostgreSQL is reached, and a client whose environment lacks the URL does not mind', () => {
    const [url, directUrl] = ['postgres://u:p@pooler/assay', 'postgresql://u:p@server/assay']
    const env = { DATABASE_URL: url, ASSAY_DATABASE_POOLED: 'true', ASSAY_DATABASE_DIRECT_URL: directUrl }
    const { database } = loadConfig({}, env, dir)
    expect(database).toEqual({ kind: 'postgres', url, pooled: true, directUrl })
    expect(storeOf(database)).toEqual([url, { postgres: { pooled: true, directUrl } }])
    expect(storeOf(loadConfig({ database: url }, {}, dir).database)).toEqual([url, { postgres: { pooled: false } }])
    fs.writeFileSync(path.join(dir, 'assay.config.json'), '{"databasePooled": true}')
    expect(loadClientConfig({}, env, dir).data).toBe(path.join(dir, '.assay'))
    expect(() => loadConfig({ databaseDirectUrl: 'mysql://u:hidden@x/y' }, {}, dir)).toThrow(
      '--database-direct-url: databaseDirectUrl must be postgres://…',
    )
  })

  test.each(['1', 'true', 'YES'])('ASSAY_CONFORMANCE=%s turns it on', value => {
    expect(loadConfig({}, { ASSAY_CONFORMANCE: value }, dir).conformance).toBe(true)
  })
})

describe('settings of the orchestrator', () => {
  const floor = (value: string) => loadConfig({ 'orchestrator.confidenceFloor': value }, {}, dir).orchestrator
  const kind = (value: string) => loadConfig({ 'orchestrator.confidenceInterruptKind': value }, {}, dir).orchestrator

  test('R-CONF-5: the floor can be raised up to 1', () => {
    expect(['0.5', '0.75', '1'].map(value => floor(value).confidenceFloor)).toEqual([0.5, 0.75, 1])
    write('assay.config.yaml', 'orchestrator: { confidenceFloor: 0.9 }\n')
    expect(loadConfig({}, {}, dir).orchestrator.confidenceFloor).toBe(0.9)
  })

  test.each(['0.49', '0', '1.01', '-1', 'high', '0.5e0', ''])('R-CONF-5: a floor of %j is refused, and why', value => {
    const [problem, ...more] = problemsOf(() => floor(value))
    expect(more).toEqual([])
    expect(problem).toMatch(
      /^--orchestrator-confidence-floor: orchestrator\.confidenceFloor must be a number from 0\.5 to 1; a decision below 0\.5 is never carried out unseen, so the floor can be raised but not lowered \(R-CONF-5\); got /,
    )
    expect(problem).toContain(
      `got ${Number.isFinite(Number(value || 'x')) && !value.includes('e') ? value : JSON.stringify(value)}`,
    )
  })

  test.each(['approval', 'clarification', 'x-host-acme-review', 'x-host-a-b-c-1'])(
    'R-CONF-9: %s is a kind of question',
    value => {
      expect(kind(value).confidenceInterruptKind).toBe(value)
    },
  )

  test.each(['custom', 'x-host-acme', 'x-host-Acme-review', 'x-host--review', 'approval\n'])(
    'R-CONF-9: %j is none',
    value => {
      expect(problemsOf(() => kind(value))).toHaveLength(1)
    },
  )

  test('turns and transcript are bounded by whole numbers from 1 on', () => {
    const env = { ASSAY_LIMITS_MAX_LOOP_ITERATIONS: '7', ASSAY_ORCHESTRATOR_TRANSCRIPT_WINDOW: '1' }
    const { limits, orchestrator } = loadConfig({}, env, dir)
    expect([limits.maxLoopIterations, orchestrator.transcriptWindow]).toEqual([7, 1])
    const none = { 'limits.maxLoopIterations': '0', 'orchestrator.transcriptWindow': '0' }
    expect(problemsOf(() => loadConfig(none, {}, dir))).toHaveLength(2)
  })
})

describe('a folder of fixtures', () => {
  test('is found from the working folder, in conformance mode', () => {
    const config = loadConfig({ fixtures: 'suite' }, { ASSAY_CONFORMANCE: '1' }, dir)
    expect(config.fixtures).toBe(path.join(dir, 'suite'))
    expect(loadConfig({ conformance: true }, { ASSAY_FIXTURES: '/suite' }, dir).fixtures).toBe('/suite')
  })

  test('is refused in any other mode', () => {
    expect(problemsOf(() => loadConfig({ fixtures: 'suite' }, {}, dir))).toEqual([
      'fixtures: only conformance mode registers fixtures; add --conformance, or leave fixtures out',
    ])
  })
})

describe('bad settings', () => {
  test('name the setting, its source, its value and what is allowed, all at once', () => {
    write('assay.config.yaml', 'leaseMs: soon\n')
    const problems = problemsOf(() =>
      loadConfig({ port: '70000' }, { ASSAY_HOST: 'a b', ASSAY_LOG_LEVEL: 'loud' }, dir),
    )
    expect(problems).toEqual([
      `${dir}/assay.config.yaml: leaseMs must be a whole number of milliseconds from 100 to 600000; got "soon"`,
      'ASSAY_HOST: host must be a host name or IP address; got "a b"',
      '--port: port must be a whole number from 0 to 65535; got 70000',
      'ASSAY_LOG_LEVEL: log.level must be one of trace, debug, info, warn, error, fatal, silent; got "loud"',
    ])
  })

  test('secrets are not repeated in messages', () => {
    const env = { ASSAY_API_KEY: 'short', DATABASE_URL: 'mysql://root:hunter2@db' }
    const problems = problemsOf(() => loadConfig({}, env, dir)).join('\n')
    expect(problems).toContain('ASSAY_API_KEY')
    expect(problems).not.toMatch(/short|hunter2/)
  })

  test.each([
    ['prot: 1', 'FILE: prot is not a known field; did you mean port?'],
    ['limits: { maxdepht: 1 }', 'FILE: limits.maxdepht is not a known field; did you mean limits.maxDepth?'],
    ['limits: 5', 'FILE: limits must be an object of settings; got 5'],
    ['apiKey: 12345678', 'FILE: apiKey cannot be set in a file; use ASSAY_API_KEY'],
    ['- a', 'FILE: must hold an object of settings'],
    ['port: [', 'FILE: not valid YAML'],
    ['__proto__: { port: 1 }', 'FILE: the key __proto__ is not allowed'],
  ])('in a file: %s', (text, message) => {
    write('assay.config.yaml', text)
    const [problem] = problemsOf(() => loadConfig({}, {}, dir))
    expect(problem?.replaceAll(`${dir}/assay.config.yaml`, 'FILE')).toContain(message)
  })

  test('two configuration files are refused', () => {
    write('assay.config.yaml', '')
    write('assay.config.json', '{}')
    expect(problemsOf(() => loadConfig({}, {}, dir))[0]).toContain('keep one of them')
  })
})

describe('assertSafeBinding', () => {
  const binding = (host: string, apiKey?: string) => ({ host, apiKey })

  test('a loopback address needs no configured key', () => {
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) assertSafeBinding(binding(host), false)
  })

  test('any other address needs one, and not a weak one', () => {
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org']) {
      expect(isLoopback(host)).toBe(false)
      expect(() => assertSafeBinding(binding(host), false)).toThrow(/set ASSAY_API_KEY/)
      expect(() => assertSafeBinding(binding(host, 'x'.repeat(15)), true)).toThrow(/fewer than 16/)
      assertSafeBinding(binding(host, 'x'.repeat(16)), false)
      assertSafeBinding(binding(host), true)
    }
  })
})

describe('loadClientConfig', () => {
  test('flags win over ASSAY_URL and ASSAY_API_KEY', () => {
    const env = { ASSAY_URL: 'http://a', ASSAY_API_KEY: 'ka' }
    expect(loadClientConfig({}, env, dir)).toEqual({ url: 'http://a', key: 'ka', data: path.join(dir, '.assay') })
    expect(loadClientConfig({ url: 'http://b', key: 'kb' }, env, dir)).toMatchObject({ url: 'http://b', key: 'kb' })
  })

  test('an empty variable is as good as none', () => {
    const { url, key } = loadClientConfig({}, { ASSAY_URL: '', ASSAY_API_KEY: '' }, dir)
    expect([url, key]).toEqual([undefined, undefined])
  })

  test('an address that is not HTTP is refused', () => {
    expect(() => loadClientConfig({ url: 'file:///etc/passwd' }, {}, dir)).toThrow(/from --url.*use http/)
    expect(() => loadClientConfig({}, { ASSAY_URL: '4100' }, dir)).toThrow(/from ASSAY_URL/)
  })
})

describe('quotas', () => {
  test('leave something of every ceiling of the host to others, and follow the ceilings', () => {
    const { quotas, limits } = loadConfig({}, {}, '/nowhere')
    const own = quotas('acme')
    expect(own.requestsInFlight).toBeLessThan(limits.maxInflightRequests)
    expect(own.streams).toBeLessThan(own.requestsInFlight)
    expect(own.activeRuns).toBeLessThan(limits.maxActiveRuns)
    expect(own.effectsAtOnce).toBeLessThan(limits.maxConcurrentEffects)
    expect(own.weight).toBe(1)
    expect(loadConfig({ 'limits.maxConcurrentEffects': '8' }, {}, '/nowhere').quotas('acme').effectsAtOnce).toBe(6)
    expect(loadConfig({ 'limits.maxConcurrentEffects': '1' }, {}, '/nowhere').quotas('acme').effectsAtOnce).toBe(1)
  })

  test('are set for all tenants, and for single ones', () => {
    const tenants = '{"acme":{"streams":5,"weight":3}}'
    const { quotas, weights } = loadConfig({}, { ASSAY_QUOTAS_STREAMS: '7', ASSAY_QUOTAS_TENANTS: tenants }, '/nowhere')
    expect([quotas('acme').streams, quotas('acme').weight]).toEqual([5, 3])
    expect([quotas('beta').streams, quotas('beta').weight]).toEqual([7, 1])
    expect(quotas('__proto__').streams).toBe(7)
    expect(weights).toEqual({ others: 1, of: { acme: 3 } })
  })

  test.each([
    ['[]', 'quotas.tenants must be an object that names tenants, each with an object of requestsInFlight, streams'],
    ['no', 'quotas.tenants must be an object that names tenants'],
    ['{"acme":5}', 'quotas.tenants.acme must be an object; got 5'],
    [
      '{"acme":{"streems":5}}',
      'quotas.tenants.acme.streems is not a known field; did you mean quotas.tenants.acme.streams?',
    ],
    ['{"acme":{"streams":0}}', 'quotas.tenants.acme.streams must be a whole number from 1 to 1000000; got 0'],
    ['{"a b":{"streams":1}}', 'quotas.tenants has the name "a b"; use the name of a tenant'],
  ])('are refused as %s, with what is allowed', (ASSAY_QUOTAS_TENANTS, problem) => {
    expect(() => loadConfig({}, { ASSAY_QUOTAS_TENANTS }, '/nowhere')).toThrow(`ASSAY_QUOTAS_TENANTS: ${problem}`)
  })
})
