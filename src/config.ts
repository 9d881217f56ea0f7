import os from 'node:os'
import path from 'node:path'
import type { AgentSettings, SecretRef } from './agents/settings.js'
import type { BudgetPolicy } from './core/budget/budget.js'
import type { GoalWorkWritten } from './core/goal/goal-schema.js'
import type { ModelName } from './core/invocation/brief.js'
import { capabilitiesOf } from './core/invocation/model-capabilities.js'
import { isObject, type JsonObject, own } from './core/json.js'
import type { QuotasOf, Weights } from './core/quotas.js'
import { schemaProblems } from './core/schema/problems.js'
import { sha256 } from './digest.js'
import type { PeersSettings } from './peers/settings.js'
import { agentSettings, type Environment } from './project/agent-defaults.js'
import { agentSections, type GivenSections } from './project/agent-settings.js'
import { isProjectFolder, readConfigFile } from './project/config-file.js'
import { configFileProblems } from './project/config-schema.js'
import { DocumentError } from './project/document.js'
import { modelNamed } from './project/model-name.js'
import { peerProblems, peersWithin } from './project/peer-settings.js'
import { quotasWithin, weightsWithin } from './project/quotas.js'
import { readSecret } from './project/read-secret.js'
import { flagOf, type LOG_LEVELS, SETTINGS, type Setting, valueOfText, variableOf } from './project/settings.js'
import type { RetentionRules } from './retention/rules.js'

/**
 * The only reader of `process.env`. A setting comes from the first of: command-line flag, environment variable,
 * `assay.config.{json,yaml,yml}` in the project folder, default. Paths in the file are relative to the file; all
 * others to the working folder.
 */
export type Config = {
  readonly host: string
  readonly port: number
  /** What a Host header may name; undefined where it is not looked at, so that a proxy may send what it likes. */
  readonly allowedHosts: readonly string[] | undefined
  /** Absolute path of the folder that holds everything this host keeps. */
  readonly data: string
  readonly database: Database
  /** Absolute path of the project folder, if there is one. */
  readonly project: string | undefined
  /** One all-scope key for tenant `default`, from the environment; never from a file. */
  readonly apiKey: string | undefined
  /** Secrets of the links that answer interrupts, newest first; from the data folder when there are none. */
  readonly tokenSecrets: readonly string[]
  /** Gates that the project is meant to have no more. */
  readonly retired: readonly string[]
  /** Mounts the conformance seams and fixtures. Never for production. */
  readonly conformance: boolean
  /** Absolute path of a folder of conformance workflows; only in conformance mode. */
  readonly fixtures: string | undefined
  /** Names this host among those that share a database. A restart under the same name fences its predecessor. */
  readonly hostName: string
  /** By which other hosts know this one and those it shares its database with; where absent, the database has one. */
  readonly hostId: string | undefined
  /** How long other hosts wait before they take over the runs of a silent one. */
  readonly leaseMs: number
  readonly limits: LimitSettings
  /** What each tenant may have of it; every tenant has all of them. */
  readonly quotas: QuotasOf
  readonly weights: Weights
  readonly orchestrator: OrchestratorSettings
  /** Per key; `requestsPerSecond: 0` turns it off. */
  readonly retention: RetentionRules
  readonly scheduling: { readonly tenant: string; readonly horizonDays: number }
  /** `run`: what is run for a goal that does not say. */
  readonly goals: { readonly enabled: boolean; readonly run?: GoalWorkWritten }
  readonly memory: MemorySettings
  readonly workspace: WorkspaceSettings
  readonly rateLimit: { readonly requestsPerSecond: number; readonly burst: number }
  readonly webhooks: { readonly durable: boolean; readonly allowPrivate: boolean }
  /** Whether `assay:http.get`, probes of gates and `core.http` may ask this machine and its network, also without TLS. */
  readonly tools: { readonly allowPrivate: boolean }
  readonly probes: { readonly allowPrivate: boolean }
  readonly steps: { readonly allowPrivate: boolean; readonly atOnce: number; readonly memoryMb: number }
  readonly peers: PeersSettings
  readonly agents: AgentSettings
  /** What every run may spend at most, whatever it asks for. */
  readonly budget: BudgetPolicy & JsonObject
  /** Keys that seal what agents and tools say, newest first; from the data folder when there are none. */
  readonly dataKeys: readonly Buffer[]
  /** What a reference stands for now; undefined when there is nothing. */
  readonly readSecret: (ref: SecretRef) => Promise<string | undefined>
  readonly log: { readonly level: LogLevel; readonly access: boolean }
}

export type Database =
  | { readonly kind: 'sqlite'; readonly file: string }
  | {
      readonly kind: 'postgres'
      readonly url: string
      /** `url` leads to a pooler in transaction mode. */
      readonly pooled: boolean
      /** The server itself, for LISTEN and migrations. */
      readonly directUrl: string | undefined
    }
  | { readonly kind: 'memory' }

export type LimitSettings = {
  readonly maxNodeExecutions: number
  readonly maxRunDurationMs: number
  /** Turns of the orchestrator. */
  readonly maxLoopIterations: number
  readonly maxRequestBodyBytes: number
  readonly maxConcurrentEffects: number
  /** How deep sub-workflows may nest. */
  readonly maxDepth: number
  /** How often a run may take its host down before it is stopped. */
  readonly maxPoisonAttempts: number
  /** Unfinished runs this host holds at most; beyond it new runs get 503. */
  readonly maxActiveRuns: number
  /** Requests in progress at most; beyond it requests get 503. */
  readonly maxInflightRequests: number
}

export type OrchestratorSettings = {
  /** A decision that its maker is less sure of is shown to a person first. */
  readonly confidenceFloor: number
  /** `approval`, `clarification` or a vendor kind `x-host-…`. */
  readonly confidenceInterruptKind: string
  /** Latest events of its run that a deciding provider is shown. */
  readonly transcriptWindow: number
}

export type MemorySettings = {
  readonly enabled: boolean
  /** Content is kept plain, to be found by its words. */
  readonly fullText: boolean
  readonly maxEntryBytes: number
  readonly maxScopeEntries: number
  /** How long what was replaced, forgotten or expired is kept; for ever when absent. Of files, too. */
  readonly retentionDays?: number
}

export type WorkspaceSettings = {
  readonly enabled: boolean
  readonly maxFileBytes: number
  readonly maxFiles: number
}

export type LogLevel = (typeof LOG_LEVELS)[number]

/** Settings as the command line or an embedding program gives them, by path (`port`, `limits.maxDepth`, …). */
export type Overrides = { readonly [setting: string]: string | number | boolean | undefined }

/** Something is wrong with the configuration; each problem names the setting, its source, its value and what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'))
  }
}

/** Throws ConfigError with every problem found, not just the first. */
export function loadConfig(overrides: Overrides = {}, env: Environment = process.env, cwd = process.cwd()): Config {
  const problems: string[] = []
  const given = (setting: string) => fromFlagsOrEnvironment(setting, overrides, env, cwd, problems)

  const project = projectFolder(given('project'), cwd)
  const file = readFile(project, problems)
  const settings = new Map<string, Taken>()
  for (const setting of Object.keys(SETTINGS)) {
    const taken = given(setting) ?? fromFile(setting, file)
    if (taken !== undefined) settings.set(setting, taken)
  }
  if (settings.has('fixtures') && !isOn(settings, 'conformance'))
    problems.push('fixtures: only conformance mode registers fixtures; add --conformance, or leave fixtures out')
  const folder = file === undefined ? (project ?? cwd) : path.dirname(file.file)
  const sections = agentSections((file?.settings ?? {}) as GivenSections, folder)
  const place = { project, watch: isOn(settings, 'watch'), conformance: isOn(settings, 'conformance') }
  const agents = agentSettings(sections, modelsOf(settings), env, place, problems)
  const nested = { agents, budget: Object.freeze(sections.budget), readSecret: readerOf(env, folder) }
  const config = build(settings, project, cwd, nested)
  problems.push(...peerProblems(config.peers))
  if (problems.length > 0) throw new ConfigError([...new Set(problems)])
  return config
}

/** A value with the folder its relative paths start from. */
type Taken = { readonly value: unknown; readonly base: string }
type File = { readonly file: string; readonly settings: JsonObject }

function fromFlagsOrEnvironment(
  setting: string,
  overrides: Overrides,
  env: Environment,
  cwd: string,
  problems: string[],
): Taken | undefined {
  const override = own(overrides, setting)
  if (override !== undefined) return take(setting, override, `--${flagOf(setting)}`, cwd, problems)
  for (const name of SETTINGS[setting]?.env ?? [variableOf(setting)]) {
    const raw = env[name]
    if (raw !== undefined && raw !== '') return take(setting, raw, name, cwd, problems)
  }
  return undefined
}

/** The shape of the file has been looked at as a whole. */
function fromFile(setting: string, file: File | undefined): Taken | undefined {
  if (file === undefined || SETTINGS[setting]?.inFile === false) return undefined
  const [head = '', tail] = setting.split('.')
  const section = own(file.settings, head)
  const value = tail === undefined ? section : isObject(section) ? own(section, tail) : undefined
  return value === undefined ? undefined : { value, base: path.dirname(file.file) }
}

const isOn = (settings: ReadonlyMap<string, Taken>, setting: string): boolean => settings.get(setting)?.value === true

function modelsOf(settings: ReadonlyMap<string, Taken>) {
  const model = (role: string): ModelName | undefined => modelNamed(String(settings.get(`models.${role}`)?.value))
  return { worker: model('worker'), supervisor: model('supervisor'), verifier: model('verifier') }
}

const readerOf = (env: Environment, folder: string) => (ref: SecretRef) => readSecret(ref, env, folder)

/** Providers that can be asked: those that need no key, and those whose key is at hand. */
export async function usableProviders({
  agents,
  readSecret: read,
}: Pick<Config, 'agents' | 'readSecret'>): Promise<string[]> {
  const providers = Object.entries(agents.models.providers)
  const keys = await Promise.all(providers.map(([, { apiKey }]) => apiKey && read(apiKey)))
  return providers.flatMap(([name, { apiKey }], i) => (apiKey === undefined || keys[i] !== undefined ? [name] : []))
}

/** What the model has that workers use where nobody says otherwise. */
export const workerCapabilities = ({ agents: { models } }: Pick<Config, 'agents'>): readonly string[] =>
  capabilitiesOf(models.worker, models.capabilities)

/** Flags and variables are text; a program gives values. */
function take(
  setting: string,
  raw: string | number | boolean,
  source: string,
  base: string,
  problems: string[],
): Taken | undefined {
  const { schema } = SETTINGS[setting] as Setting
  const value = typeof raw === 'string' ? valueOfText(schema, raw) : raw
  const found = schemaProblems(schema, value, setting)
  problems.push(...found.map(problem => `${source}: ${problem}`))
  return found.length === 0 ? { value, base } : undefined
}

function projectFolder(given: Taken | undefined, cwd: string): string | undefined {
  if (given !== undefined) return path.resolve(given.base, String(given.value))
  return isProjectFolder(cwd) ? cwd : undefined
}

function readFile(project: string | undefined, problems: string[]): File | undefined {
  if (project === undefined) return undefined
  try {
    const found = readConfigFile(project)
    const wrong = found === undefined ? [] : configFileProblems(found.settings)
    problems.push(...wrong.map(problem => `${found?.file}: ${problem}`))
    return wrong.length === 0 ? found : undefined
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    problems.push(error.message)
    return undefined
  }
}

function build(
  settings: ReadonlyMap<string, Taken>,
  project: string | undefined,
  cwd: string,
  nested: Pick<Config, 'agents' | 'budget' | 'readSecret'>,
): Config {
  /** As the caller's type says: schema and type are two views of one setting. */
  const get = <T>(setting: string): T => (settings.get(setting)?.value ?? SETTINGS[setting]?.schema.default) as T
  const section = <T>(name: string): T => {
    const inside = Object.keys(SETTINGS).filter(setting => setting.startsWith(`${name}.`))
    const values = inside.map((setting): [string, unknown] => [setting.slice(name.length + 1), get(setting)])
    return Object.freeze(Object.fromEntries(values.filter(([, value]) => value !== undefined))) as T
  }
  const folder = (taken: Taken | undefined) => taken && path.resolve(taken.base, String(taken.value))
  const data = folder(settings.get('data')) ?? path.resolve(cwd, '.assay')
  const limits = section<LimitSettings>('limits')
  const quota = (name: string) => settings.get(`quotas.${name}`)?.value
  const config: Config = {
    host: get('host'),
    port: get('port'),
    allowedHosts: allowedHosts(get('host'), listed(settings, 'allowedHosts')),
    data,
    database: databaseOf(settings, data),
    project,
    apiKey: get('apiKey'),
    tokenSecrets: listed(settings, 'tokenSecrets'),
    retired: get('retired'),
    conformance: get('conformance'),
    fixtures: folder(settings.get('fixtures')),
    // Only one live host holds a data folder, so machine and folder name it, and name it again after a restart.
    hostName: get<string | undefined>('hostName') ?? `${os.hostname()}-${sha256(data).slice(0, 8)}`,
    hostId: get('hostId'),
    leaseMs: get('leaseMs'),
    limits,
    quotas: quotasWithin(limits, quota),
    weights: weightsWithin(quota),
    orchestrator: section('orchestrator'),
    retention: section('retention'),
    scheduling: section('scheduling'),
    goals: section('goals'),
    memory: section('memory'),
    workspace: section('workspace'),
    rateLimit: section('rateLimit'),
    webhooks: section('webhooks'),
    tools: section('tools'),
    steps: section('steps'),
    probes: section('probes'),
    peers: peersWithin(section('peers'), settings.get('peers.hosts')?.base ?? cwd),
    ...nested,
    dataKeys: listed(settings, 'dataKey').map(key => Buffer.from(key, 'base64')),
    log: section('log'),
  }
  return Object.freeze(config)
}

/** Several in one text, separated by commas. */
const listed = (settings: ReadonlyMap<string, Taken>, setting: string): readonly string[] =>
  String(settings.get(setting)?.value ?? '')
    .split(',')
    .filter(item => item !== '')

/** A page in a browser reaches whatever this machine can, under names of its own: on a loopback address always checked. */
function allowedHosts(host: string, configured: readonly string[]): readonly string[] | undefined {
  if (configured.length === 0 && !isLoopback(host)) return undefined
  return [...new Set(['localhost', '127.0.0.1', '::1', host, ...configured])]
}

function databaseOf(settings: ReadonlyMap<string, Taken>, data: string): Database {
  const taken = settings.get('database')
  if (taken === undefined) return { kind: 'sqlite', file: path.join(data, 'assay.db') }
  const value = String(taken.value)
  if (value === 'memory:') return { kind: 'memory' }
  if (!value.startsWith('sqlite:')) {
    const directUrl = settings.get('databaseDirectUrl')?.value as string | undefined
    return { kind: 'postgres', url: value, pooled: isOn(settings, 'databasePooled'), directUrl }
  }
  return { kind: 'sqlite', file: path.resolve(taken.base, value.slice('sqlite:'.length)) }
}

/** As `openStore` takes it. */
export function storeOf(
  database: Database,
): [url: string, options?: { postgres: { pooled: boolean; directUrl?: string } }] {
  if (database.kind !== 'postgres') return [database.kind === 'memory' ? 'memory:' : `sqlite:${database.file}`]
  const { url, pooled, directUrl } = database
  return [url, { postgres: directUrl === undefined ? { pooled } : { pooled, directUrl } }]
}

/** Where a client finds its server; what is undefined it looks up in the data folder. */
export type ClientConfig = { readonly url: string | undefined; readonly key: string | undefined; readonly data: string }

export function loadClientConfig(
  overrides: {
    readonly url?: string | undefined
    readonly key?: string | undefined
    readonly data?: string | undefined
  },
  env: Environment = process.env,
  cwd = process.cwd(),
): ClientConfig {
  // An empty variable is as good as none.
  const url = overrides.url ?? (env.ASSAY_URL || undefined)
  if (url !== undefined && !/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '')) {
    const source = overrides.url === undefined ? 'ASSAY_URL' : '--url'
    throw new ConfigError([`url: ${JSON.stringify(url)} (from ${source}) is not allowed; use http://… or https://…`])
  }
  const { data } = loadConfig({ data: overrides.data }, pick(env, ['ASSAY_DATA', 'ASSAY_PROJECT']), cwd)
  return { url, key: overrides.key ?? (env.ASSAY_API_KEY || undefined), data }
}

/** Throws when the address can be reached from outside and nothing guards it. */
export function assertSafeBinding(config: Pick<Config, 'host' | 'apiKey'>, hasKeys: boolean): void {
  if (isLoopback(config.host)) return
  if (config.apiKey === undefined && !hasKeys) {
    throw new ConfigError([
      `host: ${config.host} can be reached from other machines, and no key is configured; set ASSAY_API_KEY, or create a key with \`assay keys create\` while serving on 127.0.0.1`,
    ])
  }
  if (config.apiKey !== undefined && config.apiKey.length < 16) {
    throw new ConfigError([
      `apiKey: (from ASSAY_API_KEY) has fewer than 16 characters, too few for host ${config.host}`,
    ])
  }
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

const pick = (env: Environment, names: readonly string[]): Environment =>
  Object.fromEntries(names.map(name => [name, env[name]]))
