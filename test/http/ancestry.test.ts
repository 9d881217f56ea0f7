import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { agentsDouble, type Said } from '../../src/testing/agents.js'
import { says, score } from '../../src/testing/gated-families.js'
import { boundGate } from '../../src/testing/gates.js'
import { AGENT } from '../../src/testing/invocations.js'
import { standardsDouble } from '../../src/testing/verification.js'
import { sketch } from '../../src/testing/workflow.js'
import { type KeyName, node, startHttp, type TestHost, workflow } from './harness.js'
import { hasProtocolSchemas, schemaErrors } from './protocol-schemas.js'

const HOST_ID = 'acme.example/assay'

const TEXT = { name: 'text', type: 'string' as const, defaultValue: 'text' }

/** A root that hands work to a sub-workflow, which dispatches it to an agent; what the root merges is judged. */
const agents = agentsDouble({
  agents: { [AGENT]: {}, 'assay.verifier': {} },
  think: ({ role }): Said => (role === 'verifier' ? score(9) : says('text', { confidence: 0.9 })),
})

let host: TestHost
const made: { [name: string]: string } = {}

beforeAll(async () => {
  const gate = { ...boundGate({}), hash: 'a'.repeat(64) }
  const gates = standardsDouble({ w: [gate] })
  host = await startHttp({ agents, gates, performers: new Map(), config: { hostId: HOST_ID } })
  const plan = [
    { kind: 'next-worker', nextWorkerIds: ['leaf'] },
    { kind: 'terminate', reason: 'done' },
  ]
  for (const payload of [
    sketch({
      id: 'w',
      nodes: { a: { type: 'core.subWorkflow', config: { workflowId: 'middle', outputMapping: { text: 'text' } } } },
      variables: [TEXT],
    }),
    sketch({
      id: 'middle',
      nodes: {
        lead: { type: 'core.orchestrator.supervisor', config: { mockDispatchPlan: plan } },
        hand: 'core.dispatch',
      },
      edges: ['lead > hand', 'hand > lead'],
      variables: [TEXT],
    }),
    sketch({ id: 'leaf', nodes: { work: { type: 'core.agent', config: { agentId: AGENT } } } }),
  ])
    expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
  const payload = { workflowId: 'w', inputs: {} }
  const started = await host.call('alice', { method: 'POST', url: '/v1/runs', payload })
  made.w = started.json.runId
  await ended(made.w!)
  const { json } = await host.call('alice', { url: '/v1/runs?host=true&limit=100' })
  for (const run of json.runs) made[run.workflowId] = run.runId
})
afterAll(() => host.close())

const ended = (runId: string) =>
  vi.waitUntil(async () => (await host.call('alice', { url: `/v1/runs/${runId}` })).json.status === 'completed', 5_000)

async function ancestryOf(runId: string, key: KeyName | null = 'alice') {
  const reply = await host.call(key, { url: `/v1/runs/${runId}/ancestry` })
  if (hasProtocolSchemas && reply.status === 200) expect(schemaErrors('run-ancestry-response', reply.json)).toEqual([])
  return reply
}

describe('the ancestry of a run', () => {
  test('R-XHOST-9 R-XHOST-11: a run that a client has started has no parent', async () => {
    const { status, json } = await ancestryOf(made.w!)
    expect([status, json]).toEqual([200, { runId: made.w, hostId: HOST_ID, parent: null }])
  })

  test.each([
    ['middle', 'w', 'core.subWorkflow'],
    ['leaf', 'middle', 'core.dispatch'],
    // Whoever judges is handed the result by the run whose result it is, whichever node that comes from.
    ['assay-verifier', 'w', 'core.dispatch'],
  ])('R-XHOST-9 R-XHOST-11: %s has been started by %s, by %s, on this host', async (child, parent, cause) => {
    expect(made[child]).toBeDefined()
    const { status, json } = await ancestryOf(made[child]!)
    expect(status).toBe(200)
    expect(json).toEqual({
      runId: made[child],
      hostId: HOST_ID,
      parent: { runId: made[parent], hostId: HOST_ID, cause },
    })
  })

  test.each([
    ['replay', { mode: 'replay' }],
    ['replay of its end', { mode: 'replay', fromSeq: 3 }],
    ['branch', { mode: 'branch', fromSeq: 2 }],
    ['branch from the beginning', { mode: 'branch', fromSeq: 0 }],
  ])('R-XHOST-9: a %s of a child is nobody’s child', async (_what, payload) => {
    const forked = await host.call('alice', { method: 'POST', url: `/v1/runs/${made.leaf}:fork`, payload })
    expect(forked.status).toBe(201)
    expect((await ancestryOf(forked.json.runId)).json).toEqual({
      runId: forked.json.runId,
      hostId: HOST_ID,
      parent: null,
    })
  })

  test('R-XHOST-9: of a branch’s own child it tells the branch', async () => {
    const payload = { mode: 'branch', fromSeq: 1 }
    const forked = await host.call('alice', { method: 'POST', url: `/v1/runs/${made.middle}:fork`, payload })
    await ended(forked.json.runId)
    const { json } = await host.call('alice', { url: `/v1/runs?parentRunId=${forked.json.runId}` })
    expect(json.runs).toHaveLength(1)
    const { parent } = (await ancestryOf(json.runs[0].runId)).json
    expect(parent).toEqual({ runId: forked.json.runId, hostId: HOST_ID, cause: 'core.dispatch' })
  })
})

describe('who may read it', () => {
  test('R-XHOST-12: whoever may read the run, and nobody else', async () => {
    expect((await ancestryOf(made.leaf!, 'reader')).status).toBe(200)
    expect((await ancestryOf(made.leaf!, 'starter')).status).toBe(403)
    expect((await ancestryOf(made.leaf!, 'canceller')).status).toBe(403)
    expect((await ancestryOf(made.leaf!, null)).status).toBe(401)
  })

  test('R-XHOST-12 R-SEC-2: to another tenant a run is not there, to the byte, and neither is it to the run’s own path', async () => {
    const unknown = '01890000-0000-7000-8000-000000000000'
    const [theirs, none] = [await ancestryOf(made.leaf!, 'bob'), await ancestryOf(unknown, 'bob')]
    expect(theirs.status).toBe(404)
    expect(theirs.text).toBe(none.text)
    expect(theirs.text).toBe((await host.call('bob', { url: `/v1/runs/${made.leaf}` })).text)
    const comparable = ({ headers }: typeof theirs) => Object.keys(headers).sort()
    expect(comparable(theirs)).toEqual(comparable(none))
    for (const odd of [`${made.leaf}%00`, made.leaf!.toUpperCase(), `${made.leaf}%2F`, '..'])
      expect((await ancestryOf(odd, 'bob')).status, odd).toBe(404)
  })
})

describe('a host that does not advertise it', () => {
  test('R-XHOST-10 R-CAP-3: says 404 of every run, there or not, as of any path that is not there', async () => {
    const silent = await startHttp({ config: { ancestry: false } })
    const payload = workflow('noop', [node('a', 'core.noop')])
    await silent.call('alice', { method: 'POST', url: '/v1/workflows', payload })
    const started = { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop', inputs: {} } } as const
    const { runId } = (await silent.call('alice', started)).json
    expect((await silent.call('alice', { url: `/v1/runs/${runId}` })).status).toBe(200)
    for (const asked of [runId, 'unknown']) {
      const reply = await silent.call('alice', { url: `/v1/runs/${asked}/ancestry` })
      expect([reply.status, reply.json.error]).toEqual([404, 'not_found'])
    }
    const claims = (await silent.call(null, { url: '/.well-known/openwop' })).json.multiAgent.executionModel
    expect(claims.crossHostCausation.ancestryEndpointSupported).toBeUndefined()
    await silent.close()
  })
})
