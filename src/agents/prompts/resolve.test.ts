import { describe, expect, test } from 'vitest'
import type { PromptKind } from '../../core/invocation/brief.js'
import type { JsonObject } from '../../core/json.js'
import { taggedSha256OfJson } from '../../digest.js'
import { promptFinder } from '../catalog/prompt-library.js'
import { compositionOf, slotsOf } from './compose.js'
import { HOST_LIBRARY, HOST_PROMPTS } from './host-prompts.js'
import type { AgentPrompts, PromptPlaces } from './layers.js'
import { type ResolvedPrompts, resolvePrompts } from './resolve.js'

const prompt = (libraryId: string, templateId: string, kind: PromptKind = 'system', version = '1.0.0') => ({
  libraryId,
  template: { templateId, version, kind, text: `${libraryId} ${templateId} {{topic}}` },
})

const find = promptFinder([
  ...HOST_PROMPTS.map(template => ({ libraryId: HOST_LIBRARY, template })),
  prompt('local.p', 'node'),
  prompt('local.p', 'node', 'system', '1.1.0'),
  prompt('local.p', 'override'),
  prompt('local.p', 'workflow'),
  prompt('local.p', 'u', 'user'),
  prompt('local.p', 'hint', 'schema-hint'),
  prompt('local.p', 'shot1', 'few-shot'),
  prompt('local.p', 'shot2', 'few-shot'),
  prompt('vendor.lib', 'default-system'),
  prompt('vendor.lib', 'default-user', 'user'),
  prompt('vendor.lib', 'both'),
  prompt('vendor.other', 'both'),
])

const OWN = { is: 'text', source: 'prompt:local.p.a.system@1.0.0', text: 'Own {{topic}}.' } as const
const AGENT: AgentPrompts = { overrides: {} }

function resolve(places: Partial<PromptPlaces>) {
  const values = { input: { topic: 'cats' }, variable: {}, context: {} }
  return resolvePrompts({ node: {}, agent: AGENT, workflow: {}, ...places }, values, find)
}

function resolved(places: Partial<PromptPlaces>): ResolvedPrompts {
  const prompts = resolve(places)
  if (!prompts.ok) throw new Error(prompts.message)
  return prompts
}

const everything = (from: number): Partial<PromptPlaces> => ({
  node: from > 0 ? {} : { systemPromptRef: 'prompt:node' },
  agent: {
    ...(from > 1 ? {} : { intrinsic: OWN }),
    overrides: from > 2 ? {} : ({ system: 'prompt:override' } as JsonObject),
    ...(from > 3 ? {} : { library: 'vendor.lib' }),
  },
  workflow: from > 4 ? {} : { system: 'prompt:workflow' },
})

describe('where a prompt comes from', () => {
  const LAYERS = [
    'node',
    'agent-intrinsic',
    'agent-overrides',
    'agent-library-default',
    'workflow-defaults',
    'host-defaults',
  ]
  const WINNERS = [
    'prompt:node@1.1.0',
    'prompt:local.p.a.system@1.0.0',
    'prompt:override@1.0.0',
    'prompt:default-system@1.0.0',
    'prompt:workflow@1.0.0',
    'prompt:assay.default-system@1.0.0',
  ]

  test.each(LAYERS.map((layer, index) => [layer, index] as const))(
    'R-PROMPT-2, R-LIVE-5: %s comes next, and every layer is told',
    (layer, index) => {
      const { resolution } = resolved(everything(index)).system
      expect(resolution.chain.map(entry => entry.layer)).toEqual(LAYERS)
      // R-PROMPT-1
      expect(resolution.chain.filter(({ applied }) => applied).map(entry => entry.layer)).toEqual([layer])
      expect(resolution.resolved).toBe(WINNERS[index])
      expect(resolution.chain[index]).toEqual({ layer, applied: true, source: WINNERS[index] })
      for (const [at, entry] of resolution.chain.entries()) {
        if (at < index)
          expect(entry).toEqual({ layer: LAYERS[at], applied: false, reason: 'no candidate at this layer' })
        if (at > index) expect(entry).toMatchObject({ applied: false, reason: `superseded by the ${layer} layer` })
        if (at > index) expect(entry.source).toMatch(/^prompt:[a-z0-9][a-z0-9._-]{0,127}(@1\.\d\.0)?$/)
      }
    },
  )

  test("R-LIVE-5: an agent's own prompt is taken to the letter", () => {
    expect(resolved({ agent: { intrinsic: OWN, overrides: {} } }).system.prompt?.text).toBe('Own {{topic}}.')
  })

  test('R-PROMPT-1: other kinds have no intrinsic layer, and may come to nothing', () => {
    const { user, schemaHint, fewShot } = resolved({ agent: { overrides: {}, library: 'vendor.lib' } })
    expect(user.resolution).toMatchObject({ kind: 'user', resolved: 'prompt:default-user@1.0.0' })
    expect(schemaHint).toEqual({
      ok: true,
      resolution: {
        kind: 'schema-hint',
        chain: [
          { layer: 'node', applied: false, reason: 'no candidate at this layer' },
          { layer: 'agent-overrides', applied: false, reason: 'no candidate at this layer' },
          { layer: 'agent-library-default', applied: false, reason: 'the library has no default-schema-hint' },
          { layer: 'workflow-defaults', applied: false, reason: 'no candidate at this layer' },
          { layer: 'host-defaults', applied: false, reason: 'no candidate at this layer' },
        ],
        resolved: null,
      },
    })
    expect(fewShot.map(({ resolution }) => resolution.resolved)).toEqual([null])
  })

  test('R-PROMPT-1: each kind has its field, and every example its own slot', () => {
    const node = {
      userPromptRef: 'prompt:u',
      schemaHintPromptRef: { templateId: 'hint', variableOverrides: { topic: 'dogs' } },
      fewShotPromptRefs: ['prompt:shot2', 'prompt:shot1'],
    }
    const { user, schemaHint, fewShot } = resolved({ node })
    expect(user.prompt?.text).toBe('local.p u <UNTRUSTED source="input">cats</UNTRUSTED>')
    expect(schemaHint.prompt?.text).toBe('local.p hint dogs')
    expect(fewShot.map(({ resolution }) => resolution.resolved)).toEqual(['prompt:shot2@1.0.0', 'prompt:shot1@1.0.0'])
  })

  test('R-PROMPT-3: an agent that is not known has no layer', () => {
    const { system } = resolved({ agent: undefined, workflow: { system: 'prompt:workflow' } })
    expect(system.resolution.chain[1]).toEqual({
      layer: 'agent-intrinsic',
      applied: false,
      reason: 'agentId unresolved',
    })
    expect(system.resolution.resolved).toBe('prompt:workflow@1.0.0')
  })

  test.each<[string, Partial<PromptPlaces>, string, RegExp]>([
    ['is not there', { node: { systemPromptRef: 'prompt:none' } }, 'prompt_ref_unresolved', /there is no prompt:none/],
    [
      'has no such version',
      { node: { systemPromptRef: 'prompt:node@9.0.0' } },
      'prompt_ref_unresolved',
      /prompt:node@9\.0\.0/,
    ],
    ['is of another kind', { node: { systemPromptRef: 'prompt:u' } }, 'prompt_ref_unresolved', /is a user prompt/],
    [
      'is no reference',
      { node: { userPromptRef: 7 } },
      'prompt_ref_unresolved',
      /config\.userPromptRef is not a prompt reference/,
    ],
    [
      'is not in the list of examples',
      { node: { fewShotPromptRefs: 'x' } },
      'prompt_ref_unresolved',
      /config\.fewShotPromptRefs is not/,
    ],
    [
      'is an empty example',
      { node: { fewShotPromptRefs: ['prompt:shot1', ''] } },
      'prompt_ref_unresolved',
      /fewShotPromptRefs\[1\]/,
    ],
    [
      'is in two libraries',
      { node: { systemPromptRef: 'prompt:both' } },
      'prompt_ref_ambiguous',
      /\(vendor\.lib, vendor\.other\)/,
    ],
    [
      'of the workflow is no reference',
      { workflow: { user: {} } },
      'prompt_ref_unresolved',
      /defaults\.promptRefs\.user/,
    ],
  ])('R-PROMPT-4: a reference that %s ends it', (_what, places, code, message) => {
    expect(resolve(places)).toMatchObject({ ok: false, code, message: expect.stringMatching(message) })
  })

  test('a library that is named, or is the home of the agent, settles which prompt is meant', () => {
    const named = { systemPromptRef: { templateId: 'both', libraryId: 'vendor.other' } }
    expect(resolved({ node: named }).system.prompt?.text).toMatch(/^vendor\.other both/)
    const agent = { overrides: { system: 'prompt:both' }, home: 'vendor.lib' }
    expect(resolved({ agent }).system.prompt?.text).toMatch(/^vendor\.lib both/)
  })

  test('a layer that does not count cannot break anything', () => {
    const prompts = resolved({ agent: { intrinsic: OWN, overrides: {} }, workflow: { system: 5 } })
    expect(prompts.system.resolution.chain[4]).toEqual({
      layer: 'workflow-defaults',
      applied: false,
      reason: 'not a prompt reference',
    })
  })
})

describe('R-PROMPT-5: what was put together', () => {
  const node = { systemPromptRef: 'prompt:node', userPromptRef: 'prompt:u', fewShotPromptRefs: ['prompt:shot1'] }
  const sent = { system: 's', user: 'u' }
  const asIs = <T>(value: T): T => value

  test('R-PROMPT-6: is told by names and hashes that are the same every time', () => {
    const composed = compositionOf(resolved({ node }), sent, asIs)
    expect(composed).toEqual({
      refs: ['prompt:node@1.1.0', 'prompt:u@1.0.0', 'prompt:shot1@1.0.0'],
      kind: 'system+user',
      hash: taggedSha256OfJson({ user: 'u', system: 's' }),
      // SHA-256 of the JSON text "cats", quotes included.
      variableHashes: { topic: 'sha256:f1dbebe12b350336c40882c7784af15cc5c9ebf0a847990a09bfc4e4cb259dad' },
    })
    expect(compositionOf(resolved({ node }), { user: 'u', system: 's' }, asIs)).toEqual(composed)
    expect(compositionOf(resolved({ node }), { user: 'u2', system: 's' }, asIs).hash).not.toBe(composed.hash)
  })

  test('two values under one name both have their hash, and each is redacted first', () => {
    const both = { ...node, userPromptRef: { templateId: 'u', variableOverrides: { topic: 'dogs' } } }
    const { variableHashes } = compositionOf(resolved({ node: both }), sent, value => `redacted ${String(value)}`)
    expect(variableHashes).toEqual({
      topic: taggedSha256OfJson('redacted cats'),
      'prompt:u@1.0.0#topic': taggedSha256OfJson('redacted dogs'),
    })
  })

  test('without a prompt for the user there is only the one of the system', () => {
    const prompts = resolved({ agent: { intrinsic: OWN, overrides: {} } })
    expect(compositionOf(prompts, sent, asIs)).toMatchObject({ kind: 'system-only', refs: [OWN.source] })
    expect(slotsOf(prompts).map(({ resolution }) => resolution.kind)).toEqual([
      'system',
      'user',
      'few-shot',
      'schema-hint',
    ])
  })
})
