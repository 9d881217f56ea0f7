import { describe, expect, test } from 'vitest'
import type { ModelSettings } from '../settings.js'
import { choose, type ModelWanted, priceOf } from './choose.js'

const SETTINGS: ModelSettings = {
  worker: { provider: 'openai', model: 'w' },
  supervisor: { provider: 'openai', model: 's' },
  verifier: { provider: 'anthropic', model: 'v' },
  classes: { coding: { provider: 'anthropic', model: 'c' } },
  capabilities: {},
  fallbacks: {},
  providers: {
    openai: { kind: 'openai', apiKey: { env: 'A' } },
    anthropic: { kind: 'anthropic', apiKey: { env: 'B' } },
    local: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1' },
    keyless: { kind: 'openai' },
    homeless: { kind: 'openai-compatible', apiKey: { env: 'C' } },
    scripted: { kind: 'scripted' },
  },
  maxOutputTokens: 1,
  timeoutMs: 1,
  maxTries: 1,
  maxRounds: 1,
  maxRetries: 1,
  reuseAnswers: false,
  cacheKeyRecipe: 'v2',
  script: undefined,
}

const chosen = (over: Partial<ModelWanted>) => {
  const choice = choose({ role: 'worker', modelClass: 'general', ai: {}, ...over }, SETTINGS)
  return choice.ok ? `${choice.name.provider}:${choice.name.model}` : choice
}
const fixed = { provider: 'openai', model: 'before' }

describe('R-LIVE-3', () => {
  test.each<[string, Partial<ModelWanted>, string]>([
    ['the role', {}, 'openai:w'],
    ['the role', { role: 'verifier' }, 'anthropic:v'],
    ['a class of workers', { modelClass: 'coding' }, 'anthropic:c'],
    ['a class means nothing for others', { role: 'supervisor', modelClass: 'coding' }, 'openai:s'],
    ['what the run has used before', { modelClass: 'coding', fixed }, 'openai:before'],
    ['what the run says of this agent alone', { ownModel: 'anthropic:x', ai: { model: 'y' }, fixed }, 'anthropic:x'],
    ['a model alone is of the provider it would have', { ownModel: 'x', ai: { provider: 'anthropic' } }, 'anthropic:x'],
    ['what the workflow says', { fixed, inlineModel: 'anthropic:x' }, 'anthropic:x'],
    ['a model without its provider', { inlineModel: 'x' }, 'openai:x'],
    ['what the run was told', { fixed, inlineModel: 'x', ai: { model: 'anthropic:y' } }, 'anthropic:y'],
    ['the model alone', { ai: { model: 'y' } }, 'openai:y'],
    ['both', { ai: { provider: 'local', model: 'llama3:8b' } }, 'local:llama3:8b'],
    ['both, said twice', { ai: { provider: 'local', model: 'local:llama3:8b' } }, 'local:llama3:8b'],
    ['the provider that it is anyway', { ai: { provider: 'openai' } }, 'openai:w'],
    ['the offline model', { ai: { model: 'scripted:default' } }, 'scripted:default'],
  ])('%s: %j', (_, want, expected) => {
    expect(chosen(want)).toBe(expected)
  })

  test.each<[Partial<ModelWanted>, RegExp]>([
    [{ ai: { model: 'nobody:x' } }, /no model provider "nobody"/],
    [{ ai: { provider: '__proto__', model: 'x' } }, /no model provider/],
    [{ ai: { provider: 'anthropic' } }, /say which model/],
    [{ ai: { model: 'keyless:x' } }, /has no key/],
    [{ ai: { model: 'homeless:x' } }, /needs a baseUrl/],
    [{ inlineModel: 'constructor:x' }, /no model provider/],
  ])('%j is nothing to go by', (want, message) => {
    expect(chosen(want)).toMatchObject({
      ok: false,
      code: 'model_not_configured',
      message: expect.stringMatching(message),
    })
  })
})

test('a price is that of the model, else of its provider', () => {
  const prices = { 'openai:w': { input: 1, output: 1 }, 'openai:*': { input: 2, output: 2 } }
  expect(priceOf({ provider: 'openai', model: 'w' }, prices)?.input).toBe(1)
  expect(priceOf({ provider: 'openai', model: 'x' }, prices)?.input).toBe(2)
  expect(priceOf({ provider: 'other', model: 'w' }, prices)).toBeUndefined()
})

describe('R-ENV-4: a model that lacks what is needed', () => {
  const [provider, missing] = ['openai', ['vision-input']]
  const lacks = { provider, model: 'w', missing }
  const capabilities = { 'openai:w': ['structured-output'], 'anthropic:*': ['vision-input', 'structured-output'] }
  const fallbacks = { 'openai:*': { provider: 'anthropic', model: 'eyes' } }
  const wanting = (needs: readonly string[], over: Partial<ModelWanted> = {}, more: Partial<ModelSettings> = {}) =>
    choose({ role: 'worker', modelClass: 'general', ai: {}, needs, ...over }, { ...SETTINGS, capabilities, ...more })

  test('is used where it lacks nothing', () => {
    expect(wanting(['structured-output'])).toEqual({ ok: true, name: SETTINGS.worker })
  })

  test('is replaced by what the node names, or else the settings', () => {
    const eyes = { provider: 'anthropic', model: 'eyes' }
    expect(wanting(missing, { fallback: { provider: 'anthropic', model: 'x' } }, { fallbacks })).toMatchObject({
      name: { model: 'x' },
    })
    expect(wanting(missing, {}, { fallbacks })).toEqual({ ok: true, name: eyes, substituted: lacks })
  })

  test('is not asked where nothing takes its place', () => {
    expect(wanting(missing)).toMatchObject({
      ok: false,
      code: 'capability_not_provided',
      lacks: { ...lacks, fallbackAttempted: false },
    })
  })

  test.each([
    ['lacks it, too', { provider: 'local', model: 'l' }],
    ['has no key', { provider: 'keyless', model: 'k' }],
    ['is nobody here', { provider: 'nobody', model: 'n' }],
  ])('is not asked where what takes its place %s, and no third is looked for', (_why, fallback) => {
    const chain = { ...fallbacks, 'local:*': { provider: 'anthropic', model: 'eyes' } }
    expect(wanting(missing, { fallback }, { fallbacks: chain })).toMatchObject({
      ok: false,
      lacks: { ...lacks, fallbackAttempted: true },
    })
  })

  test('is taken to have what the host does for it, where nobody says what it has', () => {
    const of = { role: 'worker', modelClass: 'general', ai: {} } as const
    expect(choose({ ...of, needs: ['structured-output', 'function-calling'] }, SETTINGS).ok).toBe(true)
    expect(choose({ ...of, needs: ['reasoning'] }, SETTINGS).ok).toBe(false)
  })
})
