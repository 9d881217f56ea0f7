import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KeyMaker } from '../../src/engine/ports/keys.js'
import { isOnePerson } from '../../src/http/auth/second-person.js'
import { agentsDouble } from '../../src/testing/agents.js'
import { says, score, writing } from '../../src/testing/gated-families.js'
import { boundGate } from '../../src/testing/gates.js'
import { standardsDouble } from '../../src/testing/verification.js'
import { sketch } from '../../src/testing/workflow.js'
import * as f from '../contract/store/fixtures.js'
import { until } from '../support/host-process.js'
import { type Reply, startHttp, type TestHost } from './harness.js'

/** A gate that wants a second person, and people that whoever started the run has made up: keys in their names are real. */

const HAND = { workflowId: 'writer', outputMapping: { text: 'text' } }
const gate = boundGate({
  position: { workflow_id: 'handing', phase_id: 'a', placement: 'phase_exit' },
  behaviour: { max_attempts: 1, on_fail: 'escalate', retries: 0, second_person: true },
})
const handing = sketch({
  id: 'handing',
  nodes: { a: { type: 'core.subWorkflow', config: HAND } },
  variables: [{ name: 'text', type: 'string' }],
})

let host: TestHost
beforeAll(async () => {
  const agents = agentsDouble({
    agents: { 'local.test.agent': {}, 'assay.verifier': {} },
    think: ({ role }) => (role === 'verifier' ? score(2) : says('rain', { confidence: 0.9 })),
  })
  host = await startHttp({ agents, gates: standardsDouble({ handing: [gate] }) })
  for (const payload of [sketch(writing('writer')), handing])
    expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
})
afterAll(() => host.close())

type Key = 'alice' | 'approver' | { readonly key: string }

const call = (key: Key | null, method: 'GET' | 'POST', url: string, payload?: object): Promise<Reply> => {
  const body = payload === undefined ? {} : { payload }
  if (key === null || typeof key === 'string') return host.call(key, { method, url, ...body })
  return host.call(null, { method, url, ...body, headers: { authorization: `Bearer ${key.key}` } })
}

const SCOPES = ['runs:create', 'runs:read', 'approvals:respond', 'approvals:delegate', 'keys:manage', 'workflows:write']

async function keyFor(principal: string, maker: Key): Promise<Key> {
  const made = await call(maker, 'POST', '/v1/keys', { scopes: SCOPES, principal })
  expect(made.status).toBe(201)
  return { key: made.json.key }
}

/** A run that this key has started, at the question of its gate. */
async function asked(starter: Key): Promise<string> {
  const { runId } = (await call(starter, 'POST', '/v1/runs', { workflowId: 'handing' })).json
  await until('a person to be asked', async () => {
    const { interrupts } = (await call('approver', 'GET', `/v1/interrupts?runId=${runId}`)).json
    return interrupts.length === 1
  })
  return runId
}

const ACCEPT = { action: 'accept' }
const answered = ({ status, json }: Reply) => [status, json.error ?? json.status]
const answer = async (key: Key, runId: string, resumeValue: object) =>
  answered(await call(key, 'POST', `/v1/runs/${runId}/interrupts/a`, { resumeValue }))
const through = async (url: string) => answered(await call(null, 'POST', url, { resumeValue: ACCEPT }))
const REFUSED = [403, 'forbidden']
const PASSED = [200, 'completed']

describe('R-VERIFY-24: a person who is made up is no second one', () => {
  test('with a key that the starter has made, nor with one that this one has made; somebody else’s passes', async () => {
    const puppet = await keyFor('made-up', 'alice')
    const further = await keyFor('made-up-too', puppet)
    const runId = await asked('alice')
    for (const key of [puppet, further]) {
      expect(await answer(key, runId, ACCEPT)).toEqual(REFUSED)
      expect(await answer(key, runId, { decision: 'approved' })).toEqual(REFUSED)
      // Nor as somebody whom only that key names.
      expect(await answer(key, runId, { ...ACCEPT, voter: 'carol' })).toEqual(REFUSED)
      const link = (more: object) => call(key, 'POST', `/v1/runs/${runId}/interrupts/a:link`, more)
      expect(answered(await link({ subject: 'carol' }))).toEqual(REFUSED)
      expect((await link({ subject: 'carol', intent: 'inspect' })).status).toBe(201)
      expect(await through((await link({})).json.url)).toEqual(REFUSED)
      const { interrupt } = (await call(key, 'GET', `/v1/runs/${runId}`)).json
      if (interrupt?.callbackUrl !== undefined) expect(await through(interrupt.callbackUrl)).toEqual(REFUSED)
    }
    const told = await call(puppet, 'POST', `/v1/runs/${runId}/interrupts/a`, { resumeValue: ACCEPT })
    expect(told.json.message).toContain('is not known to be anybody else than "alice"')
    expect(told.json.details).toEqual({ field: 'mayNotAccept' })
    expect((await call('alice', 'GET', `/v1/runs/${runId}`)).json.status).toBe('waiting-approval')
    expect(await answer('approver', runId, ACCEPT)).toEqual(PASSED)
  })

  test('as the starter: who has made the key that started the run cannot let its result pass', async () => {
    const puppet = await keyFor('made-up-starter', 'alice')
    const runId = await asked(puppet)
    expect(await answer('alice', runId, ACCEPT)).toEqual(REFUSED)
    expect(await answer('approver', runId, ACCEPT)).toEqual(PASSED)
  })

  test('as both: two keys of one maker are one person, unless no other key has made the maker’s', async () => {
    const maker = await keyFor('maker', 'alice')
    const [left, right] = [await keyFor('left', maker), await keyFor('right', maker)]
    const runId = await asked(left)
    expect(await answer(right, runId, ACCEPT)).toEqual(REFUSED)
    expect(await answer(maker, runId, ACCEPT)).toEqual(REFUSED)
    // Alice's own key was made by no other: she is believed to know people apart, if not from herself.
    expect(await answer(await keyFor('dora', 'alice'), runId, ACCEPT)).toEqual(PASSED)
  })

  test('a key in the name of somebody who is there is the maker’s all the same, and takes nothing from that somebody', async () => {
    const borrowed = await keyFor('approver', 'alice')
    const runId = await asked('alice')
    expect(await answer(borrowed, runId, ACCEPT)).toEqual(REFUSED)
    expect(await answer('approver', runId, ACCEPT)).toEqual(PASSED)
  })

  test('what grants nothing is nobody’s to refuse: a made-up person may send it back', async () => {
    const puppet = await keyFor('made-up-critic', 'alice')
    expect(await answer(puppet, await asked('alice'), { action: 'reject' })).toEqual([200, 'failed'])
  })
})

test('R-VERIFY-24: who is one person, by the makers of their keys', () => {
  const maker = (principal: string, tenant = 'acme'): KeyMaker => ({ tenant, principal })
  const keys = [
    f.apiKey({ principal: 'root' }),
    f.apiKey({ principal: 'ann', madeBy: [maker('root')] }),
    f.apiKey({ principal: 'bob', madeBy: [maker('root')] }),
    f.apiKey({ principal: 'eve', madeBy: [maker('root'), maker('bob')] }),
    f.apiKey({ principal: 'fay', madeBy: [maker('root'), maker('bob'), maker('eve')] }),
    f.apiKey({ principal: 'guy', madeBy: [maker('root', 'ops')] }),
    f.apiKey({ principal: 'ann', tenant: 'other', madeBy: [maker('bob', 'other')] }),
  ]
  const isOne = (a: string, b: string, account = 'acme') => {
    const both = [isOnePerson(keys, { account, principal: a }, { account, principal: b })]
    both.push(isOnePerson(keys, { account, principal: b }, { account, principal: a }))
    expect(both[0]).toBe(both[1])
    return both[0]
  }
  for (const [a, b] of ['root ann', 'root fay', 'bob eve', 'bob fay', 'eve fay', 'ann ann'].map(names =>
    names.split(' '),
  ))
    expect(isOne(a!, b!), `${a} ${b}`).toBe(true)
  for (const [a, b] of ['ann bob', 'ann eve', 'ann fay', 'guy ann', 'guy root', 'ann stranger'].map(names =>
    names.split(' '),
  ))
    expect(isOne(a!, b!), `${a} ${b}`).toBe(false)
})
