import type { LanguageModelV3 } from '@ai-sdk/provider'
import type { Fetch } from '../../egress/fetch.js'
import type { ProviderSettings } from '../settings.js'

export type LiveKind = Exclude<ProviderSettings['kind'], 'scripted' | 'mock'>

export type ProviderAccess = {
  readonly kind: LiveKind
  readonly name: string
  readonly baseUrl: string
  /** Undefined where none is asked for, as on a machine of one's own. */
  readonly apiKey: string | undefined
  readonly fetch: Fetch
}

/** Said here, because the libraries would otherwise look into the environment for them. */
export const BASE_URLS: { readonly [K in LiveKind]: string } = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-compatible': '',
}

/**
 * One request is one call of `doStream` of what this gives: nothing here tries again or calls a tool. A library is loaded
 * when its provider is first asked, for most hosts need one of them, or none.
 */
export async function languageModel(
  { kind, name, baseUrl, apiKey, fetch }: ProviderAccess,
  model: string,
): Promise<LanguageModelV3> {
  const options = {
    baseURL: baseUrl,
    apiKey: apiKey ?? NO_KEY,
    fetch: apiKey === undefined ? withoutKey(fetch) : fetch,
  }
  switch (kind) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      // Chat completions is the part of the protocol that everybody who speaks it has.
      return createOpenAI(options).chat(model)
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic(options)(model)
    }
    case 'google': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
      return createGoogleGenerativeAI(options)(model)
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return createOpenAICompatible({ ...options, name, includeUsage: true }).chatModel(model)
    }
  }
}

/** The libraries insist on a key, and would take one from the environment; it is taken off again on the way out. */
const NO_KEY = 'none'

const withoutKey =
  (send: Fetch): Fetch =>
  (input, init = {}) => {
    const headers = new Headers(init.headers)
    for (const name of ['authorization', 'x-api-key', 'x-goog-api-key']) headers.delete(name)
    return send(input, { ...init, headers })
  }
