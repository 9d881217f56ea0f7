import path from 'node:path'
import type { McpServer, ProviderSettings, ToolRule } from '../agents/settings.js'
import { type BudgetPolicy, budgetProblems } from '../core/budget/budget.js'
import { MODEL_CLASSES, type ModelName, type Price } from '../core/invocation/brief.js'
import { type Json, type JsonObject, own } from '../core/json.js'
import { list, named, one, parts, type Read, type Reading, refuseValue } from './reading.js'
import { secretRef, textOrSecret } from './secret-ref.js'
import { flag, integer, type Kind, modelName, oneOf, text, url } from './settings.js'

/** The sections of a configuration file that agents go by: which models, at what price, which tools, how much. */

const HOUR = 60 * 60 * 1000

/** Read with the flat settings, for they are variables and flags as well. */
const elsewhere: Read<never> = () => undefined

const filePath = one<string>(text('a file path', /^[^\0]{1,4096}$/))
const placed: Read<string> = (raw, setting, to) => {
  const given = filePath(raw, setting, to)
  return given && path.resolve(to.folder, given)
}

const amount = (most: number): Kind => ({
  allowed: `a number from 0 to ${most}`,
  parse: raw => (typeof raw === 'number' && raw >= 0 && raw <= most ? raw : undefined),
})

const PROVIDER_KINDS = ['openai', 'anthropic', 'google', 'openai-compatible', 'scripted'] as const
type ProviderKind = (typeof PROVIDER_KINDS)[number]

const providerParts = parts({
  kind: one<ProviderKind>(oneOf(PROVIDER_KINDS)),
  apiKey: secretRef,
  baseUrl: one<string>(url, true),
})

/** A provider that is called like a kind is of that kind; others speak OpenAI's protocol. */
function provider(raw: Json, setting: string, to: Reading, name: string): ProviderSettings | undefined {
  const given = providerParts(raw, setting, to)
  if (given === undefined) return undefined
  const own = PROVIDER_KINDS.find(kind => kind === name)
  const kind = given.kind ?? own ?? 'openai-compatible'
  if (own !== undefined && kind !== own) return refuseValue(kind, `${setting}.kind`, to, `${own}, or another name`)
  if (kind === 'openai-compatible' && given.baseUrl === undefined) {
    to.problems.push(`${setting}.baseUrl: (from ${to.file}) is missing; say where the provider is found`)
    return undefined
  }
  return { ...given, kind }
}

const models = parts({
  worker: elsewhere,
  supervisor: elsewhere,
  verifier: elsewhere,
  classes: parts(
    Object.fromEntries(MODEL_CLASSES.map(name => [name, one<ModelName>(modelName)])) as {
      [Class in (typeof MODEL_CLASSES)[number]]: Read<ModelName>
    },
  ),
  providers: named(/^[a-z][a-z0-9-]{0,63}$/, 'lower-case letters, digits and -, at most 64', provider),
  maxOutputTokens: one<number>(integer(1, 10_000_000)),
  timeoutMs: one<number>(integer(1000, 24 * HOUR)),
  maxTries: one<number>(integer(1, 100)),
  maxRounds: one<number>(integer(1, 1000)),
  maxRetries: one<number>(integer(0, 15)),
  reuseAnswers: one<boolean>(flag),
  cacheKeyRecipe: one<'v1' | 'v2'>(oneOf(['v1', 'v2'])),
  script: placed,
})

const USD_PER_MILLION = amount(1_000_000)
const priceParts = parts({
  input: one<number>(USD_PER_MILLION),
  output: one<number>(USD_PER_MILLION),
  cacheRead: one<number>(USD_PER_MILLION),
  cacheWrite: one<number>(USD_PER_MILLION),
})

function price(raw: Json, setting: string, to: Reading): Price | undefined {
  const before = to.problems.length
  const { input, output, ...cache } = priceParts(raw, setting, to) ?? {}
  if (input !== undefined && output !== undefined) return { input, output, ...cache }
  if (to.problems.length === before)
    to.problems.push(`${setting}: (from ${to.file}) needs input and output, both in USD per million tokens`)
  return undefined
}

const prices = named(
  /^[a-z][a-z0-9-]{0,63}:[\x21-\x7e]{1,200}$/,
  'PROVIDER:MODEL, such as openai:gpt-5-mini, or PROVIDER:* for all of its models',
  price,
)

const serverParts = parts({
  command: one<string>(text('a command', /^[^\0]{1,4096}$/)),
  args: list(one<string>(text('text', /^[^\0]{0,65536}$/), true)),
  cwd: placed,
  env: named(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, 'the name of a variable', textOrSecret),
  url: one<string>(url, true),
  headers: named(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/, 'the name of a header', textOrSecret),
})

const OF_A_PROCESS = ['args', 'cwd', 'env'] as const

/** A server is started as a process, in the folder of the file, or is found at a URL; never both. */
function server(raw: Json, setting: string, to: Reading): McpServer | undefined {
  const before = to.problems.length
  const given = serverParts(raw, setting, to)
  if (given === undefined || to.problems.length > before) return undefined
  const { command, args = [], cwd = to.folder, env = {}, url: at, headers = {} } = given
  const refuse = (what: string): undefined => {
    to.problems.push(`${setting}: (from ${to.file}) ${what}`)
    return undefined
  }
  if ((command === undefined) === (at === undefined)) return refuse('needs either command or url')
  if (command !== undefined)
    return given.headers === undefined
      ? { kind: 'stdio', command, args, cwd, env }
      : refuse('has headers, which only a url takes')
  const stray = OF_A_PROCESS.find(name => own(given, name) !== undefined)
  return stray === undefined
    ? { kind: 'http', url: at as string, headers }
    : refuse(`has ${stray}, which only a command takes`)
}

const rule: Read<ToolRule> = parts({
  scopes: list(one<string>(text('the name of a scope', /^[\x21-\x7e]{1,128}$/))),
  ratePerMinute: one<number>(integer(1, 1_000_000)),
  repeat: one<'safe' | 'keyed' | 'never'>(oneOf(['safe', 'keyed', 'never'])),
  timeoutMs: one<number>(integer(1, HOUR)),
})

const tools = parts({
  allowPrivate: elsewhere,
  mcp: named(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, _ and -, at most 64', server),
  rules: named(/^[A-Za-z0-9-]{1,64}:[^\s:]{1,256}$/, 'the id of a tool, such as mcp:files.read', rule),
  httpAllow: list(one<string>(url, true)),
  timeoutMs: one<number>(integer(1, HOUR)),
  maxResultBytes: one<number>(integer(1024, 64 * 1024 * 1024)),
})

/** What it may be is for the core to say: a run may bring a budget too. */
const ofBudget =
  (name: keyof BudgetPolicy): Read<Json> =>
  (raw, setting, to) => {
    const [problem] = budgetProblems({ [name]: raw }, 'budget')
    if (problem === undefined) return raw
    to.problems.push(problem.replace(setting, `${setting}: (from ${to.file})`))
    return undefined
  }

const BUDGET = [
  'maxTokens',
  'maxCostUsd',
  'maxToolCalls',
  'maxRetries',
  'modelAllow',
  'modelDeny',
  'thresholdPercent',
] as const satisfies readonly (keyof BudgetPolicy)[]

const budget = parts(Object.fromEntries(BUDGET.map(name => [name, ofBudget(name)]))) as Read<BudgetPolicy & JsonObject>

const SECTIONS = { models, prices, tools, budget }

export type AgentSections = {
  readonly [Name in keyof typeof SECTIONS]?: NonNullable<ReturnType<(typeof SECTIONS)[Name]>>
}

/** What a file says in these sections; problems are added to those of the reading. */
export function readAgentSections(settings: JsonObject, to: Reading): AgentSections {
  const taken = Object.entries(SECTIONS).map(([name, read]) => {
    const raw = own(settings, name)
    return [name, raw === undefined ? undefined : read(raw, name, to)]
  })
  return Object.fromEntries(taken) as AgentSections
}
