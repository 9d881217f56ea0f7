import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { ConfigError, loadConfig, usableProviders } from '../config.js'

let dir: string
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-agents-'))
  return () => fs.rmSync(dir, { recursive: true })
})

const load = (text: string, env: { [name: string]: string } = {}, flags: { [name: string]: string } = {}) => {
  if (text !== '') fs.writeFileSync(path.join(dir, 'assay.config.yaml'), text)
  return loadConfig(flags, env, dir)
}

const problemsOf = (text: string, env: { [name: string]: string } = {}): readonly string[] => {
  try {
    load(text, env)
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map(line => line.replaceAll(`${dir}/assay.config.yaml`, 'FILE'))
    throw error
  }
  return []
}

describe('without a file', () => {
  const workerOf = (env: { [name: string]: string }) => {
    const { provider, model } = load('', env).agents.models.worker
    return `${provider}:${model}`
  }

  test.each([
    [{}, 'scripted:scripted'],
    [{ OPENAI_API_KEY: '' }, 'scripted:scripted'],
    [{ OPENAI_API_KEY: 'k' }, 'openai:gpt-5-mini'],
    [{ OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }, 'openai:gpt-5-mini'],
    [{ OPENAI_API_KEY: 'k', OPENAI_MODEL: 'llama3:8b' }, 'openai:llama3:8b'],
    [{ OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }, 'openai:gpt-5-mini'],
    [{ ANTHROPIC_API_KEY: 'k', GOOGLE_GENERATIVE_AI_API_KEY: 'k' }, 'anthropic:claude-sonnet-4-5'],
    [{ GOOGLE_GENERATIVE_AI_API_KEY: 'k' }, 'google:gemini-2.5-flash'],
    [{ OPENAI_API_KEY: 'k', ASSAY_MODELS_WORKER: 'scripted:scripted' }, 'scripted:scripted'],
  ])('with %j agents use %s', (env, worker) => {
    expect(workerOf(env)).toBe(worker)
  })

  test('the known providers are there, with where their keys are found, and the rest has defaults', () => {
    const { agents, budget, dataKeys } = load('', { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' })
    expect(agents.models).toEqual({
      worker: { provider: 'openai', model: 'gpt-5-mini' },
      supervisor: { provider: 'openai', model: 'gpt-5-mini' },
      verifier: { provider: 'openai', model: 'gpt-5-mini' },
      classes: {},
      capabilities: {},
      fallbacks: {},
      providers: {
        openai: { kind: 'openai', apiKey: { env: 'OPENAI_API_KEY' }, baseUrl: 'http://127.0.0.1:9/v1' },
        anthropic: { kind: 'anthropic', apiKey: { env: 'ANTHROPIC_API_KEY' } },
        google: { kind: 'google', apiKey: { env: 'GOOGLE_GENERATIVE_AI_API_KEY' } },
        scripted: { kind: 'scripted' },
      },
      maxOutputTokens: 4096,
      timeoutMs: 120_000,
      maxTries: 4,
      maxRounds: 20,
      maxRetries: 2,
      reuseAnswers: false,
      cacheKeyRecipe: 'v2',
      script: undefined,
    })
    expect(agents.tools).toEqual({ mcp: {}, rules: {}, httpAllow: [], timeoutMs: 30_000, maxResultBytes: 65_536 })
    expect([agents.prices, agents.watch, agents.project, budget, dataKeys]).toEqual([{}, false, undefined, {}, []])
  })

  test('a server of one’s own is asked without a key when there is none', async () => {
    const config = load('', { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' })
    expect(config.agents.models.providers.openai).toEqual({ kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1' })
    expect(await usableProviders(config)).toEqual(['openai', 'scripted'])
    expect(await usableProviders(load('', { ANTHROPIC_API_KEY: 'k' }))).toEqual(['anthropic', 'scripted'])
  })

  test('a base URL that is none is refused and not repeated', () => {
    expect(problemsOf('', { OPENAI_BASE_URL: 'user:hunter2@db' })).toEqual([
      'OPENAI_BASE_URL: models.providers.openai.baseUrl must be an http:// or https:// address of at most 2048 characters, without user name and password',
    ])
  })
})

const EVERYTHING = `
watch: true
models:
  worker: openai:gpt-5-mini
  supervisor: ollama:llama3:8b
  classes: { reasoning: "anthropic:claude-sonnet-4-5" }
  providers:
    openai: { baseUrl: "https://proxy.example/v1" }
    anthropic: { apiKey: { file: keys/anthropic } }
    ollama: { baseUrl: "http://127.0.0.1:11434/v1" }
  maxOutputTokens: 100
  timeoutMs: 5000
  maxTries: 1
  maxRounds: 3
  maxRetries: 0
  reuseAnswers: true
  cacheKeyRecipe: v1
  script: scripted.yaml
prices:
  openai:gpt-5-mini: { input: 0.25, output: 2, cacheRead: 0.025 }
  ollama:*: { input: 0, output: 0 }
tools:
  mcp:
    files: { command: node, args: [server.mjs], env: { TOKEN: { env: FILES_TOKEN }, MODE: quiet } }
    search: { url: "https://search.example/mcp", headers: { Authorization: { env: SEARCH_KEY }, Accept-Language: en } }
  rules:
    mcp:files.write: { scopes: ["tools:write"], ratePerMinute: 10, repeat: never, timeoutMs: 5000 }
  httpAllow: ["https://example.com/docs/"]
  timeoutMs: 1000
  maxResultBytes: 2048
budget: { maxTokens: 1000, maxCostUsd: 0.5, modelDeny: ["*-preview"] }
`

describe('a file', () => {
  test('says all of it, its paths from where it is', () => {
    const { agents, budget } = load(EVERYTHING)
    expect(agents).toEqual({
      project: dir,
      watch: true,
      models: {
        worker: { provider: 'openai', model: 'gpt-5-mini' },
        supervisor: { provider: 'ollama', model: 'llama3:8b' },
        verifier: { provider: 'openai', model: 'gpt-5-mini' },
        classes: { reasoning: { provider: 'anthropic', model: 'claude-sonnet-4-5' } },
        capabilities: {},
        fallbacks: {},
        providers: {
          openai: { kind: 'openai', apiKey: { env: 'OPENAI_API_KEY' }, baseUrl: 'https://proxy.example/v1' },
          anthropic: { kind: 'anthropic', apiKey: { file: path.join(dir, 'keys/anthropic') } },
          google: { kind: 'google', apiKey: { env: 'GOOGLE_GENERATIVE_AI_API_KEY' } },
          scripted: { kind: 'scripted' },
          ollama: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1' },
        },
        maxOutputTokens: 100,
        timeoutMs: 5000,
        maxTries: 1,
        maxRounds: 3,
        maxRetries: 0,
        reuseAnswers: true,
        cacheKeyRecipe: 'v1',
        script: path.join(dir, 'scripted.yaml'),
      },
      prices: {
        'openai:gpt-5-mini': { input: 0.25, output: 2, cacheRead: 0.025 },
        'ollama:*': { input: 0, output: 0 },
      },
      tools: {
        mcp: {
          files: {
            kind: 'stdio',
            command: 'node',
            args: ['server.mjs'],
            cwd: dir,
            env: { TOKEN: { env: 'FILES_TOKEN' }, MODE: 'quiet' },
          },
          search: {
            kind: 'http',
            url: 'https://search.example/mcp',
            headers: { Authorization: { env: 'SEARCH_KEY' }, 'Accept-Language': 'en' },
          },
        },
        rules: { 'mcp:files.write': { scopes: ['tools:write'], ratePerMinute: 10, repeat: 'never', timeoutMs: 5000 } },
        httpAllow: ['https://example.com/docs/'],
        timeoutMs: 1000,
        maxResultBytes: 2048,
      },
    })
    expect(budget).toEqual({ maxTokens: 1000, maxCostUsd: 0.5, modelDeny: ['*-preview'] })
  })

  test('gives way to a variable, and that to a flag', () => {
    const env = { ASSAY_MODELS_WORKER: 'google:gemini-2.5-flash', ASSAY_MODELS_VERIFIER: 'scripted:scripted' }
    const { models } = load(EVERYTHING, env, { 'models.worker': 'anthropic:m', watch: 'no' }).agents
    expect([models.worker.model, models.verifier.provider]).toEqual(['m', 'scripted'])
  })

  test('a folder of agents makes a project', () => {
    fs.mkdirSync(path.join(dir, 'agents'))
    expect(load('').project).toBe(dir)
  })
})

describe('what is wrong is named, with its source, its value and what is allowed', () => {
  test.each([
    ['models: { wroker: "a:b" }', 'FILE: models.wroker is not a known field; did you mean models.worker?'],
    ['modles: {}', 'FILE: modles is not a known field; did you mean models?'],
    ['models: 5', 'FILE: models must be an object of settings; got 5'],
    ['models: { worker: gpt-5 }', 'FILE: models.worker must be PROVIDER:MODEL, such as openai:gpt-5-mini; got "gpt-5"'],
    ['models: { maxTries: 0 }', 'FILE: models.maxTries must be a whole number from 1 to 100; got 0'],
    [
      'models: { classes: { resoning: "a:b" } }',
      'FILE: models.classes.resoning is not a known field; did you mean models.classes.reasoning?',
    ],
    [
      'models: { worker: "mistral:m" }',
      'models.worker: "mistral:m" names the provider mistral, which models.providers does not describe; use one of openai, anthropic, google, scripted, or describe it',
    ],
    [
      'models: { classes: { coding: "x:m" } }',
      'models.classes.coding: "x:m" names the provider x, which models.providers does not describe; use one of openai, anthropic, google, scripted, or describe it',
    ],
    [
      'models: { providers: { Big: {} } }',
      'FILE: models.providers has the name "Big"; use lower-case letters, digits and -, at most 64',
    ],
    [
      'models: { providers: { ollama: {} } }',
      'FILE: models.providers.ollama.baseUrl is required: say where the provider is found',
    ],
    [
      'models: { providers: { openai: { kind: google } } }',
      'FILE: models.providers.openai.kind must be openai; got "google"; give a provider of another kind another name',
    ],
    [
      'prices: { "openai:m": { input: 1 } }',
      'FILE: prices["openai:m"].output is required: USD per million tokens, a number from 0 to 1000000; add it',
    ],
    [
      'prices: { "openai:m": { input: -1, output: 1 } }',
      'FILE: prices["openai:m"].input must be USD per million tokens, a number from 0 to 1000000; got -1',
    ],
    [
      'prices: { gpt: { input: 1, output: 1 } }',
      'FILE: prices has the name "gpt"; use PROVIDER:MODEL, such as openai:gpt-5-mini, or PROVIDER:* for all of its models',
    ],
    ['tools: { mcp: { a: { command: x, url: "http://y" } } }', 'FILE: tools.mcp.a needs either command or url'],
    ['tools: { mcp: { a: {} } }', 'FILE: tools.mcp.a needs either command or url'],
    ['tools: { mcp: { a: { url: "http://y", args: [] } } }', 'FILE: tools.mcp.a has args, which only a command takes'],
    ['tools: { mcp: { a: { command: x, headers: {} } } }', 'FILE: tools.mcp.a has headers, which only a url takes'],
    [
      'tools: { mcp: { "a.b": { command: x } } }',
      'FILE: tools.mcp has the name "a.b"; use letters, digits, _ and -, at most 64',
    ],
    [
      'tools: { rules: { write: {} } }',
      'FILE: tools.rules has the name "write"; use the id of a tool, such as mcp:files.read',
    ],
    [
      'tools: { rules: { "mcp:a.b": { repeat: often } } }',
      'FILE: tools.rules["mcp:a.b"].repeat must be one of safe, keyed, never; got "often"',
    ],
    ['tools: { httpAllow: "https://a" }', 'FILE: tools.httpAllow must be a list of at most 1000 items'],
    ['budget: { maxTokens: 0 }', 'FILE: budget.maxTokens must be a whole number, 1 or more; got 0'],
    ['budget: { maxTokns: 5 }', 'FILE: budget.maxTokns is not a known field; did you mean budget.maxTokens?'],
    ['budget: 5', 'FILE: budget must be an object; got 5'],
    [
      'models: { timeoutMs: 30s }',
      'FILE: models.timeoutMs must be a whole number of milliseconds from 1000 to 86400000; got "30s"; write 30000',
    ],
    [
      'models: { maxTries: "3" }',
      'FILE: models.maxTries must be a whole number from 1 to 100; got "3"; write 3 without quotes',
    ],
    [
      'models: { reuseAnswers: yes }',
      'FILE: models.reuseAnswers must be true or false; got "yes"; write true without quotes',
    ],
    ['maxTries: 3', 'FILE: maxTries is not a known field here; it belongs at models.maxTries'],
    ['models: { httpAllow: [] }', 'FILE: models.httpAllow is not a known field here; it belongs at tools.httpAllow'],
    ['models: { script: 5 }', 'FILE: models.script must be a file path; got 5; write "5" in quotes'],
    ['tools: { httpAllow: "https://me:hunter2@a" }', 'FILE: tools.httpAllow must be a list of at most 1000 items'],
    [
      'tools: { mcp: { a: { comand: x } } }',
      'FILE: tools.mcp.a.comand is not a known field; did you mean tools.mcp.a.command?',
    ],
    ['dataKey: abc', 'FILE: dataKey cannot be set in a file; use ASSAY_DATA_KEY'],
  ])('%s', (text, problem) => {
    expect(problemsOf(text)).toEqual([problem])
  })

  test.each([
    'models: { providers: { openai: { apiKey: sk-hunter2 } } }',
    'models: { providers: { openai: { apiKey: { value: sk-hunter2 } } } }',
    'models: { providers: { openai: { apiKey: { env: A, file: sk-hunter2 } } } }',
    'models: { providers: { openai: { apiKey: { env: "sk-hunter2 " } } } }',
    'models: { providers: { openai: { baseUrl: "https://me:hunter2@proxy.example" } } }',
    'tools: { mcp: { a: { url: "https://me:hunter2@y.example" } } }',
    'tools: { mcp: { a: { url: "https://y", headers: { authorization: Bearer hunter2 } } } }',
    'tools: { mcp: { a: { url: "https://y", headers: { X-API-Key: hunter2 } } } }',
    'tools: { mcp: { a: { command: x, env: { GITHUB_TOKEN: hunter2 } } } }',
    'tools: { mcp: { a: { command: x, env: { dbPassword: hunter2 } } } }',
  ])('R-EVENT-6: a secret in plain text is refused and not repeated: %s', text => {
    const [problem, ...more] = problemsOf(text)
    expect(more).toEqual([])
    expect(problem).toMatch(
      /^FILE: [\w.-]+ must be (one line of text, or )?(\{ env: VARIABLE \} or \{ file: PATH \}|an http)/,
    )
    expect(problem).not.toContain('hunter2')
  })
})

describe('secrets', () => {
  test('are read when they are asked for, without the end of their line', async () => {
    const env: { [name: string]: string } = { A: ' k1\n' }
    const { readSecret } = load('models: {}', env)
    expect(await readSecret({ env: 'A' })).toBe('k1')
    env.A = 'k2'
    expect(await readSecret({ env: 'A' })).toBe('k2')
    expect([await readSecret({ env: 'B' }), await readSecret({ file: 'none' })]).toEqual([undefined, undefined])
    fs.writeFileSync(path.join(dir, 'key'), 'k3\r\n')
    expect(await readSecret({ file: 'key' })).toBe('k3')
    expect(await readSecret({ file: path.join(dir, 'key') })).toBe('k3')
  })

  test('a file that cannot be read is no missing secret', async () => {
    await expect(load('models: {}').readSecret({ file: '.' })).rejects.toThrow(/EISDIR/)
  })

  test('data keys are 32 bytes each, newest first, and never shown', () => {
    const keys = [1, 2].map(byte => Buffer.alloc(32, byte))
    const text = keys.map(key => key.toString('base64'))
    expect(load('', { ASSAY_DATA_KEY: text.join(',') }).dataKeys).toEqual(keys)
    for (const bad of ['short', text[0]?.slice(1), `${text.join(',')},`, Buffer.alloc(31).toString('base64')])
      expect(problemsOf('', { ASSAY_DATA_KEY: String(bad) })).toEqual([
        'ASSAY_DATA_KEY: dataKey must be the base64 of 32 bytes, or several of these separated by commas',
      ])
  })
})
