import type { AgentHouse } from './agents/agents.js'
import { ensureSigningKey, readTrustedKeys } from './audit/signing-key.js'
import { createTrail } from './audit/trail.js'
import { AuditVerifier } from './audit/verify.js'
import { cronCalendar } from './calendar/cron-calendar.js'
import { createRecords } from './calibration/records.js'
import { createVerdicts } from './calibration/verdicts.js'
import { announceServer } from './client/local-server.js'
import { assertSafeBinding, type Config, ConfigError } from './config.js'
import { registerFixtures } from './conformance/fixtures.js'
import { MockPrograms } from './conformance/mock-programs.js'
import type { CacheKeyRequest } from './conformance/seams/cache-key.js'
import { seamRoutes } from './conformance/seams/seams.js'
import { SwitchedOff } from './conformance/switched-off.js'
import { ENGINE_VERSION } from './core/run/version.js'
import { coreNodeTypes } from './core/workflow/nodes/registry.js'
import type { GoalAdmin } from './engine/api.js'
import { createGoals } from './engine/goals/goals.js'
import { createRunDesk } from './engine/journal/run-desk.js'
import { filesSeen } from './engine/journal/sight.js'
import type { Clock } from './engine/ports/clock.js'
import type { Log } from './engine/ports/log.js'
import type { Store } from './engine/ports/store.js'
import { createTranscripts } from './engine/queries/transcript.js'
import { readTrialIn, readVerdictIn } from './engine/queries/verdicts.js'
import { Engine } from './engine/runtime/engine.js'
import type { EngineOptions } from './engine/runtime/engine-deps.js'
import {
  actorsOf,
  certificatesOf,
  commitmentsFor,
  projectCode,
  configuredKey,
  conformancePerformers,
  deskSettings,
  edgeOf,
  furnishAgents,
  goalSettings,
  inspectorFor,
  journalDesks,
  keepersOf,
  openPeers,
  projectGoals,
  receiptsOf,
  spacesOf,
} from './furnish.js'
import { type Ground, type HostParts, layGround, type Opened, type Unbounded } from './ground.js'
import { settleHostId } from './host-id.js'
import { type HostLoad, loadOf } from './host-load.js'
import { createApp } from './http/app.js'
import { definitionShape } from './http/definition-shape.js'
import { Serving } from './http/serving.js'
import { packageVersion } from './package-version.js'
import { makeGoals } from './project/goals.js'
import { type Registrar, registerProject } from './project/register.js'
import { createReload, type Reloaded } from './reload.js'
import { createPredicates } from './standards/predicates.js'
import { goalProbes } from './standards/probe-set.js'
import { onceLoaded } from './standards/once-loaded.js'
import { createStandards, type StandardsRegistry } from './standards/standards.js'
import { sleep } from './timing/sleep.js'
import { NO_TURNS } from './timing/turns.js'
import { ensureDataKey } from './vault/data-key.js'
import { createTenantVaults } from './vault/tenant-vaults.js'
import { createVault } from './vault/vault.js'
import { Webhooks } from './webhooks/webhooks.js'
/** A host that can be started once and stopped once. */
export interface Host {
  /** Where it listens; known after `start`. */
  readonly url: string
  readonly engine: Engine
  readonly goals: GoalAdmin
  load(): Promise<HostLoad>
  start(): Promise<void>
  /** Takes up what has changed in the project since, all of it or nothing. */
  reload(): Promise<Reloaded>
  /** Takes no new work, finishes what is in hand, gives its claims back. */
  stop(): Promise<void>
}

const UNBOUNDED_WORK = { step: Number.POSITIVE_INFINITY, decision: Number.POSITIVE_INFINITY }

const DRAIN_MS = 10_000
/** Deliveries that are cut short are simply made again. */
const DELIVERY_DRAIN_MS = 1_000
const SWEEP_MS = 1_000
const SEAL_MS = 1_000
const PURGE_MS = 10 * 60_000
/** For what another host has left; what is asked of this one begins at once. */
const ERASE_MS = 60_000
const CACHED_RUNS = 500
/** The composition root: the one place that knows every part. What it opened before it failed is closed again. */
export async function createHost(config: Config, parts: HostParts = {}): Promise<Host> {
  const opened: Opened = []
  const closeEach = async () => {
    for (let close = opened.pop(); close !== undefined; close = opened.pop()) await close()
  }
  let closing: Promise<void> | undefined
  const closeAll = () => {
    closing ??= closeEach()
    return closing
  }
  try {
    const composed = await compose(config, parts, opened)
    return runningHost(config, composed, opened, closeAll)
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** Opens the parts from the ground up, noting how each is closed. */
export async function compose(config: Config, parts: HostParts, opened: Opened) {
  const ground = await layGround(config, parts, opened)
  const { store, clock, ids, log, schemas, egress, turns } = ground
  const programs = config.conformance ? new MockPrograms() : undefined
  const switchedOff = new SwitchedOff()
  const vault = createVault(config.dataKeys.length > 0 ? config.dataKeys : await ensureDataKey(config.data))
  const tenantVault = createTenantVaults({ host: vault, store, clock })
  const desk = createRunDesk({
    store,
    vault: tenantVault,
    redact: ground.secrets.redact,
    longTexts: ground.longTexts,
    turns,
    settings: deskSettings(config),
  })
  const house = await furnishAgents(config, ground, desk, programs, opened)
  const hostId = await settleHostId(config.hostId, { store, ids })
  const peers = openPeers(config, ground, hostId, opened)
  const webhooks: Webhooks = new Webhooks(
    { store, egress: egress.webhooks, clock, ids, log, vault, hostId: () => engine.hostId },
    { durable: config.webhooks.durable, version: packageVersion(), engineVersion: ENGINE_VERSION },
  )
  const standards = createStandards({
    store,
    clock,
    schemas,
    returnSchema: agentId => house.catalog.get(agentId)?.returnSchema,
    plans: () => engine.plans,
  })
  const checked = onceLoaded(standards)
  const readRecord = readVerdictIn(store)
  const records = createRecords({ store, clock, readRecord, readTrial: readTrialIn(store) })
  const calendar = cronCalendar()
  const inspector = inspectorFor(config, ground)
  const predicates = createPredicates({ inspector, clock, log })
  const sight = { store, vault: tenantVault, turns, plans: () => engine.plans }
  const engine: Engine = new Engine(
    {
      store,
      clock,
      ids,
      schemas,
      log,
      nodeTypes: new Map(coreNodeTypes.map(type => [type.typeId, type])),
      capabilities: new Set(config.conformance ? ['assay.conformance'] : []),
      offFor: tenant => switchedOff.of(tenant),
      performers: new Map([...conformancePerformers(config), ...(parts.performers ?? [])]),
      actors: actorsOf(config, ground, house, desk),
      definitionShape,
      announcer: webhooks,
      calendar,
      predicates,
      agents: parts.agents ?? house.agents,
      today: house.today,
      standards: checked,
      inspector,
      records,
      peers,
      turns: parts.unbounded?.decisions ? NO_TURNS : turns,
      vault: tenantVault,
      desk,
    },
    engineOptions(config, parts.unbounded),
  )
  const filesLeft = (tenant: string, runId: string) => filesSeen(sight, tenant, { runId, before: 'end' })
  const settings = goalSettings(config, ground)
  const goalGround = {
    store,
    clock,
    ids,
    log,
    standards: checked,
    calendar,
    inspector,
    predicates,
    filesLeft,
    settings,
  }
  const goals = createGoals(engine.ground, goalGround)
  const commitments = commitmentsFor(config, ground, engine, { vault: tenantVault, predicates })
  await assertSafeKeys(config, store)
  const key = await ensureSigningKey(config.data)
  const configured = await configuredKey(config, clock)
  const trail = createTrail({ store, clock })
  const keepers = keepersOf(config, ground, { key, configured, trail, hostId: () => engine.hostId })
  const verdicts = createVerdicts({ store, standards, records, readRecord })
  // Fixtures are registered with a running engine; until then there are none to advertise.
  let fixtures: readonly string[] = []
  const audit = new AuditVerifier({ store, keys: () => readTrustedKeys(config.data) })
  const signing = { verifier: audit, key, clock, turns, hostId }
  const receipts = receiptsOf(config, { engine, ...signing })
  const certificates = certificatesOf(config, { goals, ...signing })
  const access = await edgeOf(config, ground, house, { configured, hostId }, parts.unbounded)
  const transcripts = createTranscripts({ engine, store, vault: tenantVault, redact: ground.secrets.redact.json })
  const edge = { ...access, audit, receipts, certificates, webhooks, standards, verdicts, transcripts, trail }
  const serving = new Serving()
  const cacheKey = (request: CacheKeyRequest) => house.cacheKey(request)
  const routes = programs ? seamRoutes({ engine, programs, switchedOff, cacheKey }) : []
  const journal = journalDesks(config, ground, tenantVault, () => engine.plans)
  const app = createApp({
    engine,
    goals,
    commitments,
    readProbes: goalProbes('api'),
    ...edge,
    ...journal,
    tenants: keepers.eraser,
    serving,
    fixtures: () => fixtures,
    routes,
  })
  opened.push(() => app.close())
  const own = { engine, goals, standards, house, ground, loaded: checked.loaded }
  const { register, reload } = projectOf(config, own)
  const registerWorkflows = async () => {
    await reload.begin()
    await register()
    checked.loaded()
    if (config.fixtures !== undefined) fixtures = await registerFixtures(config.fixtures, engine, log)
  }
  const load = loadOf(engine, app, ground)
  const loops = { webhooks, ...keepers }
  return { engine, goals, app, load, serving, clock, loops, registerWorkflows, reload }
}

type ProjectParts = {
  readonly engine: Engine
  readonly goals: GoalAdmin
  readonly standards: StandardsRegistry
  readonly house: AgentHouse
  readonly ground: Pick<Ground, 'log' | 'clock'>
  readonly loaded: () => void
}

/** What is registered of the project: at the start, and again when it has changed. */
function projectOf(config: Config, { engine, goals, standards, house, ground, loaded }: ProjectParts) {
  const { log, clock } = ground
  const make = projectGoals(config, goals, engine, log)
  const code = projectCode(config, { clock })
  const register = async () => {
    const { project } = config
    if (project === undefined) return
    const found = await registerProject(project, { ...registrarOf(config, engine, standards, house, log), ...code })
    if (found.length > 0) throw new ConfigError(found)
    // Goals name gates, which nobody is told of before they are all there.
    loaded()
    const problems = await makeGoals(project, make)
    if (problems.length > 0) throw new ConfigError(problems)
  }
  const reload = createReload(config, async () => {
    await house.tools.reload()
    await house.catalog.refresh()
    await register()
  })
  return { register, reload }
}

const engineOptions = (config: Config, unbounded: Unbounded = {}): EngineOptions => ({
  ...config.limits,
  ...config,
  limits: { ...runLimits(config), ...(unbounded.decisions ? { work: UNBOUNDED_WORK } : {}) },
  sweepMs: SWEEP_MS,
  scheduling: { tenant: config.scheduling.tenant, horizonMs: config.scheduling.horizonDays * 86_400_000 },
  cachedRuns: CACHED_RUNS,
  reuseAnswers: config.agents.models.reuseAnswers,
  spaces: spacesOf(config),
})

async function assertSafeKeys(config: Config, store: Store): Promise<void> {
  const usable = (await store.listKeys()).some(key => key.revokedAt === null)
  assertSafeBinding(config, usable)
}

type Composed = Awaited<ReturnType<typeof compose>>

function runningHost(
  config: Config,
  { engine, goals, app, load, serving, clock, loops, registerWorkflows, reload }: Composed,
  opened: Opened,
  closeAll: () => Promise<void>,
): Host {
  let url = ''
  const { webhooks, sealer, purger, collector, eraser } = loops
  const start = async () => {
    // The port first: a second host that was started by mistake must fail before it fences the first.
    url = await app.listen({ host: config.host, port: config.port })
    await webhooks.load()
    await engine.start()
    // Closed last to first: what ends while the engine stops is sealed after it.
    opened.push(() => sealer.stop())
    opened.push(() => engine.stop(DRAIN_MS))
    opened.push(() => purger.stop())
    opened.push(() => collector.stop())
    opened.push(() => eraser.stop())
    opened.push(() => webhooks.stop(DELIVERY_DRAIN_MS))
    webhooks.start()
    sealer.start(SEAL_MS)
    purger.start(PURGE_MS)
    collector.start(PURGE_MS)
    eraser.start(ERASE_MS)
    await registerWorkflows()
    serving.open()
    opened.push(await announceServer(config.data, url))
    // First of all nobody is let in any more, and whoever was let in is answered.
    opened.push(() => answered(serving, clock))
  }
  return {
    engine,
    goals,
    load,
    get url() {
      return url
    },
    async start() {
      await start().catch(async error => {
        await closeAll()
        throw error
      })
    },
    reload: () => reload.again(),
    stop: closeAll,
  }
}

async function answered(serving: Serving, clock: Clock): Promise<void> {
  const over = new AbortController()
  await Promise.race([serving.stop(), sleep(clock, DRAIN_MS, over.signal)])
  over.abort()
}

/** What the rules of every run are held to. */
const runLimits = ({ limits, orchestrator, budget }: Config): EngineOptions['limits'] => ({
  ...limits,
  budget,
  transcriptWindow: orchestrator.transcriptWindow,
  confidence: { floor: orchestrator.confidenceFloor, interruptKind: orchestrator.confidenceInterruptKind },
})

const NEVER = new AbortController().signal

/** What a project is registered with; agents of packs are not its own. */
const registrarOf = (
  { retired }: Config,
  engine: Engine,
  standards: StandardsRegistry,
  house: AgentHouse,
  log: Log,
): Omit<Registrar, 'steps' | 'compile'> => ({
  engine,
  agents: house.catalog
    .list()
    .filter(({ packName }) => packName.startsWith('local.'))
    .map(({ manifest: { agentId, toolAllowlist = [] } }) => ({ agentId, toolAllowlist })),
  toolsLacking: toolIds => house.tools.lacking(toolIds, NEVER),
  share: found => standards.share(found, retired),
  log,
})
