import { expect } from 'vitest'
import type { KeyName, Reply, TestHost } from './harness.js'
import { node, workflow } from './harness.js'

const gate = (id: string, config: object, more: object = {}) =>
  workflow(id, [node('gate', 'core.approvalGate', { config })], more)

const ALL = ['accept', 'reject', 'refine', 'edit-accept', 'ask']

/** Workflows that wait for someone; `node` is called `gate` in all of them. */
const ASKING = [
  gate('approve', { actions: ALL, artifactData: { text: 'draft' } }),
  gate('quorum', { requiredApprovals: 3, rejectionPolicy: 'majority' }),
  gate('veto', { requiredApprovals: 3 }),
  gate('listed', { approversList: ['carol'] }),
  gate('bearer', { profile: 'openwop-interrupt-auth-required' }),
  gate('hurried', { timeoutMs: 60_000 }),
  gate('strict', {
    resumeSchema: { type: 'object', properties: { feedback: { type: 'string', maxLength: 5 } } },
  }),
  workflow('clarify', [
    node('gate', 'core.clarificationGate', {
      config: { questions: [{ id: 'q1', question: 'How many?', schema: { type: 'integer' } }] },
    }),
  ]),
  workflow('event', [
    node('gate', 'core.interrupt', {
      config: { kind: 'external-event', data: { eventType: 'paid', correlation: { orderId: 'o-1' } } },
    }),
  ]),
  workflow(
    'discreet',
    [node('gate', 'core.approvalGate', { inputs: { artifactData: { type: 'variable', variableName: 'token' } } })],
    { variables: [{ name: 'token', type: 'string', sensitive: true }] },
  ),
  workflow('mother', [node('sub', 'core.subWorkflow', { config: { workflowId: 'approve' } })]),
]

export async function registerAsking(host: TestHost): Promise<void> {
  for (const payload of ASKING) {
    const reply = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })
    expect(reply.status, reply.text).toBe(201)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Any = any

/** What tests do with interrupts, over one host. */
export const asking = (host: () => TestHost) => ({
  async start(workflowId: string, body: object = {}): Promise<string> {
    const payload = { workflowId, ...body }
    const reply = await host().call('alice', { method: 'POST', url: '/v1/runs', payload })
    expect(reply.status, reply.text).toBe(201)
    return reply.json.runId
  },
  snapshot: async (runId: string, key: KeyName = 'alice'): Promise<Any> =>
    (await host().call(key, { url: `/v1/runs/${runId}` })).json,
  answer: (runId: string, resumeValue: unknown, key: KeyName = 'alice', headers: object = {}): Promise<Reply> =>
    host().call(key, {
      method: 'POST',
      url: `/v1/runs/${runId}/interrupts/gate`,
      payload: { resumeValue },
      headers: { ...headers },
    }),
  link: (runId: string, body: object = {}, key: KeyName = 'alice'): Promise<Reply> =>
    host().call(key, { method: 'POST', url: `/v1/runs/${runId}/interrupts/gate:link`, payload: body }),
  look: (token: string): Promise<Reply> => host().call(null, { url: `/v1/interrupts/${token}` }),
  use: (token: string, resumeValue: unknown = { action: 'accept' }, headers: object = {}): Promise<Reply> =>
    host().call(null, {
      method: 'POST',
      url: `/v1/interrupts/${token}`,
      payload: { resumeValue },
      headers: { ...headers },
    }),
  async log(runId: string): Promise<Any[]> {
    const headers = { accept: 'application/json' }
    return (await host().call('alice', { url: `/v1/runs/${runId}/events?streamMode=debug`, headers })).json.events
  },
  cancel: (runId: string): Promise<Reply> => host().call('alice', { method: 'POST', url: `/v1/runs/${runId}/cancel` }),
})
