import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answer } from '../../support/client.js'
import { type HostProcess, until } from '../../support/host-process.js'
import type { ServerReply, ServerRequest, ServerStep } from '../../support/openai-server.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { type Event, ended, eventsOf, expectReplayEqual, only, snapshotOf, startRun, typesOf } from './talk.js'
import { byEffect, FILES_TOKEN, KEY, makeWorld, WEB_TOKEN, type World } from './world.js'

/** Complete invocations: a real host, a provider and tool servers over real HTTP and pipes, and everything they do wrong. */

const TIMEOUT_MS = 1000
const MAX_OUTPUT = 400

const NOTE = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] }
const GOOD: ServerReply = { kind: 'text', text: '{"result":{"title":"done"},"confidence":0.9}' }

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-live-'))
let world: World
let host: HostProcess
let faults = 0

beforeAll(async () => {
  world = await makeWorld({
    folder: scratch,
    agents: {
      clerk: {
        systemPrompt: 'You are a clerk.',
        toolAllowlist: [
          'mcp:web.read',
          'mcp:web.echo',
          'mcp:files.read',
          'mcp:web.put',
          'mcp:web.fail',
          'mcp:web.torrent',
        ],
        handoff: { returnSchemaRef: 'schemas/note.json' },
        confidence: { defaultThreshold: 0.5 },
      },
      strict: { systemPrompt: 'You are strict.', handoff: { taskSchemaRef: 'schemas/note.json' } },
    },
    schemas: { note: NOTE },
    settings: {
      models: { timeoutMs: TIMEOUT_MS, maxOutputTokens: MAX_OUTPUT },
      tools: { rules: { 'mcp:web.read': { scopes: ['tools:read'] }, 'mcp:web.echo': { ratePerMinute: 1 } } },
    },
  })
  host = await world.start()
})

afterAll(async () => {
  const requests = world.model.requests().length
  for (const { runId } of (await host.call('GET', '/v1/runs?limit=100')).body.runs) await expectReplayEqual(host, runId)
  // R-REPLAY-12: what is told again calls nobody.
  expect(world.model.requests()).toHaveLength(requests)
  await host.handOver()
  expect(findingsOf(await storedRuns(world.database))).toEqual([])
  console.log(`${faults} faults of the provider, ${requests} requests, every log legal, every replay equal`)
  await world.close()
  rmSync(scratch, { recursive: true, force: true })
})

type Told = { readonly events: readonly Event[]; readonly requests: readonly ServerRequest[]; readonly runId: string }

/** Runs the clerk with a provider that goes through `replies`, one for each request, and says `GOOD` from then on. */
async function tell(replies: readonly ServerReply[], configurable?: object): Promise<Told> {
  const before = world.model.requests().length
  world.model.plan([...replies.map((reply): ServerStep => ({ times: 1, reply })), { times: 1e9, reply: GOOD }])
  const runId = await startRun(host, 'clerk', 'write a note', configurable ? { configurable } : {})
  await ended(host, runId)
  return { events: await eventsOf(host, runId), requests: world.model.requests().slice(before), runId }
}

const BEGUN = ['run.started', 'node.started', 'agent.invocation.started', 'agent.promptResolved', 'prompt.composed']
const HEARD = ['assay.model.requested', 'agent.reasoned', 'provider.usage']
const USED = ['agent.toolCalled', 'agent.toolReturned']
const AGREED = ['agent.decided', 'agent.invocation.completed', 'variable.changed', 'node.completed', 'run.completed']
const FAILED = ['agent.invocation.completed', 'node.failed', 'run.failed']
/** A call that may have been billed, although nobody knows what was said. */
const BROKEN = ['assay.model.requested', 'provider.usage', 'envelope.retry.attempted']

/** However many prompts were resolved. */
const told = (events: readonly Event[]): readonly string[] =>
  typesOf(events).filter((type, i, types) => type !== 'agent.promptResolved' || types[i - 1] !== type)
const failureOf = (events: readonly Event[]) => only(events, 'node.failed')[0]!.payload.error
const outcomeOf = (events: readonly Event[]) => only(events, 'agent.invocation.completed').at(-1)!.payload.outcome
const causeOf = (event: Event) => Number(event.causationId!.split(':').at(-1))

describe('R-LIVE-16, R-LIVE-19: an invocation from its first event to its last', () => {
  it('R-TOOL-3, R-TOOL-9, R-XHOST-8: tools over stdio and over HTTP, then an answer that fits its schema', async () => {
    const calls = [
      { name: 'mcp_files_read', args: { path: 'a' } },
      { name: 'mcp_web_put', args: { key: 'k' } },
    ]
    const { events, requests, runId } = await tell([{ kind: 'tools', calls, text: 'let me see' }])
    expect(told(events)).toEqual([...BEGUN, ...HEARD, ...USED, ...USED, ...HEARD, ...AGREED])
    const [called] = only(events, 'agent.toolCalled')
    expect(called!.payload).toMatchObject({ toolName: 'mcp:files.read', callId: `call-${called!.sequence}` })
    for (const returned of only(events, 'agent.toolReturned')) expect(returned.payload.status).toBe('ok')
    const [first, second] = only(events, 'assay.model.requested')
    expect([first!.payload.call, second!.payload.call]).toEqual([1, 2])
    expect(events[causeOf(second!)]).toBe(only(events, 'agent.toolReturned').at(-1))
    for (const usage of only(events, 'provider.usage'))
      expect(events[causeOf(usage)]!.type).toBe('assay.model.requested')
    expect(only(events, 'agent.invocation.completed')[0]!.payload).toMatchObject({ schemaValidated: true })
    expect((await snapshotOf(host, runId)).variables).toMatchObject({ result: { title: 'done' } })

    expect(requests).toHaveLength(2)
    expect(byEffect(requests).size).toBe(2)
    for (const { headers } of requests) expect(headers.authorization).toBe(`Bearer ${KEY}`)
    expect(requests[1]!.body.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool'])
    expect(requests[1]!.body.messages.at(-1)!.content).toBe('<UNTRUSTED tool="mcp:web.put">put was called</UNTRUSTED>')
    const [read, put] = world.toolCalls()
    expect(read).toMatchObject({ name: 'read', args: { path: 'a' } })
    expect(put).toMatchObject({ name: 'put', args: { key: 'k' }, headers: { authorization: WEB_TOKEN } })
    expect(put!.headers!['idempotency-key']).toBe(put!.meta!['assay/effectId'])
    expect(put!.headers!.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(JSON.stringify(world.toolCalls())).not.toContain(FILES_TOKEN)
  })

  it('R-EVENT-4, R-EVENT-5: reasoning is told as it comes, then once as a whole', async () => {
    const reasoning = Array.from({ length: 6 }, (_, i) => `${i}`.repeat(1500))
    const { events } = await tell([{ ...GOOD, reasoning } as ServerReply], {
      ai: { provider: 'local', model: 'm-1' },
      reasoningVerbosity: 'full',
    })
    const deltas = only(events, 'agent.reasoning.delta').map(({ payload }) => payload)
    expect(deltas.length).toBeGreaterThan(2)
    expect(deltas.map(({ sequence }) => sequence)).toEqual(deltas.map((_, i) => i))
    expect(deltas.map(({ delta }) => delta).join('')).toBe(reasoning.join(''))
    expect(only(events, 'agent.reasoned').map(({ payload }) => payload)).toMatchObject([
      { reasoning: reasoning.join(''), verbosity: 'full' },
    ])
  })

  it('R-EVENT-5: and not at all when the run does not want it', async () => {
    const reply = { ...GOOD, reasoning: ['x'.repeat(4000), 'y'.repeat(4000)] } as ServerReply
    const { events } = await tell([reply], { ai: { provider: 'local', model: 'm-1' }, reasoningVerbosity: 'off' })
    expect(told(events)).toEqual([...BEGUN, 'assay.model.requested', 'provider.usage', ...AGREED])
  })

  it.each<[string, ServerReply]>([
    ['in words', { kind: 'refusal', text: 'I will not write that' }],
    ['by a filter', { kind: 'content-filter', filters: { violence: { filtered: true } } }],
  ])('R-ENV-1, R-LIVE-30: a refusal %s ends it, is never asked again and never quoted', async (_how, reply) => {
    faults += 1
    const { events, requests } = await tell([reply])
    expect(told(events)).toEqual([...BEGUN, ...HEARD, 'envelope.refusal', ...FAILED])
    expect(failureOf(events).code).toBe('envelope_refusal')
    expect(outcomeOf(events)).toBe('refused')
    expect(requests).toHaveLength(1)
    expect(JSON.stringify(events)).not.toContain('I will not')
  })

  it('R-ENV-2: an answer that was cut off is asked for again, with twice the room', async () => {
    faults += 1
    const { events, requests } = await tell([{ kind: 'text', text: '{"result":{"ti', finish: 'length' }])
    const cut = [...HEARD, 'envelope.truncated', 'envelope.retry.attempted']
    expect(told(events)).toEqual([...BEGUN, ...cut, ...HEARD, ...AGREED])
    expect(only(events, 'envelope.retry.attempted')[0]!.payload).toMatchObject({ reason: 'truncation', attempt: 2 })
    expect(requests.map(({ body }) => body.max_tokens)).toEqual([MAX_OUTPUT, 2 * MAX_OUTPUT])
    expect(requests[1]!.body.messages).toEqual(requests[0]!.body.messages)
  })

  it('R-MANIF-7: an answer that breaks the schema is shown to the model with what to mend', async () => {
    faults += 1
    const bad = '{"result":{"title":7},"confidence":0.9}'
    const { events, requests } = await tell([{ kind: 'text', text: bad }])
    expect(told(events)).toEqual([...BEGUN, ...HEARD, 'envelope.retry.attempted', ...HEARD, ...AGREED])
    const [assistant, user] = requests[1]!.body.messages.slice(-2)
    expect([assistant!.role, assistant!.content, user!.role]).toEqual(['assistant', bad, 'user'])
    expect(user!.content).toMatch(/title/)
  })

  it('R-LIVE-11: one that cannot be mended fails the run; nothing is made up', async () => {
    faults += 3
    const bad: ServerReply = { kind: 'text', text: 'no JSON here' }
    const { events, requests } = await tell([bad, bad, bad])
    const again = [...HEARD, 'envelope.retry.attempted']
    expect(told(events)).toEqual([...BEGUN, ...again, ...again, ...HEARD, 'envelope.retry.exhausted', ...FAILED])
    expect(failureOf(events).code).toBe('envelope_invalid')
    expect(requests).toHaveLength(3)
  })

  it('F8: turned away twice with Retry-After, it is the same request each time, and one call to the run', async () => {
    faults += 2
    const busy: ServerReply = { kind: 'status', status: 429, headers: { 'retry-after': '0' } }
    const { events, requests } = await tell([busy, busy])
    expect(told(events)).toEqual([...BEGUN, ...HEARD, ...AGREED])
    expect(requests).toHaveLength(3)
    expect(byEffect(requests).size).toBe(1)
    expect(only(events, 'provider.usage')).toHaveLength(1)
  })

  it.each<[string, ServerReply]>([
    ['never answers', { kind: 'hang' }],
    ['drips for ever', { kind: 'drip' }],
    ['talks garbage', { kind: 'garbage' }],
    ['breaks off', { kind: 'break' }],
    ['ends in the middle', { kind: 'end-early' }],
    ['fails by itself', { kind: 'status', status: 500 }],
  ])('F8: a provider that %s is paid for at most once, then asked anew', async (_how, reply) => {
    faults += 1
    const { events, requests } = await tell([reply])
    expect(told(events)).toEqual([...BEGUN, ...BROKEN, ...HEARD, ...AGREED])
    const [requested] = only(events, 'assay.model.requested')
    const [broken] = only(events, 'provider.usage')
    expect(broken!.payload.totalTokens).toBeLessThanOrEqual(requested!.payload.reservedTokens)
    expect(broken!.payload.outputTokens).toBe(MAX_OUTPUT)
    expect(only(events, 'envelope.retry.attempted')[0]!.payload.reason).toBe('unknown')
    // It may have been billed, so it is another call, not a repetition.
    expect([requests.length, byEffect(requests).size]).toEqual([2, 2])
  })

  it('F8: a provider that rejects the key is asked once, and the message says what to do, not what it said', async () => {
    faults += 1
    const { events, requests } = await tell([{ kind: 'status', status: 401 }])
    expect(told(events)).toEqual([...BEGUN, 'assay.model.requested', 'provider.usage', ...FAILED])
    expect(only(events, 'provider.usage')[0]!.payload.totalTokens).toBe(0)
    expect(failureOf(events)).toMatchObject({ code: 'model_rejected', retryable: false })
    expect(failureOf(events).message).toMatch(/check the key/)
    expect(JSON.stringify(events)).not.toMatch(/CNRY provider words|sk-live/)
    expect(requests).toHaveLength(1)
  })

  it('F9, R-TOOL-8: a tool that fails or floods is an answer to the model, not the end', async () => {
    faults += 2
    const calls = [
      { name: 'mcp_web_fail', args: {} },
      { name: 'mcp_web_torrent', args: {} },
    ]
    const { events, requests } = await tell([{ kind: 'tools', calls }])
    expect(told(events)).toEqual([...BEGUN, ...HEARD, ...USED, ...USED, ...HEARD, ...AGREED])
    const returned = only(events, 'agent.toolReturned').map(({ payload }) => [payload.status, payload.error.code])
    expect(returned).toEqual([
      ['error', 'tool_failed'],
      ['error', 'tool_result_too_large'],
    ])
    expect(JSON.stringify(events)).not.toContain('the disk is full')
    expect(requests[1]!.body.messages.at(-2)!.content).toContain('the disk is full')
  })

  it('R-TOOL-4, R-TOOL-5: a tool that is not allowed, or not again so soon, is not called', async () => {
    const before = world.toolCalls().length
    const calls = ['mcp_web_read', 'mcp_web_echo', 'mcp_web_echo'].map(name => ({ name, args: { text: 'x' } }))
    const { events } = await tell([{ kind: 'tools', calls }])
    const returned = only(events, 'agent.toolReturned').map(({ payload }) => payload)
    expect(returned.map(({ status }) => status)).toEqual(['forbidden', 'ok', 'rate_limited'])
    expect(returned.map(({ durationMs }) => durationMs !== undefined)).toEqual([false, true, false])
    const made = world.toolCalls().slice(before)
    expect(made.map(({ name }) => name)).toEqual(['echo'])
  })

  it('R-LIVE-13, R-LIVE-14: what it is not sure of waits for a person, and stands when accepted', async () => {
    world.model.plan([{ reply: { kind: 'text', text: '{"result":{"title":"maybe"},"confidence":0.2}' } }])
    const runId = await startRun(host, 'clerk', 'write a note')
    await until('the question', async () => (await snapshotOf(host, runId)).status.startsWith('waiting-'))
    const said = await answer(host, runId, 'work', { action: 'accept' })
    expect(said.status, JSON.stringify(said.body)).toBe(200)
    await ended(host, runId)
    const events = await eventsOf(host, runId)
    const held = ['interrupt.requested', 'node.suspended', 'interrupt.resolved', 'node.resumed']
    expect(told(events)).toEqual([...BEGUN, ...HEARD, 'agent.decided', ...held, ...AGREED.slice(1)])
    expect(outcomeOf(events)).toBe('completed')
  })

  it('R-LIVE-10, R-LIVE-28: a task that breaks the task schema reaches no model', async () => {
    const before = world.model.requests().length
    const runId = await startRun(host, 'strict', { title: 7 })
    expect(await ended(host, runId)).toMatchObject({
      status: 'failed',
      error: { code: 'handoff_task_schema_violation' },
    })
    expect(told(await eventsOf(host, runId))).toEqual([...BEGUN, ...FAILED])
    expect(world.model.requests()).toHaveLength(before)
  })

  it.each([
    ['run-api', '/v1/runs', { agentId: 'local.live.clerk', inputs: { task: 'write a note' } }],
    ['chat-mention', '/v1/host/assay/chat', { message: '@clerk write a note' }],
  ])('R-LIVE-24: an agent can be run by itself (%s)', async (source, at, asked) => {
    world.model.plan([{ reply: GOOD }])
    const { status, body } = await host.call('POST', at, asked)
    expect(status, JSON.stringify(body)).toBe(201)
    expect(await ended(host, body.runId)).toMatchObject({ status: 'completed' })
    const events = await eventsOf(host, body.runId)
    expect(only(events, 'agent.invocation.started')[0]!.payload).toMatchObject({ source })
    expect(world.model.requests().at(-1)!.body.messages.at(-1)!.content).toMatch(/write a note/)
  })
})
