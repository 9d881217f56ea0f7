import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { worstCase } from '../../../src/agents/models/request-bound.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { freePort } from '../../support/free-port.js'
import type { ServerReply } from '../../support/openai-server.js'
import { until } from '../webhooks/until.js'
import { askFor, hurriedClock, KEY, type ModelRig, modelRig, type RigOptions, WRAPPED } from './rig.js'

/** E16: every way in which a provider fails, over real HTTP. */

const rigs: ModelRig[] = []
async function rigFor(options: RigOptions): Promise<ModelRig> {
  const rig = await modelRig(options)
  rigs.push(rig)
  return rig
}
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close()
})

let injected = 0
const planOf = (...replies: readonly ServerReply[]) => {
  injected += replies.filter(reply => reply.kind !== 'text').length
  return replies.map(reply => ({ reply }))
}
afterAll(() => {
  expect(injected).toBeGreaterThanOrEqual(40)
})

const status = (code: number, headers: Record<string, string> = {}): ServerReply => ({
  kind: 'status',
  status: code,
  headers,
})
const OK: ServerReply = { kind: 'text', text: 'fine' }

/** Nothing of a provider's words or of the key may be seen anywhere but in contents. */
const expectQuiet = (...shown: readonly unknown[]) => {
  expect(JSON.stringify(shown)).not.toMatch(/CNRY|Be brief|Say something/)
}

describe('what is turned away unread is tried again, and is not billed', () => {
  test.each([429, 503, 529, 408])('HTTP %i twice, then an answer', async code => {
    const rig = await rigFor({ plan: planOf(status(code), status(code), OK), clock: hurriedClock(40_000) })
    const answer = await rig.models.callModel(askFor())
    expect(answer).toMatchObject({ ok: true, told: { said: { kind: 'answered', result: 'fine' }, retries: 2 } })
    const keys = rig.server.requests().map(request => request.headers['idempotency-key'])
    expect(keys).toEqual(['effect-1', 'effect-1', 'effect-1'])
  })

  test('HTTP 429 for ever ends after maxTries, without cost, and may be retried', async () => {
    const rig = await rigFor({
      plan: planOf(...Array.from({ length: 9 }, () => status(429))),
      clock: hurriedClock(40_000),
    })
    const answer = await rig.models.callModel(askFor())
    expect(answer).toMatchObject({
      ok: false,
      code: 'model_unavailable',
      retryable: true,
      details: { status: 429, tries: 4 },
    })
    expect(answer).not.toHaveProperty('usage')
    expect(rig.server.requests()).toHaveLength(4)
    expectQuiet(answer, rig.logged)
  })

  test('waits grow, and Retry-After is obeyed, as seconds and as a date', async () => {
    const clock = hurriedClock(40_000)
    const soon = new Date(clock.now() + 500 + 9000).toUTCString()
    const plan = planOf(status(429), status(429, { 'retry-after': '7' }), status(429, { 'retry-after': soon }), OK)
    const rig = await rigFor({ plan, clock })
    expect(await rig.models.callModel(askFor())).toMatchObject({ ok: true, told: { retries: 3 } })
    expect(clock.waits).toHaveLength(3)
    expect(clock.waits[0]).toBe(500)
    expect(clock.waits[1]).toBe(7000)
    expect(clock.waits[2]).toBeGreaterThan(1000)
  })

  test('two that are turned away together come back apart: chance spreads their waits', async () => {
    const waitsWith = async (draw: number) => {
      const clock = hurriedClock(40_000)
      const rig = await rigFor({ plan: planOf(status(429), status(429), OK), clock, random: () => draw })
      expect(await rig.models.callModel(askFor())).toMatchObject({ ok: true, told: { retries: 2 } })
      return clock.waits
    }
    expect(await waitsWith(0.25)).toEqual([375, 750])
    expect(await waitsWith(0.75)).toEqual([625, 1250])
  })

  test('Retry-After beyond the deadline is not waited for', async () => {
    const clock = hurriedClock(40_000)
    const rig = await rigFor({ plan: planOf(status(429, { 'retry-after': '3600' })), clock })
    expect(await rig.models.callModel(askFor())).toMatchObject({
      ok: false,
      code: 'model_unavailable',
      details: { tries: 1 },
    })
    expect(clock.waits).toEqual([])
  })

  test('nobody listens: tried again, then unavailable', async () => {
    injected += 4
    const baseUrl = `http://127.0.0.1:${await freePort()}/v1`
    const rig = await rigFor({ provider: { baseUrl }, clock: hurriedClock(40_000) })
    const answer = await rig.models.callModel(askFor())
    expect(answer).toMatchObject({ ok: false, code: 'model_unavailable', retryable: true, details: { tries: 4 } })
    expect(answer).not.toHaveProperty('usage')
  })
})

describe('what must be changed by somebody is not tried again', () => {
  test.each([
    [400, /check the name of the model/],
    [401, /check the key/],
    [403, /check the key/],
    [404, /check the name of the model/],
    [413, /too large/],
    [422, /check/],
    [307, /base URL/],
  ])('HTTP %i', async (code, advice) => {
    const rig = await rigFor({ plan: planOf(status(code, { location: 'http://127.0.0.1:1/' })) })
    const answer = await rig.models.callModel(askFor())
    expect(answer).toMatchObject({
      ok: false,
      code: 'model_rejected',
      retryable: false,
      details: { status: code, provider: 'openai' },
    })
    expect(answer.ok ? '' : answer.message).toMatch(advice)
    expect(answer.ok ? '' : answer.message).toContain(`openai (m-1) answered with HTTP ${code}`)
    expect(answer).not.toHaveProperty('usage')
    expect(rig.server.requests()).toHaveLength(1)
    expectQuiet(answer, rig.logged)
  })

  test('a key that is not there names where it should be, and nothing is sent', async () => {
    injected += 1
    const rig = await rigFor({ provider: { apiKey: { env: 'NO_SUCH_KEY' } } })
    const answer = await rig.models.callModel(askFor())
    expect(answer).toMatchObject({ ok: false, code: 'model_rejected', retryable: false })
    expect(answer.ok ? '' : answer.message).toContain('NO_SUCH_KEY')
    expect(rig.server.requests()).toHaveLength(0)
  })
})

describe('what was begun may be billed, and is not tried again here', () => {
  const ask = askFor()
  test.each<[string, ServerReply, string]>([
    ['HTTP 500', status(500), 'model_unavailable'],
    ['HTTP 502', status(502), 'model_unavailable'],
    ['the connection closes without a word', { kind: 'drop' }, 'model_broke_off'],
    ['the connection closes in the middle', { kind: 'break' }, 'model_broke_off'],
    ['the answer ends in good order, but in the middle', { kind: 'end-early' }, 'model_broke_off'],
    ['an empty answer', { kind: 'empty' }, 'model_broke_off'],
    ['garbage', { kind: 'garbage' }, 'model_broke_off'],
    [
      'an error in the stream',
      { kind: 'error-frame', error: { message: 'CNRY', type: 'server_error' } },
      'model_broke_off',
    ],
  ])('%s', async (_, reply, code) => {
    const rig = await rigFor({ plan: planOf(reply) })
    const answer = await rig.models.callModel(ask)
    expect(answer).toMatchObject({ ok: false, code, retryable: true, usage: worstCase(ask) })
    expect(rig.server.requests()).toHaveLength(1)
    expectQuiet(answer, rig.logged)
  })

  test.each<[string, ServerReply]>([
    ['10 MB of words', { kind: 'flood', bytes: 10_000_000 }],
    ['one line without an end', { kind: 'long-line', bytes: 10_000_000 }],
  ])('%s: cut, not kept', async (_, reply) => {
    const rig = await rigFor({ plan: planOf(reply) })
    const answer = await rig.models.callModel(ask)
    expect(answer).toMatchObject({ ok: false, code: 'model_output_too_large', retryable: false, usage: worstCase(ask) })
    await until(() => rig.server.connections() === 0)
    expect(rig.server.requests()[0]?.left).toBe(true)
  })

  test.each<[string, ServerReply]>([
    ['a provider that hangs', { kind: 'hang' }],
    ['an answer that stalls', { kind: 'stall' }],
    ['a slow drip', { kind: 'drip' }],
  ])('%s is cut at the deadline', async (_, reply) => {
    const clock = new ManualClock()
    const rig = await rigFor({ plan: planOf(reply), clock })
    let settled = false
    const thought = rig.models.callModel(ask).finally(() => {
      settled = true
    })
    await until(() => rig.server.requests().length === 1)
    await clock.advance(59_999)
    expect(settled).toBe(false)
    await clock.advance(1)
    expect(await thought).toMatchObject({ ok: false, code: 'model_timeout', retryable: true, usage: worstCase(ask) })
    await until(() => rig.server.connections() === 0)
  })

  test('an answer that stalls is given up long before a distant deadline', async () => {
    const clock = new ManualClock()
    const rig = await rigFor({ plan: planOf({ kind: 'stall' }), clock, settings: { timeoutMs: 3_600_000 } })
    let settled = false
    const thought = rig.models.callModel(ask).finally(() => {
      settled = true
    })
    await until(() => rig.server.requests().length === 1)
    await until(async () => {
      await clock.advance(10_000)
      return settled
    })
    expect(await thought).toMatchObject({ ok: false, code: 'model_timeout' })
    expect(clock.monotonic()).toBeLessThan(3_600_000)
  })

  test.each<[string, ServerReply]>([
    ['before an answer', { kind: 'hang' }],
    ['during an answer', { kind: 'drip' }],
  ])('a call that is taken back %s closes the connection at once', async (_, reply) => {
    const rig = await rigFor({ plan: planOf(reply) })
    const caller = new AbortController()
    const thought = rig.models.callModel(askFor({ signal: caller.signal }))
    await until(() => rig.server.requests().length === 1)
    caller.abort()
    expect(await thought).toMatchObject({ ok: false, code: 'model_broke_off', usage: worstCase(ask) })
    await until(() => rig.server.connections() === 0)
    expect(rig.server.requests()[0]?.left).toBe(true)
  })

  test('a call that is taken back while it waits to try again sends nothing more', async () => {
    const waits: number[] = []
    const clock = new ManualClock()
    const noting = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms: number, callback: () => void) => {
        waits.push(ms)
        return clock.after(ms, callback)
      },
    }
    const rig = await rigFor({ plan: planOf(status(429), OK), clock: noting })
    const caller = new AbortController()
    const thought = rig.models.callModel(askFor({ signal: caller.signal }))
    await until(() => waits.includes(500))
    caller.abort()
    const answer = await thought
    expect(answer).toMatchObject({ ok: false, code: 'model_broke_off', retryable: true })
    expect(answer).not.toHaveProperty('usage')
    expect(await rig.models.callModel(askFor({ signal: caller.signal }))).toEqual({ ...answer })
    expect(rig.server.requests()).toHaveLength(1)
  })
})

describe('R-LIVE-30, R-ENV-1: outcomes are told apart and none is put in the place of another', () => {
  test.each<[string, ServerReply, object]>([
    ['a refusal', { kind: 'refusal', text: 'CNRY I will not' }, {}],
    ['a filter', { kind: 'content-filter' }, {}],
    [
      'a filter that says which',
      { kind: 'content-filter', filters: { violence: { filtered: true } } },
      { safetyCategory: 'violence' },
    ],
    [
      'an error that is about the content',
      {
        kind: 'status',
        status: 400,
        body: {
          error: {
            code: 'content_filter',
            message: 'CNRY',
            innererror: { content_filter_result: { self_harm: { filtered: true } } },
          },
        },
      },
      { safetyCategory: 'self-harm' },
    ],
  ])('%s', async (_, reply, more) => {
    const rig = await rigFor({ plan: planOf(reply) })
    const answer = await rig.models.callModel(askFor({ brief: WRAPPED }))
    expect(answer).toMatchObject({ ok: true, told: { said: { kind: 'refused', ...more } } })
    expect(rig.server.requests()).toHaveLength(1)
    expectQuiet(answer.ok && answer.told, rig.logged)
  })

  test('a length that is used up, with words and with half a tool call', async () => {
    const half: ServerReply = { kind: 'tools', calls: [{ name: 'mcp_web_search', raw: '{"q": "ha' }], finish: 'length' }
    const rig = await rigFor({ plan: planOf({ kind: 'text', text: '{"result": 1', finish: 'length' }, half) })
    injected += 1
    for (const _ of [1, 2]) {
      expect(await rig.models.callModel(askFor({ brief: WRAPPED }))).toMatchObject({
        ok: true,
        told: { said: { kind: 'truncated', stopReason: 'length' } },
      })
    }
  })

  test.each([
    ['words in the place of JSON', 'I would say seven.', 'parse-error'],
    ['nothing', '', 'parse-error'],
    ['JSON that breaks the schema', '{"result": {"n": "seven"}, "confidence": 1}', 'schema-violation'],
    ['no confidence', '{"result": {"n": 7}}', 'schema-violation'],
  ])('%s is unusable', async (_, text, reason) => {
    injected += 1
    const rig = await rigFor({ plan: planOf({ kind: 'text', text }) })
    const answer = await rig.models.callModel(askFor({ brief: WRAPPED }))
    expect(answer).toMatchObject({ ok: true, told: { said: { kind: 'unusable', reason } } })
  })

  test('A4: the key does not come back, whoever says it', async () => {
    injected += 1
    const text = JSON.stringify({ result: { n: 1, echo: KEY }, confidence: 1, reasoning: `because ${KEY}` })
    const rig = await rigFor({ plan: planOf({ kind: 'text', text }) })
    const answer = await rig.models.callModel(askFor({ brief: WRAPPED }))
    expect(answer).toMatchObject({ ok: true, told: { said: { result: { echo: '[REDACTED:TEST_KEY]' } } } })
    expect(JSON.stringify(answer)).not.toContain(KEY)
  })
})
