import type { Agents, Artifacts } from '../engine/ports/agents.js'
import type { Clock, Ids, Random } from '../engine/ports/clock.js'
import type { JournalDesk } from '../engine/ports/desk.js'
import type { Log } from '../engine/ports/log.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import type { Secrets } from '../secrets/secrets.js'
import { createBriefs } from './brief.js'
import { type Catalog, createCatalog } from './catalog/catalog.js'
import { createModels } from './models/models.js'
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
  /** What agents of a run may read of it. */
  readonly artifacts?: Artifacts | undefined
  readonly desk?: JournalDesk | undefined
}

/** Everything agents are made of, opened together and closed together. */
export type AgentHouse = {
  readonly agents: Agents
  readonly catalog: Catalog
  readonly tools: Tools
  /** What the operator must mend before the host can start. */
  problems(): readonly string[]
  close(): Promise<void>
}

export async function createAgents(deps: AgentDeps): Promise<AgentHouse> {
  const { settings, ids, log, secrets, schemas } = deps
  const { project, watch, models: modelSettings, prices } = settings
  // Known from the start, so that nothing can quote one before it is first used.
  await Promise.all(secretsOf(settings).map(ref => secrets.resolve(ref).catch(error => tellMissing(log, error))))
  const catalog = await createCatalog({ ...deps, project, watch })
  const tools = await createTools({ ...deps, settings: settings.tools, project })
  const models = createModels({ ...deps, egress: deps.egress.configured, settings: modelSettings, prices })
  const agents: Agents = {
    knows: agentId => catalog.get(agentId) !== undefined,
    names: () => catalog.list().map(({ manifest }) => manifest.agentId),
    lacking: (toolIds, signal) => tools.lacking(toolIds, signal),
    prepare: createBriefs({ catalog, models, tools, schemas, secrets, limits: modelSettings, ids, log }),
    callModel: ask => models.callModel(ask),
    callTool: ask => tools.use(ask),
    keyOf: ask => models.keyOf(ask),
  }
  return {
    agents,
    catalog,
    tools,
    problems: () => [...catalog.problems(), ...tools.problems()],
    async close() {
      await Promise.all([catalog.close(), tools.close(), models.close()])
    },
  }
}

function secretsOf({ models, tools }: AgentSettings): SecretRef[] {
  const keys = Object.values(models.providers).flatMap(({ apiKey }) => apiKey ?? [])
  const given = Object.values(tools.mcp).flatMap(server =>
    Object.values(server.kind === 'stdio' ? server.env : server.headers),
  )
  return [...keys, ...given.filter(value => typeof value === 'object')]
}

/** Not an error yet: a provider without a key is only one that cannot be used. */
function tellMissing(log: Log, error: unknown): void {
  log.info({ problem: error instanceof Error ? error.message : String(error) }, 'a secret is not there yet')
}
