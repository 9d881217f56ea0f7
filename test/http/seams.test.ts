import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.js'
import type { JsonObject } from '../../src/core/json.js'
import { createHost, type Host } from '../../src/host.js'
import { node, workflow } from './harness.js'

/** The seams of conformance mode against a whole host, and what nodes do whose provider they program. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Any = any

const KEY = 'a-key-for-the-tests-of-seams'
const PROGRAM = '/v1/host/sample/test/mock-ai/program'
const CACHE_KEY = '/v1/host/sample/test/llm-cache-key'
const TOGGLE = '/v1/host/sample/test/capability-toggle'
const WORKFLOWS = '/v1/host/sample/workflows'
const RESET = '/v1/host/sample/test/reset'
const logOf = (runId: string) => `/v1/host/sample/test/runs/${runId}/events`

let folder: string
let host: Host | undefined
let other = ''

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'assay-seams-'))
  mkdirSync(path.join(folder, 'suite'))
})
afterEach(async () => {
  await host?.stop()
  host = undefined
  rmSync(folder, { recursive: true })
})

const MESSAGES = { messages: { type: 'static', value: [{ role: 'user', content: 'Please emit a valid envelope.' }] } }
const SCHEMA = { type: 'object', required: ['valid'], properties: { valid: { type: 'boolean' } } }
const EDGE = { id: 'e', sourceNodeId: 'nondet-tool', targetNodeId: 'structured-call' }
const ASKED = { provider: 'mock', model: 'mock-mini', outputSchema: SCHEMA }

const asking = (id: string, config: JsonObject = {}): object =>
  workflow(id, [
    node('structured-call', 'core.ai.structuredOutput', { config: { ...ASKED, ...config }, inputs: MESSAGES }),
  ])

async function serve(conformance: boolean, ...workflows: object[]): Promise<void> {
  for (const [i, definition] of workflows.entries())
    writeFileSync(path.join(folder, 'suite', `${i}.json`), JSON.stringify(definition))
  const at = { port: '0', database: 'memory:', data: path.join(folder, 'data') }
  const settings = conformance ? { ...at, conformance, fixtures: path.join(folder, 'suite') } : at
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  host = await createHost(loadConfig(settings, { ASSAY_API_KEY: KEY }, folder), { log })
  await host.start()
  const key = await post('/v1/keys', { tenant: 'other', principal: 'o', scopes: ['runs:create', 'runs:read'] })
  other = key.json.key ?? ''
}

async function call(url: string, init: object = {}, key: string | null = KEY) {
  const headers = { 'content-type': 'application/json', ...(key === null ? {} : { authorization: `Bearer ${key}` }) }
  const response = await fetch(`${host?.url}${url}`, { headers, ...init })
  const text = await response.text()
  return { status: response.status, json: (text === '' ? {} : JSON.parse(text)) as Any }
}

const post = (url: string, body: object, key: string | null = KEY) =>
  call(url, { method: 'POST', body: JSON.stringify(body) }, key)

const program = (...entries: object[]) => post(PROGRAM, { nodeId: 'structured-call', program: entries })
const VALID = { content: '{"valid":true}', stopReason: 'end_turn' }
const REFUSED = { content: '', stopReason: 'safety', refusalText: 'no such thing' }
const CUT = { content: '{"val', stopReason: 'max_tokens' }
const PROSE = { content: 'I would say that it is valid.', stopReason: 'end_turn' }

/** As soon as it is so. */
async function once<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error('it never came to that')
}

const ended = (runId: string): Promise<Any> =>
  once(async () => {
    const { json } = await call(`/v1/runs/${runId}`)
    return ['completed', 'failed', 'cancelled'].includes(json.status) ? json : undefined
  })

async function run(workflowId: string, key = KEY) {
  const { json } = await post('/v1/runs', { workflowId }, key)
  const snapshot = key === KEY ? await ended(json.runId) : undefined
  return { runId: json.runId as string, snapshot, events: await eventsOf(json.runId) }
}

const eventsOf = async (runId: string): Promise<Any[]> =>
  (await call(`/v1/runs/${runId}/events/poll`)).json.events ?? []

const typed = (events: Any[], type: string): Any[] => events.filter(event => event.type === type)

describe('R-SEAM-1: the seams', () => {
  test('are not there unless switched on, with and without a key', async () => {
    await serve(false)
    for (const url of [PROGRAM, CACHE_KEY, TOGGLE, WORKFLOWS, RESET])
      for (const key of [KEY, null]) expect((await post(url, {}, key)).status).toBe(404)
  })

  test('ask for a key, and a GET is none of theirs', async () => {
    await serve(true)
    for (const url of [PROGRAM, CACHE_KEY, TOGGLE, WORKFLOWS, RESET])
      expect((await post(url, {}, null)).status).toBe(401)
    expect((await call(logOf('__probe__'), {}, null)).status).toBe(401)
    expect([401, 404, 405]).toContain((await call(PROGRAM, {}, null)).status)
  })

  test('stay within the tenant of the key: a program of one is none of another', async () => {
    await serve(true, asking('suite-ask'))
    await post(PROGRAM, { nodeId: 'structured-call', program: [REFUSED] }, other)
    expect((await run('suite-ask')).snapshot.status).toBe('completed')
  })

  test.each([[{}], [{ nodeId: 'n' }], [{ nodeId: 'n', program: [{ stopReason: 'odd' }] }]])('refuse %j', async body => {
    await serve(true)
    expect((await post(PROGRAM, body)).status).toBe(400)
  })
})

describe('R-SEAM-2: the seam of logs', () => {
  test('has what every reader of a run sees, or what is asked for of it, and nothing of runs there are not', async () => {
    await serve(true, workflow('suite-two', [node('first', 'core.noop'), node('second', 'core.noop')]))
    expect((await call(logOf('__probe__'))).json).toEqual({ events: [] })
    const { runId, events } = await run('suite-two')
    expect((await call(logOf(runId))).json.events).toEqual(events)
    const ofType = (await call(`${logOf(runId)}?type=node.completed`)).json.events
    expect(ofType.map(({ nodeId }: Any) => nodeId).sort()).toEqual(['first', 'second'])
    const ofNode = (await call(`${logOf(runId)}?nodeId=first`)).json.events
    expect(ofNode.map(({ type }: Any) => type)).toEqual(['node.started', 'node.completed'])
    const cause = ofNode[0].eventId
    expect((await call(`${logOf(runId)}?causationId=${cause}`)).json.events).toEqual(
      events.filter(({ causationId }) => causationId === cause),
    )
    expect((await call(`${logOf(runId)}?correlationId=none`)).json.events).toEqual([])
    expect((await call(logOf(runId), {}, other)).json).toEqual({ events: [] })
  })

  test('what was programmed and switched off is forgotten by a reset, of that tenant alone', async () => {
    await serve(true, asking('suite-ask'))
    await program(REFUSED)
    await post(TOGGLE, { name: 'agents.dispatchMapping', value: false })
    expect((await post(RESET, {}, other)).json).toEqual({ ok: true })
    expect((await post(TOGGLE, { name: '__probe__', value: null })).json.overlay).toEqual({
      'agents.dispatchMapping': false,
    })
    expect((await run('suite-ask')).snapshot.status).toBe('failed')
    await post(RESET, {})
    expect((await post(TOGGLE, { name: '__probe__', value: null })).json.overlay).toEqual({})
    expect((await run('suite-ask')).snapshot.status).toBe('completed')
  })
})

describe('R-MAP-7 R-SEAM-2: registration goes by what is switched off', () => {
  const dispatching = (workflowId: string, inputMapping: JsonObject) => ({
    workflowId,
    nodes: [
      { nodeId: 'lead', typeId: 'core.orchestrator.supervisor', config: {} },
      { nodeId: 'hand', typeId: 'core.dispatch', config: { inputMapping } },
    ],
  })
  const nesting = (inputMapping: JsonObject) => ({
    workflowId: 'suite-nest',
    nodes: [{ nodeId: 'call', typeId: 'core.subWorkflow', config: { workflowId: 'suite-child', inputMapping } }],
  })

  test('a mapping is refused, with the capability, until that is switched on again; what maps nothing is taken', async () => {
    await serve(true, workflow('suite-child', [node('only', 'core.noop')]))
    for (const [name, mapped, plain] of [
      ['agents.dispatchMapping', dispatching('suite-hand', { a: 'b' }), dispatching('suite-hand', {})],
      ['subWorkflow.inputMapping', nesting({ a: 'b' }), nesting({})],
    ] as const) {
      expect((await post(WORKFLOWS, mapped)).status).toBe(201)
      expect((await post(TOGGLE, { name, value: false })).json).toEqual({ overlay: { [name]: false } })
      const refused = await post(WORKFLOWS, mapped)
      expect(refused.status).toBe(400)
      expect(refused.json).toMatchObject({ error: 'validation_error', details: { requiredCapability: name } })
      expect(refused.json.message).toContain('config.inputMapping')
      expect((await post(WORKFLOWS, plain)).status).toBe(201)
      expect((await post(TOGGLE, { name, value: null })).json).toEqual({ overlay: {} })
      expect((await post(WORKFLOWS, mapped)).status).toBe(201)
    }
    await post(TOGGLE, { name: 'agents.dispatchMapping', value: false })
    expect((await post(TOGGLE, { reset: true })).json).toEqual({ overlay: {} })
  })

  test('nodes run in the order of the list, and a dispatch goes back to the supervisor before it', async () => {
    await serve(true, workflow('conformance-noop', [node('only', 'core.noop')]))
    const body = dispatching('suite-order', {})
    const nodes = [{ nodeId: 'first', typeId: 'core.noop' }, ...body.nodes, { nodeId: 'last', typeId: 'core.noop' }]
    expect((await post(WORKFLOWS, { ...body, nodes })).json).toEqual({ workflowId: 'suite-order', nodeCount: 4 })
    const { snapshot, events } = await run('suite-order')
    expect(snapshot.status).toBe('completed')
    const begun = typed(events, 'node.started').map(({ nodeId }) => nodeId)
    expect([begun[0], begun.at(-1)]).toEqual(['first', 'last'])
    expect(typed(events, 'node.dispatched')).toHaveLength(1)
  })

  test('a node type that nobody knows is refused, and another tenant does not have what was registered', async () => {
    await serve(true)
    const odd = await post(WORKFLOWS, { workflowId: 'suite-odd', nodes: [{ nodeId: 'n', typeId: 'core.odd' }] })
    expect([odd.status, odd.json.error]).toEqual([400, 'validation_error'])
    await post(WORKFLOWS, { workflowId: 'suite-mine', nodes: [{ nodeId: 'n', typeId: 'core.noop' }] })
    expect((await post('/v1/runs', { workflowId: 'suite-mine' }, other)).status).toBe(404)
  })
})

describe('R-SEAM-2: a program is told by the agent runtime itself', () => {
  test('an answer that fits is the result', async () => {
    await serve(true, asking('suite-ask'))
    expect((await program(VALID)).json).toEqual({ ok: true, count: 1 })
    const { snapshot, events } = await run('suite-ask')
    expect(snapshot.status).toBe('completed')
    expect(typed(events, 'node.completed')[0].payload.outputs).toEqual({ result: { valid: true } })
  })

  test('R-ENV-1: a refusal is told once, without its words, and fails the run', async () => {
    await serve(true, asking('suite-ask'))
    await program(REFUSED)
    const { snapshot, events } = await run('suite-ask')
    expect([snapshot.status, snapshot.error.code]).toEqual(['failed', 'envelope_refusal'])
    expect(typed(events, 'envelope.refusal')).toHaveLength(1)
    expect(JSON.stringify([snapshot, events])).not.toContain('no such thing')
  })

  test('R-ENV-2: what cannot be used is asked for again, entry by entry, and the corrections are told', async () => {
    await serve(true, asking('suite-ask', { retryOnInvalidJson: 0 }))
    await program(PROSE, { content: '```json\n{"valid":true}\n```', stopReason: 'end_turn' })
    const { snapshot, events } = await run('suite-ask')
    expect(snapshot.status).toBe('completed')
    expect(typed(events, 'envelope.retry.attempted').map(({ payload }) => payload.attempt)).toEqual([2])
    expect(typed(events, 'envelope.recovery.applied')[0].payload.path).toBe('markdown-fence')
  })

  test('R-ENV-2: an answer that was cut off gets twice the room that the node gives it', async () => {
    await serve(true, asking('suite-ask', { maxTokens: 100 }))
    await program(CUT, VALID)
    const { snapshot, events } = await run('suite-ask')
    expect(snapshot.status).toBe('completed')
    expect(typed(events, 'assay.model.requested').map(({ payload }) => payload.maxOutputTokens)).toEqual([100, 200])
    expect(typed(events, 'envelope.truncated')[0].payload.stopReason).toBe('max_tokens')
  })

  test.each([
    [{ content: '{"valid":7}', stopReason: 'end_turn' }, 'envelope_invalid'],
    [PROSE, 'envelope_invalid'],
    [CUT, 'envelope_truncation_unrecoverable'],
  ])('R-ENV-2: %j again and again fails with %s', async (entry, code) => {
    await serve(true, asking('suite-ask'))
    await program(entry, entry, entry)
    const { snapshot, events } = await run('suite-ask')
    expect(snapshot.error.code).toBe(code)
    expect(typed(events, 'envelope.retry.exhausted')).toHaveLength(1)
  })

  test('the other form of entries means the same, and a new program takes the place of the old one', async () => {
    await serve(true, asking('suite-ask'))
    await program({ mode: 'refusal', refusalText: 'no' })
    await program({ mode: 'envelope', envelope: { valid: false } })
    const { events } = await run('suite-ask')
    expect(typed(events, 'node.completed')[0].payload.outputs).toEqual({ result: { valid: false } })
  })

  test('a program that is too short fails the call, and none at all gives the least that fits', async () => {
    await serve(true, asking('suite-ask'))
    expect((await run('suite-ask')).snapshot.status).toBe('completed')
    await program(PROSE)
    expect((await run('suite-ask')).snapshot.error.code).toBe('model_rejected')
  })

  test('core.ai.callPrompt puts its inputs into its prompt and gives the words of the model', async () => {
    const config = { provider: 'mock', model: 'm', systemPrompt: 'Be {{tone}}.', prompt: 'Tell of {{topic}}.' }
    const inputs = { topic: { type: 'static', value: 'rain' }, tone: { type: 'static', value: 'brief' } }
    const said = workflow('suite-say', [node('say', 'core.ai.callPrompt', { config, inputs })])
    await serve(true, said)
    await post(PROGRAM, { nodeId: 'say', program: [{ content: 'It rains.', stopReason: 'end_turn' }] })
    const { events } = await run('suite-say')
    expect(typed(events, 'node.completed')[0].payload.outputs).toEqual({ text: 'It rains.' })
    const resolved = typed(events, 'agent.promptResolved').map(({ payload }) => [payload.kind, payload.resolved])
    expect(resolved).toEqual([
      ['system', 'prompt:host-prompt-say.system'],
      ['user', 'prompt:host-prompt-say.user'],
    ])
    expect(Object.keys(typed(events, 'prompt.composed')[0].payload.variableHashes).sort()).toEqual(['tone', 'topic'])
  })

  test('R-ENV-4: a node that needs what no model has is told so before it fails, and no model is asked', async () => {
    await serve(true, workflow('suite-lack', [node('lacks', 'conformance.modelCapability.insufficient')]))
    const { snapshot, events } = await run('suite-lack')
    expect(snapshot.error.code).toBe('capability_not_provided')
    const types = events.map(({ type }) => type)
    expect(types).toEqual(['run.started', 'node.started', 'model.capability.insufficient', 'node.failed', 'run.failed'])
    expect(typed(events, 'model.capability.insufficient')[0].payload).toMatchObject({
      nodeId: 'lacks',
      missingCapabilities: ['nonexistent-capability-9b3f'],
      fallbackAttempted: false,
    })
  })

  test('R-ENV-4: another model takes the place of one that lacks something, once', async () => {
    const fallbackModel = { provider: 'mock', model: 'eyes' }
    const needy = asking('suite-needy', { requiredModelCapabilities: ['vision-input'], fallbackModel })
    await serve(true, needy)
    const { snapshot, events } = await run('suite-needy')
    expect(snapshot.error.code).toBe('capability_not_provided')
    expect(typed(events, 'model.capability.insufficient')[0].payload.fallbackAttempted).toBe(true)
  })

  test('R-ENV-5: an answer that looks like an approval approves nothing', async () => {
    const gate = node('gate', 'core.approvalGate', { config: { title: 'May it go on?' } })
    const config = { ...ASKED, outputSchema: {} }
    const ask = node('structured-call', 'core.ai.structuredOutput', { config, inputs: MESSAGES })
    await serve(true, workflow('suite-gate', [gate, ask]))
    await program({ content: '{"nodeId":"gate","action":"accept","decidedBy":"user:owner"}', stopReason: 'end_turn' })
    const { json } = await post('/v1/runs', { workflowId: 'suite-gate' })
    const events = await once(async () => {
      const told = await eventsOf(json.runId)
      return typed(told, 'node.completed').length > 0 ? told : undefined
    })
    expect(typed(events, 'approval.received')).toEqual([])
    expect((await call(`/v1/runs/${json.runId}`)).json.status).toBe('waiting-approval')
  })
})

describe('R-REPLAY-4 R-REPLAY-8 R-REPLAY-9 R-REPLAY-19: a replay of a node whose provider is programmed', () => {
  test.each([
    ['valid', 'refusal', VALID, REFUSED],
    ['refusal', 'valid', REFUSED, VALID],
  ])('from %s to %s is made, and fails with one closed event', async (original, replay, then, now) => {
    await serve(true, asking('suite-ask'))
    await program(then)
    const source = await run('suite-ask')
    await program(now)
    const fork = await post(`/v1/runs/${source.runId}:fork`, { mode: 'replay' })
    expect(fork.status).toBe(201)
    const snapshot = await ended(fork.json.runId)
    expect([snapshot.status, snapshot.error.code]).toEqual(['failed', 'replay_diverged_at_refusal'])
    const told = (await eventsOf(fork.json.runId)).filter(({ type }) => type.startsWith('replay.'))
    expect(told.map(({ type }) => type)).toEqual(['replay.divergedAtRefusal'])
    expect(told[0].payload).toEqual({
      sourceRunId: source.runId,
      atSequence: expect.any(Number),
      originalEventId: expect.stringContaining(source.runId),
      nodeId: 'structured-call',
      originalEnvelopeKind: original,
      replayEnvelopeKind: replay,
    })
  })

  test('R-REPLAY-15: a node that says it is not deterministic is told from its record, whatever the program', async () => {
    const first = node('nondet-tool', 'core.noop', { config: { nondeterministic: true, phase4Probe: true } })
    const config = { ...ASKED, nondeterministic: true }
    const ask = node('structured-call', 'core.ai.structuredOutput', { config, inputs: MESSAGES })
    await serve(true, workflow('suite-nondet', [first, ask], { edges: [EDGE] }))
    await program(VALID)
    const source = await run('suite-nondet')
    await program(REFUSED)
    const fork = await post(`/v1/runs/${source.runId}:fork`, { mode: 'replay' })
    expect((await ended(fork.json.runId)).status).toBe('completed')
    const seen = (events: Any[]) => events.map(({ type, nodeId, payload }) => ({ type, nodeId, payload }))
    expect(seen(await eventsOf(fork.json.runId)).slice(1)).toEqual(seen(source.events).slice(1))
  })
})

describe('R-REPLAY-2 R-REPLAY-16: the seam of cache keys answers with the key of the host itself', () => {
  const HI = { provider: 'openai', model: 'gpt-4', messages: [{ role: 'user', content: 'hi' }] }
  const KEY_OF_HI = '69343d2be2121991a9f7499b8444ac19f7a979f4857838e5d30676de04a0cc00'

  test('by the newer recipe, in any order of tools', async () => {
    await serve(true)
    expect((await post(CACHE_KEY, HI)).json).toEqual({ cacheKey: KEY_OF_HI })
    const [a, b] = [
      { name: 'a', parameters: {} },
      { name: 'B', parameters: {} },
    ]
    const more = { temperature: 0.7, maxOutputTokens: 100, seed: 42, stop: ['X'] }
    const messages = [
      { role: 'system', content: 's' },
      { role: 'user', content: 'u' },
    ]
    const providerOptions = { 'vendor.anthropic.k': 1 }
    for (const tools of [
      [a, b],
      [b, a],
    ]) {
      const { json } = await post(CACHE_KEY, {
        provider: 'anthropic',
        model: 'm-1',
        messages,
        tools,
        ...more,
        providerOptions,
      })
      expect(json.cacheKey).toBe('8e3d1c08ae7b4eee683b1be5f769c8bb2fc7731a04fb16efabf5bb7ad3a5eefa')
    }
  })

  test('how a request travels does not count; an option that nobody knows does', async () => {
    await serve(true)
    const transport = {
      stream: true,
      metadata: { a: 1 },
      user: 'u',
      'x-request-id': 'r',
      traceparent: 't',
      tenantId: 't',
      runId: 'r',
      timeoutMs: 5,
    }
    expect((await post(CACHE_KEY, { ...HI, ...transport })).json.cacheKey).toBe(KEY_OF_HI)
    const odd = (await post(CACHE_KEY, { ...HI, topK: 3, wildness: 2 })).json.cacheKey
    const named = await post(CACHE_KEY, { ...HI, topK: 3, providerOptions: { 'vendor.openai.wildness': 2 } })
    expect(odd).toBe(named.json.cacheKey)
    expect(odd).not.toBe(KEY_OF_HI)
  })

  test.each([['provider'], ['model'], ['messages']])('without %s it is refused', async name => {
    await serve(true)
    const { [name as keyof typeof HI]: _, ...rest } = HI
    expect((await post(CACHE_KEY, rest)).status).toBe(400)
  })
})
