import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAssay } from '../../cli/assay-process.js'
import { type HostProcess, until } from '../../support/host-process.js'
import { codingsOf, judge, type Matrix } from '../agents/canaries.js'
import { type Event, ended, eventsOf, fetchText, only, snapshotOf, startRun } from '../agents/talk.js'
import type { World } from '../agents/world.js'
import { type Sink, startSink } from '../webhooks/sink.js'
import { bytesOf, finds, gate, makeGatedWorld, PASSES, says, VERIFIER, WORKER } from './gated-world.js'

/** R-VERIFY-5, R-DWS-13, R-SEC-1, R-SEC-2: where the words of a judgement may be read, and where not. */

const marker = (kind: string) => `CNRY/${kind}=${randomBytes(8).toString('hex')}?`

const SEEDS = {
  /** What the worker brought first, and what was merged in the end. */
  withheld: marker('withheld'),
  merged: marker('merged'),
  finding: marker('finding'),
  evidence: marker('evidence'),
  recommendation: marker('recommendation'),
  /** What a probe quotes of the output. */
  quoted: marker('quoted'),
  thoughts: marker('verifier-thoughts'),
  criterion: marker('criterion'),
  intent: marker('intent'),
  constraint: marker('constraint'),
  knowledge: marker('knowledge'),
  /** What a person was asked about and told of it, and why they let it pass. */
  shown: marker('shown'),
  told: marker('told'),
  why: marker('why'),
} as const
type Kind = keyof typeof SEEDS

const OUTLETS = [
  'gate events',
  'verifier logs',
  'worker logs',
  'events',
  'poll',
  'stream updates',
  'stream values',
  'stream messages',
  'stream debug',
  'snapshot',
  'webhooks',
  'bundle',
  'log',
  'refusals',
  'host',
  'verifications',
  'artifacts',
  'standards',
  'findings command',
  'other commands',
] as const
type Outlet = (typeof OUTLETS)[number]

/** Those who may read the run, and whoever they ask to be told. */
const TO_READERS = {
  events: 'must',
  poll: 'must',
  'stream debug': 'must',
  'stream updates': 'may',
  'stream values': 'may',
  snapshot: 'may',
  webhooks: 'may',
  'other commands': 'may',
} as const
/** Whoever asks what was found. */
const TO_JUDGES = { verifications: 'must', artifacts: 'must' } as const
const FOUND = { ...TO_JUDGES, 'findings command': 'must' } as const

/** A worker's own log tells its result, and that gates of its parent have to pass it. */
const IN_WORKERS = { 'worker logs': 'must' } as const

const MATRIX: Matrix<Kind, Outlet> = {
  withheld: { ...TO_JUDGES, ...IN_WORKERS },
  merged: { ...TO_READERS, snapshot: 'must', ...TO_JUDGES, ...IN_WORKERS },
  finding: FOUND,
  evidence: FOUND,
  recommendation: FOUND,
  quoted: { ...TO_JUDGES, ...IN_WORKERS, 'findings command': 'may' },
  thoughts: {},
  criterion: { standards: 'must' },
  intent: { standards: 'must' },
  constraint: { standards: 'must' },
  knowledge: { standards: 'must' },
  shown: { ...TO_READERS, ...TO_JUDGES, ...IN_WORKERS },
  told: FOUND,
  why: { ...TO_READERS, verifications: 'must', 'findings command': 'must' },
}

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-gates-leaks-'))
let world: World
let host: HostProcess
let sink: Sink
let parents: readonly string[]
const outlets = {} as { [O in Outlet]: Buffer }

beforeAll(async () => {
  const lead = (id: string) => ({
    id,
    variables: [
      { name: 'task', type: 'string' as const },
      { name: 'draft', type: 'object' as const },
    ],
    nodes: {
      lead: {
        type: 'core.orchestrator.supervisor',
        config: {
          rules: [
            { when: 'iteration == 1', decide: { kind: 'next-worker', nextWorkerIds: ['local.live.writer'] } },
            { decide: { kind: 'terminate', reason: 'done' } },
          ],
        },
      },
      hand: { type: 'core.dispatch', config: { inputMapping: { task: 'task' }, outputMapping: { draft: 'result' } } },
    },
    edges: ['lead > hand', 'hand > lead'],
  })
  const held = (workflow_id: string, behaviour: object) => {
    const made = gate(
      { workflow_id, phase_id: 'hand' },
      { probes: [{ type: 'equals', path: '/result/mark', value: 'none' }], behaviour },
    )
    const [criterion] = made.evaluation_criteria
    return { ...made, evaluation_criteria: [{ ...criterion, description: SEEDS.criterion }] }
  }
  const found = finds({
    description: SEEDS.finding,
    detail: SEEDS.evidence,
    recommendation: SEEDS.recommendation,
  })
  world = await makeGatedWorld(
    {
      folder: scratch,
      agents: { writer: { systemPrompt: WORKER } },
      workflows: [lead('again'), lead('asked')],
      plan: [
        { contains: [VERIFIER, SEEDS.merged], reply: { ...PASSES, reasoning: SEEDS.thoughts } as typeof PASSES },
        {
          contains: [VERIFIER, SEEDS.shown],
          reply: finds({ description: SEEDS.told, detail: 'so', recommendation: 'else' }),
        },
        { contains: VERIFIER, reply: { ...found, reasoning: SEEDS.thoughts } as typeof found },
        { contains: [WORKER, SEEDS.finding], reply: says({ text: SEEDS.merged, mark: 'none' }) },
        { contains: [WORKER, 'please ask'], reply: says({ text: SEEDS.shown, mark: 'none' }) },
        { contains: WORKER, reply: says({ text: SEEDS.withheld, mark: SEEDS.quoted }) },
      ],
    },
    {
      gates: { again: held('again', {}), asked: held('asked', { max_attempts: 1, on_fail: 'escalate' }) },
      intents: {
        purpose: { type: 'operational', title: 'Purpose', statement: SEEDS.intent },
        rule: { type: 'constraint', title: 'Rule', statement: SEEDS.constraint },
      },
      knowledge: { source: { title: 'Source', text: SEEDS.knowledge } },
    },
  )
  sink = await startSink()
  host = await world.start({ logLevel: 'debug', settings: { 'webhooks.allowPrivate': 'true' } })
  await collect()
})

afterAll(async () => {
  await host?.handOver()
  await sink?.close()
  await world?.close()
  rmSync(scratch, { recursive: true, force: true })
})

const GATE_EVENT = /^(agent\.verified|dws\.verification\..*|assay\.(verifier|verification|rework|result)\..*)$/

async function collect(): Promise<void> {
  const events = ['run.*', 'node.*', 'agent.*', 'dws.*', 'assay.*', 'artifact.*', 'interrupt.*', 'variable.*', 'core.*']
  const { status, body } = await host.call('POST', '/v1/webhooks', { url: sink.url, events })
  expect(status, JSON.stringify(body)).toBe(201)
  const made = await host.call('POST', '/v1/keys', { scopes: ['runs:read'], principal: 'reader' })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const reader = { authorization: `Bearer ${(made.body as unknown as { key: string }).key}` }
  const ai = { configurable: { ai: { provider: 'local', model: 'm-1' } } }
  const again = await startRun(host, 'again', 'work', ai)
  const asked = await startRun(host, 'asked', 'please ask', ai)
  parents = [again, asked]
  await until('a person to be asked', async () => (await snapshotOf(host, asked)).status === 'waiting-approval')
  const early = [
    await fetchText(host, `/v1/runs/${asked}`, { headers: reader }),
    await fetchText(host, '/v1/runs/none/verifications'),
    await fetchText(host, `/v1/runs/${asked}/verifications/99`),
    await resolve(asked, { action: 'never' }),
  ]
  const { status: answered, text } = await resolve(asked, { action: 'accept', feedback: SEEDS.why })
  expect(answered, text).toBe(200)
  for (const runId of parents) expect((await ended(host, runId)).status).toBe('completed')

  const logs = await Promise.all(parents.map(runId => eventsOf(host, runId)))
  const children = await childrenOf(logs.flat())
  outlets['worker logs'] = bytesOf(children.filter(([first]) => first?.payload.workflowId !== 'assay-verifier'))
  outlets['verifier logs'] = bytesOf(children.filter(([first]) => first?.payload.workflowId === 'assay-verifier'))
  outlets['gate events'] = bytesOf([...logs, ...children].flat().filter(({ type }) => GATE_EVENT.test(type)))
  const ofRuns = async (at: (runId: string) => string, headers: Record<string, string> = {}) =>
    bytesOf(await Promise.all(parents.map(runId => fetchText(host, at(runId), { headers: { ...reader, ...headers } }))))
  outlets.events = await ofRuns(runId => `/v1/runs/${runId}/events`, { accept: 'application/json' })
  outlets.poll = await ofRuns(runId => `/v1/runs/${runId}/events/poll`)
  for (const mode of ['updates', 'values', 'messages', 'debug'] as const)
    outlets[`stream ${mode}`] = await ofRuns(runId => `/v1/runs/${runId}/events?streamMode=${mode}`)
  outlets.snapshot = Buffer.concat([bytesOf(early.slice(0, 1)), await ofRuns(runId => `/v1/runs/${runId}`)])
  outlets.bundle = await ofRuns(runId => `/v1/runs/${runId}/debug-bundle`)
  outlets.refusals = bytesOf([
    ...early.slice(1),
    await post('/v1/host/assay/gates', { gate_id: 'again', intent_refs: ['gone'] }),
    await post('/v1/host/assay/gates', { ...gate({ workflow_id: 'again', phase_id: 'nowhere' }), gate_id: 'mine' }),
    await post('/v1/host/assay/knowledge', { entry_id: 'source', title: 'Mine', text: 'mine' }),
    await fetchText(host, '/v1/host/assay/intents/purpose', { method: 'DELETE' }),
  ])
  outlets.host = bytesOf(
    await Promise.all(
      ['/healthz', '/.well-known/openwop', '/v1/openapi.json', '/v1/workflows', '/v1/runs'].map(at =>
        fetchText(host, at),
      ),
    ),
  )
  outlets.standards = bytesOf(
    await Promise.all(
      ['gates/again', 'gates/asked', 'intents/purpose', 'intents/rule', 'knowledge/source'].map(at =>
        fetchText(host, `/v1/host/assay/${at}`),
      ),
    ),
  )
  outlets.verifications = bytesOf(await verifications())
  outlets.artifacts = await artifacts(logs)
  outlets['findings command'] = await commands(['runs', 'findings', again, '1'], ['runs', 'findings', asked, '1'])
  outlets['other commands'] = await commands(
    ...parents.flatMap(runId => [
      ['runs', 'get', runId],
      ['runs', 'events', runId],
    ]),
    ['gates', 'list'],
    ['doctor'],
  )
  const owed = logs.flat().filter(({ type }) => GATE_EVENT.test(type)).length
  const told = () => sink.received.filter(request => parents.includes(JSON.parse(request.body).runId as string))
  const gateTold = () => told().filter(request => GATE_EVENT.test(JSON.parse(request.body).event.type as string))
  await until('every event of a gate to be delivered', () => gateTold().length >= owed)
  outlets.webhooks = bytesOf(told().map(({ body }) => body))
  outlets['gate events'] = Buffer.concat([outlets['gate events'], bytesOf(gateTold().map(({ body }) => body))])
  outlets.log = Buffer.from(host.errors + host.output)
}

const post = (at: string, value: object) =>
  fetchText(host, at, { method: 'POST', body: JSON.stringify(value), headers: { 'content-type': 'application/json' } })

const resolve = (runId: string, resumeValue: object) => post(`/v1/runs/${runId}/interrupts/hand`, { resumeValue })

/** The logs of the runs that the parents started: workers and verifiers. */
async function childrenOf(events: readonly Event[]): Promise<readonly (readonly Event[])[]> {
  const ids = [...only(events, 'node.dispatched'), ...only(events, 'assay.verifier.started')]
  const childIds = ids.map(({ payload }) => payload.childRunId as string)
  expect(childIds).toHaveLength(3 + 3)
  return Promise.all(childIds.map(runId => eventsOf(host, runId)))
}

async function verifications(): Promise<readonly unknown[]> {
  const lists = await Promise.all(parents.map(runId => fetchText(host, `/v1/runs/${runId}/verifications`)))
  const each = lists.flatMap(({ text }, i) =>
    (JSON.parse(text) as { verifications: readonly { n: number }[] }).verifications.map(({ n }) =>
      fetchText(host, `/v1/runs/${parents[i]}/verifications/${n}`),
    ),
  )
  expect(each).toHaveLength(3)
  return [...lists, ...(await Promise.all(each))]
}

async function artifacts(logs: readonly (readonly Event[])[]): Promise<Buffer> {
  const made = logs.flatMap((events, i) =>
    only(events, 'artifact.created').map(({ payload }) => `/v1/runs/${parents[i]}/artifacts/${payload.artifactId}`),
  )
  expect(made).toHaveLength(3)
  return bytesOf(await Promise.all(made.map(at => fetchText(host, at))))
}

async function commands(...lines: readonly string[][]): Promise<Buffer> {
  const said = await Promise.all(lines.map(line => startAssay(['--data', world.data, ...line]).done))
  for (const { code, stderr } of said) expect(code, stderr).toBe(0)
  return Buffer.from(said.map(({ stdout, stderr }) => stdout + stderr).join('\n'))
}

describe('content-leak canaries of a gate', () => {
  it('R-VERIFY-5 R-DWS-13 R-SEC-1: every marker is where it must be, and nowhere else', () => {
    expect(Object.keys(outlets).sort()).toEqual([...OUTLETS].sort())
    expect(judge(SEEDS, outlets, MATRIX)).toEqual([])
    const cells = Object.values(MATRIX).flatMap(row => Object.values(row))
    const musts = cells.filter(cell => cell === 'must').length
    const looks = Object.keys(SEEDS).length * OUTLETS.length
    console.log(`${looks} cells in ${codingsOf('x').length} codings: ${musts} must, ${looks - cells.length} must not`)
  })

  it('R-VERIFY-5: the events of gates were there to be looked at, each kind of them', () => {
    const said = outlets['gate events'].toString()
    for (const type of [
      'agent.verified',
      'dws.verification.started',
      'dws.verification.finding_issued',
      'dws.verification.verdict_rendered',
      'assay.verifier.began',
      'assay.verifier.started',
      'assay.verifier.ended',
      'assay.rework.began',
    ])
      expect(said).toContain(`"type":"${type}"`)
  })

  it('R-SEC-2: the database keeps what verifiers think only sealed', () => {
    const files = readdirSync(world.data).filter(name => name.startsWith('assay.db'))
    const database = Buffer.concat(files.map(name => readFileSync(path.join(world.data, name))))
    expect(database.length).toBeGreaterThan(0)
    expect(judge({ thoughts: SEEDS.thoughts }, { database }, { thoughts: {} })).toEqual([])
  })
})
