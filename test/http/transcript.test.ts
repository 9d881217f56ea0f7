import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { compileCheck } from '../../src/http/check.js'
import { agentsDouble } from '../../src/testing/agents.js'
import { says, score, writing } from '../../src/testing/gated-families.js'
import { boundGate } from '../../src/testing/gates.js'
import { standardsDouble } from '../../src/testing/verification.js'
import { sketch } from '../../src/testing/workflow.js'
import { TranscriptAnswer } from '../../src/wire/trail/transcript.js'
import { until } from '../support/host-process.js'
import { type KeyName, secretOf, startHttp, type TestHost } from './harness.js'
import { listen } from './sockets.js'

/** Who may read what agents were told and have said, and what they then see (docs/contract/readers.md). */

const HUSH = 'HUSH-7f3a-unlike-anything'
const TOOL = 'mcp:files.read'
const AGENT = 'local.test.agent'
const VERIFIER = 'assay.verifier'

const TEXT = { name: 'text', type: 'string' as const }
const asking = (id: string, variables: readonly object[] = [TEXT]) =>
  sketch({
    id,
    nodes: { a: { type: 'core.agent', config: { agentId: AGENT, resultVariable: 'text' } } },
    variables: variables as never,
  })
const KEY = { name: 'key', type: 'string' as const, sensitive: true }
const WORKFLOWS = [asking('plain'), asking('quoting', [TEXT, KEY]), writing('gated')].map(one =>
  'triggers' in one ? one : sketch(one),
)
const gates = {
  gated: [
    boundGate({
      gate_id: 'gate-of-gated',
      position: { workflow_id: 'gated', phase_id: 'a', placement: 'phase_exit' },
      behaviour: { max_attempts: 1, on_fail: 'escalate', retries: 0 },
    }),
  ],
}

let host: TestHost
let url: string
beforeAll(async () => {
  const terms = { toolId: TOOL, transport: 'mcp' as const, repeat: 'safe' as const, scopes: [], maxResultTokens: 10 }
  const agents = agentsDouble({
    agents: { [AGENT]: { tools: [terms as never] }, [VERIFIER]: {} },
    think({ role, rounds }) {
      if (role === 'verifier') return score(2)
      if (rounds.length === 0)
        return { said: { kind: 'tools', calls: [{ toolId: TOOL, argsHash: 'h' }] }, args: [{ path: `of ${HUSH}` }] }
      if (rounds.length === 1) return { said: { kind: 'unusable', reason: 'schema-violation', problem: 'mend it' } }
      return says(`THE-ANSWER ${HUSH}`, { confidence: 0.9 })
    },
    use: () => ({ status: 'ok', durationMs: 7, resultTokens: 30, text: `what the file says: ${HUSH}` }) as never,
  })
  host = await startHttp({ agents, gates: standardsDouble(gates) })
  for (const definition of WORKFLOWS) {
    const { status, text } = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: definition })
    expect(status, text).toBe(201)
  }
  url = `http://127.0.0.1:${await listen(host.app)}`
})
afterAll(() => host.close())

const get = (key: KeyName | null, at: string) => host.call(key, { url: at })

async function over(workflowId: string, inputs: object = {}): Promise<string> {
  const { json, text } = await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId, inputs } })
  expect(json.runId, text).toBeTypeOf('string')
  await until('the run to come to rest', async () => {
    const { status } = (await get('alice', `/v1/runs/${json.runId}`)).json
    return ['completed', 'failed', 'waiting-approval'].includes(status)
  })
  return json.runId
}

type Entry = { readonly is: string; readonly sequence: number; readonly missing?: string } & Record<string, unknown>
const isTranscript = compileCheck(TranscriptAnswer, 'body')
async function entriesOf(key: KeyName, runId: string, query = ''): Promise<readonly Entry[]> {
  const { status, json, text, headers } = await get(key, `/v1/runs/${runId}/transcript${query}`)
  expect([status, headers['cache-control']], text).toEqual([200, 'private, no-store'])
  expect(isTranscript(json)).toBeUndefined()
  return json.entries
}

describe('GET /v1/runs/{runId}/transcript', () => {
  test('shows prompts, replies, calls and results of tools, what was to be mended, and what each call took', async () => {
    const entries = await entriesOf('listener', await over('plain'))
    expect(entries.map(({ is }) => is)).toEqual([
      'prompt',
      'request',
      'reasoning',
      'reply',
      'tool-call',
      'tool-result',
      'request',
      'reasoning',
      'reply',
      'asked-again',
      'request',
      'reasoning',
      'reply',
      'end',
    ])
    const of = (is: string) => entries.filter(entry => entry.is === is)
    expect(of('prompt')[0]).toMatchObject({ agentId: AGENT, provider: 'openai', model: 'gpt-test', system: 'be good' })
    expect(of('reply')[0]).toMatchObject({ call: 1, calls: [{ toolId: TOOL, args: { path: `of ${HUSH}` } }] })
    expect(of('tool-call')[0]).toMatchObject({ toolId: TOOL, args: { path: `of ${HUSH}` } })
    expect(of('tool-result')[0]).toMatchObject({ status: 'ok', text: `what the file says: ${HUSH}`, durationMs: 7 })
    expect(of('asked-again')[0]).toMatchObject({ attempt: 2, reason: 'schema-violation' })
    expect(of('reply')[2]).toMatchObject({ call: 3, inputTokens: 10, outputTokens: 5, costUsd: null })
    expect(of('reply')[2]!.text).toContain('THE-ANSWER')
    expect(of('end')[0]).toMatchObject({ outcome: 'completed' })
  })

  test('V1 R-SEC-2: of another tenant is byte for byte like one that never was', async () => {
    const runId = await over('plain')
    const never = '00000000-0000-7000-8000-000000000000'
    const [foreign, absent] = await Promise.all([runId, never].map(id => get('bob', `/v1/runs/${id}/transcript`)))
    expect(foreign!.status).toBe(404)
    expect(foreign!.text).toBe(absent!.text)
  })

  test('R-SEC-1: needs a scope of its own, which looking into another tenant does not bring', async () => {
    const runId = await over('plain')
    const { status, json } = await get('reader', `/v1/runs/${runId}/transcript`)
    expect([status, json.error, json.details.scopeRequired]).toEqual([403, 'forbidden', 'transcripts:read'])
    expect((await get(null, `/v1/runs/${runId}/transcript`)).status).toBe(401)
    const headers = { 'x-assay-tenant': 'acme' }
    const across = await host.call('operator', { url: `/v1/runs/${runId}/transcript`, headers })
    expect([across.status, across.json.details.scopeRequired]).toEqual([403, 'transcripts:read'])
  })

  test('V2: what a workflow declares sensitive is masked wherever it stands', async () => {
    const text = JSON.stringify(await entriesOf('alice', await over('quoting', { key: HUSH })))
    expect(text).toContain('[REDACTED]')
    expect(text).not.toContain(HUSH)
  })

  test('V2: a secret that the host has learned since is taken out', async () => {
    const runId = await over('plain')
    host.learnSecret('LATE', 'what the file says')
    const text = JSON.stringify(await entriesOf('alice', runId))
    expect(text).toContain('[REDACTED:LATE]')
    expect(text).not.toContain('what the file says')
  })

  test('V3: what is before a gate, and what its verifiers were told, is for who may read artifacts too', async () => {
    const runId = await over('gated')
    const seen = await entriesOf('listener', runId)
    expect(JSON.stringify(seen)).not.toContain('THE-ANSWER')
    expect(seen.filter(({ missing }) => missing === 'gated').map(({ is }) => is)).toEqual(
      expect.arrayContaining(['prompt', 'reply', 'tool-call', 'tool-result']),
    )
    expect(JSON.stringify(await entriesOf('alice', runId))).toContain('THE-ANSWER')
    const events = (await get('alice', `/v1/runs/${runId}/events/poll`)).json.events
    const verifier = events.find((event: { type: string }) => event.type === 'assay.verifier.started').payload
      .childRunId
    const refused = await get('listener', `/v1/runs/${verifier}/transcript`)
    expect([refused.status, refused.json.details.scopeRequired]).toEqual([403, 'artifacts:read'])
    const judged = await entriesOf('alice', verifier)
    expect(judged.find(({ is }) => is === 'prompt')?.user).toContain('THE-ANSWER')
  })

  test('V4: what is no longer kept says so', async () => {
    const runId = await over('plain')
    expect(await host.store.purgeEffects(Number.MAX_SAFE_INTEGER)).toBeGreaterThan(0)
    const entries = await entriesOf('alice', runId)
    for (const is of ['prompt', 'reply', 'tool-call', 'tool-result'])
      expect(entries.find(entry => entry.is === is)).toMatchObject({ missing: 'purged' })
  })

  test('of a fork shows what its source said before the cut, and what it has said itself', async () => {
    const runId = await over('plain')
    const { sequence } = (await entriesOf('alice', runId)).findLast(({ is }) => is === 'request')!
    for (const [mode, fromSeq] of [
      ['branch', sequence],
      ['replay', 0],
    ]) {
      const payload = { mode, ...(mode === 'branch' ? { fromSeq } : {}) }
      const { json, text } = await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}:fork`, payload })
      expect(json.runId, text).toBeTypeOf('string')
      await until(
        'the fork to end',
        async () => (await get('alice', `/v1/runs/${json.runId}`)).json.status === 'completed',
      )
      const entries = await entriesOf('alice', json.runId)
      expect(entries.filter(({ missing }) => missing !== undefined)).toEqual([])
      expect(entries.filter(({ is }) => is === 'reply').at(-1)?.text).toContain('THE-ANSWER')
    }
  })

  test('comes in pages, and of one node; a node that is not there names those that are', async () => {
    const runId = await over('plain')
    const all = await entriesOf('alice', runId)
    const first = (await get('alice', `/v1/runs/${runId}/transcript?limit=3`)).json
    expect(first).toEqual({ runId, entries: all.slice(0, 3), next: all[3]!.sequence })
    expect(await entriesOf('alice', runId, `?from=${first.next}&nodeId=a`)).toEqual(all.slice(3))
    const wrong = await get('alice', `/v1/runs/${runId}/transcript?nodeId=b`)
    expect([wrong.status, wrong.json.error]).toEqual([400, 'validation_error'])
    expect(wrong.json.message).toMatch(/no node "b"; its nodes are .*a/)
  })
})

async function assay(key: KeyName, ...args: string[]) {
  const said: string[] = []
  const notes: string[] = []
  const code = await main(['--url', url, '--key', secretOf(key), ...args], {
    out: line => void said.push(line),
    note: line => void notes.push(line),
    draw: () => undefined,
    isLive: false,
    columns: 120,
    readStdin: async () => '',
  })
  const plain = (lines: string[]) => stripVTControlCharacters(lines.join('\n'))
  return { code, out: plain(said), notes: plain(notes) }
}

describe('assay runs transcript', () => {
  test('prints it as text and as JSON; a cost that nobody knows is no $0', async () => {
    const runId = await over('plain')
    const { code, out } = await assay('listener', 'runs', 'transcript', runId, 'a')
    expect(code).toBe(0)
    expect(out).toMatch(/^\d+ a · prompt · local\.test\.agent · openai:gpt-test$/m)
    expect(out).toMatch(/reply · call 3 · 10 tokens in, 5 out · cost unknown/)
    expect(out).toContain('THE-ANSWER')
    expect(out).not.toContain('$0')
    const json = await assay('listener', 'runs', 'transcript', runId, '--json')
    expect(JSON.parse(json.out).entries).toEqual(await entriesOf('listener', runId))
  })

  test('names the scope that the key lacks', async () => {
    const { code, notes } = await assay('reader', 'runs', 'transcript', await over('plain'))
    expect(code).not.toBe(0)
    expect(notes).toContain('transcripts:read')
  })
})
