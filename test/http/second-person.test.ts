import { afterAll, beforeAll, expect, test } from 'vitest'
import { mintToken } from '../../src/http/interrupt-link.js'
import { agentsDouble } from '../../src/testing/agents.js'
import { says, score, writing } from '../../src/testing/gated-families.js'
import { boundGate } from '../../src/testing/gates.js'
import { standardsDouble } from '../../src/testing/verification.js'
import { sketch } from '../../src/testing/workflow.js'
import { until } from '../support/host-process.js'
import { type KeyName, keyRecord, startHttp, type TestHost, TOKEN_SECRET } from './harness.js'

/** A gate that wants a second person, over the real engine: keys are told apart, not only names. */

const HAND = { workflowId: 'writer', outputMapping: { text: 'text' } }
const WORKFLOWS = [
  sketch(writing('writer')),
  sketch({
    id: 'handing',
    nodes: { a: { type: 'core.subWorkflow', config: HAND } },
    variables: [{ name: 'text', type: 'string' }],
  }),
  sketch({ id: 'outer', nodes: { a: { type: 'core.subWorkflow', config: { workflowId: 'handing' } } } }),
]
const gate = boundGate({
  position: { workflow_id: 'handing', phase_id: 'a', placement: 'phase_exit' },
  behaviour: { max_attempts: 1, on_fail: 'escalate', retries: 0, second_person: true },
})

let host: TestHost
beforeAll(async () => {
  const agents = agentsDouble({
    agents: { 'local.test.agent': {}, 'assay.verifier': {} },
    think: ({ role }) => (role === 'verifier' ? score(2) : says('rain', { confidence: 0.9 })),
  })
  host = await startHttp({ agents, gates: standardsDouble({ handing: [gate] }) })
  for (const payload of WORKFLOWS)
    expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
})
afterAll(() => host.close())

const seen = new Set<string>()

/** A run that alice has started, and the run whose gate asks. */
async function asked(workflowId: string): Promise<{ runId: string; asking: string }> {
  const { runId } = (await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId } })).json
  let asking: string | undefined
  await until('a person to be asked', async () => {
    const { interrupts } = (await host.call('approver', { url: '/v1/interrupts' })).json
    asking = interrupts.map((one: { runId: string }) => one.runId).find((id: string) => !seen.has(id))
    return asking !== undefined
  })
  seen.add(asking!)
  return { runId, asking: asking! }
}

async function answer(key: KeyName, runId: string, resumeValue: object) {
  const reply = await host.call(key, {
    method: 'POST',
    url: `/v1/runs/${runId}/interrupts/a`,
    payload: { resumeValue },
  })
  return [reply.status, reply.json.error ?? reply.json.status]
}

test.each([
  ['the run whose gate asks', 'handing'],
  ['the run that started it', 'outer'],
])(
  'R-DWS-29: the key that started %s is refused at a gate that wants a second person; another one passes',
  async (_which, workflowId) => {
    const { runId, asking } = await asked(workflowId)
    expect(asking === runId).toBe(workflowId === 'handing')
    expect(await answer('alice', asking, { action: 'accept' })).toEqual([403, 'forbidden'])
    // This key may speak for others, but not to get round that.
    expect(await answer('alice', asking, { action: 'accept', voter: 'carol' })).toEqual([403, 'forbidden'])
    const link = await host.call('alice', { method: 'POST', url: `/v1/runs/${asking}/interrupts/a:link` })
    const payload = { resumeValue: { action: 'accept' } }
    expect((await host.call(null, { method: 'POST', url: link.json.url, payload })).status).toBe(403)
    // Nor through somebody whom only its own link names.
    const linkFor = (key: KeyName, more: object) =>
      host.call(key, { method: 'POST', url: `/v1/runs/${asking}/interrupts/a:link`, payload: more })
    const made = await linkFor('alice', { subject: 'made-up' })
    expect([made.status, made.json.error, made.json.details]).toEqual([403, 'forbidden', { field: 'mayNotAccept' }])
    expect((await linkFor('alice', { subject: 'made-up', intent: 'inspect' })).status).toBe(201)
    // One that was made before that was refused is not good either.
    const { token } = link.json
    const old = JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString())
    const forged = mintToken([TOKEN_SECRET], { ...old, subject: 'made-up' })
    const used = await host.call(null, { method: 'POST', url: `/v1/interrupts/${forged}`, payload })
    expect([used.status, used.json.error]).toEqual([403, 'forbidden'])
    expect((await host.call('alice', { url: `/v1/runs/${asking}` })).json.status).toBe('waiting-approval')
    expect(await answer('approver', asking, { action: 'accept' })).toEqual([200, 'completed'])
  },
)

test('R-DWS-29: the key that started the run may refuse what it cannot let pass', async () => {
  const { asking } = await asked('handing')
  expect(await answer('alice', asking, { action: 'reject' })).toEqual([200, 'failed'])
})

test('R-DWS-29: who did not start the run may make a link for somebody else, who then lets it pass', async () => {
  const scopes = ['approvals:respond', 'approvals:delegate']
  await host.store.putKey({ ...keyRecord('reader'), scopes })
  const { asking } = await asked('handing')
  const payload = { subject: 'carol' }
  const url = `/v1/runs/${asking}/interrupts/a:link`
  const link = await host.call('reader', { method: 'POST', url, payload })
  expect(link.status).toBe(201)
  const accept = { resumeValue: { action: 'accept' } }
  const used = await host.call(null, { method: 'POST', url: link.json.url, payload: accept })
  expect([used.status, used.json.status]).toEqual([200, 'completed'])
})
