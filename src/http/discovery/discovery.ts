import { LEAST_INTERVAL_SECONDS, MOST_RUNTIME_SECONDS } from '../../core/arm/heartbeat-document.js'
import { PLACEMENTS, PROBE_TYPES, QUORUMS } from '../../core/verification/gate.js'
import { sha256 } from '../../digest.js'
import { EXECUTION_MODEL_VERSION, executionModel, type ModelTerms } from '../../wire/execution-model.js'
import { EVENT_LOG_SCHEMA_VERSION } from '../../wire/render.js'
import { TEST_PREFIX } from '../auth/key-cache.js'
import type { HttpConfig } from '../config.js'
import { agentFamilies } from './agent-capabilities.js'
import { journalFamilies } from './journal-capabilities.js'

/** Where gates of runs stand; one that judges goals is of the goals. */
const IN_RUNS = PLACEMENTS.filter(placement => placement !== 'goal')

/** How long responses are remembered at least; `host.ts` purges older ones. */
export const RESPONSE_RETENTION_SECONDS = 24 * 60 * 60
export const INVOCATION_RETENTION_SECONDS = 14 * 24 * 60 * 60

const INTERRUPT_PROFILES = [
  'openwop-interrupt-quorum',
  'openwop-interrupt-auth-required',
  'openwop-interrupt-external-event',
  'openwop-interrupt-cascade-cancel',
]

export const IMPLEMENTATION = { name: 'assay', vendor: 'assay' }

/** What is not configured but found: the fixtures registered by now, and whether there is an agent. */
export type Present = { readonly fixtures: readonly string[]; readonly hasAgents: boolean }

/**
 * The discovery document (contract core §1, agents §2). Families sit at the root, where the protocol reads them; the
 * `capabilities` mirror is for old readers. It claims only what the production path does.
 */
export function discoveryDocument(config: HttpConfig, { fixtures, hasAgents }: Present): object {
  const { limits } = config
  const { maxTokens, maxCostUsd } = config.agents.budget
  const families = {
    limits: {
      clarificationRounds: 3,
      schemaRounds: 2,
      envelopesPerTurn: 5,
      maxNodeExecutions: limits.maxNodeExecutions,
      maxRunDurationMs: limits.maxRunDurationMs,
      maxLoopIterations: limits.maxLoopIterations,
      maxRequestBodyBytes: limits.maxRequestBodyBytes,
      ...(maxTokens !== undefined && { maxBudgetTokens: maxTokens }),
      ...(maxCostUsd !== undefined && { maxBudgetCostUsd: maxCostUsd }),
    },
    multiAgent: { executionModel: executionModel(EXECUTION_MODEL_VERSION, modelTerms(config)) },
    ...agentFamilies(config, hasAgents),
    ...journalFamilies(config),
    scheduling: {
      supported: true,
      cron: true,
      delayed: false,
      calendar: false,
      maxFutureHorizon: `P${config.horizonDays}D`,
    },
    heartbeat: {
      supported: true,
      minIntervalSec: LEAST_INTERVAL_SECONDS,
      maxRuntimeMs: MOST_RUNTIME_SECONDS * 1_000,
    },
    runs: { pauseResume: { supported: true, drainPolicies: ['immediate', 'drain-current-node'] } },
    idempotency: {
      supported: true,
      layer1RetentionSeconds: RESPONSE_RETENTION_SECONDS,
      layer2RetentionSeconds: INVOCATION_RETENTION_SECONDS,
      crossRegion: 'single-region',
    },
    subWorkflow: { inputMapping: true },
    replay: { supported: true, modes: ['replay', 'branch'], sideEffectSuppression: 'recorded-outcome' },
    debugBundle: { supported: true },
    webhooks: { supported: true, signatureAlgorithms: ['v1'], durable: config.durableWebhooks },
    auth: {
      profiles: ['openwop-audit-log-integrity'],
      auditLogIntegrity: { hashChain: true, checkpointSignatureAlgorithm: 'ed25519' },
    },
    extensions: {
      interrupts: { profiles: INTERRUPT_PROFILES, signedCallbackTokens: true },
      ...(config.memory.enabled && { memory: { fullTextSearch: config.memory.fullText } }),
      verification: { gating: true, placements: IN_RUNS, quorumStrategies: QUORUMS, probes: PROBE_TYPES },
    },
    restTransport: { conditionalRunGet: true, contentEncodings: [] },
    configurable: {
      recursionLimit: { type: 'integer', min: 1, max: limits.maxNodeExecutions },
      runTimeoutMs: { type: 'integer', min: 1, max: limits.maxRunDurationMs },
      maxLoopIterations: { type: 'integer', min: 1, max: limits.maxLoopIterations },
      escalationThreshold: { type: 'number', min: 0, max: 1 },
      reasoningVerbosity: { type: 'string', enum: ['summary', 'full', 'off'] },
      ai: { type: 'object', properties: ['provider', 'model', 'temperature', 'maxOutputTokens'] },
      budget: { type: 'object', properties: BUDGET_OPTIONS },
    },
    production: {
      supported: config.production,
      backpressure: { supported: true, retryAfterSeconds: config.retryAfterSeconds },
      debugBundle: { supported: true, truncationMetadata: true },
    },
    ...(config.mockProviders.length === 0
      ? undefined
      : { testing: { mockProviders: config.mockProviders, testKeyPrefix: TEST_PREFIX } }),
    ...(config.conformance ? { conformance: { mockAgent: true } } : undefined),
    ...(config.conformance && fixtures.length > 0 ? { fixtures } : undefined),
  }
  return {
    protocolVersion: '1.0',
    supportedEnvelopes: ['clarification.request'],
    schemaVersions: {},
    implementation: { ...IMPLEMENTATION, version: config.version },
    engineVersion: config.engineVersion,
    eventLogSchemaVersion: EVENT_LOG_SCHEMA_VERSION,
    supportedTransports: ['rest'],
    ...families,
    capabilities: families,
  }
}

const modelTerms = ({ hostId, ancestry, orchestrator, memory, conformance }: HttpConfig): ModelTerms => ({
  ...orchestrator,
  hostId,
  ancestry,
  memory: memory.enabled,
  conformance,
})

const BUDGET_OPTIONS = [
  'maxTokens',
  'maxCostUsd',
  'maxToolCalls',
  'maxRetries',
  'modelAllow',
  'modelDeny',
  'thresholdPercent',
  'onExhaustion',
]

export type StaticDocument = { readonly body: string; readonly etag: string }

export function staticDocument(value: object): StaticDocument {
  const body = JSON.stringify(value)
  return { body, etag: `"${sha256(body).slice(0, 32)}"` }
}
