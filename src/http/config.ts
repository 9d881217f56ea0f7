import { noQuotas, type QuotasOf } from '../core/quotas.js'
import { LOWEST_FLOOR } from '../core/supervisor/decision.js'
import type { CallingPeer } from './causation.js'

/** What the HTTP edge needs to know. `host.ts` fills it from the configuration; tests take the defaults. */
export type HttpConfig = {
  readonly version: string
  /** Integer in discovery, decimal string in events (contract core §13 no. 21). */
  readonly engineVersion: number
  readonly conformance: boolean
  /** Ids accepted in `configurable.mockProvider.id`, for test keys. */
  readonly mockProviders: readonly string[]
  /** Claims the production profile; true only for a store that survives a restart. */
  readonly production: boolean
  /** Deliveries that fail are tried again until they are given up, over restarts too. */
  readonly durableWebhooks: boolean
  readonly accessLog: boolean
  /** By which others know this host. */
  readonly hostId: string
  /** Whether the ancestry of runs is told; it is advertised or not there (R-XHOST-10). */
  readonly ancestry: boolean
  /** Hosts that hand work to this one. */
  readonly peers: readonly CallingPeer[]
  /** Names and addresses that a Host header may have, without ports; undefined lets every one pass. */
  readonly allowedHosts: readonly string[] | undefined
  readonly limits: HttpLimits
  /** What each tenant may have of them. */
  readonly quotas: QuotasOf
  readonly orchestrator: HttpOrchestrator
  readonly agents: HttpAgents
  /** Where goals are not enabled, their routes answer 501 and nothing is claimed of them. */
  readonly goals: { readonly enabled: boolean }
  readonly memory: HttpMemory
  readonly workspace: HttpWorkspace
  /** Within which the first time of a schedule must lie. */
  readonly horizonDays: number
  /** `requestsPerSecond: 0` turns a limit off. */
  readonly rateLimit: { readonly key: Rate; readonly anonymous: Rate }
  readonly timeouts: HttpTimeouts
  /** What a refused client is told to wait, in seconds. */
  readonly retryAfterSeconds: number
}

export type Rate = { readonly requestsPerSecond: number; readonly burst: number }

export type HttpLimits = {
  readonly maxNodeExecutions: number
  readonly maxRunDurationMs: number
  readonly maxLoopIterations: number
  readonly maxRequestBodyBytes: number
  readonly maxHeaderBytes: number
  readonly maxJsonDepth: number
  /** Object members in one body, all levels together. */
  readonly maxJsonMembers: number
  readonly maxActiveRuns: number
  /** Requests in progress, open streams and held polls included. */
  readonly maxInflightRequests: number
  readonly maxStreamsPerKey: number
  /** Unsent bytes a stream may hold before it waits for its reader. */
  readonly maxStreamBufferBytes: number
  /** Bytes that a reader of a log is given before it is the others' turn. */
  readonly maxTurnBytes: number
}

/** What discovery says of the orchestrator's loop. */
export type HttpOrchestrator = {
  readonly confidenceFloor: number
  readonly confidenceInterruptKind: string
  readonly transcriptWindow: number
}

/** What discovery says of models and of what runs may spend. */
export type HttpAgents = {
  /** Providers that can be asked, by the names that `configurable.ai.provider` takes. */
  readonly providers: readonly string[]
  /** What the model that agents use by default has. */
  readonly capabilities: readonly string[]
  /** Whether some model has a price, so that costs are told. */
  readonly priced: boolean
  /** Times an answer that cannot be used is asked for again. */
  readonly maxRetries: number
  /** The host's own ceilings on every run, where there are any. */
  readonly budget: { readonly maxTokens?: number; readonly maxCostUsd?: number }
}

/** What discovery says of memory. Where it is not enabled, its routes answer 501. */
export type HttpMemory = { readonly enabled: boolean; readonly fullText: boolean; readonly maxEntryBytes: number }

/** What discovery says of workspaces. Where they are not enabled, their routes answer 501. */
export type HttpWorkspace = { readonly enabled: boolean; readonly maxFileBytes: number; readonly maxFiles: number }

export type HttpTimeouts = {
  /** For the whole request to arrive. */
  readonly requestMs: number
  readonly headersMs: number
  readonly keepAliveCommentMs: number
  /** How often open streams look whether their key still holds. */
  readonly keyRecheckMs: number
  /** How long a stream waits for a reader that takes nothing. */
  readonly streamStallMs: number
  /** How long a request under an Idempotency-Key may run before another may take it over. */
  readonly responseLeaseMs: number
}

export type HttpConfigOverrides = Partial<
  Omit<HttpConfig, 'limits' | 'orchestrator' | 'agents' | 'memory' | 'workspace' | 'rateLimit' | 'timeouts'>
> & {
  readonly limits?: Partial<HttpLimits>
  readonly orchestrator?: Partial<HttpOrchestrator>
  readonly agents?: Partial<HttpAgents>
  readonly memory?: Partial<HttpMemory>
  readonly workspace?: Partial<HttpWorkspace>
  readonly rateLimit?: Partial<HttpConfig['rateLimit']>
  readonly timeouts?: Partial<HttpTimeouts>
}

export const httpConfig = (overrides: HttpConfigOverrides = {}): HttpConfig => ({
  version: '0.0.0',
  engineVersion: 1,
  conformance: false,
  mockProviders: [],
  production: false,
  durableWebhooks: false,
  accessLog: false,
  hostId: 'localhost',
  ancestry: true,
  peers: [],
  allowedHosts: undefined,
  retryAfterSeconds: 1,
  quotas: noQuotas,
  goals: { enabled: true },
  ...overrides,
  limits: {
    maxNodeExecutions: 100_000,
    maxRunDurationMs: 31 * 24 * 60 * 60 * 1000,
    maxLoopIterations: 10_000,
    maxRequestBodyBytes: 1024 * 1024,
    maxHeaderBytes: 16 * 1024,
    maxJsonDepth: 64,
    maxJsonMembers: 100_000,
    maxActiveRuns: 100_000,
    maxInflightRequests: 2000,
    maxStreamsPerKey: 256,
    maxStreamBufferBytes: 1024 * 1024,
    maxTurnBytes: 64 * 1024,
    ...overrides.limits,
  },
  orchestrator: {
    confidenceFloor: LOWEST_FLOOR,
    confidenceInterruptKind: 'approval',
    transcriptWindow: 200,
    ...overrides.orchestrator,
  },
  agents: { providers: ['scripted'], capabilities: [], priced: false, maxRetries: 2, budget: {}, ...overrides.agents },
  horizonDays: 366,
  memory: { enabled: true, fullText: true, maxEntryBytes: 64 * 1024, ...overrides.memory },
  workspace: { enabled: true, maxFileBytes: 8 * 1024 * 1024, maxFiles: 10_000, ...overrides.workspace },
  rateLimit: {
    key: { requestsPerSecond: 20_000, burst: 40_000 },
    anonymous: { requestsPerSecond: 200, burst: 1000 },
    ...overrides.rateLimit,
  },
  timeouts: {
    requestMs: 30_000,
    headersMs: 15_000,
    keepAliveCommentMs: 15_000,
    keyRecheckMs: 2000,
    streamStallMs: 30_000,
    responseLeaseMs: 30_000,
    ...overrides.timeouts,
  },
})
