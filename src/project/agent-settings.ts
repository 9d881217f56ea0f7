import path from 'node:path'
import type { Static, TObject } from 'typebox'
import type { AgentSettings, McpServer, ModelSettings, ProviderSettings } from '../agents/settings.js'
import type { BudgetPolicy } from '../core/budget/budget.js'
import { MOCK_PROVIDER, MODEL_CLASSES, type Price } from '../core/invocation/brief.js'
import { type JsonObject, own } from '../core/json.js'
import { filledBy } from '../core/schema/filled.js'
import {
  Closed,
  Flag,
  ListOf,
  MapOf,
  Matching,
  May,
  Milliseconds,
  NumberFrom,
  OneOf,
  WebAddress,
  Whole,
} from '../core/schema/kinds.js'
import type { Shape } from '../core/schema/shape.js'
import { ModelNameText, modelNamed } from './model-name.js'
import { placedSecret, plainSecrets, SecretRefSchema, TextsOrSecrets } from './secret-ref.js'

/** The sections of a configuration file that agents go by: which models, at what price, which tools, how much. */

const HOUR = 60 * 60 * 1000
const MOST_ITEMS = 1000

const filePath = (description: string) =>
  Matching(/^[^\0]{1,4096}$/, 'a file path', { description, 'x-must-be': 'a file path' })

const PROVIDER_KINDS = ['openai', 'anthropic', 'google', 'openai-compatible', 'scripted'] as const

const Provider = Closed({
  kind: May(
    OneOf(PROVIDER_KINDS, {
      description: 'the protocol it speaks; its name where that is one of these, else openai-compatible',
    }),
  ),
  apiKey: May(SecretRefSchema),
  baseUrl: May(WebAddress({ description: 'where requests go; it may be on this machine or its network' })),
})

const OF_MODELS = /^[a-z][a-z0-9-]{0,63}:[\x21-\x7e]{1,200}$/
const MODELS_NAMED = 'PROVIDER:MODEL, such as openai:gpt-5-mini, or PROVIDER:* for all of its models'

/** Besides `worker`, `supervisor` and `verifier`, which are variables and flags as well. */
export const MODEL_PARTS = {
  classes: May(
    Closed(
      Object.fromEntries(MODEL_CLASSES.map(name => [name, May(ModelNameText(`model for agents of class ${name}`))])),
      { description: 'models by class of agents, in place of the worker’s' },
    ),
  ),
  providers: May(MapOf(/^[a-z][a-z0-9-]{0,63}$/, 'lower-case letters, digits and -, at most 64', Provider)),
  capabilities: May(
    MapOf(
      OF_MODELS,
      MODELS_NAMED,
      ListOf(Matching(/^[a-z][a-z0-9-]{0,127}$/, 'a capability, such as vision-input'), 0, 64),
      {
        description:
          'what models have, such as structured-output, function-calling, vision-input, reasoning or long-context; one that is not named here has the first two',
      },
    ),
  ),
  fallbacks: May(
    MapOf(OF_MODELS, MODELS_NAMED, ModelNameText('model that takes its place'), {
      description: 'models that take the place of others which lack what a node needs',
    }),
  ),
  maxOutputTokens: May(
    Whole(1, 10_000_000, {
      description: 'tokens of one answer; an answer that is cut off is asked for again with twice as many',
      default: 4096,
    }),
  ),
  timeoutMs: May(
    Milliseconds(1000, 24 * HOUR, {
      description: 'one request, from its first try to the last byte of the answer',
      default: 120_000,
    }),
  ),
  maxTries: May(
    Whole(1, 100, {
      description: 'tries of a request that the provider turns away unbilled (429, 503, no connection)',
      default: 4,
    }),
  ),
  maxRounds: May(Whole(1, 1000, { description: 'model calls of one invocation', default: 20 })),
  maxRetries: May(Whole(0, 15, { description: 'times an answer that cannot be used is asked for again', default: 2 })),
  reuseAnswers: May(
    Flag({ description: 'answer a request that this tenant has made before with the answer of then', default: false }),
  ),
  cacheKeyRecipe: May(OneOf(['v1', 'v2'] as const, { description: 'how such a request is recognised', default: 'v2' })),
  script: May(filePath('script of the scripted model')),
}

const usd = (description: string) =>
  NumberFrom(0, 1_000_000, { description, 'x-must-be': 'USD per million tokens, a number from 0 to 1000000' })

export const PricesSchema = MapOf(
  OF_MODELS,
  MODELS_NAMED,
  Closed({
    input: usd('what is sent'),
    output: usd('what is answered'),
    cacheRead: May(usd('what is read from the cache')),
    cacheWrite: May(usd('what is written to the cache')),
  }),
  { description: 'what models cost; without a price the cost is not known, and no ceiling in USD holds it' },
)

const Server = Closed({
  command: May(
    Matching(/^[^\0]{1,4096}$/, 'a command', { description: 'program that is started, in the folder of the file' }),
  ),
  args: May(ListOf(Matching(/^[^\0]{0,65536}$/, 'text', { 'x-must-be': 'text', 'x-unquoted': true }), 0, MOST_ITEMS)),
  cwd: May(filePath('folder it is started in')),
  env: May(TextsOrSecrets(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, 'the name of a variable')),
  url: May(WebAddress({ description: 'where it is reached over HTTP; may be on this machine or its network' })),
  headers: May(TextsOrSecrets(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/, 'the name of a header')),
})

const Rule = Closed({
  scopes: May(
    ListOf(Matching(/^[\x21-\x7e]{1,128}$/, 'the name of a scope'), 0, MOST_ITEMS, {
      description: 'what the run’s principal must be allowed before an agent may call this tool for it',
    }),
  ),
  ratePerMinute: May(Whole(1, 1_000_000, { description: 'calls per minute and principal' })),
  repeat: May(
    OneOf(['safe', 'keyed', 'never'] as const, {
      description: 'after a crash `safe` and `keyed` calls are made again, `never` ones are not',
    }),
  ),
  timeoutMs: May(Milliseconds(1, HOUR, { description: 'one call of this tool' })),
})

/** Besides `allowPrivate`, which is a variable and a flag as well. */
export const TOOL_PARTS = {
  mcp: May(MapOf(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, _ and -, at most 64', Server)),
  rules: May(MapOf(/^[A-Za-z0-9-]{1,64}:[^\s:]{1,256}$/, 'the id of a tool, such as mcp:files.read', Rule)),
  httpAllow: May(
    ListOf(WebAddress(), 0, MOST_ITEMS, {
      description: 'what `assay:http.get` may fetch, by the beginning of its URL',
    }),
  ),
  timeoutMs: May(Milliseconds(1, HOUR, { description: 'one call', default: 30_000 })),
  maxResultBytes: May(
    Whole(1024, 64 * 1024 * 1024, { description: 'what of a result the model is told', default: 65_536 }),
  ),
}

const ModelsSection = Closed(MODEL_PARTS)
const ToolsSection = Closed(TOOL_PARTS)

type GivenServer = Static<typeof Server>

/** These sections as a file says them, once their shape is right. */
export type GivenSections = {
  readonly models?: Static<typeof ModelsSection>
  readonly prices?: { readonly [model: string]: Price }
  readonly tools?: Static<typeof ToolsSection>
  readonly budget?: BudgetPolicy & JsonObject
}

/** As the host goes by them, but for the models of the roles: those can be chosen elsewhere too. */
export type AgentSections = Pick<AgentSettings, 'prices' | 'tools'> & {
  readonly models: Omit<ModelSettings, 'worker' | 'supervisor' | 'verifier'>
  readonly budget: BudgetPolicy & JsonObject
}

/** What is a flag as well (`models.worker`, `tools.allowPrivate`) is read with those. */
function withDefaults<Section extends TObject>(section: Section, given: object): WithDefaults<Static<Section>> {
  const own = Object.entries(given).filter(([name]) => Object.hasOwn(section.properties, name))
  return filledBy(section as Shape, Object.fromEntries(own)) as unknown as WithDefaults<Static<Section>>
}

type Optional = 'classes' | 'providers' | 'capabilities' | 'fallbacks' | 'script' | 'mcp' | 'rules' | 'httpAllow'
type WithDefaults<T> = Required<Omit<T, Optional>> & Pick<T, Optional & keyof T>

/** Rules that no schema says, about several settings together. */
export const sectionProblems = ({ models = {}, tools = {} }: GivenSections): string[] => [
  ...Object.entries(models.providers ?? {}).flatMap(([name, { kind, baseUrl }]) =>
    providerProblems(name, kind, baseUrl).map(problem => `models.providers.${name}${problem}`),
  ),
  ...Object.entries(tools.mcp ?? {}).flatMap(([name, server]) => serverProblems(server, `tools.mcp.${name}`)),
]

/** A provider that is called like a kind is of that kind; others speak OpenAI's protocol. */
const kindOf = (name: string, kind: ProviderSettings['kind'] | undefined): ProviderSettings['kind'] =>
  kind ?? PROVIDER_KINDS.find(known => known === name) ?? 'openai-compatible'

function providerProblems(name: string, kind: ProviderSettings['kind'] | undefined, baseUrl: string | undefined) {
  const own = PROVIDER_KINDS.find(known => known === name)
  if (name === MOCK_PROVIDER) return [' is the programmable provider of conformance mode; give yours another name']
  if (own !== undefined && kind !== undefined && kind !== own)
    return [`.kind must be ${own}; got "${kind}"; give a provider of another kind another name`]
  return kindOf(name, kind) === 'openai-compatible' && baseUrl === undefined
    ? ['.baseUrl is required: say where the provider is found']
    : []
}

const OF_A_PROCESS = ['args', 'cwd', 'env'] as const

/** A server is started as a process, in the folder of the file, or is found at a URL; never both. */
function serverProblems(server: GivenServer, at: string): string[] {
  const { command, url, headers = {}, env = {} } = server
  if ((command === undefined) === (url === undefined)) return [`${at} needs either command or url`]
  if (command !== undefined && server.headers !== undefined) return [`${at} has headers, which only a url takes`]
  const stray = OF_A_PROCESS.find(name => own(server, name) !== undefined)
  if (url !== undefined && stray !== undefined) return [`${at} has ${stray}, which only a command takes`]
  return [...plainSecrets(headers, `${at}.headers`), ...plainSecrets(env, `${at}.env`)]
}

/** What a file says, as the host goes by it. Relative paths start at the file's folder. */
export function agentSections(
  { models = {}, prices = {}, tools = {}, budget = {} }: GivenSections,
  folder: string,
): AgentSections {
  const {
    classes = {},
    providers = {},
    fallbacks = {},
    capabilities = {},
    script,
    ...limits
  } = withDefaults(ModelsSection, models)
  const { mcp = {}, rules = {}, httpAllow = [], ...others } = withDefaults(ToolsSection, tools)
  return {
    models: {
      ...limits,
      script: script === undefined ? undefined : path.resolve(folder, script),
      capabilities,
      fallbacks: mapped(fallbacks as { [name: string]: string }, modelNamed),
      classes: mapped(classes as { [name: string]: string }, modelNamed),
      providers: mapped(providers, ({ apiKey, ...given }, name) => ({
        ...given,
        ...(apiKey === undefined ? {} : { apiKey: placedSecret(apiKey, folder) }),
        kind: kindOf(name, given.kind),
      })),
    },
    prices,
    tools: { ...others, rules, httpAllow, mcp: mapped(mcp, server => serverOf(server, folder)) },
    budget,
  }
}

function serverOf({ command, args = [], cwd, env = {}, url, headers = {} }: GivenServer, folder: string): McpServer {
  const placed = (given: typeof env) =>
    mapped(given, value => (typeof value === 'string' ? value : placedSecret(value, folder)))
  if (url !== undefined) return { kind: 'http', url, headers: placed(headers) }
  return { kind: 'stdio', command: command ?? '', args, cwd: path.resolve(folder, cwd ?? '.'), env: placed(env) }
}

const mapped = <A, B>(
  values: { readonly [name: string]: A },
  to: (value: A, name: string) => B,
): { readonly [name: string]: NonNullable<B> } =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const made = to(value, name)
      return made === undefined || made === null ? [] : [[name, made]]
    }),
  )
