import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentsDouble } from '../../src/testing/agents.js'
import { directoryOf } from './agent-directory.js'
import { node, startHttp, type TestHost, workflow } from './harness.js'
import { hasProtocolSchemas, schemaErrors } from './protocol-schemas.js'

const WRITER = 'local.notes.writer'
const RESEARCHER = 'local.notes.researcher'
const STRICT = 'local.notes.strict'
const UNSURE = 'local.notes.unsure'
const OFF_SCHEMA = { kind: 'unusable' as const, reason: 'schema-violation' as const, problem: 'no title' }
const agents = agentsDouble({
  agents: { [WRITER]: {}, [RESEARCHER]: {}, [STRICT]: { checksResult: true }, [UNSURE]: {} },
  think: ({ agentId }) =>
    agentId === STRICT
      ? { said: OFF_SCHEMA }
      : { said: { kind: 'answered', result: 'done', ...(agentId === UNSURE ? { confidence: 0.1 } : {}) } },
})

let host: TestHost
beforeAll(async () => {
  const known = directoryOf([WRITER, RESEARCHER], ['mcp:files.read', 'assay:http.get'])
  host = await startHttp({ agents, deps: { agents: known } })
})
afterAll(() => host.close())

const get = (url: string) => host.call('alice', { url })
const post = (url: string, payload: object, headers = {}) =>
  host.call('alice', { method: 'POST', url, payload, headers })
const ended = (url: string) => expect.poll(async () => (await get(url)).json.status).toBe('completed')
const eventsOf = async (runId: string) => (await get(`/v1/runs/${runId}/events/poll`)).json.events

describe('the inventory', () => {
  test('R-MANIF-1, R-MANIF-2: agents are listed by id and found by id', async () => {
    const { status, json } = await get('/v1/agents')
    expect([status, json.total]).toEqual([200, 2])
    expect(json.agents.map((one: { agentId: string }) => one.agentId)).toEqual([RESEARCHER, WRITER])
    if (hasProtocolSchemas) expect(schemaErrors('agent-inventory-response', json)).toEqual([])
    expect((await get(`/v1/agents/${WRITER}`)).json).toEqual(json.agents[1])
  })

  test.each(['local.notes.nobody', 'toString', '__proto__', '%00', 'a%2Fb', 'writer'])(
    'R-MANIF-1: the agent %s is 404',
    async agentId => {
      const reply = await get(`/v1/agents/${agentId}`)
      expect([reply.status, reply.json.error]).toEqual([404, 'not_found'])
    },
  )

  test('tools are listed by id and found by id, with the colon as it is or encoded', async () => {
    const { json } = await get('/v1/tools')
    expect(json.tools.map((one: { toolId: string }) => one.toolId)).toEqual(['assay:http.get', 'mcp:files.read'])
    expect(json.total).toBe(2)
    for (const tool of json.tools) if (hasProtocolSchemas) expect(schemaErrors('tool-descriptor', tool)).toEqual([])
    for (const toolId of ['mcp:files.read', 'mcp%3Afiles.read'])
      expect((await get(`/v1/tools/${toolId}`)).json).toEqual(json.tools[1])
  })

  test.each(['files.read', 'mcp:files', 'mcp:files.Read', 'mcp:f%D1%96les.read', 'constructor'])(
    'R-TOOL-2: the tool %s is 404, for ids are compared exactly',
    async toolId => {
      expect((await get(`/v1/tools/${toolId}`)).status).toBe(404)
    },
  )
})

describe('R-LIVE-24: a run of an agent', () => {
  test('R-MANIF-4: is a run like any other', async () => {
    const { status, json } = await post('/v1/runs', { agentId: WRITER, inputs: { task: 'a line about rain' } })
    expect([status, json]).toEqual([
      201,
      {
        runId: json.runId,
        status: 'running',
        eventsUrl: `/v1/runs/${json.runId}/events`,
        statusUrl: `/v1/runs/${json.runId}`,
      },
    ])
    await ended(json.statusUrl)
    const started = (await eventsOf(json.runId)).find(
      (event: { type: string }) => event.type === 'agent.invocation.started',
    )
    expect(started.payload).toMatchObject({ agentId: WRITER, source: 'run-api' })
    expect(agents.briefs.at(-1)?.task).toBe('a line about rain')
  })

  test('without a task it is given all inputs', async () => {
    const { json } = await post('/v1/runs', { agentId: WRITER, inputs: { topic: 'rain' } })
    await ended(json.statusUrl)
    expect(agents.briefs.at(-1)?.task).toEqual({ topic: 'rain' })
  })

  test.each([
    [{ workflowId: 'noop', agentId: WRITER }, 'body.agentId', /cannot both be given/],
    [{}, 'body.workflowId', /is required/],
    [{ agentId: '' }, 'body.agentId', /at least 1 character/],
    [{ agentId: 7 }, 'body.agentId', /must be of type string/],
  ])('%j is refused', async (body, field, message) => {
    const reply = await post('/v1/runs', body)
    expect([reply.status, reply.json.error, reply.json.details.field]).toEqual([400, 'validation_error', field])
    expect(reply.json.message).toMatch(message)
  })

  test('R-REST-17: one that is not there is 404, and says where those are that are', async () => {
    const { status, json } = await post('/v1/runs', { agentId: 'local.notes.nobody' })
    expect([status, json.error, json.details.field]).toEqual([404, 'unknown_workflow', 'agentId'])
    expect(json.message).toMatch(/GET \/v1\/agents/)
  })

  test('an evaluation is still not provided', async () => {
    const reply = await post('/v1/runs', { agentId: WRITER, mode: 'eval', evalSuiteRef: 'x' })
    expect(reply.status).toBe(501)
  })

  test('R-BUDGET-2: its snapshot shows what was spent, and the ceilings', async () => {
    const budget = { maxTokens: 5000, maxToolCalls: 3 }
    const { json } = await post('/v1/runs', { agentId: WRITER, configurable: { budget } })
    await ended(json.statusUrl)
    const snapshot = (await get(json.statusUrl)).json
    expect(snapshot.assay).toEqual({ spend: { tokens: 15, costUsd: 0, toolCalls: 0, retries: 0 }, budget })
    expect(snapshot.metrics).toEqual({ openwopCost: { usd: 0 } })
    if (hasProtocolSchemas) expect(schemaErrors('run-snapshot', snapshot)).toEqual([])
  })
})

describe('what discovery claims of live agents', () => {
  const claims = async () => (await get('/.well-known/openwop')).json.agents.liveRuntime
  const WORK = node('work', 'core.agent', { config: { agentId: WRITER } })

  test('R-LIVE-26: each entry it names is there, and no invocation has another', async () => {
    await post('/v1/workflows', workflow('writes', [WORK]))
    const entries: { readonly [source: string]: () => ReturnType<typeof post> } = {
      'workflow-node': () => post('/v1/runs', { workflowId: 'writes' }),
      'run-api': () => post('/v1/runs', { agentId: WRITER }),
      'chat-mention': () => post('/v1/host/assay/chat', { message: '@writer a line' }),
    }
    const { sources } = await claims()
    expect([...sources].sort()).toEqual(Object.keys(entries).sort())
    for (const source of sources) {
      const { status, json } = await entries[source]!()
      expect(status).toBe(201)
      await ended(json.statusUrl)
      const told = (await eventsOf(json.runId)) as { type: string; payload: { source: string } }[]
      const starts = told.filter(({ type }) => type === 'agent.invocation.started')
      expect(starts.map(({ payload }) => payload.source)).toEqual([source])
    }
  })

  test('R-LIVE-32: a flag that it sets is kept: off its schema there is no result, and doubt asks a person', async () => {
    const { structuredOutput, confidenceEscalation } = await claims()
    expect([structuredOutput, confidenceEscalation]).toEqual([true, true])
    const { json: off } = await post('/v1/runs', { agentId: STRICT, inputs: { task: 'anything' } })
    await expect.poll(async () => (await get(off.statusUrl)).json.status).toBe('failed')
    const ends = (await eventsOf(off.runId)) as {
      type: string
      payload: { outcome?: string; schemaValidated?: boolean }
    }[]
    const [end] = ends.filter(({ type }) => type === 'agent.invocation.completed')
    expect(end!.payload).toMatchObject({ outcome: 'failed' })
    expect(end!.payload.schemaValidated).not.toBe(true)
    const { json: unsure } = await post('/v1/runs', { agentId: UNSURE, inputs: { task: 'anything' } })
    await expect.poll(async () => (await get(unsure.statusUrl)).json.status).toMatch(/^waiting-/)
    expect((await get(unsure.statusUrl)).json.interrupt).toMatchObject({ kind: 'low-confidence' })
  })
})

describe('R-LIVE-25: a chat', () => {
  const chat = (body: object, headers = {}) => post('/v1/host/assay/chat', body, headers)

  test('R-LIVE-23: a mention becomes a run with the same story as one of the run API', async () => {
    const message = 'please, @writer, a line about rain'
    const { status, json } = await chat({ message, conversationId: 'c-1' })
    expect([status, json]).toMatchObject([201, { status: 'running', agentId: WRITER, conversationId: 'c-1' }])
    await ended(json.statusUrl)
    expect(agents.briefs.at(-1)?.task).toBe('please, a line about rain')
    const direct = await post('/v1/runs', { agentId: WRITER, inputs: { task: 'please, a line about rain' } })
    await ended(direct.json.statusUrl)
    const story = async (runId: string) => (await eventsOf(runId)).map(({ type }: { type: string }) => type)
    expect(await story(json.runId)).toEqual(await story(direct.json.runId))
    const [started] = (await eventsOf(json.runId)).filter(
      ({ type }: { type: string }) => type === 'agent.invocation.started',
    )
    expect(started.payload.source).toBe('chat-mention')
    const { runs } = (await get('/v1/runs?limit=2')).json
    expect(runs[1]).toMatchObject({ runId: json.runId, scopeId: 'c-1' })
  })

  test('R-LIVE-25: a message for nobody is refused and names the agents', async () => {
    const reply = await chat({ message: 'hello' })
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
    expect(reply.json.details).toEqual({ field: 'body.message', agents: [RESEARCHER, WRITER] })
  })

  test.each([[{}], [{ message: '' }], [{ message: '@writer x', task: 1 }], [{ message: ['@writer x'] }]])(
    '%j is refused',
    async body => {
      expect([(await chat(body)).status, (await chat(body)).json.error]).toEqual([400, 'validation_error'])
    },
  )

  test('a repetition under the same key starts no second run, a refusal does not use the key up', async () => {
    const headers = { 'idempotency-key': 'chat-1' }
    expect((await chat({ message: 'hello' }, headers)).status).toBe(400)
    const first = await chat({ message: '@writer go' }, headers)
    const again = await chat({ message: '@writer go' }, headers)
    expect([again.text, again.headers['openwop-idempotent-replay']]).toEqual([first.text, 'true'])
    const other = await chat({ message: '@writer stay' }, headers)
    expect([other.status, other.json.error]).toEqual([409, 'idempotency_key_mismatch'])
  })

  test('fifty at once under one key are one run', async () => {
    const headers = { 'idempotency-key': 'chat-50' }
    const replies = await Promise.all(Array.from({ length: 50 }, () => chat({ message: '@writer go' }, headers)))
    expect(new Set(replies.map(reply => reply.json.runId)).size).toBe(1)
  })
})

test('while an agent works, its node tells who, with which model and how far', async () => {
  let answer: () => void = () => undefined
  const waits = new Promise<void>(resolve => {
    answer = resolve
  })
  const slow = agentsDouble({
    agents: { [WRITER]: {} },
    think: async () => {
      await waits
      return { said: { kind: 'answered', result: 'done' } }
    },
  })
  const busy = await startHttp({ agents: slow, deps: { agents: directoryOf([WRITER]) } })
  const payload = { agentId: WRITER, inputs: { task: 'secret plan' } }
  const { json } = await busy.call('alice', { method: 'POST', url: '/v1/runs', payload })
  const snapshot = async () => (await busy.call('alice', { url: json.statusUrl })).json
  const working = async () =>
    Object.values((await snapshot()).nodeStates).map((node: unknown) => Object(node).invocation)
  await expect.poll(working).toEqual([
    {
      invocationId: expect.any(String),
      agentId: WRITER,
      provider: 'openai',
      model: 'gpt-test',
      phase: 'thinking',
      modelCalls: expect.any(Number),
    },
  ])
  answer()
  await expect.poll(async () => (await snapshot()).status).toBe('completed')
  expect(await working()).toEqual([undefined])
  await busy.close()
})
