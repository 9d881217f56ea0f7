import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentsDouble } from '../../src/testing/agents.js'
import { AGENT, answered, tool, wants } from '../../src/testing/invocations.js'
import { type KeyName, node, startHttp, type TestHost, workflow } from './harness.js'

/** A tool for those who may read artifacts, which the keys below but one may not. */
const ARCHIVE = tool('x:archive', { scopes: ['artifacts:read'] })

const agents = agentsDouble({
  agents: { [AGENT]: { tools: [ARCHIVE] } },
  think: ({ rounds }) => ({ said: rounds.length === 0 ? wants(ARCHIVE.toolId) : answered() }),
})

let host: TestHost
let narrow: string
beforeAll(async () => {
  host = await startHttp({ agents })
  const payload = workflow('archivist', [node('a', 'core.agent', { config: { agentId: AGENT } })])
  expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
  const key = { scopes: ['runs:create', 'runs:read'] }
  narrow = (await host.call('alice', { method: 'POST', url: '/v1/keys', payload: key })).json.key
})
afterAll(() => host.close())

type Told = { readonly type: string; readonly payload: { readonly status?: string; readonly error?: object } }

const as = (key: KeyName | 'narrow') => (key === 'narrow' ? { headers: { authorization: `Bearer ${narrow}` } } : {})
const nameOf = (key: KeyName | 'narrow') => (key === 'narrow' ? null : key)

async function told(runId: string): Promise<Told[]> {
  const status = async () => (await host.call('alice', { url: `/v1/runs/${runId}` })).json.status
  await expect.poll(status, { timeout: 5000 }).toBe('completed')
  return (await host.call('alice', { url: `/v1/runs/${runId}/events/poll` })).json.events
}

async function started(key: KeyName | 'narrow'): Promise<string> {
  const payload = { workflowId: 'archivist', inputs: {} }
  const reply = await host.call(nameOf(key), { method: 'POST', url: '/v1/runs', payload, ...as(key) })
  expect(reply.status).toBe(201)
  return reply.json.runId
}

async function branched(runId: string, fromSeq: number, key: KeyName | 'narrow'): Promise<Told[]> {
  const payload = { mode: 'branch', fromSeq }
  const reply = await host.call(nameOf(key), { method: 'POST', url: `/v1/runs/${runId}:fork`, payload, ...as(key) })
  expect(reply.status).toBe(201)
  return told(reply.json.runId)
}

const returns = (events: readonly Told[]) => events.filter(({ type }) => type === 'agent.toolReturned')

describe('a branch of a run whose tools its key may not use', () => {
  test('R-ATTEST-6 R-TOOL-4: a key with fewer scopes branches off and has no tool called, wherever before the call it cuts', async () => {
    const runId = await started('alice')
    const source = await told(runId)
    expect(returns(source)).toMatchObject([{ payload: { status: 'ok' } }])
    const used = agents.uses.length
    const called = source.findIndex(({ type }) => type === 'agent.toolCalled')
    for (let fromSeq = 0; fromSeq <= called; fromSeq += 1) {
      const own = returns(await branched(runId, fromSeq, 'narrow'))
      expect(own, `from ${fromSeq}`).toMatchObject([
        {
          payload: {
            status: 'forbidden',
            error: { code: 'forbidden', details: { requiredScopes: ['artifacts:read'] } },
          },
        },
      ])
    }
    expect(agents.uses).toHaveLength(used)
  })

  test('R-TOOL-4: a key with all of them has it called', async () => {
    const runId = await started('alice')
    await told(runId)
    const used = agents.uses.length
    expect(returns(await branched(runId, 1, 'alice'))).toMatchObject([{ payload: { status: 'ok' } }])
    expect(agents.uses).toHaveLength(used + 1)
  })

  test('R-ATTEST-6: what the source was started without, a branch does not gain by a better key', async () => {
    const runId = await started('narrow')
    expect(returns(await told(runId))).toMatchObject([{ payload: { status: 'forbidden' } }])
    const used = agents.uses.length
    for (const fromSeq of [0, 1, 3])
      expect(returns(await branched(runId, fromSeq, 'alice'))).toMatchObject([{ payload: { status: 'forbidden' } }])
    expect(agents.uses).toHaveLength(used)
  })
})

describe('a branch that changes its agents and nodes', () => {
  const fork = (runId: string, payload: object, key: KeyName | 'narrow' = 'alice') =>
    host.call(nameOf(key), { method: 'POST', url: `/v1/runs/${runId}:fork`, payload, ...as(key) })
  const change = { 'nodes.a.config.resultVariable': 'got' }

  test('R-FORK-3: a replay takes no change', async () => {
    const runId = await started('alice')
    const reply = await fork(runId, { mode: 'replay', assay: { set: change } })
    expect(reply.status).toBe(400)
    expect(reply.json).toMatchObject({ error: 'validation_error', details: { field: 'body.assay.set' } })
    expect(reply.json.message).toMatch(/is for a branch; a replay does what its source did/)
  })

  test('settings of a node are changed by whoever may change workflows; a model by whoever may start runs', async () => {
    const runId = await started('alice')
    await told(runId)
    const model = { [`agents.${AGENT}.model`]: 'openai:gpt-other' }
    const body = (set: object) => ({ mode: 'branch', fromSeq: 1, assay: { set } })
    expect(await fork(runId, body(change), 'narrow')).toMatchObject({ status: 403, json: { error: 'forbidden' } })
    expect(await fork(runId, body(model), 'narrow')).toMatchObject({ status: 201 })
    const reply = await fork(runId, body({ ...change, ...model }))
    expect(reply.status).toBe(201)
    const events = await told(reply.json.runId)
    expect(events.find(({ type }) => type === 'assay.run.forked')).toMatchObject({
      payload: { changed: ['nodes.a.config.resultVariable', `agents.${AGENT}.model`] },
    })
    expect(events).toContainEqual(expect.objectContaining({ type: 'variable.changed' }))
    const list = await host.call('alice', { url: '/v1/workflows' })
    expect(list.json.workflows.map(({ workflowId }: { workflowId: string }) => workflowId)).toContain('archivist')
    expect(JSON.stringify(list.json)).not.toContain('~')
  })

  test('names the field that is wrong, and what to do', async () => {
    const runId = await started('alice')
    const reply = await fork(runId, { mode: 'branch', fromSeq: 1, assay: { set: { 'nodes.b.config.x': 1 } } })
    expect(reply).toMatchObject({ status: 400, json: { details: { field: 'assay.set["nodes.b.config.x"]' } } })
    expect(reply.json.message).toMatch(/NODE one of a$/)
  })
})
