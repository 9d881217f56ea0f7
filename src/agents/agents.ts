import type { Space } from '../core/journal/place.js'
import type { Agents, Artifacts } from '../engine/ports/agents.js'
import type { Clock, Ids, Random } from '../engine/ports/clock.js'
import type { JournalDesk } from '../engine/ports/desk.js'
import type { Log } from '../engine/ports/log.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import type { ProgrammedCall, Programs, Today } from '../engine/ports/today.js'
import type { Secrets } from '../secrets/secrets.js'
import { createBriefs, createPromptsToday } from './brief.js'
import { type Catalog, createCatalog } from './catalog/catalog.js'
import { createModels, type Models } from './models/models.js'
import type { AgentSettings, SecretRef } from './settings.js'
import { createTools, type ToolDeps, type Tools } from './tools/tools.js'

export type AgentDeps = {
  readonly settings: AgentSettings
  readonly egress: ToolDeps['egress']
  readonly secrets: Secrets
  readonly schemas: SchemaChecker
  readonly clock: Clock
  readonly ids: Pick<Ids, 'unique'>
  readonly random: Random
  readonly log: Log
  /** What the host provides, by the names that manifests require. */
  readonly capabilities: ReadonlySet<string>
  /** In conformance mode: what the provider `mock` says. */
  readonly programs?: Programs | undefined
  /** What agents of a run may read of it. */
  readonly artifacts?: Artifacts | undefined
  readonly desk?: JournalDesk | undefined
  /** Which of memory and workspace there are. */
  readonly spaces?: readonly Space[]
}

/** Everything agents are made of, opened together and closed together. */
export type AgentHouse = {
  readonly agents: Agents
  readonly catalog: Catalog
  readonly tools: Tools
  readonly today: Today
  /** The key of a request for an answer (contract core §8.6). */
  readonly cacheKey: Models['cacheKey']
  /** What the operator must mend before the host can start. */
  problems(): readonly string[]
  close(): Promise<void>
}

export async function createAgents(deps: AgentDeps): Promise<AgentHouse> {
  const { settings, ids, log, secrets, schemas } = deps
  const { project, watch, models: modelSettings, prices } = settings
  // Known from the start, so that nothing can quote one before it is first used.
  await Promise.all(
    secretsOf(settings).map(({ ref, isNeeded }) =>
      secrets.resolve(ref).catch(error => (isNeeded ? tellMissing(log, error) : undefined)),
    ),
  )
  const catalog = await createCatalog({ ...deps, project, watch })
  const tools = await createTools({ ...deps, settings: settings.tools, project })
  const models = createModels({ ...deps, egress: deps.egress.configured, settings: modelSettings, prices })
  const briefing = { catalog, models, tools, schemas, secrets, limits: modelSettings, ids, log, desk: deps.desk }
  const agents: Agents = {
    knows: agentId => catalog.get(agentId) !== undefined,
    names: () => catalog.list().map(({ manifest }) => manifest.agentId),
    lacking: (toolIds, signal) => tools.lacking(toolIds, signal),
    prepare: createBriefs(briefing),
    callModel: ask => models.callModel(ask),
    callTool: ask => tools.use(ask),
    keyOf: ask => models.keyOf(ask),
  }
  return {
    agents,
    catalog,
    tools,
    today: { prompts: createPromptsToday(briefing), envelope: call => envelopeOf(deps.programs, call) },
    cacheKey: request => models.cacheKey(request),
    problems: () => [...catalog.problems(), ...tools.problems()],
    async close() {
      await Promise.all([catalog.close(), tools.close(), models.close()])
    },
  }
}

/** R-REPLAY-19: read off the program as it is now. */
function envelopeOf(programs: Programs | undefined, call: ProgrammedCall) {
  const entry = programs?.entry(call)
  if (entry === undefined || entry === null) return undefined
  return entry.stopReason === 'safety' ? ('refusal' as const) : ('valid' as const)
}

/** Where the secrets are that are configured, and whether something that is configured cannot do without. */
function secretsOf({ models, tools }: AgentSettings): { readonly ref: SecretRef; readonly isNeeded: boolean }[] {
  const { worker, supervisor, verifier, classes, fallbacks } = models
  const named = [worker, supervisor, verifier, ...Object.values(classes), ...Object.values(fallbacks)]
  const asked = new Set(named.map(({ provider }) => provider))
  const keys = Object.entries(models.providers).flatMap(([name, { apiKey }]) =>
    apiKey === undefined ? [] : [{ ref: apiKey, isNeeded: asked.has(name) }],
  )
  const given = Object.values(tools.mcp).flatMap(server =>
    Object.values(server.kind === 'stdio' ? server.env : server.headers),
  )
  return [...keys, ...given.flatMap(value => (typeof value === 'object' ? [{ ref: value, isNeeded: true }] : []))]
}

/** Not an error yet: what needs it fails when it is used, and it is looked up anew each time. */
function tellMissing(log: Log, error: unknown): void {
  const problem = error instanceof Error ? error.message : String(error)
  log.warn({ problem }, 'a secret that the configuration names is not there; what needs it will fail until it is')
}
