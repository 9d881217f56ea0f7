import { cronCalendar } from '../../src/calendar/cron-calendar.js'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { erasureMarks } from '../../src/audit/erasure-mark.js'
import { createTrail } from '../../src/audit/trail.js'
import { AuditVerifier } from '../../src/audit/verify.js'
import { createVerdicts } from '../../src/calibration/verdicts.js'
import type { BudgetPolicy } from '../../src/core/budget/budget.js'
import { EQUAL_WEIGHTS } from '../../src/core/quotas.js'
import { coreNodeTypes } from '../../src/core/workflow/nodes/registry.js'
import { createEgress } from '../../src/egress/egress.js'
import type { RunEngine } from '../../src/engine/api.js'
import type { GoalSettings } from '../../src/engine/goals/deps.js'
import { createCommitments } from '../../src/engine/commitments/commitments.js'
import { createGoals } from '../../src/engine/goals/goals.js'
import { createMemoryDesk } from '../../src/engine/journal/memory-desk.js'
import { createRunDesk } from '../../src/engine/journal/run-desk.js'
import { createWorkspaceDesk } from '../../src/engine/journal/workspace-desk.js'
import type { Agents } from '../../src/engine/ports/agents.js'
import type { Clock } from '../../src/engine/ports/clock.js'
import type { ApiKey } from '../../src/engine/ports/keys.js'
import type { Log } from '../../src/engine/ports/log.js'
import type { Performer } from '../../src/engine/ports/performer.js'
import type { SchemaChecker } from '../../src/engine/ports/schema-checker.js'
import type { Inspector, Standards } from '../../src/engine/ports/verification.js'
import { createTranscripts } from '../../src/engine/queries/transcript.js'
import { readVerdictIn } from '../../src/engine/queries/verdicts.js'
import { Engine } from '../../src/engine/runtime/engine.js'
import { createApp } from '../../src/http/app.js'
import { hashKey } from '../../src/http/auth/key-cache.js'
import { type HttpConfig, type HttpConfigOverrides, httpConfig } from '../../src/http/config.js'
import { definitionShape } from '../../src/http/definition-shape.js'
import type { AppDeps } from '../../src/http/deps.js'
import { CertificateIssuer } from '../../src/receipts/certificate-issuer.js'
import { ReceiptIssuer } from '../../src/receipts/issuer.js'
import { Eraser } from '../../src/retention/eraser.js'
import { createSecretRegister } from '../../src/secrets/redactor.js'
import { goalProbes } from '../../src/standards/probe-set.js'
import { createStandards } from '../../src/standards/standards.js'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { systemClock, systemIds } from '../../src/system.js'
import { agentsDouble, glassHostVault, glassVault } from '../../src/testing/agents.js'
import { DESK_SETTINGS } from '../../src/testing/engine-rig.js'
import { GOAL_SETTINGS } from '../../src/testing/goal-rig.js'
import { inspectorDouble, predicatesDouble, recordsDouble, standardsDouble } from '../../src/testing/verification.js'
import { NO_TURNS } from '../../src/timing/turns.js'
import { createSchemaChecker } from '../../src/user-schema/schema-checker.js'
import { Webhooks } from '../../src/webhooks/webhooks.js'
import { SCOPES } from '../../src/wire/key.js'
import { signer } from '../e2e/audit/signer.js'
import { directoryOf } from './agent-directory.js'

/** Everything within one tenant. */
const TENANT_SCOPES = SCOPES.filter(scope => scope !== 'tenants:manage')

/** Keys that every test host knows, by name. */
export const KEYS = {
  alice: { account: 'acme', scopes: TENANT_SCOPES, test: false },
  bob: { account: 'beta', scopes: TENANT_SCOPES, test: false },
  tester: { account: 'acme', scopes: TENANT_SCOPES, test: true },
  operator: { account: 'ops', scopes: SCOPES, test: false },
  reader: { account: 'acme', scopes: ['runs:read'], test: false },
  listener: { account: 'acme', scopes: ['runs:read', 'transcripts:read'], test: false },
  approver: { account: 'acme', scopes: ['runs:read', 'approvals:respond'], test: false },
  starter: { account: 'acme', scopes: ['runs:create'], test: false },
  canceller: { account: 'acme', scopes: ['runs:cancel'], test: false },
} as const

export type KeyName = keyof typeof KEYS

export const secretOf = (name: string): string => `ask_${name.padEnd(43, '0')}`

/** Signs the links of every test host. */
export const TOKEN_SECRET = 'a secret of the test hosts, known to forgers in tests'

export type LogLine = { readonly level: string; readonly fields: object; readonly message: string }

export type TestHost = {
  readonly app: FastifyInstance
  readonly engine: RunEngine
  readonly store: MemoryStore
  readonly lines: LogLine[]
  /** From now on the host knows it to be secret. */
  learnSecret(name: string, value: string): void
  call(name: KeyName | null, request: InjectOptions): Promise<Reply>
  close(): Promise<void>
}

export type Reply = {
  readonly status: number
  readonly headers: { readonly [name: string]: unknown }
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly json: any
}

export type HostOptions = {
  readonly config?: HttpConfigOverrides
  readonly clock?: Clock
  readonly store?: MemoryStore
  readonly hostName?: string
  /** The outside world of effect nodes; without it there are none. */
  readonly performers?: ReadonlyMap<string, Performer>
  /** Who acts in the nodes of agents; without it, one that answers `done`. */
  readonly agents?: Agents
  /** The gates that runs start with; without it there are none. */
  readonly gates?: Standards
  readonly goals?: Partial<GoalSettings>
  readonly inspector?: Inspector
  /** What any run may spend at most. */
  readonly budget?: BudgetPolicy
  /** Puts something in front of the real engine. */
  readonly wrap?: (engine: RunEngine) => RunEngine
  readonly deps?: Partial<AppDeps>
}

/** The HTTP edge over the real engine and the memory store. */
export async function startHttp(options: HostOptions = {}): Promise<TestHost> {
  const { clock = systemClock, store = new MemoryStore() } = options
  const lines: LogLine[] = []
  const log = recordingLog(lines)
  const schemas = createSchemaChecker()
  const config = httpConfig(options.config)
  const real = newEngine(store, clock, log, schemas, config, options)
  await real.start()
  for (const name of Object.keys(KEYS) as KeyName[]) await store.putKey(keyRecord(name, clock))
  const engine = options.wrap?.(real) ?? real
  const audit = new AuditVerifier({ store, keys: async () => new Map() })
  const webhooks = newWebhooks(store, clock, log)
  const standards = createStandards({ store, clock, schemas, plans: () => real.plans })
  const verdicts = createVerdicts({ store, standards, records: recordsDouble(), readRecord: readVerdictIn(store) })
  const hostId = () => real.hostId
  const tenants = new Eraser({
    store,
    clock,
    log,
    hostId,
    configured: ['ops'],
    marks: erasureMarks(signer.key, async () => signer.trusted),
  })
  const receipts = new ReceiptIssuer({
    engine,
    verifier: audit,
    key: signer.key,
    keys: async () => signer.trusted,
    clock,
    turns: NO_TURNS,
    hostId: config.hostId,
    version: config.version,
  })
  const desks = {
    audit,
    receipts,
    tenants,
    webhooks,
    standards,
    verdicts,
    agents: directoryOf([]),
    tokenSecrets: [TOKEN_SECRET],
  }
  const secrets = createSecretRegister()
  const parts = { store, clock, ids: systemIds, turns: NO_TURNS, vault: glassVault, redact: secrets.redact }
  const journal = { ...parts, plans: () => real.plans }
  const memory = createMemoryDesk(journal, config.memory)
  const workspace = createWorkspaceDesk({ ...journal, usage: store, quotas: config.quotas }, config.workspace)
  const transcripts = createTranscripts({ engine, store, vault: glassVault, redact: secrets.redact.json })
  const trail = createTrail({ store, clock })
  const kept = { trail, memory, workspace, stream: store, transcripts }
  const goals = createGoals(real.ground, {
    store,
    clock,
    ids: systemIds,
    log,
    calendar: cronCalendar(),
    standards: options.gates ?? standardsDouble(),
    inspector: options.inspector ?? inspectorDouble(),
    predicates: predicatesDouble(),
    filesLeft: noFiles,
    settings: { ...GOAL_SETTINGS, quotas: config.quotas, redact: secrets.redact, ...options.goals },
  })
  const commitments = createCommitments(real.ground, {
    ...parts,
    predicates: predicatesDouble(),
    quotas: config.quotas,
    settings: { horizonMs: 366 * 86_400_000, maxEntryBytes: 65_536, fullText: config.memory.fullText },
  })
  const certificates = new CertificateIssuer({
    goals,
    verifier: audit,
    key: signer.key,
    keys: async () => signer.trusted,
    clock,
    turns: NO_TURNS,
    hostId: config.hostId,
    version: config.version,
  })
  const deps = {
    engine,
    certificates,
    goals,
    commitments,
    readProbes: goalProbes('api'),
    keys: store,
    responses: store,
    usage: store,
    ...desks,
    ...kept,
    clock,
    ids: systemIds,
    config,
    log,
  }
  const app = createApp({ ...deps, ...options.deps })
  for (const definition of [noop, slow, secretive]) await real.putWorkflow(null, definition)
  return {
    app,
    engine,
    store,
    lines,
    learnSecret: secrets.add,
    call: (name, request) => call(app, name, request),
    async close() {
      await app.close()
      await tenants.stop()
      await real.stop(0)
      await schemas.close()
    },
  }
}

const noFiles = () => async () => ({ is: 'unknown', why: 'nobody has files here' }) as const

/** Registers and lists; nothing is sent from here. Names ending in `.example` are public, the others unknown. */
const newWebhooks = (store: MemoryStore, clock: Clock, log: Log): Webhooks => {
  const resolve = async (name: string) => (name.endsWith('.example') ? ['93.184.216.34'] : [])
  const egress = createEgress({ allowPrivate: false, clock, resolve })
  const deps = { store, egress, clock, ids: systemIds, log, vault: glassHostVault, hostId: () => 'nobody' }
  return new Webhooks(deps, { durable: false, version: '0', engineVersion: '1' })
}

const newEngine = (
  store: MemoryStore,
  clock: Clock,
  log: Log,
  schemas: SchemaChecker,
  { orchestrator, quotas }: HttpConfig,
  { hostName = 'test', performers, budget, agents = agentsDouble(), gates = standardsDouble() }: HostOptions,
): Engine =>
  new Engine(
    {
      store,
      clock,
      ids: systemIds,
      schemas,
      log,
      nodeTypes: new Map(coreNodeTypes.map(type => [type.typeId, type])),
      capabilities: new Set(performers === undefined ? [] : ['assay.conformance']),
      performers: performers ?? new Map(),
      definitionShape,
      calendar: cronCalendar(),
      agents,
      vault: glassVault,
      desk: createRunDesk({
        store,
        vault: glassVault,
        redact: { text: text => text },
        turns: NO_TURNS,
        settings: DESK_SETTINGS,
      }),
      standards: gates,
      inspector: inspectorDouble(),
      predicates: predicatesDouble(),
      records: recordsDouble(),
    },
    {
      hostName,
      leaseMs: 10_000,
      sweepMs: 1000,
      limits: {
        maxNodeExecutions: 1000,
        maxRunDurationMs: 3_600_000,
        maxDepth: 8,
        maxLoopIterations: 1000,
        transcriptWindow: orchestrator.transcriptWindow,
        budget: budget ?? {},
        confidence: { floor: orchestrator.confidenceFloor, interruptKind: orchestrator.confidenceInterruptKind },
      },
      maxConcurrentEffects: 8,
      maxPoisonAttempts: 3,
      maxActiveRuns: 1_000_000,
      cachedRuns: 1000,
      quotas,
      weights: EQUAL_WEIGHTS,
      reuseAnswers: false,
      spaces: ['memory', 'workspace'],
      scheduling: { tenant: 'default', horizonMs: 366 * 86_400_000 },
    },
  )

export const keyRecord = (name: KeyName, clock: Clock = systemClock): ApiKey => ({
  keyId: `key_${name}`,
  hash: hashKey(secretOf(name)),
  tenant: KEYS[name].account,
  principal: name,
  scopes: KEYS[name].scopes,
  test: KEYS[name].test,
  createdAt: clock.now(),
  expiresAt: null,
  revokedAt: null,
  madeBy: [],
})

const recordingLog = (lines: LogLine[]): Log => ({
  info: (fields, message) => lines.push({ level: 'info', fields, message }),
  warn: (fields, message) => lines.push({ level: 'warn', fields, message }),
  error: (fields, message) => lines.push({ level: 'error', fields, message }),
})

async function call(app: FastifyInstance, name: KeyName | null, request: InjectOptions): Promise<Reply> {
  const authorization = name === null ? {} : { authorization: `Bearer ${secretOf(name)}` }
  const response = await app.inject({ ...request, headers: { ...authorization, ...request.headers } })
  const text = response.body
  const isJson = String(response.headers['content-type']).startsWith('application/json')
  return { status: response.statusCode, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
}

export const workflow = (id: string, nodes: object[], more: object = {}): object => ({
  id,
  name: id,
  version: '1',
  nodes,
  edges: [],
  triggers: [],
  variables: [],
  metadata: {},
  settings: { timeout: 0 },
  ...more,
})

export const node = (id: string, typeId: string, more: object = {}): object => ({
  id,
  typeId,
  name: id,
  position: { x: 0, y: 0 },
  config: {},
  inputs: {},
  ...more,
})

/** Ends at once. */
export const noop = workflow('noop', [node('only', 'core.noop')], {
  variables: [{ name: 'greeting', type: 'string', defaultValue: 'hello' }],
})
/** Runs until it is cancelled. */
export const slow = workflow('slow', [node('wait', 'core.delay', { config: { delayMs: 3_600_000 } })])
/** Has a variable nobody may read. */
export const secretive = workflow('secretive', [node('only', 'core.noop')], {
  variables: [{ name: 'token', type: 'string', sensitive: true }],
})
/** Not registered until a test does it. */
export const spare = workflow('spare', [node('only', 'core.noop')])
