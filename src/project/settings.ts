import { isObject, type Json, type JsonObject, own } from '../core/json.js'
import { patternOf } from '../core/names.js'
import { suggestion } from '../core/schema/suggest.js'
import { LOWEST_FLOOR } from '../core/supervisor/decision.js'
import { MIN_RETENTION_DAYS } from '../retention/rules.js'

export type Setting = {
  readonly about: string
  readonly env?: readonly string[]
  readonly inFile?: false
  readonly allowed: string
  /** Undefined when the value is not allowed. Flags and variables arrive as text, file values as JSON. */
  readonly parse: (raw: Json) => unknown
}

export type Kind = Pick<Setting, 'allowed' | 'parse'>

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const DAY = 24 * 60 * 60 * 1000

export const text = (allowed: string, pattern: RegExp): Kind => ({
  allowed,
  parse: raw => (typeof raw === 'string' && pattern.test(raw) ? raw : undefined),
})

export const integer = (min: number, max: number): Kind => ({
  allowed: `an integer from ${min} to ${max}`,
  parse: raw => {
    const value = typeof raw === 'string' && /^-?\d+$/.test(raw) ? Number(raw) : raw
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined
  },
})

/** R-CONF-5: an operator may ask for more confidence than the protocol does, never for less. */
const confidenceFloor: Kind = {
  allowed: `a number from ${LOWEST_FLOOR} to 1; a decision below ${LOWEST_FLOOR} is never carried out unseen, so the floor can be raised but not lowered (R-CONF-5)`,
  parse: raw => {
    const value = typeof raw === 'string' && /^\d+(\.\d+)?$/.test(raw) ? Number(raw) : raw
    return typeof value === 'number' && value >= LOWEST_FLOOR && value <= 1 ? value : undefined
  },
}

export const flag: Kind = {
  allowed: 'true or false',
  parse: raw => {
    if (typeof raw === 'boolean') return raw
    if (typeof raw !== 'string') return undefined
    return { true: true, '1': true, yes: true, false: false, '0': false, no: false, '': false }[raw.toLowerCase()]
  },
}

export const oneOf = (values: readonly string[]): Kind => ({
  allowed: `one of ${values.join(', ')}`,
  parse: raw => values.find(value => value === raw),
})

/** `provider:model`; a model's own name may have colons too. */
export const modelName: Kind = {
  allowed: 'PROVIDER:MODEL, such as openai:gpt-5-mini',
  parse: raw => {
    const [, provider, model] = (typeof raw === 'string' && MODEL_NAME.exec(raw)) || []
    return provider === undefined ? undefined : { provider, model }
  },
}
const MODEL_NAME = /^([a-z][a-z0-9-]{0,63}):([\x21-\x7e]{1,200})$/

/** Credentials in a URL would be a secret written down, so such a URL is not repeated either. */
export const url: Kind = {
  allowed: 'an http:// or https:// URL without user name and password',
  parse: raw => {
    if (typeof raw !== 'string' || !URL.canParse(raw)) return undefined
    const { protocol, username, password } = new URL(raw)
    return /^https?:$/.test(protocol) && username === '' && password === '' ? raw : undefined
  },
}

/** A key of AES-256 or several, newest first. */
const dataKeys: Kind = {
  allowed: 'the base64 of 32 bytes, or several of these separated by commas',
  parse: raw => {
    if (typeof raw !== 'string' || raw.length > 1000) return undefined
    const keys = raw.split(',').map(key => Buffer.from(key, 'base64'))
    const isWhole = (key: Buffer, i: number) => key.length === 32 && key.toString('base64') === raw.split(',')[i]
    return keys.every(isWhole) ? keys : undefined
  },
}

/** Names with a number of days each: an object in a file, `NAME=DAYS,…` as a flag or a variable. */
const daysByName = (min: number): Kind => ({
  allowed: `days by name, from ${min} to ${MAX_DAYS}, such as {"acme": 30}, or acme=30,other=90`,
  parse: raw => {
    const named = typeof raw === 'string' ? Object.fromEntries(raw.split(',').map(one => one.split('='))) : raw
    if (!isObject(named)) return undefined
    const days = Object.entries(named).map(([name, value]) => [name, integer(min, MAX_DAYS).parse(value)] as const)
    const isWhole = days.every(([name, value]) => NAME.test(name) && value !== undefined)
    return isWhole ? Object.fromEntries(days) : undefined
  },
})
const NAME = /^[^\p{Cc}]{1,256}$/u
const MAX_DAYS = 36_500

const QUOTAS: { readonly [name: string]: Kind } = {
  requestsInFlight: integer(1, 1_000_000),
  streams: integer(1, 1_000_000),
  activeRuns: integer(1, 100_000_000),
  childrenPerRoot: integer(1, 100_000_000),
  childDepth: integer(1, 1000),
  storedBytes: integer(1, Number.MAX_SAFE_INTEGER),
  effectsAtOnce: integer(1, 100_000),
  weight: integer(1, 1000),
}

const quota = (name: string): Kind => QUOTAS[name] as Kind

/** As keys spell them (`wire/key.ts`). */
const TENANT = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/

/** By tenant, as an object, or as its JSON where only text can be given. */
const tenantQuotas: Kind = {
  allowed: `an object that names tenants, each with an object of ${Object.keys(QUOTAS).join(', ')}, as integers of at least 1 (in a variable or flag: its JSON)`,
  parse: raw => {
    const tenants = typeof raw === 'string' ? parsed(raw) : raw
    if (!isObject(tenants)) return undefined
    const read = Object.entries(tenants).map(([tenant, given]): [string, JsonObject] | undefined => {
      if (!isObject(given) || !TENANT.test(tenant)) return undefined
      const values = Object.entries(given).map(([name, value]) => [name, own(QUOTAS, name)?.parse(value)] as const)
      return values.some(([, value]) => value === undefined)
        ? undefined
        : [tenant, Object.fromEntries(values) as JsonObject]
    })
    return read.every(entry => entry !== undefined) ? Object.fromEntries(read) : undefined
  },
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

const database: Kind = {
  allowed: 'sqlite:FILE, postgres://… or memory:',
  parse: raw => (typeof raw === 'string' && /^(sqlite:.+|postgres(ql)?:\/\/.+|memory:)$/.test(raw) ? raw : undefined),
}

const postgresUrl: Kind = text('postgres://…', /^postgres(ql)?:\/\/.+$/)

/** Every setting there is. `docs/reference/configuration.md` lists the same ones, and a test compares the two. */
export const SETTINGS: { readonly [setting: string]: Setting } = {
  host: { about: 'address to listen on', ...text('a host name or IP address', /^[A-Za-z0-9.:_-]{1,255}$/) },
  port: { about: 'port to listen on; 0 takes any free one', ...integer(0, 65_535) },
  allowedHosts: {
    about: 'names that requests may be addressed to, comma-separated, besides those of this machine',
    ...text(
      'host names without ports, such as assay.example.com',
      /^[A-Za-z0-9.:_-]{1,255}(,[A-Za-z0-9.:_-]{1,255}){0,99}$/,
    ),
  },
  data: { about: 'folder that holds everything the host keeps', ...text('a folder path', /^[^\0]{1,4096}$/) },
  database: { about: 'where runs are stored', ...database, env: ['ASSAY_DATABASE', 'DATABASE_URL'] },
  databasePooled: {
    about: 'the database is behind a pooler in transaction mode, such as PgBouncer',
    ...flag,
  },
  databaseDirectUrl: {
    about:
      'the server behind the pooler, for LISTEN and migrations; without it news of other hosts is looked for once a second',
    ...postgresUrl,
  },
  project: {
    about: 'folder whose workflows/ are loaded and whose assay.config file is read',
    ...text('a folder path', /^[^\0]{1,4096}$/),
    inFile: false,
  },
  apiKey: {
    about: 'one key with every scope, for tenant default',
    ...text('8 to 512 visible ASCII characters', /^[\x21-\x7e]{8,512}$/),
    inFile: false,
  },
  tokenSecrets: {
    about: 'secrets of the links that answer interrupts, comma-separated; the first signs, all verify',
    ...text(
      'secrets of 32 to 256 visible ASCII characters each',
      /^[\x21-\x2b\x2d-\x7e]{32,256}(,[\x21-\x2b\x2d-\x7e]{32,256}){0,9}$/,
    ),
    inFile: false,
  },
  dataKey: {
    about: 'keys that seal what agents and tools say, comma-separated; the first seals, all open',
    ...dataKeys,
    inFile: false,
  },
  watch: { about: 'take up changes of agents/, prompts/ and packs/ while serving', ...flag },
  conformance: { about: 'allow the node types that only conformance tests use', ...flag },
  fixtures: {
    about: 'folder of conformance workflows to register; only with conformance',
    ...text('a folder path', /^[^\0]{1,4096}$/),
    inFile: false,
  },
  hostName: {
    about: 'name of this host among those that share a database',
    ...text('1 to 128 letters, digits and . _ : -', new RegExp(patternOf('hostName'))),
  },
  leaseMs: { about: 'how long other hosts wait before they take over from a silent one', ...integer(100, 600_000) },
  'limits.maxNodeExecutions': { about: 'node executions in one run', ...integer(1, 100_000_000) },
  'limits.maxRunDurationMs': { about: 'duration of one run', ...integer(1000, 3650 * DAY) },
  'limits.maxLoopIterations': { about: 'turns of the orchestrator in one run', ...integer(1, 100_000_000) },
  'limits.maxRequestBodyBytes': { about: 'size of a request body', ...integer(1024, 256 * 1024 * 1024) },
  'limits.maxConcurrentEffects': { about: 'outside effects in progress at once', ...integer(1, 100_000) },
  'limits.maxDepth': { about: 'nesting of sub-workflows', ...integer(1, 1000) },
  'limits.maxPoisonAttempts': { about: 'times a run may take its host down', ...integer(1, 1000) },
  'limits.maxActiveRuns': { about: 'unfinished runs held by this host', ...integer(1, 100_000_000) },
  'limits.maxInflightRequests': { about: 'requests in progress at once', ...integer(1, 1_000_000) },
  'quotas.requestsInFlight': { about: 'requests of one tenant in progress at once', ...quota('requestsInFlight') },
  'quotas.streams': { about: 'open streams and held polls of one tenant', ...quota('streams') },
  'quotas.activeRuns': { about: 'unfinished runs of one tenant', ...quota('activeRuns') },
  'quotas.childrenPerRoot': { about: 'runs below one root run, however deep', ...quota('childrenPerRoot') },
  'quotas.childDepth': { about: 'nesting of runs of one tenant', ...quota('childDepth') },
  'quotas.storedBytes': { about: 'bytes that the runs of one tenant take up', ...quota('storedBytes') },
  'quotas.effectsAtOnce': { about: 'effects of one tenant in progress at once', ...quota('effectsAtOnce') },
  'quotas.weight': { about: 'turns of one tenant, in proportion to those of others', ...quota('weight') },
  'quotas.tenants': { about: 'quotas of single tenants, by name', ...tenantQuotas },
  'orchestrator.confidenceFloor': {
    about: 'confidence below which a person looks at a decision first',
    ...confidenceFloor,
  },
  'orchestrator.confidenceInterruptKind': {
    about: 'what such a person is asked',
    ...text(
      'approval, clarification or a vendor kind such as x-host-acme-review',
      /^(approval|clarification|x-host-[a-z][a-z0-9-]*-[a-z][a-z0-9-]*)$/,
    ),
  },
  'orchestrator.transcriptWindow': {
    about: 'latest events of the run that a deciding provider is shown',
    ...integer(1, 100_000),
  },
  'models.worker': { about: 'model that agents use', ...modelName },
  'models.supervisor': { about: 'model that supervisors decide with', ...modelName },
  'models.verifier': { about: 'model that verifiers judge with', ...modelName },
  'retention.days': {
    about: 'days that runs are kept after they have ended; for ever if it is not set',
    ...integer(MIN_RETENTION_DAYS, MAX_DAYS),
  },
  'retention.tenants': {
    about: 'the same by tenant; counts before retention.days',
    ...daysByName(MIN_RETENTION_DAYS),
  },
  'retention.workflows': {
    about: 'the same by workflow, of all tenants; counts before retention.tenants',
    ...daysByName(MIN_RETENTION_DAYS),
  },
  'rateLimit.requestsPerSecond': {
    about: 'requests per second and key; 0 turns the limit off',
    ...integer(0, 10_000_000),
  },
  'rateLimit.burst': { about: 'requests a key may make at once', ...integer(1, 10_000_000) },
  'webhooks.durable': { about: 'try failed deliveries again, for up to a day', ...flag },
  'webhooks.allowPrivate': {
    about: 'deliver to private addresses and over plain HTTP; never for production',
    ...flag,
    env: ['ASSAY_WEBHOOKS_ALLOW_PRIVATE', 'OPENWOP_WEBHOOK_ALLOW_PRIVATE'],
  },
  'tools.allowPrivate': {
    about: 'let assay:http.get fetch from private addresses and over plain HTTP, as far as tools.httpAllow goes',
    ...flag,
  },
  'probes.allowPrivate': {
    about: 'let probes of gates ask private addresses, also over plain HTTP; never for production',
    ...flag,
  },
  'log.level': { about: 'least severe level that is logged', ...oneOf(LOG_LEVELS) },
  'log.access': { about: 'log every request', ...flag },
}

/** Sections of a file whose settings have parts of their own. */
const NESTED: readonly string[] = ['models', 'prices', 'tools', 'budget']

/** `limits.maxDepth` → `ASSAY_LIMITS_MAX_DEPTH`. */
export const variableOf = (setting: string): string =>
  `ASSAY_${setting
    .replace(/([A-Z])/g, '_$1')
    .replaceAll('.', '_')
    .toUpperCase()}`

/** `limits.maxDepth` → `limits-max-depth`, as a flag without its dashes. */
export const flagOf = (setting: string): string =>
  setting
    .replace(/([A-Z])/g, '-$1')
    .replaceAll('.', '-')
    .toLowerCase()

/** Problems with the names in a configuration file: unknown ones, and those a file may not set. */
export function unknownSettings(file: string, settings: JsonObject): string[] {
  const problems: string[] = []
  const inFile = [...Object.keys(SETTINGS).filter(known => SETTINGS[known]?.inFile !== false), ...NESTED]
  for (const [head, value] of Object.entries(settings)) {
    // Read, and judged, by `agent-settings.ts`.
    if (NESTED.includes(head)) continue
    const isSection = Object.keys(SETTINGS).some(known => known.startsWith(`${head}.`))
    if (isSection && !isObject(value)) problems.push(`${head}: (from ${file}) must be an object of settings`)
    const names =
      isSection && isObject(value) ? Object.keys(value).map(key => `${head}.${key}`) : isSection ? [] : [head]
    for (const name of names) {
      const known = own(SETTINGS, name)
      if (known === undefined)
        problems.push(`${name}: (from ${file}) is not a setting${suggestion(name, inFile, 'settings')}`)
      else if (known.inFile === false)
        problems.push(`${name}: (from ${file}) cannot be set in a file; use ${variableOf(name)}`)
    }
  }
  return problems
}
