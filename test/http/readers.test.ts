import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { compileCheck } from '../../src/http/check.js'
import { agentsDouble } from '../../src/testing/agents.js'
import { says, score, writing } from '../../src/testing/gated-families.js'
import { boundGate } from '../../src/testing/gates.js'
import { standardsDouble } from '../../src/testing/verification.js'
import { sketch } from '../../src/testing/workflow.js'
import { WithheldAnswer } from '../../src/wire/event.js'
import { until } from '../support/host-process.js'
import { type KeyName, secretOf, startHttp, type TestHost } from './harness.js'
import { listen } from './sockets.js'

/** Who may read what is before a gate (docs/contract/readers.md), over the real engine: by key, by command, by list. */

const RESULT = 'RESULT-BEFORE-THE-GATE'
const HUSH = 'HUSH-7f3a'
const FOUND = 'correctness is not there'

const HAND = { workflowId: 'writer', outputMapping: { text: 'text' } }
const TEXT = [{ name: 'text', type: 'string' as const }]
const KEY = { name: 'key', type: 'string' as const, sensitive: true }
const WORKFLOWS = [
  writing('writer'),
  sketch({ id: 'handing', nodes: { a: { type: 'core.subWorkflow', config: HAND } }, variables: TEXT }),
  sketch({ ...writing('quoting'), variables: [...TEXT, KEY] }),
  sketch({ ...writing('hidden'), variables: [{ ...TEXT[0]!, sensitive: true }] }),
].map(definition => ('triggers' in definition ? definition : sketch(definition)))

const gates = Object.fromEntries(
  ['handing', 'quoting', 'hidden'].map(workflow_id => [
    workflow_id,
    [
      boundGate({
        gate_id: `gate-of-${workflow_id}`,
        position: { workflow_id, phase_id: 'a', placement: 'phase_exit' },
        behaviour: { max_attempts: 1, on_fail: 'escalate', retries: 0 },
      }),
    ],
  ]),
)

let host: TestHost
let url: string
beforeAll(async () => {
  const agents = agentsDouble({
    agents: { 'local.test.agent': {}, 'assay.verifier': {} },
    think: ({ role }) => (role === 'verifier' ? score(2) : says(`${RESULT} ${HUSH}`, { confidence: 0.9 })),
  })
  host = await startHttp({ agents, gates: standardsDouble(gates) })
  for (const definition of WORKFLOWS) {
    const { status, text } = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: definition })
    expect(status, text).toBe(201)
  }
  url = `http://127.0.0.1:${await listen(host.app)}`
})
afterAll(() => host.close())

const get = (key: KeyName, at: string) => host.call(key, { url: at })

/** A run whose gate asks a person. */
async function asked(workflowId: string, inputs: object = {}): Promise<string> {
  const { json } = await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId, inputs } })
  await until('a person to be asked', async () => {
    const { status } = (await get('alice', `/v1/runs/${json.runId}`)).json
    return status === 'waiting-approval'
  })
  return json.runId
}

const eventsOf = async (runId: string) => (await get('reader', `/v1/runs/${runId}/events/poll`)).json.events
const childrenOf = async (runId: string): Promise<{ worker: string; verifier: string }> => {
  const events = (await eventsOf(runId)) as { type: string; payload: { childRunId?: string; phase?: string } }[]
  const verifier = events.find(({ type }) => type === 'assay.verifier.started')!.payload.childRunId!
  return { worker: (await get('reader', `/v1/runs/${runId}`)).json.childRuns?.[0]?.runId, verifier }
}

async function assay(key: KeyName, ...args: string[]) {
  const said: { out: string[]; notes: string[] } = { out: [], notes: [] }
  const code = await main(['--url', url, '--key', secretOf(key), ...args], {
    out: line => void said.out.push(line),
    note: line => void said.notes.push(line),
    draw: () => undefined,
    isLive: false,
    columns: 120,
    readStdin: async () => '',
  })
  const plain = (lines: string[]) => stripVTControlCharacters(lines.join('\n'))
  return { code, out: plain(said.out), notes: plain(said.notes) }
}

const isWithheldAnswer = compileCheck(WithheldAnswer, 'body')
const withheldOf = async (runId: string) => {
  const { status, json, headers } = await get('alice', `/v1/runs/${runId}/withheld`)
  expect([status, headers['cache-control']]).toEqual([200, 'private, no-store'])
  expect(isWithheldAnswer(json)).toBeUndefined()
  return json as { withheld: { sequence: number; type: string; content: object }[]; next: number | null }
}

describe('GET /v1/runs/{runId}/withheld', () => {
  test('R-SEC-1: opens the bundle and the vote of a verifier, which its readers do not see', async () => {
    const { verifier } = await childrenOf(await asked('handing'))
    const { withheld, next } = await withheldOf(verifier)
    expect(next).toBeNull()
    expect(withheld.map(({ type }) => type)).toEqual([
      'run.started',
      'agent.decided',
      'variable.changed',
      'node.completed',
    ])
    expect(withheld[0]!.content).toMatchObject({ inputs: { bundle: { output: { text: `${RESULT} ${HUSH}` } } } })
    expect(withheld[1]!.content).toMatchObject({ decision: { scores: { correctness: 2 } } })
    const readers = JSON.stringify([await eventsOf(verifier), (await get('reader', `/v1/runs/${verifier}`)).json])
    for (const content of [RESULT, FOUND, '"scores"']) expect(readers).not.toContain(content)
  })

  test('R-SEC-1: opens the question of a gate, and what its agent has decided', async () => {
    const runId = await asked('quoting', { key: 'unlike anything' })
    const { withheld } = await withheldOf(runId)
    expect(withheld.map(({ type }) => type)).toEqual(['agent.decided', 'interrupt.requested'])
    expect(withheld[0]!.content).toEqual({ decision: `${RESULT} ${HUSH}` })
    expect(withheld[1]!.content).toMatchObject({ data: { artifactData: `${RESULT} ${HUSH}`, findings: [{}] } })
  })

  test('R-SEC-1 R-MAP-10: what a workflow declares sensitive is opened to nobody', async () => {
    const quoting = await asked('quoting', { key: HUSH })
    const { withheld } = await withheldOf(quoting)
    expect(JSON.stringify(withheld)).not.toContain(HUSH)
    // All of the text that carries it.
    expect(withheld.map(({ type }) => type)).toEqual(['interrupt.requested'])
    expect(withheld[0]!.content).toMatchObject({ data: { artifactData: '[REDACTED]', findings: [{}] } })
    const hidden = await asked('hidden')
    expect(JSON.stringify(await withheldOf(hidden))).not.toContain(RESULT)
    const { verifier } = await childrenOf(hidden)
    expect(JSON.stringify(await withheldOf(verifier))).not.toContain(RESULT)
  })

  test('R-SEC-1: nothing is withheld where nothing is before a gate, sensitive or not', async () => {
    const start = async (workflowId: string, inputs: object = {}) =>
      (await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId, inputs } })).json.runId
    for (const runId of [await start('noop'), await start('secretive', { token: HUSH })])
      expect(await withheldOf(runId)).toEqual({ withheld: [], next: null })
  })

  test('R-SEC-2: is refused without artifacts:read, whatever else the key may do', async () => {
    const runId = await asked('handing')
    for (const key of ['reader', 'approver', 'starter', 'canceller'] as const) {
      const { status, json } = await get(key, `/v1/runs/${runId}/withheld`)
      expect([status, json.error]).toEqual([403, 'forbidden'])
    }
    expect((await host.call(null, { url: `/v1/runs/${runId}/withheld` })).status).toBe(401)
  })

  test('R-SEC-2: of another tenant is byte for byte like one that never was', async () => {
    const { verifier } = await childrenOf(await asked('handing'))
    const never = '00000000-0000-7000-8000-000000000000'
    const [foreign, absent] = await Promise.all([verifier, never].map(id => get('bob', `/v1/runs/${id}/withheld`)))
    expect(foreign!.status).toBe(404)
    expect(foreign!.text).toBe(absent!.text)
  })

  test('comes in pages', async () => {
    const { verifier } = await childrenOf(await asked('handing'))
    const { withheld: all } = await withheldOf(verifier)
    const first = (await get('alice', `/v1/runs/${verifier}/withheld?limit=2`)).json
    expect(first).toEqual({ withheld: all.slice(0, 2), next: all[2]!.sequence })
    const rest = (await get('alice', `/v1/runs/${verifier}/withheld?from=${first.next}`)).json
    expect(rest).toEqual({ withheld: all.slice(2), next: null })
  })
})

describe('assay runs withheld', () => {
  test('R-SEC-1: prints what is withheld, as text and as JSON; says so where nothing is', async () => {
    const { verifier, worker } = await childrenOf(await asked('handing'))
    const { code, out } = await assay('alice', 'runs', 'withheld', verifier)
    expect([code, out]).toEqual([0, expect.stringContaining(RESULT)])
    expect(out).toMatch(/^0 run\.started$/m)
    expect(out).toMatch(/^\d+ agent\.decided verify$/m)
    const json = await assay('alice', 'runs', 'withheld', verifier, '--json')
    expect(JSON.parse(json.out)).toEqual(await withheldOf(verifier))
    const none = await assay('alice', 'runs', 'withheld', worker)
    expect([none.code, none.out, none.notes]).toEqual([0, '', 'nothing is withheld in this run'])
  })

  test('R-SEC-2: is refused to a key that may not, and tells which scope it lacks', async () => {
    const { verifier } = await childrenOf(await asked('handing'))
    const { code, out, notes } = await assay('reader', 'runs', 'withheld', verifier)
    expect([code === 0, out]).toEqual([false, ''])
    expect(notes).toContain('artifacts:read')
  })
})

type Row = { readonly runId: string; readonly workflowId: string; readonly gatedBy?: readonly string[] }

describe('the list of runs', () => {
  const rows = async (query: string): Promise<readonly Row[]> =>
    (await get('reader', `/v1/runs?limit=100${query}`)).json.runs

  test('R-SEC-1: has the host’s own runs only where somebody asks for them', async () => {
    const runId = await asked('handing')
    const { verifier, worker } = await childrenOf(runId)
    const listed = async (query: string) => (await rows(query)).map(row => row.runId)
    expect(await listed('')).toEqual(expect.arrayContaining([runId, worker]))
    expect(await listed('')).not.toContain(verifier)
    expect(await listed('&host=false')).not.toContain(verifier)
    expect(await listed('&host=true')).toEqual(expect.arrayContaining([runId, worker, verifier]))
    expect(await listed('&workflowId=assay-verifier')).toContain(verifier)
    expect((await get('reader', `/v1/runs/${runId}`)).json.childRuns.map((one: Row) => one.runId)).toEqual([worker])
    expect((await get('reader', '/v1/runs?host=maybe')).json).toMatchObject({ error: 'validation_error' })
  })

  test('assay runs list --host', async () => {
    const { verifier } = await childrenOf(await asked('handing'))
    const plain = await assay('reader', 'runs', 'list', '--limit', '100')
    const host = await assay('reader', 'runs', 'list', '--limit', '100', '--host')
    expect([plain.code, host.code]).toEqual([0, 0])
    expect(plain.out).not.toContain(verifier)
    expect(plain.out).not.toContain('assay-verifier')
    expect(host.out).toContain(verifier)
  })

  test('R-SEC-1: marks the worker whose result has to pass, and nobody else', async () => {
    const runId = await asked('handing')
    const { worker, verifier } = await childrenOf(runId)
    const marks = new Map((await rows('&host=true')).map(row => [row.runId, row.gatedBy]))
    expect(marks.get(worker)).toEqual(['gate-of-handing'])
    expect([marks.get(runId), marks.get(verifier)]).toEqual([undefined, undefined])
    expect((await get('reader', `/v1/runs/${worker}`)).json.gatedBy).toEqual(['gate-of-handing'])
    const forked = await host.call('alice', {
      method: 'POST',
      url: `/v1/runs/${worker}:fork`,
      payload: { mode: 'replay' },
    })
    expect(forked.status, forked.text).toBe(201)
    expect((await rows('')).find(row => row.runId === forked.json.runId)).not.toHaveProperty('gatedBy')
  })
})

describe('the question of a gate', () => {
  const data = async (key: KeyName, runId: string) => {
    const { interrupts } = (await get(key, `/v1/interrupts?runId=${runId}`)).json
    const { interrupt } = (await get(key, `/v1/runs/${runId}`)).json
    expect(interrupts.map((one: { data: object }) => one.data)).toEqual([interrupt.data])
    return interrupt.data
  }
  const ALL = { artifactData: { text: `${RESULT} ${HUSH}` }, findings: [{ description: FOUND }] }

  test('R-SEC-1: is open to whoever may read artifacts and to whoever is asked', async () => {
    const runId = await asked('handing')
    expect(await data('alice', runId)).toMatchObject(ALL)
    expect(await data('approver', runId)).toMatchObject(ALL)
  })

  test('R-SEC-1: and to a reader names only what it leaves out', async () => {
    const runId = await asked('handing')
    const seen = await data('reader', runId)
    expect(seen).toMatchObject({ gateId: 'gate-of-handing', withheld: ['artifactData', 'findings'] })
    expect(JSON.stringify(seen)).not.toContain(RESULT)
    expect(JSON.stringify(seen)).not.toContain(FOUND)
  })

  test('R-SEC-1: and to whoever holds a link', async () => {
    const runId = await asked('handing')
    const made = await host.call('approver', { method: 'POST', url: `/v1/runs/${runId}/interrupts/a:link` })
    expect(made.status, made.text).toBe(201)
    const { status, text } = await host.call(null, { url: made.json.url })
    expect([status, text]).toEqual([200, expect.stringContaining(RESULT)])
    const refused = await host.call('reader', { method: 'POST', url: `/v1/runs/${runId}/interrupts/a:link` })
    expect(refused.status).toBe(403)
  })

  test('R-SEC-2: and not to another tenant', async () => {
    const runId = await asked('handing')
    expect((await get('bob', `/v1/interrupts?runId=${runId}`)).json).toEqual({ interrupts: [], nextCursor: null })
  })
})
