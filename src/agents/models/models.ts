import type { ModelName, Price } from '../../core/invocation/brief.js'
import { own } from '../../core/json.js'
import type { Egress } from '../../egress/egress.js'
import type { Agents, ModelCallRequest } from '../../engine/ports/agents.js'
import type { Clock, Random } from '../../engine/ports/clock.js'
import type { Log } from '../../engine/ports/log.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import type { Programs } from '../../engine/ports/today.js'
import type { Secrets } from '../../secrets/secrets.js'
import { repeatsCanary } from '../answer/canary.js'
import { judgeReply } from '../answer/judge.js'
import type { Spoken } from '../answer/spoken.js'
import type { AgentSettings, ModelSettings, ProviderSettings } from '../settings.js'
import { cacheKey, type SemanticRequest, semanticRequest } from './cache-key.js'
import { choose, type ModelChoice, type ModelWanted, priceOf } from './choose.js'
import { type Failing, rejected, steered, takenBack } from './failure.js'
import { askProvider, type LiveReply } from './live.js'
import { mockReply } from './mock-model.js'
import { worstCase } from './request-bound.js'
import { createScriptedModel } from './scripted/scripted-model.js'
import { toolName } from './tool-name.js'

export interface Models {
  choose(want: ModelWanted): ModelChoice
  /** Undefined when nobody has told. */
  priceOf(name: ModelName): Price | undefined
  /** As `Agents.callModel`: A1, A2, A4. */
  callModel(ask: ModelCallRequest): ReturnType<Agents['callModel']>
  keyOf(ask: ModelCallRequest): string
  /** The same of any request. */
  cacheKey(request: SemanticRequest): string
  /** The name by which a model knows a tool. */
  toolName(toolId: string, taken: ReadonlySet<string>): string
  close(): Promise<void>
}

export type ModelDeps = {
  readonly settings: ModelSettings
  readonly prices: AgentSettings['prices']
  readonly egress: Egress
  readonly secrets: Secrets
  readonly schemas: SchemaChecker
  readonly clock: Clock
  readonly log: Log
  /** Spreads tries that were turned away at the same time. */
  readonly random: Random
  /** In conformance mode: what the provider `mock` says. */
  readonly programs?: Programs | undefined
}

export function createModels(deps: ModelDeps): Models {
  const { settings, prices, egress, secrets, schemas, clock, log, random } = deps
  const closing = new AbortController()
  const scripted = createScriptedModel(settings.script, clock)

  async function reply(ask: ModelCallRequest): Promise<LiveReply> {
    const answer = await asked(ask)
    if (!answer.ok || !obeysItsOutput(answer.spoken, ask)) return answer
    return steered({ ...ask, tries: answer.retries + 1, worst: answer.spoken.usage })
  }

  async function asked(ask: ModelCallRequest): Promise<LiveReply> {
    const call: Failing = { provider: ask.provider, model: ask.model, tries: 1, worst: worstCase(ask) }
    const provider = own(settings.providers, ask.provider)
    if (ask.signal.aborted) return takenBack(call)
    if (provider === undefined) return rejected('this host has no such provider any more', call)
    if (provider.kind === 'mock') return mockReply(deps.programs, ask, call)
    if (provider.kind === 'scripted') return scripted(ask, call, secrets.redact)
    const key = await keyFor(provider, call)
    if (typeof key === 'object') return key
    const { kind, baseUrl } = provider
    return askProvider(ask, { kind, baseUrl, apiKey: key }, { settings, egress, redact: secrets.redact, clock, random })
  }

  /** Looked up for every request, so that a key can be changed while the host runs. */
  async function keyFor({ apiKey }: ProviderSettings, call: Failing) {
    if (apiKey === undefined) return undefined
    try {
      return await secrets.resolve(apiKey)
    } catch (error) {
      // Its message names where the key should be, and is all that may be said of it.
      return rejected(error instanceof Error ? error.message : 'its key cannot be read', call)
    }
  }

  async function think(ask: ModelCallRequest): ReturnType<Agents['callModel']> {
    const answer = await reply(ask)
    if (!answer.ok) {
      const { code, details = {} } = answer
      log.warn({ code, ...details }, 'a model call failed')
      return answer
    }
    const { told, contents } = await judgeReply(answer.spoken, ask, { schemas, secrets })
    return { ok: true, told: { ...told, retries: answer.retries }, contents }
  }

  return {
    choose: want => choose(want, settings),
    priceOf: name => priceOf(name, prices),
    callModel: ask => think({ ...ask, signal: AbortSignal.any([ask.signal, closing.signal]) }),
    keyOf: ask => cacheKey(semanticRequest(ask), settings.cacheKeyRecipe),
    cacheKey: request => cacheKey(request, settings.cacheKeyRecipe),
    toolName,
    async close() {
      closing.abort()
    },
  }
}

/** R-DWS-36: only what a verifier answers; it may well think about what it is not to do. */
const obeysItsOutput = ({ text, calls }: Spoken, { brief: { canary } }: ModelCallRequest): boolean =>
  canary !== undefined && repeatsCanary([text, ...calls.map(({ name, input }) => name + input)].join('\n'), canary)
