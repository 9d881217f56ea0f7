import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Result } from '../../cli/assay-process.js'
import { runHere } from '../../cli/command-line.js'
import { type HostProcess, until } from '../../support/host-process.js'
import { codingsOf, judge, type Matrix, type Verdict } from '../agents/canaries.js'
import { ended, fetchText, snapshotOf } from '../agents/talk.js'
import type { World } from '../agents/world.js'
import { type Sink, startSink } from '../webhooks/sink.js'
import { askedBy, bytesOf, finds, gate, makeGatedWorld, PASSES, saidIn, says, VERIFIER, WORKER } from './gated-world.js'

/**
 * R-SEC-1, R-VERIFY-5, docs/contract/readers.md: every log of every run of a gated family, by everything that a key with
 * `runs:read` alone can ask, at each placement, while a person is asked and when all is over.
 */

/** `phase_exit`: an agent in the run itself. `checkpoint`: a worker's run. `workflow_exit`: what the run leaves. */
const PLACES = ['phase_exit', 'checkpoint', 'workflow_exit'] as const
type Place = (typeof PLACES)[number]

const KINDS = [
  /** What the worker brought, which is its previous result when it works again; and what it brought then. */
  'first',
  'second',
  'finding',
  'evidence',
  'recommendation',
  /** Of the verifier that judges the second. */
  'last',
  'thoughts',
  /** What the gate names as `context`. */
  'source',
] as const
type Kind = (typeof KINDS)[number]
type Seed = `${Place} ${Kind}` | 'trial' | 'trial finding' | 'knowledge'

// Its beginning is looked for as well, so it begins with what no other has.
const marker = (kind: string) => `C${randomBytes(10).toString('hex')}/${kind.replace(' ', '+')}?`
const ALL: readonly Seed[] = [
  ...PLACES.flatMap(place => KINDS.map(kind => `${place} ${kind}` as const)),
  'trial',
  'trial finding',
  'knowledge',
]
const SEEDS = Object.fromEntries(ALL.map(seed => [seed, marker(seed)])) as { readonly [S in Seed]: string }
const seed = (place: Place, kind: Kind): string => SEEDS[`${place} ${kind}`]

type Outlet =
  /** What readers of runs are answered, by whose log it is of. */
  | 'parents'
  | 'workers'
  | 'verifiers'
  | 'trials'
  | 'diffs'
  | 'lists'
  | 'bundles'
  | 'refusals'
  | 'commands'
  | 'webhooks'
  | 'supervisor'
  | 'log'
  /** What whoever may read artifacts is answered. */
  | 'verifications'
  | 'withheld'
  | 'feedback'
  | 'questions'
  | 'findings command'
  | 'withheld command'
type Cells = { readonly [O in Outlet]?: Verdict }

const TO_ARTIFACTS: Cells = {
  verifications: 'must',
  withheld: 'must',
  'findings command': 'may',
  'withheld command': 'must',
}
const FOUND: Cells = { verifications: 'must', withheld: 'must', 'findings command': 'must', 'withheld command': 'must' }
/** What the log of a run tells goes wherever that log goes. */
const TOLD: Cells = { webhooks: 'must', commands: 'must', diffs: 'may' }
const OF: { readonly [P in Place]: { readonly [K in Kind]: Cells } } = {
  phase_exit: {
    first: TO_ARTIFACTS,
    // It has passed.
    second: { ...TO_ARTIFACTS, ...TOLD, parents: 'must', supervisor: 'must' },
    ...found({}),
    last: {},
    source: { ...given(), supervisor: 'may' },
  },
  checkpoint: {
    // A worker's own log tells its result, and is marked.
    first: { ...TO_ARTIFACTS, ...TOLD, workers: 'must', feedback: 'must' },
    second: { ...TO_ARTIFACTS, ...TOLD, workers: 'must', questions: 'must' },
    ...found({ feedback: 'must' }),
    last: { ...FOUND, questions: 'must' },
    source: given(),
  },
  workflow_exit: {
    // The variables of a run are what they are: what the gate holds back is that they leave it.
    first: { ...TO_ARTIFACTS, ...TOLD, parents: 'must' },
    second: { ...TO_ARTIFACTS, ...TOLD, parents: 'must', questions: 'must' },
    ...found({}),
    last: { ...FOUND, questions: 'must' },
    source: given(),
  },
}

function found(more: Cells) {
  const cells = { ...FOUND, ...more }
  return { finding: cells, evidence: cells, recommendation: cells, thoughts: {} }
}

/** An input of the run is told where it is an input, and to its verifiers where nobody reads it. */
function given(): Cells {
  const opened = {
    withheld: 'must',
    'withheld command': 'must',
    verifications: 'may',
    'findings command': 'may',
  } as const
  return { ...opened, ...TOLD, parents: 'must' }
}

const MATRIX = {
  ...Object.fromEntries(PLACES.flatMap(place => KINDS.map(kind => [`${place} ${kind}`, OF[place][kind]]))),
  trial: TO_ARTIFACTS,
  'trial finding': FOUND,
  knowledge: { withheld: 'must', 'withheld command': 'must', verifications: 'may', 'findings command': 'may' },
} as Matrix<Seed, Outlet>

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-family-leaks-'))
const LEADER = 'You lead for the test.'
const SOURCES: object = { context: ['inputs.source', 'knowledge:source'] }
const taskOf = (place: Place) => `work at the ${place}`
let world: World
let host: HostProcess
let sink: Sink
let reader: string
const outlets: { -readonly [O in Outlet]?: Buffer } = {}
const add = (outlet: Outlet, ...said: readonly unknown[]) => {
  outlets[outlet] = Buffer.concat([outlets[outlet] ?? Buffer.alloc(0), bytesOf(said)])
}

beforeAll(async () => {
  const variables = [
    { name: 'task', type: 'string' as const },
    { name: 'source', type: 'string' as const },
    { name: 'draft', type: 'object' as const },
  ]
  const agent = {
    type: 'core.agent',
    config: { agentId: 'local.live.writer', resultVariable: 'draft' },
    inputs: { task: { type: 'variable' as const, variableName: 'task' } },
  }
  const hand = { workflowId: 'writer', inputMapping: { task: 'task' }, outputMapping: { draft: 'result' } }
  const held = (place: Place, phase_id: string, more: object, behaviour: object) =>
    gate(
      { workflow_id: place.replace('_', '-'), phase_id, placement: place },
      { behaviour: { max_attempts: 2, ...behaviour }, ...SOURCES, ...more },
    )
  const escalates = { on_fail: 'escalate' }
  const thinking = (place: Place, reply: typeof PASSES) =>
    ({ ...reply, reasoning: seed(place, 'thoughts') }) as typeof PASSES
  world = await makeGatedWorld(
    {
      folder: scratch,
      agents: { writer: { systemPrompt: WORKER }, spare: { systemPrompt: 'You have nothing to do.' } },
      workflows: [
        {
          id: 'phase-exit',
          variables,
          nodes: {
            work: agent,
            lead: { type: 'core.orchestrator.supervisor', config: { prompt: LEADER } },
            hand: { type: 'core.dispatch' },
          },
          edges: ['work > lead', 'lead > hand', 'hand > lead'],
        },
        { id: 'checkpoint', variables, nodes: { hand: { type: 'core.subWorkflow', config: hand } } },
        { id: 'workflow-exit', variables, nodes: { work: agent } },
      ],
      plan: [
        {
          contains: [VERIFIER, SEEDS.trial],
          reply: finds({ description: SEEDS['trial finding'], detail: 'so', recommendation: 'else' }),
        },
        ...PLACES.flatMap(place => [
          {
            contains: [VERIFIER, seed(place, 'second')],
            reply: thinking(
              place,
              place === 'phase_exit'
                ? PASSES
                : finds({ description: seed(place, 'last'), detail: 'so', recommendation: 'else' }),
            ),
          },
          {
            contains: [VERIFIER, seed(place, 'first')],
            reply: thinking(
              place,
              finds({
                description: seed(place, 'finding'),
                detail: seed(place, 'evidence'),
                recommendation: seed(place, 'recommendation'),
              }),
            ),
          },
          { contains: [WORKER, seed(place, 'finding')], reply: says({ text: seed(place, 'second') }) },
          { contains: [WORKER, taskOf(place)], reply: says({ text: seed(place, 'first') }) },
        ]),
        {
          contains: LEADER,
          reply: { kind: 'text', text: JSON.stringify({ kind: 'terminate', reason: 'done', confidence: 0.9 }) },
        },
      ],
    },
    {
      gates: {
        phase: held('phase_exit', 'work', {}, {}),
        check: held('checkpoint', 'hand', {}, escalates),
        exit: held('workflow_exit', 'work', { exit_values: ['variables.draft'] }, escalates),
        tried: gate({ workflow_id: 'spare', phase_id: 'work' }),
      },
      intents: { purpose: { type: 'operational', title: 'Purpose', statement: 'Be so.' } },
      knowledge: { source: { title: 'Source', text: SEEDS.knowledge } },
    },
  )
  sink = await startSink()
  host = await world.start({ logLevel: 'debug', settings: { 'webhooks.allowPrivate': 'true' } })
  await tell()
})

afterAll(async () => {
  await host?.handOver()
  await sink?.close()
  await world?.close()
  rmSync(scratch, { recursive: true, force: true })
})

type Row = {
  readonly runId: string
  readonly workflowId: string
  readonly parentRunId?: string
  readonly gatedBy?: string[]
}
let rows: readonly Row[]
const runs: { [place: string]: string } = {}

/** All three are judged, two ask a person, who accepts one and rejects the other; and a trial. */
async function tell(): Promise<void> {
  const made = await host.call('POST', '/v1/keys', { scopes: ['runs:read'], principal: 'reader' })
  reader = (made.body as unknown as { key: string }).key
  const events = ['run.*', 'node.*', 'agent.*', 'dws.*', 'assay.*', 'artifact.*', 'interrupt.*', 'variable.*', 'core.*']
  await host.call('POST', '/v1/webhooks', { url: sink.url, events })
  const configurable = { ai: { provider: 'local', model: 'm-1' } }
  const start = async (workflowId: string, inputs: object): Promise<string> => {
    const { status, body } = await host.call('POST', '/v1/runs', { workflowId, inputs, configurable })
    expect(status, JSON.stringify(body)).toBe(201)
    return body.runId
  }
  for (const place of PLACES)
    runs[place] = await start(place.replace('_', '-'), { task: taskOf(place), source: seed(place, 'source') })
  runs.trial = await start('assay-judge', { gateId: 'tried', output: { text: SEEDS.trial } })
  for (const place of ['checkpoint', 'workflow_exit'] as const)
    await until(
      'a person to be asked',
      async () => (await snapshotOf(host, runs[place]!)).status === 'waiting-approval',
    )
  for (const id of [runs.phase_exit!, runs.trial]) expect((await ended(host, id)).status).toBe('completed')
  await collect()
  add('questions', await fetchText(host, '/v1/interrupts'))
  for (const [place, action, node] of [
    ['checkpoint', 'reject', 'hand'],
    ['workflow_exit', 'accept', 'work'],
  ] as const) {
    const answered = await host.call('POST', `/v1/runs/${runs[place]}/interrupts/${node}`, { resumeValue: { action } })
    expect(answered.status, JSON.stringify(answered.body)).toBe(200)
  }
  expect((await ended(host, runs.checkpoint!)).status).toBe('failed')
  expect((await ended(host, runs.workflow_exit!)).status).toBe('completed')
  await collect()
  await open()
  outlets.supervisor = Buffer.concat(askedBy(world.model.requests(), LEADER).map(saidIn))
  await until('the ends of all runs that are announced to be delivered', () => {
    const told = sink.received.map(({ body }) => JSON.parse(body) as { runId: string; event: { type: string } })
    const over = told.filter(({ event }) => ['run.completed', 'run.failed'].includes(event.type))
    return new Set(over.map(({ runId }) => runId)).size >= rows.filter(row => !isHosts(row)).length
  })
  add('webhooks', ...sink.received.map(({ body }) => body))
  outlets.log = Buffer.from(host.errors + host.output)
}

const isHosts = ({ workflowId }: Row): boolean => workflowId.startsWith('assay-')

const outletOf = ({ workflowId, parentRunId }: Row): Outlet =>
  workflowId === 'assay-verifier'
    ? 'verifiers'
    : workflowId === 'assay-judge'
      ? 'trials'
      : parentRunId === undefined
        ? 'parents'
        : 'workers'

/** A key with `runs:read` asks everything there is of every run there is. */
async function collect(): Promise<void> {
  const ask = (at: string, headers: Record<string, string> = {}) =>
    fetchText(host, at, { headers: { authorization: `Bearer ${reader}`, ...headers } })
  const listed = await ask('/v1/runs?host=true&limit=100')
  rows = (JSON.parse(listed.text) as { runs: Row[] }).runs
  add('lists', listed, await ask('/v1/runs'), await ask('/v1/runs?workflowId=assay-verifier'))
  for (const row of rows) {
    const at = `/v1/runs/${row.runId}`
    const isOver = ['completed', 'failed', 'cancelled'].includes((await snapshotOf(host, row.runId)).status)
    const streams = ['updates', 'values', 'messages', 'debug'].map(mode => `/events?streamMode=${mode}`)
    const asked = ['', '/events/poll', ...(isOver ? streams : [])]
    const said = await Promise.all(asked.map(rest => ask(`${at}${rest}`)))
    for (const one of said) expect(one.status, one.text).toBe(200)
    add(outletOf(row), ...said, await ask(`${at}/events`, { accept: 'application/json' }))
    add(outletOf(row), await ask(`/v1/interrupts?runId=${row.runId}`))
    add('lists', await ask(`/v1/runs?host=true&parentRunId=${row.runId}`))
    add('diffs', await ask(`${at}:diff?against=${runs.phase_exit}`))
    add('bundles', await ask(`${at}/debug-bundle`))
    const refused = ['/verifications', '/verifications/1', '/withheld', '/artifacts/art-1']
    const refusals = await Promise.all(refused.map(rest => ask(`${at}${rest}`)))
    expect(refusals.map(({ status }) => status)).toEqual([403, 403, 403, 403])
    add('refusals', ...refusals)
    await command(row, 'runs', 'get', row.runId)
    await command(row, 'runs', 'events', row.runId)
    for (const line of ['findings', 'withheld']) {
      const { code, stdout, stderr } = await readerSays('runs', line, row.runId)
      expect([code === 0, stdout]).toEqual([false, ''])
      add('refusals', stderr)
    }
  }
  const others = [
    '/v1/host/assay/gates',
    '/v1/host/assay/gates/phase/verdicts',
    '/v1/host/assay/knowledge',
    '/v1/webhooks',
  ]
  const refusals = await Promise.all(others.map(at => ask(at)))
  expect(refusals.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  add('refusals', ...refusals)
  add('lists', await ask('/v1/interrupts'), await readerSays('runs', 'list', '--host', '--limit', '100'))
}

const readerSays = async (...line: string[]): Promise<Result> =>
  runHere(['--url', (await host.url())!, '--key', reader, ...line])

/** What a command prints of a run of the host's own must be as silent as its log. */
async function command(row: Row, ...line: string[]): Promise<void> {
  const result = await readerSays(...line)
  expect(result.code, result.stderr).toBeLessThan(2)
  add(isHosts(row) ? outletOf(row) : 'commands', result.stdout, result.stderr)
}

/** The same, by whoever may read artifacts: each marker is somebody's to read. */
async function open(): Promise<void> {
  for (const row of rows) {
    const at = `/v1/runs/${row.runId}`
    const withheld = await fetchText(host, `${at}/withheld`)
    add('withheld', withheld)
    if (outletOf(row) === 'workers') add('feedback', withheld)
    const list = await fetchText(host, `${at}/verifications`)
    const { verifications } = JSON.parse(list.text) as { verifications: { n: number }[] }
    const each = await Promise.all(verifications.map(({ n }) => fetchText(host, `${at}/verifications/${n}`)))
    add('verifications', list, ...each)
    const says = (...line: string[]) => runHere(['--data', world.data, ...line])
    add('withheld command', (await says('runs', 'withheld', row.runId)).stdout)
    for (const { n } of verifications)
      add('findings command', (await says('runs', 'findings', row.runId, String(n))).stdout)
  }
}

describe('the logs of gated families', () => {
  it('R-SEC-1 R-VERIFY-5 R-DWS-13: every marker is where it must be, for a key with runs:read alone nowhere else', () => {
    expect(judge(SEEDS, outlets, MATRIX)).toEqual([])
    const looks = ALL.length * Object.keys(outlets).length
    const bytes = Object.values(outlets).reduce((sum, { length }) => sum + length, 0)
    console.log(`${looks} cells in ${codingsOf('x').length} codings, ${rows.length} runs, ${bytes} bytes`)
  })

  it('R-SEC-1: every marker but what verifiers think is read by somebody', () => {
    for (const one of ALL.filter(one => !one.endsWith('thoughts') && one !== 'phase_exit last')) {
      const readable = Object.values(outlets).some(said => said.includes(SEEDS[one]))
      expect(readable, one).toBe(true)
    }
  })

  it('R-SEC-1: there were runs of every kind to look at, and only workers before a gate are marked', () => {
    const count = (outlet: Outlet) => rows.filter(row => outletOf(row) === outlet).length
    expect({ parents: count('parents'), workers: count('workers'), trials: count('trials') }).toEqual({
      parents: 3,
      workers: 2,
      trials: 1,
    })
    expect(count('verifiers')).toBe(2 * 3 + 1)
    for (const row of rows)
      expect(row.gatedBy, row.workflowId).toEqual(outletOf(row) === 'workers' ? ['check'] : undefined)
  })

  it('R-SEC-1: nobody is told of the host’s own runs', () => {
    const told = new Set(sink.received.map(({ body }) => (JSON.parse(body) as { runId: string }).runId))
    expect(
      rows
        .filter(row => told.has(row.runId))
        .map(({ runId }) => runId)
        .sort(),
    ).toEqual(
      rows
        .filter(row => !isHosts(row))
        .map(({ runId }) => runId)
        .sort(),
    )
  })
})
