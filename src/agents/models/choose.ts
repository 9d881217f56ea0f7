import type { AiOverride, ModelClass, ModelLacks, ModelName, ModelRole, Price } from '../../core/invocation/brief.js'
import { capabilitiesOf, ofModel } from '../../core/invocation/model-capabilities.js'
import { own } from '../../core/json.js'
import type { AgentSettings, ModelSettings } from '../settings.js'

export type ModelWanted = {
  readonly role: ModelRole
  readonly modelClass: ModelClass
  readonly ai: AiOverride
  readonly inlineModel?: string
  /** What the run names for this agent alone. */
  readonly ownModel?: string
  readonly fixed?: ModelName
  readonly needs?: readonly string[]
  readonly fallback?: ModelName
}

export type ModelChoice =
  | { readonly ok: true; readonly name: ModelName; readonly substituted?: ModelLacks }
  | {
      readonly ok: false
      readonly code: string
      readonly message: string
      readonly lacks?: ModelLacks & { readonly fallbackAttempted: boolean }
    }

/**
 * R-LIVE-3: what the run was told to use, first of all for this very agent, then what the workflow says, then what this run has used for the same role
 * and class before, and only then what the host is set to now.
 */
export function choose(want: ModelWanted, settings: ModelSettings): ModelChoice {
  const wanted = preferred(want, settings)
  return wanted.ok ? capable(wanted.name, want, settings) : wanted
}

/** R-ENV-4: a model that lacks what is needed is not asked; the one that takes its place must have all of it itself. */
function capable(name: ModelName, { needs = [], fallback }: ModelWanted, settings: ModelSettings): ModelChoice {
  const missing = lackedBy(name, needs, settings)
  if (missing.length === 0) return { ok: true, name }
  const instead = fallback ?? ofModel(name, settings.fallbacks)
  const lacks = { ...name, missing }
  if (instead && usable(instead, settings).ok && lackedBy(instead, needs, settings).length === 0)
    return { ok: true, name: instead, substituted: lacks }
  const message = `${name.provider}:${name.model} lacks ${missing.join(', ')}${instead ? `, and so does, or cannot be used, ${instead.provider}:${instead.model}` : ''}; choose another model, or say in models.capabilities what it has`
  return {
    ok: false,
    code: 'capability_not_provided',
    message,
    lacks: { ...lacks, fallbackAttempted: instead !== undefined },
  }
}

const lackedBy = (name: ModelName, needs: readonly string[], settings: ModelSettings): string[] =>
  needs.filter(need => !capabilitiesOf(name, settings.capabilities).includes(need))

function preferred(want: ModelWanted, settings: ModelSettings): ModelChoice {
  const { role, modelClass, ai, inlineModel, ownModel, fixed } = want
  const byClass = role === 'worker' ? settings.classes[modelClass] : undefined
  const base = fixed ?? byClass ?? settings[role]
  const inline = inlineModel === undefined ? base : named(inlineModel, base.provider)
  const general = overridden(inline, ai)
  const { provider, model } = ownModel === undefined ? general : named(ownModel, general.provider)
  if (model === undefined) return no(`say which model of ${shown(provider)} to use: configurable.ai.model`)
  return usable({ provider, model }, settings)
}

function usable({ provider, model }: ModelName, settings: ModelSettings): ModelChoice {
  const known = own(settings.providers, provider)
  if (known === undefined) {
    return no(`there is no model provider ${shown(provider)}; known: ${Object.keys(settings.providers).join(', ')}`)
  }
  if (known.kind === 'openai-compatible' && known.baseUrl === undefined) {
    return no(`the model provider ${shown(provider)} needs a baseUrl`)
  }
  if (known.kind === 'scripted' || known.kind === 'mock') return { ok: true, name: { provider, model } }
  if (known.apiKey === undefined && known.baseUrl === undefined) {
    return no(`the model provider ${shown(provider)} has no key; set one, or use scripted:default offline`)
  }
  return { ok: true, name: { provider, model } }
}

function overridden(
  base: ModelName,
  ai: AiOverride,
): { readonly provider: string; readonly model: string | undefined } {
  if (ai.provider === undefined) return ai.model === undefined ? base : named(ai.model, base.provider)
  const { provider } = ai
  // Models may have colons in their names, so only the provider's own name is taken off.
  if (ai.model !== undefined)
    return { provider, model: ai.model.startsWith(`${provider}:`) ? ai.model.slice(provider.length + 1) : ai.model }
  return { provider, model: provider === base.provider ? base.model : undefined }
}

/** `provider:model`, or a model of the provider that would be used anyway. */
function named(text: string, provider: string): ModelName {
  const colon = text.indexOf(':')
  return colon < 0 ? { provider, model: text } : { provider: text.slice(0, colon), model: text.slice(colon + 1) }
}

const no = (message: string): ModelChoice => ({ ok: false, code: 'model_not_configured', message })

const shown = (name: string): string => JSON.stringify(name.slice(0, 100))

export const priceOf = (name: ModelName, prices: AgentSettings['prices']): Price | undefined => ofModel(name, prices)
