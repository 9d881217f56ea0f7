import { describe, expect, test } from 'vitest'
import type { ModelCallRequest } from '../../engine/ports/agents.js'
import { cacheKey, type SemanticRequest, semanticRequest } from './cache-key.js'

const HI: SemanticRequest = { provider: 'openai', model: 'gpt-4', messages: [{ role: 'user', content: 'hi' }] }
const FULL: SemanticRequest = {
  provider: 'anthropic',
  model: 'm-1',
  messages: [
    { role: 'system', content: 's' },
    { role: 'user', content: 'u' },
  ],
  temperature: 0.7,
  maxOutputTokens: 100,
  seed: 42,
  stop: ['X'],
  tools: [
    { name: 'a', parameters: {} },
    { name: 'B', parameters: {} },
  ],
  providerOptions: { 'vendor.anthropic.k': 1 },
}

/** The same request but for one field; the compiler asks for each field of the recipe. */
const OTHERWISE: { readonly [Field in keyof Required<SemanticRequest>]: Pick<SemanticRequest, Field> } = {
  provider: { provider: 'anthropic' },
  model: { model: 'GPT-4' },
  messages: { messages: [{ role: 'user', content: 'hi ' }] },
  tools: { tools: [{ name: 'a', parameters: {} }] },
  temperature: { temperature: 0 },
  topP: { topP: 0.5 },
  topK: { topK: 1 },
  maxOutputTokens: { maxOutputTokens: 1 },
  seed: { seed: 1 },
  stop: { stop: ['x'] },
  responseFormat: { responseFormat: { type: 'json' } },
  safetySettings: { safetySettings: [{ category: 'c' }] },
  providerOptions: { providerOptions: { 'vendor.openai.k': 1 } },
}
/** What the older recipe does not know. */
const NEWER: readonly string[] = ['maxOutputTokens', 'seed', 'stop', 'safetySettings', 'providerOptions']

describe('R-REPLAY-16: recipe v2', () => {
  test('R-FORK-7: the check vectors of the contract (core §8.6)', () => {
    expect(cacheKey(HI, 'v2')).toBe('69343d2be2121991a9f7499b8444ac19f7a979f4857838e5d30676de04a0cc00')
    expect(cacheKey(FULL, 'v2')).toBe('8e3d1c08ae7b4eee683b1be5f769c8bb2fc7731a04fb16efabf5bb7ad3a5eefa')
  })

  test('the order of tools and the case of the provider do not matter', () => {
    const other = { ...FULL, provider: 'Anthropic', tools: [...(FULL.tools ?? [])].reverse() }
    expect(cacheKey(other, 'v2')).toBe(cacheKey(FULL, 'v2'))
    expect(cacheKey({ ...HI, tools: [] }, 'v2')).toBe(cacheKey(HI, 'v2'))
  })

  test.each(Object.entries(OTHERWISE))('another %s is another key', (_name, over) => {
    expect(cacheKey({ ...HI, ...over }, 'v2')).not.toBe(cacheKey(HI, 'v2'))
  })
})

describe('R-REPLAY-16: recipe v1', () => {
  test('it has no tag and leaves out what does not belong to it', () => {
    // sha256 of {"messages":[{"content":"hi","role":"user"}],"model":"gpt-4","provider":"openai"}
    expect(cacheKey(HI, 'v1')).toBe('8ba8722da380e0cc8569cffb77cdff322ad3ce6e576cc97bc301a9a9dfb6e17c')
  })

  test.each(Object.entries(OTHERWISE))('another %s is another key as far as the recipe knows it', (name, over) => {
    expect(cacheKey({ ...HI, ...over }, 'v1') === cacheKey(HI, 'v1')).toBe(NEWER.includes(name))
  })

  test('no request has the same key by both', () => {
    expect(cacheKey(HI, 'v1')).not.toBe(cacheKey(HI, 'v2'))
  })
})

describe('the key of a request', () => {
  const ask: ModelCallRequest = {
    tenant: 't',
    id: 'e',
    traceparent: 't',
    provider: 'openai',
    model: 'm',
    brief: { system: 's', user: 'u', tools: [], wrapped: false },
    rounds: [],
    maxOutputTokens: 10,
    verbosity: 'full',
    signal: new AbortController().signal,
  }
  const key = (over: Partial<ModelCallRequest> = {}) => cacheKey(semanticRequest({ ...ask, ...over }), 'v2')

  test('who asks, and when, does not matter', () => {
    expect(key({ tenant: 'other', id: 'other', traceparent: 'other', verbosity: 'off', agentId: 'x' })).toBe(key())
  })

  test.each<[string, Partial<ModelCallRequest>]>([
    ['R-REPLAY-18: the provider', { provider: 'other' }],
    ['R-REPLAY-18: the model', { model: 'other' }],
    ['the length', { maxOutputTokens: 20 }],
    ['the prompt', { brief: { ...ask.brief, user: 'other' } }],
    ['the temperature', { brief: { ...ask.brief, temperature: 1 } }],
    ['the schema', { brief: { ...ask.brief, returnSchema: {} } }],
    ['the wrapper', { brief: { ...ask.brief, wrapped: true } }],
    ['a round', { rounds: [{ thought: { text: 'a', calls: [] }, results: [], correction: 'b' }] }],
  ])('%s matters', (_, over) => {
    expect(key(over)).toMatch(/^[0-9a-f]{64}$/)
    expect(key(over)).not.toBe(key())
  })

  test('what a call returned, and with which arguments it was made, matters', () => {
    const round = (q: string, text: string) => ({
      rounds: [
        { thought: { text: '', calls: [{ id: 'c', name: 'n', args: { q } }] }, results: [{ text, isError: false }] },
      ],
    })
    expect(new Set([key(round('a', 'x')), key(round('b', 'x')), key(round('a', 'y'))]).size).toBe(3)
  })
})
