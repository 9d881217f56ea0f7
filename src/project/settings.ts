import { type TSchema, Type } from 'typebox'
import { GoalWorkSchema } from '../core/goal/goal-schema.js'
import type { Json } from '../core/json.js'
import { patternOf } from '../core/names.js'
import {
  type Annotations,
  Closed,
  Flag,
  MapOf,
  Matching,
  May,
  Milliseconds,
  NumberFrom,
  OneOf,
  Whole,
} from '../core/schema/kinds.js'
import type { Shape } from '../core/schema/shape.js'
import { LOWEST_FLOOR } from '../core/supervisor/decision.js'
import { MIN_RETENTION_DAYS } from '../retention/rules.js'
import { ModelNameText } from './model-name.js'
import { PeerHostsSchema } from './peer-settings.js'
import { RetiredGates } from './retired-gates.js'

/** A setting that a flag, a variable and (unless `inFile` says no) the configuration file can give. */
export type Setting = {
  /** `description` says what it is for, `default` what holds where nobody has said anything. */
  readonly schema: TSchema & Shape
  readonly env?: readonly string[]
  readonly inFile?: false
  /** What holds where nobody has said anything, where that is no constant. */
  readonly otherwise?: string
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const DAY = 24 * 60 * 60 * 1000
const MAX_DAYS = 36_500

const line = (description: string, mustBe: string, pattern: RegExp, more: Annotations = {}) =>
  Matching(pattern, mustBe, { description, 'x-must-be': mustBe, ...more })

const folder = (description: string) => line(description, 'a folder path', /^[^\0]{1,4096}$/)

const count = (description: string, min: number, max: number, otherwise?: number) =>
  Whole(min, max, { description, ...(otherwise === undefined ? {} : { default: otherwise }) })

const flag = (description: string, otherwise = false) => Flag({ description, default: otherwise })

/** R-CONF-5: an operator may ask for more confidence than the protocol does, never for less. */
const confidenceFloor = NumberFrom(LOWEST_FLOOR, 1, {
  description: 'confidence below which a person looks at a decision first',
  default: LOWEST_FLOOR,
  'x-must-be': `a number from ${LOWEST_FLOOR} to 1; a decision below ${LOWEST_FLOOR} is never carried out unseen, so the floor can be raised but not lowered (R-CONF-5)`,
})

/** Keys of AES-256, newest first. */
const dataKey = Type.Refine(
  Type.String({
    maxLength: 1000,
    description:
      'keys that seal what agents and tools say, comma-separated: the first seals, all open; hosts that share a database need the same ones',
    'x-must-be': 'the base64 of 32 bytes, or several of these separated by commas',
    'x-unquoted': true,
  }),
  text => text.split(',').every(key => Buffer.from(key, 'base64').length === 32 && toBase64(key) === key),
  () => '',
)
const toBase64 = (key: string): string => Buffer.from(key, 'base64').toString('base64')

const daysByName = (description: string) =>
  MapOf(
    /^[^\p{Cc}]{1,256}$/u,
    'a name of 1 to 256 characters',
    Whole(MIN_RETENTION_DAYS, MAX_DAYS, {
      'x-must-be': `a whole number of days from ${MIN_RETENTION_DAYS} to ${MAX_DAYS}`,
      'x-unit': 'days',
    }),
    {
      description,
      default: {},
      'x-must-be': 'days by name, such as {"acme": 30}, or acme=30,other=90 in a variable or flag',
    },
  )

const QUOTAS = {
  requestsInFlight: count('requests of one tenant in progress, streams included', 1, 1_000_000),
  streams: count('open streams and held polls of one tenant', 1, 1_000_000),
  activeRuns: count('unfinished runs of one tenant', 1, 100_000_000),
  childrenPerRoot: count('runs below one root run, however deep, ended ones too', 1, 100_000_000),
  childDepth: count('nesting of runs of one tenant; never more than `limits.maxDepth`', 1, 1000),
  storedBytes: count('bytes that the runs of one tenant take up', 1, Number.MAX_SAFE_INTEGER),
  effectsAtOnce: count('effects of one tenant in progress at once on one host', 1, 100_000),
  schedules: count('schedules of the workflows of one tenant', 1, 100_000),
  goals: count('goals of one tenant that have not come to their end', 1, 100_000),
  weight: count('turns of one tenant, in proportion to those of others', 1, 1000),
}

/** By tenant, as keys spell them (`wire/key.ts`). */
const tenantQuotas = MapOf(
  /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
  'the name of a tenant: 1 to 64 letters, digits and _ . -',
  Closed(Object.fromEntries(Object.entries(QUOTAS).map(([name, schema]) => [name, May(schema)]))),
  {
    description: 'quotas of single tenants, by name, such as `{"acme": {"streams": 50, "weight": 3}}`',
    default: {},
    'x-must-be': `an object that names tenants, each with an object of ${Object.keys(QUOTAS).join(', ')} (in a variable or flag: its JSON)`,
  },
)

const of = (schema: TSchema, more: Omit<Setting, 'schema'> = {}): Setting => ({
  schema: schema as Setting['schema'],
  ...more,
})

const NOT_IN_FILE = { inFile: false } as const

/** Every setting there is that has a flag and a variable. `docs/reference/configuration.md` is made from it. */
export const SETTINGS: { readonly [setting: string]: Setting } = {
  host: of(
    line('address to listen on', 'a host name or IP address', /^[A-Za-z0-9.:_-]{1,255}$/, { default: '127.0.0.1' }),
  ),
  port: of(count('port to listen on; 0 takes any free one', 0, 65_535, 4100)),
  allowedHosts: of(
    line(
      "names that a request's `Host` may have besides this machine's own, comma-separated; see [addresses and keys](#addresses-and-keys)",
      'host names without ports, such as assay.example.com',
      /^[A-Za-z0-9.:_-]{1,255}(,[A-Za-z0-9.:_-]{1,255}){0,99}$/,
    ),
  ),
  data: of(folder('folder that holds everything the host keeps'), { otherwise: '`./.assay`' }),
  database: of(
    line(
      'where runs are stored; `memory:` is lost on exit',
      'sqlite:FILE, postgres://… or memory:',
      /^(sqlite:.+|postgres(ql)?:\/\/.+|memory:)$/,
      {
        'x-unquoted': true,
      },
    ),
    { env: ['ASSAY_DATABASE', 'DATABASE_URL'], otherwise: '`sqlite:<data>/assay.db`' },
  ),
  databasePooled: of(
    flag(
      'the database is PostgreSQL [behind a pooler](../guides/operations.md#postgresql-behind-a-pooler) in transaction mode',
    ),
  ),
  databaseDirectUrl: of(
    line(
      'the server behind the pooler, for `LISTEN` and migrations; without it news of other hosts is looked for once a second',
      'postgres://…',
      /^postgres(ql)?:\/\/.+$/,
      { 'x-unquoted': true },
    ),
  ),
  project: of(folder('folder whose `workflows/` are loaded and whose assay.config file is read'), {
    ...NOT_IN_FILE,
    otherwise: 'the working folder, if it has `workflows/` or a configuration file',
  }),
  apiKey: of(
    line(
      'one key with every scope, for tenant `default`; at least 16 characters on an address others can reach',
      '8 to 512 visible ASCII characters',
      /^[\x21-\x7e]{8,512}$/,
      { 'x-unquoted': true },
    ),
    NOT_IN_FILE,
  ),
  tokenSecrets: of(
    line(
      'secrets of the links that answer interrupts, comma-separated: the first signs, all verify; hosts that share a database need the same ones',
      'secrets of 32 to 256 visible ASCII characters each',
      /^[\x21-\x2b\x2d-\x7e]{32,256}(,[\x21-\x2b\x2d-\x7e]{32,256}){0,9}$/,
      { 'x-unquoted': true },
    ),
    { ...NOT_IN_FILE, otherwise: 'made on first start, in `<data>/link-secrets`' },
  ),
  dataKey: of(dataKey, { ...NOT_IN_FILE, otherwise: 'made on first start, in `<data>/data.key`' }),
  watch: of(flag('take up changes of `agents/`, `prompts/` and `packs/` while serving')),
  retired: of(RetiredGates),
  conformance: of(flag('allow the node types that only conformance tests use; never in production')),
  fixtures: of(
    folder(
      'folder whose `*.json` workflows are registered for every tenant and advertised in discovery; what this host cannot run is skipped and logged; only with `conformance`',
    ),
    NOT_IN_FILE,
  ),
  hostName: of(
    line(
      'name of this host among those that share a database; a restart under the same name takes over at once',
      '1 to 128 letters, digits and . _ : -',
      new RegExp(patternOf('hostName')),
    ),
    { otherwise: 'machine name and data folder' },
  ),
  hostId: of(
    line(
      'id by which other hosts know this one, and all that share its database; once given it stays',
      'a domain name, or one with a path: 1 to 255 letters, digits and . _ : / -, first and last a letter or digit',
      new RegExp(patternOf('hostId')),
    ),
    { otherwise: 'made on first start, in the database' },
  ),
  leaseMs: of(
    Milliseconds(100, 600_000, {
      description: 'how long other hosts wait before they take over from a silent one',
      default: 10_000,
    }),
  ),
  'limits.maxNodeExecutions': of(count('node executions in one run', 1, 100_000_000, 100_000)),
  'limits.maxRunDurationMs': of(
    Milliseconds(1000, 3650 * DAY, { description: 'duration of one run', default: 31 * DAY }),
    { otherwise: '`2678400000` (31 days)' },
  ),
  'limits.maxLoopIterations': of(
    count(
      'turns of the orchestrator in one run; a run may ask for fewer with `configurable.maxLoopIterations`',
      1,
      100_000_000,
      10_000,
    ),
  ),
  'limits.maxRequestBodyBytes': of(count('bytes of a request body', 1024, 256 * 1024 * 1024, 1024 * 1024), {
    otherwise: '`1048576` (1 MiB)',
  }),
  'limits.maxConcurrentEffects': of(count('outside effects in progress at once', 1, 100_000, 64)),
  'limits.maxDepth': of(count('nesting of sub-workflows', 1, 1000, 16)),
  'limits.maxPoisonAttempts': of(count('times a run may take its host down before it is stopped', 1, 1000, 5)),
  'limits.maxActiveRuns': of(
    count('unfinished runs held by this host; beyond it new runs get 503', 1, 100_000_000, 100_000),
  ),
  'limits.maxInflightRequests': of(count('requests in progress; beyond it requests get 503', 1, 1_000_000, 2_000)),
  'quotas.requestsInFlight': of(QUOTAS.requestsInFlight, { otherwise: '¾ of `limits.maxInflightRequests`' }),
  'quotas.streams': of(QUOTAS.streams, { otherwise: '½ of `limits.maxInflightRequests`' }),
  'quotas.activeRuns': of(QUOTAS.activeRuns, { otherwise: '¾ of `limits.maxActiveRuns`' }),
  'quotas.childrenPerRoot': of(QUOTAS.childrenPerRoot, { otherwise: '`10000`' }),
  'quotas.childDepth': of(QUOTAS.childDepth, { otherwise: '`limits.maxDepth`' }),
  'quotas.storedBytes': of(QUOTAS.storedBytes, { otherwise: '20 GiB' }),
  'quotas.effectsAtOnce': of(QUOTAS.effectsAtOnce, { otherwise: '¾ of `limits.maxConcurrentEffects`' }),
  'quotas.schedules': of(QUOTAS.schedules, { otherwise: '`1000`' }),
  'quotas.goals': of(QUOTAS.goals, { otherwise: '`1000`' }),
  'quotas.weight': of(QUOTAS.weight, { otherwise: '`1`' }),
  'quotas.tenants': of(tenantQuotas),
  'orchestrator.confidenceFloor': of(confidenceFloor),
  'orchestrator.confidenceInterruptKind': of(
    line(
      'what such a person is asked; a [vendor kind](../guides/orchestrator.md#a-vendor-kind-of-question) is `x-host-HOST-KIND`',
      'approval, clarification or a vendor kind such as x-host-acme-review',
      /^(approval|clarification|x-host-[a-z][a-z0-9-]*-[a-z][a-z0-9-]*)$/,
      { default: 'approval' },
    ),
  ),
  'orchestrator.transcriptWindow': of(
    count('latest events of its run that a deciding provider is shown', 1, 100_000, 200),
  ),
  'models.worker': of(ModelNameText('model that agents use'), { otherwise: '[see below](#models)' }),
  'models.supervisor': of(ModelNameText('model that supervisors decide with'), { otherwise: 'that of the worker' }),
  'models.verifier': of(ModelNameText('model that verifiers judge with'), { otherwise: 'that of the worker' }),
  'retention.days': of(
    Whole(MIN_RETENTION_DAYS, MAX_DAYS, {
      description: 'days that runs are kept after they have ended ([retention](storage.md#retention))',
      'x-must-be': `a whole number of days from ${MIN_RETENTION_DAYS} to ${MAX_DAYS}`,
      'x-unit': 'days',
    }),
    { otherwise: 'for ever' },
  ),
  'retention.tenants': of(
    daysByName('the same by tenant, `{"acme": 30}` or `acme=30`; counts before `retention.days`'),
  ),
  'retention.workflows': of(daysByName('the same by workflow, of all tenants; counts before `retention.tenants`')),
  'scheduling.tenant': of(
    line(
      'tenant whose runs the schedules of the workflows of the project start ([schedules](../guides/schedules.md))',
      'the name of a tenant: 1 to 64 letters, digits and _ . -',
      /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
      { default: 'default' },
    ),
  ),
  'scheduling.horizonDays': of(count('days within which the first time of a schedule must lie', 1, 3_650, 366)),
  'goals.enabled': of(
    flag('let there be goals ([goals](../guides/goals.md)); `false` makes none, and those there are rest', true),
  ),
  'goals.run': of(GoalWorkSchema as TSchema, {
    otherwise: 'nothing; a goal says so itself, or runs name it',
  }),
  'memory.enabled': of(flag('let runs write down what later runs can read ([memory](../guides/memory.md))', true)),
  'memory.fullText': of(
    flag(
      'keep what they write plain, without secrets, so that it is found by its words; `false` seals it, and it is found by its tags alone',
      true,
    ),
  ),
  'memory.maxEntryBytes': of(count('bytes of one entry', 1, 1024 * 1024, 64 * 1024), { otherwise: '`65536` (64 KiB)' }),
  'memory.maxScopeEntries': of(count('entries of one scope', 1, 1_000_000, 10_000)),
  'memory.retentionDays': of(
    Whole(1, MAX_DAYS, {
      description:
        'days that entries and files are kept after they were replaced, forgotten or expired; forks that would see them are refused from then on',
      'x-must-be': `a whole number of days from 1 to ${MAX_DAYS}`,
      'x-unit': 'days',
    }),
    { otherwise: 'for ever' },
  ),
  'workspace.enabled': of(
    flag('let runs and keys keep files that later runs can read ([workspace](../guides/workspace.md))', true),
  ),
  'workspace.maxFileBytes': of(count('bytes of one file', 1, 64 * 1024 * 1024, 8 * 1024 * 1024), {
    otherwise: '`8388608` (8 MiB)',
  }),
  'workspace.maxFiles': of(count('files of one tenant', 1, 1_000_000, 10_000)),
  'rateLimit.requestsPerSecond': of(count('requests per second and key; 0 turns the limit off', 0, 10_000_000, 20_000)),
  'rateLimit.burst': of(count('requests a key may make at once', 1, 10_000_000, 40_000)),
  'webhooks.durable': of(
    flag('try failed deliveries again, under the same delivery id, for up to a day; `false` makes one attempt', true),
  ),
  'webhooks.allowPrivate': of(flag('deliver webhooks to private addresses and over plain HTTP; never for production'), {
    env: ['ASSAY_WEBHOOKS_ALLOW_PRIVATE', 'OPENWOP_WEBHOOK_ALLOW_PRIVATE'],
  }),
  'tools.allowPrivate': of(
    flag('let `assay:http.get` fetch from private addresses and over plain HTTP, as far as `tools.httpAllow` goes'),
  ),
  'steps.allowPrivate': of(
    flag('let `core.http` ask private addresses, also over plain HTTP, for whoever may register a workflow'),
  ),
  'steps.atOnce': of(
    count('steps and commands of workflows that run at once on one host, of all tenants', 1, 1_000, 4),
  ),
  'steps.memoryMb': of(count('MiB of memory that the process of a step may have in use', 128, 1_048_576, 512)),
  'probes.allowPrivate': of(
    flag('let `http` probes of gates ask private addresses, also over plain HTTP; never for production'),
  ),
  'peers.lostAfter': of(
    Milliseconds(100, 31 * DAY, {
      description: 'silence of a peer after which what it has in hand is given up ([peers](../guides/peers.md))',
      default: 900_000,
    }),
    { otherwise: '`900000` (15 minutes)' },
  ),
  'peers.maxOutputBytes': of(
    count(
      'bytes of one answer of a peer, results included; a larger one is not read',
      1024,
      64 * 1024 * 1024,
      1024 * 1024,
    ),
    { otherwise: '`1048576` (1 MiB)' },
  ),
  'peers.hosts': of(PeerHostsSchema),
  'log.level': of(OneOf(LOG_LEVELS, { description: 'least severe level that is logged', default: 'info' })),
  'log.access': of(flag('log every request')),
}

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

const FLAGS: { readonly [word: string]: boolean } = {
  true: true,
  1: true,
  yes: true,
  false: false,
  0: false,
  no: false,
  '': false,
}

/** What the text of a flag or a variable stands for; the text itself where it is nothing of the kind. */
export function valueOfText({ type }: Shape, text: string): Json {
  if (type === 'integer' || type === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
  if (type === 'boolean') return FLAGS[text.toLowerCase()] ?? text
  if (type === 'array') return /^\s*\[/.test(text) ? (parsed(text) ?? text) : text.split(',')
  if (type === 'object') return /^\s*[[{]/.test(text) ? (parsed(text) ?? text) : (pairs(text) ?? text)
  return text
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** `acme=30,other=90`. */
function pairs(text: string): Json | undefined {
  const found = text.split(',').map(pair => /^([^=]+)=(.*)$/.exec(pair))
  if (found.some(pair => pair === null)) return undefined
  return Object.fromEntries(found.map(pair => [pair?.[1], valueOfText({ type: 'integer' }, pair?.[2] ?? '')])) as Json
}
