import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileCheck } from '../../src/http/check.js'
import { says, score, writing } from '../../src/testing/gated-families.js'
import { agentsDouble } from '../../src/testing/agents.js'
import { boundGate } from '../../src/testing/gates.js'
import { standardsDouble } from '../../src/testing/verification.js'
import { sketch } from '../../src/testing/workflow.js'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { TrailAnswer } from '../../src/wire/trail/audit-trail.js'
import { until } from '../support/host-process.js'
import { type KeyName, startHttp, type TestHost } from './harness.js'

/** Who did what, by which key, to what, and whether they were let (S17), over the real engine. */

class Breakable extends MemoryStore {
  isBroken = false
  override async appendTrail(...asked: Parameters<MemoryStore['appendTrail']>): Promise<boolean> {
    if (this.isBroken) throw new Error('the disk is full')
    return super.appendTrail(...asked)
  }
}

const gates = {
  gated: [
    boundGate({
      gate_id: 'gate-of-gated',
      position: { workflow_id: 'gated', phase_id: 'a', placement: 'phase_exit' },
      behaviour: { max_attempts: 1, on_fail: 'escalate', retries: 0 },
    }),
  ],
}

const store = new Breakable()
let host: TestHost
beforeAll(async () => {
  const agents = agentsDouble({
    agents: { 'local.test.agent': {}, 'assay.verifier': {} },
    think: ({ role }) => (role === 'verifier' ? score(2) : says('CNRY-result', { confidence: 0.9 })),
  })
  host = await startHttp({ agents, gates: standardsDouble(gates), store })
  const payload = sketch(writing('gated'))
  const { status, text } = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })
  expect(status, text).toBe(201)
})
afterAll(() => host.close())

const isTrail = compileCheck(TrailAnswer, 'body')
type Told = { action: string; object: string; outcome: string; principal: string; credential: string; seq: number }

async function trailOf(
  key: KeyName,
  query = '',
): Promise<{ records: Told[]; chainValid: boolean; next: number | null }> {
  const { status, json, text } = await host.call(key, { url: `/v1/host/assay/audit${query}` })
  expect(status, text).toBe(200)
  expect(isTrail(json)).toBeUndefined()
  return json
}

/** What a request adds to the trail of its tenant, oldest first. */
async function adds(work: () => Promise<unknown>): Promise<string[][]> {
  const before = (await trailOf('alice', '?limit=1')).records[0]?.seq ?? 0
  await work()
  const { records, chainValid } = await trailOf('alice', '?limit=200')
  expect(chainValid).toBe(true)
  return records
    .filter(({ seq }) => seq > before)
    .toReversed()
    .map(({ principal, credential, action, object, outcome }) => [principal, credential, action, object, outcome])
}

async function asked(): Promise<string> {
  const payload = { workflowId: 'gated', inputs: {} }
  const { json } = await host.call('alice', { method: 'POST', url: '/v1/runs', payload })
  await until('a person to be asked', async () => {
    const { status } = (await host.call('alice', { url: `/v1/runs/${json.runId}` })).json
    return status === 'waiting-approval'
  })
  return json.runId
}

const NEVER = '00000000-0000-7000-8000-000000000000'
const WHO: readonly string[] = ['alice', 'key_alice']

describe('the audit trail', () => {
  test('S17: reads of transcripts, of what is withheld and of artifacts, and exports, are on record', async () => {
    const runId = await asked()
    const read = (path: string) => host.call('alice', { url: `/v1/runs/${runId}/${path}` })
    expect(await adds(() => read('transcript'))).toEqual([[...WHO, 'transcript.read', `run:${runId}`, 'allowed']])
    expect(await adds(() => read('withheld'))).toEqual([[...WHO, 'withheld.read', `run:${runId}`, 'allowed']])
    expect(await adds(() => read('debug-bundle'))).toEqual([[...WHO, 'run.export', `run:${runId}`, 'allowed']])
    const events = (await read('events/poll')).json.events as { type: string; payload: { artifactId: string } }[]
    const { artifactId } = events.find(({ type }) => type === 'artifact.created')!.payload
    expect(await adds(() => read(`artifacts/${artifactId}`))).toEqual([
      [...WHO, 'artifact.read', `run:${runId}/${artifactId}`, 'allowed'],
    ])
  })

  test('S17: whoever was not let is on record too, with or without the scope', async () => {
    const url = `/v1/runs/${NEVER}/transcript`
    expect(await adds(() => host.call('alice', { url }))).toEqual([
      [...WHO, 'transcript.read', `run:${NEVER}`, 'refused'],
    ])
    expect(await adds(() => host.call('reader', { url }))).toEqual([
      ['reader', 'key_reader', 'transcript.read', `run:${NEVER}`, 'refused'],
    ])
    expect(await adds(() => host.call(null, { url }))).toEqual([])
  })

  test('S17: a key that is made or revoked is on record before it is, and afterwards by its id', async () => {
    let keyId = ''
    const make = async () => {
      const payload = { scopes: ['runs:read'] }
      keyId = (await host.call('alice', { method: 'POST', url: '/v1/keys', payload })).json.keyId
    }
    expect(await adds(make)).toEqual([
      [...WHO, 'key.create', '-', 'begun'],
      [...WHO, 'key.create', `key:${keyId}`, 'allowed'],
    ])
    expect(await adds(() => host.call('alice', { method: 'DELETE', url: `/v1/keys/${keyId}` }))).toEqual([
      [...WHO, 'key.revoke', `key:${keyId}`, 'begun'],
      [...WHO, 'key.revoke', `key:${keyId}`, 'allowed'],
    ])
    const wanted = { scopes: ['tenants:manage'] }
    expect(await adds(() => host.call('alice', { method: 'POST', url: '/v1/keys', payload: wanted }))).toEqual([
      [...WHO, 'key.create', '-', 'begun'],
      [...WHO, 'key.create', '-', 'refused'],
    ])
  })

  test('S17: a person who lets pass what a gate has not passed is on record; any other answer is in its run', async () => {
    const runId = await asked()
    const answer = (action: string, url = `/v1/runs/${runId}/interrupts/a`) =>
      host.call('alice', { method: 'POST', url, payload: { resumeValue: { action } } })
    expect(await adds(() => answer('accept'))).toEqual([
      [...WHO, 'verdict.override', `run:${runId}`, 'begun'],
      [...WHO, 'verdict.override', `run:${runId}`, 'allowed'],
    ])
    const linked = await asked()
    const link = (await host.call('alice', { method: 'POST', url: `/v1/runs/${linked}/interrupts/a:link` })).json
    const token = String(link.url ?? link.token)
      .split('/')
      .at(-1)!
    expect(await adds(() => answer('accept', `/v1/interrupts/${token}`))).toEqual([
      ['alice', 'link', 'verdict.override', `run:${linked}`, 'begun'],
      ['alice', 'link', 'verdict.override', `run:${linked}`, 'allowed'],
    ])
    const rejected = await asked()
    const url = `/v1/runs/${rejected}/interrupts/a`
    expect(await adds(() => answer('reject', url))).toEqual([])
  })

  test('S17: each tenant has its own; a look into another one is on record there', async () => {
    const runId = await asked()
    const headers = { 'x-assay-tenant': 'acme' }
    const look = () => host.call('operator', { url: `/v1/runs/${runId}/withheld`, headers })
    expect(await adds(look)).toEqual([['operator', 'key_operator', 'withheld.read', `run:${runId}`, 'allowed']])
    expect(JSON.stringify(await trailOf('bob'))).not.toContain(runId)
    expect(JSON.stringify(await trailOf('tester'))).not.toContain(runId)
    expect((await host.call('reader', { url: '/v1/host/assay/audit' })).json.details.scopeRequired).toBe('audit:read')
  })

  test('S17 S14: the erasure of a tenant is on record where it was asked for', async () => {
    const payload = { tenant: 'beta' }
    await host.call('operator', { method: 'POST', url: '/v1/host/assay/tenants/beta/erase', payload })
    const { records } = await trailOf('operator', '?limit=2')
    expect(records.map(({ action, object, outcome }) => [action, object, outcome])).toEqual([
      ['tenant.erase', 'tenant:beta', 'allowed'],
      ['tenant.erase', 'tenant:beta', 'begun'],
    ])
  })

  test('S17: what cannot be recorded is not done and not shown', async () => {
    const runId = await asked()
    const keys = async () => (await host.call('alice', { url: '/v1/keys' })).json.keys.length
    const before = await keys()
    store.isBroken = true
    const [shown, made] = await Promise.all([
      host.call('alice', { url: `/v1/runs/${runId}/transcript` }),
      host.call('alice', { method: 'POST', url: '/v1/keys', payload: { scopes: ['runs:read'] } }),
    ])
    store.isBroken = false
    expect([shown.status, made.status]).toEqual([500, 500])
    expect(shown.text).not.toContain('CNRY')
    expect(await keys()).toBe(before)
  })

  test('SR-1: it holds no content, and comes in pages', async () => {
    const all = await trailOf('alice', '?limit=200')
    expect(JSON.stringify(all)).not.toContain('CNRY')
    const first = await trailOf('alice', '?limit=3')
    expect(first).toEqual({ records: all.records.slice(0, 3), chainValid: true, next: all.records[2]!.seq })
    expect((await trailOf('alice', `?limit=3&before=${first.next}`)).records).toEqual(all.records.slice(3, 6))
  })
})
