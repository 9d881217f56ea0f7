import { createModels, type Models } from '../../../src/agents/models/models.js'
import type { ModelSettings, ProviderSettings } from '../../../src/agents/settings.js'
import { createEgress } from '../../../src/egress/egress.js'
import type { BriefContents, ModelCallRequest } from '../../../src/engine/ports/agents.js'
import type { Clock, Random } from '../../../src/engine/ports/clock.js'
import type { SchemaChecker } from '../../../src/engine/ports/schema-checker.js'
import { createSecrets } from '../../../src/secrets/secrets.js'
import { systemClock } from '../../../src/system.js'
import { createSchemaChecker } from '../../../src/user-schema/schema-checker.js'
import { type ModelServer, type ServerStep, startModelServer } from '../../support/openai-server.js'

export const KEY = 'sk-CNRY-key-0123456789abcdef'

export const SETTINGS: ModelSettings = {
  worker: { provider: 'openai', model: 'm-1' },
  supervisor: { provider: 'openai', model: 'm-1' },
  verifier: { provider: 'openai', model: 'm-1' },
  classes: {},
  capabilities: {},
  fallbacks: {},
  providers: {},
  maxOutputTokens: 1000,
  timeoutMs: 60_000,
  maxTries: 4,
  maxRounds: 8,
  maxRetries: 2,
  reuseAnswers: false,
  cacheKeyRecipe: 'v2',
  script: undefined,
}

export type ModelRig = {
  readonly server: ModelServer
  readonly models: Models
  readonly logged: object[]
  close(): Promise<void>
}

export type RigOptions = {
  readonly plan?: readonly ServerStep[]
  readonly clock?: Clock
  readonly random?: Random
  readonly settings?: Partial<ModelSettings>
  readonly provider?: Partial<ProviderSettings>
  readonly schemas?: SchemaChecker
}

/** Models whose provider is a real server on this machine, which only the configured URL makes reachable. */
export async function modelRig(options: RigOptions = {}): Promise<ModelRig> {
  const { plan = [], clock = systemClock, random = () => 0.5, settings = {}, provider = {} } = options
  const server = await startModelServer({ plan })
  const egress = createEgress({ allowPrivate: false, clock })
  const schemas = options.schemas ?? createSchemaChecker()
  const logged: object[] = []
  const note = (fields: object, message: string) => logged.push({ ...fields, message })
  const models = createModels({
    settings: {
      ...SETTINGS,
      providers: {
        openai: { kind: 'openai', apiKey: { env: 'TEST_KEY' }, baseUrl: server.url, ...provider },
        scripted: { kind: 'scripted' },
      },
      ...settings,
    },
    prices: { 'openai:m-1': { input: 1, output: 2 }, 'openai:*': { input: 3, output: 4 } },
    egress,
    secrets: createSecrets(async ref => ('env' in ref && ref.env === 'TEST_KEY' ? KEY : undefined)),
    schemas,
    clock,
    random,
    log: { info: note, warn: note, error: note },
  })
  return {
    server,
    models,
    logged,
    async close() {
      await models.close()
      egress.close()
      await schemas.close()
      await server.close()
    },
  }
}

export const BRIEF: BriefContents = { system: 'Be brief.', user: 'Say something.', tools: [], wrapped: false }

export const WRAPPED: BriefContents = {
  ...BRIEF,
  wrapped: true,
  returnSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
}

export const SEARCH = {
  toolId: 'mcp:web.search',
  name: 'mcp_web_search',
  description: 'Searches.',
  inputSchema: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'], additionalProperties: false },
}

export const TRACEPARENT = `00-${'5'.repeat(32)}-${'7'.repeat(16)}-01`

export const askFor = (over: Partial<ModelCallRequest> = {}): ModelCallRequest => ({
  tenant: 't1',
  id: 'effect-1',
  traceparent: TRACEPARENT,
  provider: 'openai',
  model: 'm-1',
  brief: BRIEF,
  rounds: [],
  maxOutputTokens: 500,
  verbosity: 'full',
  signal: new AbortController().signal,
  ...over,
})

/** Time passes at once for every wait below `patience`; what is armed for longer never comes. */
export function hurriedClock(patience: number): Clock & { readonly waits: number[] } {
  let now = Date.UTC(2026, 0, 1)
  const waits: number[] = []
  return {
    waits,
    now: () => now,
    monotonic: () => now,
    after(ms, callback) {
      if (ms >= patience) return () => undefined
      waits.push(ms)
      const soon = setImmediate(() => {
        now += ms
        callback()
      })
      return () => clearImmediate(soon)
    },
  }
}
