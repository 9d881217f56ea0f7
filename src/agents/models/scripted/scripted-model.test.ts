import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BriefContents, ModelCallRequest, Round } from '../../../engine/ports/agents.js'
import { createSecrets } from '../../../secrets/secrets.js'
import { systemClock } from '../../../system.js'
import { ManualClock } from '../../../testing/manual-clock.js'
import { worstCase } from '../request-bound.js'
import { parseScript } from './script.js'
import { createScriptedModel } from './scripted-model.js'

const { redact } = createSecrets(async () => undefined)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'assay-script-'))
})
afterAll(() => rm(folder, { recursive: true }))

let files = 0
async function modelOf(script: string) {
  files += 1
  const file = path.join(folder, `${files}.yaml`)
  await writeFile(file, script)
  return { file, ask: asking(createScriptedModel(file, systemClock)) }
}

const plain: BriefContents = {
  system: 'the system prompt',
  user: 'please count',
  tools: [{ toolId: 'mcp:web.search', name: 'mcp_web_search', description: '', inputSchema: {} }],
  wrapped: false,
}
const wrapped: BriefContents = { ...plain, wrapped: true }

const asking =
  (model: ReturnType<typeof createScriptedModel>) =>
  async (over: Partial<ModelCallRequest> = {}) => {
    const ask: ModelCallRequest = {
      tenant: 't',
      id: 'e',
      traceparent: 't',
      provider: 'scripted',
      model: 'default',
      brief: plain,
      rounds: [],
      maxOutputTokens: 100,
      verbosity: 'full',
      signal: new AbortController().signal,
      ...over,
    }
    return model(ask, { provider: 'scripted', model: 'default', tries: 1, worst: worstCase(ask) }, redact)
  }

const round = (correction: string): Round => ({ thought: { text: 'x', calls: [] }, results: [], correction })
const textOf = (reply: Awaited<ReturnType<ReturnType<typeof asking>>>) => (reply.ok ? reply.spoken.text : reply.code)

describe('which entry applies', () => {
  const SCRIPT = `
- { agent: core.a, reply: { text: for a } }
- { role: supervisor, reply: { text: for the supervisor } }
- { when: { round: 2, contains: [please, again] }, reply: { text: second time } }
- { when: { contains: count }, times: 2, reply: { text: counted } }
- { agent: '*', reply: { text: otherwise } }
`
  test('the first whose conditions all hold', async () => {
    const { ask } = await modelOf(SCRIPT)
    expect(textOf(await ask({ agentId: 'core.a' }))).toBe('for a')
    expect(textOf(await ask({ agentId: 'core.ab', role: 'supervisor' }))).toBe('for the supervisor')
    expect(textOf(await ask({ rounds: [round('once again')] }))).toBe('second time')
    expect(textOf(await ask({ brief: { ...plain, user: 'the system prompt does not count; say hello' } }))).toBe(
      'counted',
    )
    expect(textOf(await ask({ brief: { ...plain, user: 'hello' } }))).toBe('otherwise')
  })

  test('A1: `times` is counted from the conversation, so asking twice changes nothing', async () => {
    const { ask } = await modelOf(SCRIPT)
    const rounds = [round('no'), round('no')]
    for (let i = 0; i < 3; i += 1) {
      expect(textOf(await ask({ rounds: rounds.slice(0, 0) }))).toBe('counted')
      expect(textOf(await ask({ rounds: rounds.slice(0, 1) }))).toBe('counted')
      expect(textOf(await ask({ rounds }))).toBe('otherwise')
    }
  })

  test('a script that is changed is read anew', async () => {
    const { file, ask } = await modelOf('- { reply: { text: old } }')
    expect(textOf(await ask())).toBe('old')
    await writeFile(file, '- { reply: { text: new } }')
    expect(textOf(await ask())).toBe('new')
  })
})

describe('what is said', () => {
  test.each<[string, BriefContents, object]>([
    ['{ text: hello }', plain, { text: 'hello', finish: { kind: 'done' } }],
    ['{ text: hello, confidence: 0.4 }', wrapped, { text: '{"result":"hello","confidence":0.4}' }],
    ['{ json: { a: [1] } }', plain, { text: '{"a":[1]}' }],
    ['{ json: { a: [1] } }', wrapped, { text: '{"result":{"a":[1]},"confidence":0.9}' }],
    ['{ json: null }', wrapped, { text: '{"result":null,"confidence":0.9}' }],
    ['{ invalid: "{oops" }', wrapped, { text: '{oops' }],
    ['{ refuse: true }', plain, { finish: { kind: 'refused' } }],
    ['{ truncate: true, text: half }', plain, { text: 'half', finish: { kind: 'truncated', stopReason: 'length' } }],
    ['{ text: x, reasoning: because }', plain, { reasoning: 'because' }],
    ['{ text: x, usage: { inputTokens: 3, outputTokens: 4 } }', plain, { usage: { inputTokens: 3, outputTokens: 4 } }],
    [
      '{ tools: [{ tool: "mcp:web.search", args: { q: x } }, { tool: made.up }] }',
      plain,
      {
        calls: [
          { id: 'call_1_1', name: 'mcp_web_search', input: '{"q":"x"}' },
          { id: 'call_1_2', name: 'made.up', input: '{}' },
        ],
      },
    ],
  ])('%s', async (reply, brief, expected) => {
    const { ask } = await modelOf(`- { reply: ${reply} }`)
    expect(await ask({ brief })).toMatchObject({ ok: true, retries: 0, spoken: expected })
  })

  test.each([
    [429, { code: 'model_unavailable', retryable: true }],
    [500, { code: 'model_unavailable', retryable: true, usage: { outputTokens: 100 } }],
    [401, { code: 'model_rejected', retryable: false }],
  ])('a failure with status %i', async (status, expected) => {
    const { ask } = await modelOf(`- { reply: { fail: { status: ${status} } } }`)
    expect(await ask()).toMatchObject({ ok: false, ...expected })
  })

  test('the same request always costs the same', async () => {
    const { ask } = await modelOf('- { reply: { text: hello } }')
    const [one, two] = [await ask(), await ask()]
    expect(one).toEqual(two)
    expect(one).toMatchObject({ spoken: { usage: { inputTokens: 8, outputTokens: 2 } } })
  })

  test('a reply takes the time that it is given, unless nobody waits for it any more', async () => {
    const { file } = await modelOf('- { reply: { text: at last, takesMs: 900 } }')
    const clock = new ManualClock()
    const waits = vi.spyOn(clock, 'after')
    const ask = asking(createScriptedModel(file, clock))
    let said: string | undefined
    const saying = ask().then(reply => {
      said = textOf(reply)
    })
    await vi.waitFor(() => expect(waits).toHaveBeenCalled())
    await clock.advance(899)
    expect(said).toBeUndefined()
    await clock.advance(1)
    await saying
    expect(said).toBe('at last')
    const leaving = new AbortController()
    const left = ask({ signal: leaving.signal })
    leaving.abort()
    expect(await left).toMatchObject({ ok: false })
  })

  test('reasoning is told as it comes', async () => {
    const { ask } = await modelOf('- { reply: { text: x, reasoning: because } }')
    const deltas: string[] = []
    await ask({ onReasoning: delta => deltas.push(delta) })
    expect(deltas).toEqual(['because'])
  })
})

describe('without a script', () => {
  const ask = asking(createScriptedModel(undefined, systemClock))
  test('a text is answered with a text, a schema with a value', async () => {
    expect(textOf(await ask())).toBe('The offline model was asked: please count')
    const returnSchema = { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] }
    expect(textOf(await ask({ brief: { ...plain, returnSchema } }))).toBe('{"n":3}')
    expect(textOf(await ask({ brief: { ...wrapped, returnSchema } }))).toBe('{"result":{"n":3},"confidence":0.9}')
  })
})

test('the script of the guide is one', async () => {
  const guide = await readFile(new URL('../../../../docs/guides/scripted-model.md', import.meta.url), 'utf8')
  const script = parseScript(guide.split('```yaml')[1]?.split('```')[0] ?? '')
  expect(script.ok && script.entries.length).toBe(3)
})

describe('scripts that are none', () => {
  test.each([
    ['a: b', /a list/],
    ['- [', /not YAML/],
    ['- {}', /entry 1, reply, is missing/],
    ['- { reply: {} }', /exactly one of/],
    ['- { reply: { text: a, json: 1 } }', /exactly one of/],
    ['- { reply: { text: 1 } }', /not a text/],
    ['- { reply: { text: a }, wehn: {} }', /"wehn"/],
    ['- { reply: { text: a }, when: { rounds: 1 } }', /"rounds"/],
    ['- { reply: { text: a }, when: { round: 0 } }', /round/],
    ['- { reply: { text: a }, role: boss }', /role/],
    ['- { reply: { text: a }, times: 0 }', /times/],
    ['- { reply: { tools: [] } }', /tools/],
    ['- { reply: { tools: [{ args: {} }] } }', /tool 1 must have a tool/],
    ['- { reply: { fail: {} } }', /status/],
    ['- { reply: { refuse: 1 } }', /refuse/],
    ['- { reply: { text: a, takesMs: 60001 } }', /takesMs/],
    ['- { reply: { text: a, usage: { inputTokens: -1, outputTokens: 1 } } }', /usage/],
  ])('%s', async (text, problem) => {
    const script = parseScript(text)
    expect(script.ok ? '' : script.problem).toMatch(problem)
    const { ask } = await modelOf(text)
    expect(await ask()).toMatchObject({ ok: false, code: 'model_rejected', retryable: false })
  })

  test('a file that is not there', async () => {
    const ask = asking(createScriptedModel(path.join(folder, 'nowhere.yaml'), systemClock))
    expect(await ask()).toMatchObject({ ok: false, code: 'model_rejected' })
  })
})
