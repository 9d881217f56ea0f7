import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ProviderSettings } from '../../../src/agents/settings.js'
import type { ModelCallRequest } from '../../../src/engine/ports/agents.js'
import type { SchemaChecker } from '../../../src/engine/ports/schema-checker.js'
import { createSchemaChecker } from '../../../src/user-schema/schema-checker.js'
import { type Sink, startSink } from '../webhooks/sink.js'
import { askFor, BRIEF, KEY, modelRig, SEARCH } from './rig.js'

/** The providers whose protocol is their own, over real HTTP, with answers as they write them. */

const opened: { close(): Promise<void> }[] = []
let schemas: SchemaChecker
beforeAll(() => {
  schemas = createSchemaChecker()
})
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})
afterAll(() => schemas.close())

async function provider(kind: ProviderSettings['kind'], ...answers: readonly (readonly object[])[]) {
  const sink: Sink = await startSink({
    behave: (response, n) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of answers[n] ?? []) {
        const name = 'type' in event ? `event: ${String(event.type)}\n` : ''
        response.write(`${name}data: ${JSON.stringify(event)}\n\n`)
      }
      response.end()
    },
  })
  const baseUrl = `http://127.0.0.1:${sink.port}/base`
  const rig = await modelRig({
    schemas: { ...schemas, close: async () => undefined },
    settings: { providers: { p: { kind, apiKey: { env: 'TEST_KEY' }, baseUrl } } },
  })
  opened.push(rig, sink)
  const think = (over: Partial<ModelCallRequest> = {}) =>
    rig.models.callModel(askFor({ provider: 'p', model: 'm', ...over }))
  return { sink, think }
}

const anthropic = (blocks: readonly object[], stop: string | undefined) => [
  {
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 3 },
    },
  },
  ...blocks,
  ...(stop === undefined
    ? []
    : [{ type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 9 } }, { type: 'message_stop' }]),
]
const block = (index: number, start: object, ...deltas: readonly object[]) => [
  { type: 'content_block_start', index, content_block: start },
  ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]
const textBlock = (text: string) => block(0, { type: 'text', text: '' }, { type: 'text_delta', text })

test('Anthropic: text, key, identity and usage', async () => {
  const { sink, think } = await provider('anthropic', anthropic(textBlock('fine'), 'end_turn'))
  expect(await think()).toMatchObject({
    ok: true,
    told: {
      said: { kind: 'answered', result: 'fine' },
      usage: { inputTokens: 8, outputTokens: 9, cacheReadTokens: 3 },
    },
  })
  expect(sink.received[0]?.path).toBe('/base/messages')
  expect(sink.received[0]?.headers).toMatchObject({ 'x-api-key': KEY, 'idempotency-key': 'effect-1' })
  expect(JSON.parse(sink.received[0]?.body ?? '')).toMatchObject({ model: 'm', max_tokens: 500, stream: true })
})

test('Anthropic: signed reasoning is carried into the next request', async () => {
  const thinking = block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'let me think' },
    { type: 'signature_delta', signature: 'SIGNED' },
  )
  const tool = block(
    1,
    { type: 'tool_use', id: 'toolu_1', name: SEARCH.name, input: {} },
    { type: 'input_json_delta', partial_json: '{"q":"x"}' },
  )
  const { sink, think } = await provider(
    'anthropic',
    anthropic([...thinking, ...tool], 'tool_use'),
    anthropic(textBlock('done'), 'end_turn'),
  )
  const brief = { ...BRIEF, tools: [SEARCH] }
  const first = await think({ brief })
  if (!first.ok) throw new Error(first.message)
  expect(first.told).toMatchObject({
    said: { kind: 'tools', calls: [{ toolId: SEARCH.toolId }] },
    reasoning: 'let me think',
  })
  const rounds = [{ thought: JSON.parse(JSON.stringify(first.contents)), results: [{ text: 'found', isError: false }] }]
  expect(await think({ brief, rounds })).toMatchObject({ ok: true, told: { said: { result: 'done' } } })
  const { messages } = JSON.parse(sink.received[1]?.body ?? '')
  expect(messages[1]).toMatchObject({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'let me think', signature: 'SIGNED' },
      { type: 'tool_use', id: 'toolu_1', name: SEARCH.name, input: { q: 'x' } },
    ],
  })
  expect(messages[2].content[0]).toMatchObject({ type: 'tool_result', tool_use_id: 'toolu_1' })
})

test.each([
  ['a refusal', anthropic(textBlock('I cannot'), 'refusal'), { ok: true, told: { said: { kind: 'refused' } } }],
  [
    'max_tokens',
    anthropic(textBlock('so'), 'max_tokens'),
    { ok: true, told: { said: { kind: 'truncated', stopReason: 'max_tokens' } } },
  ],
  ['an end without a reason', anthropic(textBlock('so'), undefined), { ok: false, code: 'model_broke_off' }],
  [
    'an overload after the first word',
    [...anthropic(textBlock('so'), undefined), { type: 'error', error: { type: 'overloaded_error', message: 'CNRY' } }],
    { ok: false, code: 'model_broke_off', retryable: true },
  ],
  [
    'an overload before the first word',
    [{ type: 'error', error: { type: 'overloaded_error', message: 'CNRY' } }],
    { ok: false, code: 'model_broke_off', retryable: true },
  ],
])('Anthropic: %s', async (_, events, expected) => {
  const { sink, think } = await provider('anthropic', events)
  const answer = await think()
  expect(answer).toMatchObject(expected)
  expect(JSON.stringify(answer)).not.toContain('CNRY')
  expect(sink.received).toHaveLength(1)
})

const google = (parts: readonly object[], finishReason?: string, more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason === undefined ? {} : { finishReason }), ...more }],
  usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 4, totalTokenCount: 10 },
})

test('Google: text, key and usage', async () => {
  const { sink, think } = await provider('google', [google([{ text: 'fi' }]), google([{ text: 'ne' }], 'STOP')])
  expect(await think()).toMatchObject({
    ok: true,
    told: { said: { kind: 'answered', result: 'fine' }, usage: { inputTokens: 6, outputTokens: 4 } },
  })
  expect(sink.received[0]?.path).toBe('/base/models/m:streamGenerateContent?alt=sse')
  expect(sink.received[0]?.headers).toMatchObject({ 'x-goog-api-key': KEY, 'idempotency-key': 'effect-1' })
})

test('Google: the signature of a call is carried into the next request', async () => {
  const call = { functionCall: { name: SEARCH.name, args: { q: 'x' } }, thoughtSignature: 'SIGNED' }
  const { sink, think } = await provider('google', [google([call], 'STOP')], [google([{ text: 'done' }], 'STOP')])
  const brief = { ...BRIEF, tools: [SEARCH] }
  const first = await think({ brief })
  if (!first.ok) throw new Error(first.message)
  expect(first.told.said).toMatchObject({ kind: 'tools', calls: [{ toolId: SEARCH.toolId }] })
  const rounds = [{ thought: JSON.parse(JSON.stringify(first.contents)), results: [{ text: 'found', isError: false }] }]
  expect(await think({ brief, rounds })).toMatchObject({ ok: true, told: { said: { result: 'done' } } })
  const { contents } = JSON.parse(sink.received[1]?.body ?? '')
  expect(contents[1].parts[0]).toMatchObject({
    functionCall: { name: SEARCH.name, args: { q: 'x' } },
    thoughtSignature: 'SIGNED',
  })
})

test.each([
  [
    'safety',
    [
      google([], 'SAFETY', {
        safetyRatings: [{ category: 'HARM_CATEGORY_HATE_SPEECH', probability: 'HIGH', blocked: true }],
      }),
    ],
    { ok: true, told: { said: { kind: 'refused', safetyCategory: 'hate' } } },
  ],
  [
    'a blocked prompt',
    [
      {
        promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
        usageMetadata: { promptTokenCount: 6, totalTokenCount: 6 },
      },
    ],
    { ok: true, told: { said: { kind: 'refused', safetyCategory: 'dangerous' } } },
  ],
  [
    'MAX_TOKENS',
    [google([{ text: 'so' }], 'MAX_TOKENS')],
    { ok: true, told: { said: { kind: 'truncated', stopReason: 'max_tokens' } } },
  ],
  ['an end without a reason', [google([{ text: 'so' }])], { ok: false, code: 'model_broke_off' }],
  [
    'a continuation',
    [google([{ text: 'so' }], 'CONTINUATION', { continuationToken: 'more' })],
    { ok: false, code: 'model_broke_off' },
  ],
])('Google: %s is one request, and nothing is put in its place', async (_, events, expected) => {
  const { sink, think } = await provider('google', events)
  expect(await think()).toMatchObject(expected)
  expect(sink.received).toHaveLength(1)
})
