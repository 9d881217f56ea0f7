import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAssay } from '../../cli/assay-process.js'
import type { HostProcess } from '../../support/host-process.js'
import { codingsOf, foundIn, judge, type Matrix } from './canaries.js'
import { ended, fetchText, startRun } from './talk.js'
import { makeWorld, type World } from './world.js'

/** SR-1, R-EVENT-6, R-LIVE-33: where the words of people, models, tools and providers may be read, and where not. */

/** With characters that encodings treat differently. */
const marker = (kind: string) => `CNRY/${kind}=${randomBytes(8).toString('hex')}?`

const SEEDS = {
  system: marker('system'),
  task: marker('task'),
  /** Beside the calls of a tool; what it comes to in the end is its result. */
  words: marker('words'),
  result: marker('result'),
  reasoning: marker('reasoning'),
  toolArguments: marker('arguments'),
  badArguments: marker('bad-arguments'),
  toolResult: marker('tool-result'),
  brokenAnswer: marker('broken-answer'),
  refusal: marker('refusal'),
  /** What a provider says about an error may quote the request. */
  providerError: marker('provider-error'),
  schema: marker('schema'),
  taskField: marker('task-field'),
  providerKey: `sk-CNRY-key-${randomBytes(12).toString('hex')}`,
  pipeToken: `CNRY-pipe-${randomBytes(12).toString('hex')}`,
  webToken: `Bearer CNRY-web-${randomBytes(12).toString('hex')}`,
  price: '0.7351902468',
  modelUrl: `CNRY-model-url-${randomBytes(8).toString('hex')}`,
  toolUrl: `CNRY-tool-url-${randomBytes(8).toString('hex')}`,
} as const
type Kind = keyof typeof SEEDS

const OUTLETS = [
  'events',
  'poll',
  'stream updates',
  'stream values',
  'stream messages',
  'stream debug',
  'snapshot',
  'bundle',
  'refusals',
  'catalogues',
  'log',
  'database',
  'commands',
  'model bodies',
  'model headers',
  'model paths',
  'tool arguments',
  'tool headers',
] as const
type Outlet = (typeof OUTLETS)[number]

/** Readers of the run itself; `may` where an outlet shows only part of it. */
const TO_READERS = {
  events: 'must',
  poll: 'must',
  'stream debug': 'must',
  'stream updates': 'may',
  'stream values': 'may',
  commands: 'may',
  database: 'may',
} as const

const MATRIX: Matrix<Kind, Outlet> = {
  system: { 'model bodies': 'must' },
  task: { ...TO_READERS, snapshot: 'must', 'model bodies': 'must' },
  words: { 'model bodies': 'must' },
  result: { ...TO_READERS, snapshot: 'must', 'stream values': 'must' },
  reasoning: TO_READERS,
  toolArguments: { 'model bodies': 'must', 'tool arguments': 'must' },
  badArguments: { 'model bodies': 'must' },
  toolResult: { 'model bodies': 'must' },
  brokenAnswer: { 'model bodies': 'must' },
  refusal: {},
  providerError: {},
  schema: { 'model bodies': 'must' },
  // The name of a field that the task schema does not know: whoever gave the task is told which. Names stay in bundles.
  taskField: { ...TO_READERS, snapshot: 'must', bundle: 'may' },
  providerKey: { 'model headers': 'must' },
  pipeToken: {},
  webToken: { 'tool headers': 'must' },
  // Kept with the run, so that a later look at its costs comes to the same.
  price: { database: 'may' },
  modelUrl: { 'model paths': 'must' },
  toolUrl: {},
}

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-live-canary-'))
const closed = { additionalProperties: false }
let world: World
let host: HostProcess
const outlets = {} as { [O in Outlet]: Buffer }

beforeAll(async () => {
  world = await makeWorld({
    folder: scratch,
    modelPath: SEEDS.modelUrl,
    toolPath: SEEDS.toolUrl,
    agents: {
      spy: {
        systemPrompt: `You spy. ${SEEDS.system}`,
        toolAllowlist: ['mcp:files.echo', 'mcp:files.env', 'mcp:web.put'],
        handoff: { taskSchemaRef: 'schemas/order.json', returnSchemaRef: 'schemas/report.json' },
      },
    },
    schemas: {
      order: { type: 'object', properties: { order: { type: 'string' } }, ...closed },
      report: { type: 'object', description: SEEDS.schema, properties: { title: { type: 'string' } }, ...closed },
    },
    env: { OPENAI_API_KEY: SEEDS.providerKey, FILES_TOKEN: SEEDS.pipeToken, WEB_TOKEN: SEEDS.webToken },
    // A tool that tells its whole environment: what is secret in it, and what is not.
    toolEnv: { PLAIN: SEEDS.toolResult },
    settings: { prices: { 'local:m-1': { input: Number(SEEDS.price), output: 2 } } },
    plan: [
      { contains: 'please refuse', reply: { kind: 'refusal', text: SEEDS.refusal } },
      {
        contains: 'please fail',
        reply: { kind: 'status', status: 400, body: { error: { message: SEEDS.providerError, type: 'bad' } } },
      },
      {
        contains: SEEDS.brokenAnswer,
        reply: {
          kind: 'text',
          text: JSON.stringify({
            result: { title: `${SEEDS.result} by ${SEEDS.providerKey} and ${btoa(SEEDS.pipeToken)}` },
            confidence: 0.9,
          }),
        },
      },
      {
        contains: SEEDS.toolResult,
        reply: { kind: 'text', text: JSON.stringify({ result: { [SEEDS.brokenAnswer]: 1 }, confidence: 0.9 }) },
      },
      {
        contains: SEEDS.task,
        reply: {
          kind: 'tools',
          text: `${SEEDS.words} with ${SEEDS.providerKey}`,
          reasoning: ['I think ', SEEDS.reasoning, ` of ${SEEDS.webToken}`],
          calls: [
            { name: 'mcp_files_echo', args: { text: SEEDS.toolArguments } },
            { name: 'mcp_files_echo', args: { text: { [SEEDS.badArguments]: true } } },
            { name: 'mcp_files_env', args: {} },
            { name: 'mcp_web_put', args: { what: 'ever' } },
          ],
        },
      },
    ],
  })
  host = await world.start({ logLevel: 'debug' })
  await collect()
})

afterAll(async () => {
  await host?.handOver()
  await world?.close()
  rmSync(scratch, { recursive: true, force: true })
})

async function collect(): Promise<void> {
  const tasks = [
    { order: SEEDS.task },
    { order: `please refuse ${SEEDS.task}` },
    { order: `please fail ${SEEDS.task}` },
    { order: SEEDS.task, [SEEDS.taskField]: 1 },
  ]
  const configurable = { ai: { provider: 'local', model: 'm-1' }, budget: { maxCostUsd: 1 } }
  const runs = await Promise.all(tasks.map(task => startRun(host, 'spy', task, { configurable })))
  const ends = await Promise.all(runs.map(runId => ended(host, runId)))
  expect(ends.map(({ status, error }) => error?.code ?? status)).toEqual([
    'completed',
    'envelope_refusal',
    'model_rejected',
    'handoff_task_schema_violation',
  ])
  const ofRuns = async (at: (runId: string) => string, headers: Record<string, string> = {}) =>
    bytesOf(await Promise.all(runs.map(runId => fetchText(host, at(runId), { headers }))))
  const streamed = (mode: string) => ofRuns(runId => `/v1/runs/${runId}/events?streamMode=${mode}`)
  outlets.events = await ofRuns(runId => `/v1/runs/${runId}/events`, { accept: 'application/json' })
  outlets.poll = await ofRuns(runId => `/v1/runs/${runId}/events/poll`)
  for (const mode of ['updates', 'values', 'messages', 'debug'] as const)
    outlets[`stream ${mode}`] = await streamed(mode)
  outlets.snapshot = await ofRuns(runId => `/v1/runs/${runId}`)
  outlets.bundle = await ofRuns(runId => `/v1/runs/${runId}/debug-bundle`)
  outlets.refusals = await refusals()
  outlets.catalogues = bytesOf(
    await Promise.all(
      [
        '/v1/agents',
        '/v1/agents/local.live.spy',
        '/v1/tools',
        '/.well-known/openwop',
        '/v1/openapi.json',
        '/v1/workflows',
        '/healthz',
      ].map(at => fetchText(host, at)),
    ),
  )
  outlets.commands = await commands(runs)
  outlets.log = Buffer.from(host.errors + host.output)
  outlets.database = Buffer.concat(
    readdirSync(world.data)
      .filter(name => name.startsWith('assay.db'))
      .map(name => readFileSync(path.join(world.data, name))),
  )
  const requests = world.model.requests()
  outlets['model bodies'] = bytesOf(requests.map(({ body }) => body.messages))
  outlets['model headers'] = bytesOf(requests.map(({ headers }) => headers))
  outlets['model paths'] = bytesOf(requests.map(request => request.path))
  const calls = world.toolCalls()
  outlets['tool arguments'] = bytesOf(calls.map(({ args, meta }) => [args, meta]))
  outlets['tool headers'] = bytesOf(calls.map(({ headers }) => headers ?? {}))
}

/** JSON inside of JSON is read as what it says. */
const bytesOf = (things: readonly unknown[]): Buffer =>
  Buffer.from(things.map(thing => JSON.stringify(thing).replaceAll('\\"', '"').replaceAll('\\\\', '\\')).join('\n'))

async function refusals(): Promise<Buffer> {
  const post = (body: object) => ({
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  return bytesOf([
    await fetchText(host, '/v1/runs/none'),
    await fetchText(host, '/v1/agents/none'),
    await fetchText(host, '/v1/tools/mcp:files.none'),
    await fetchText(host, '/v1/runs', post({ agentId: 'none' })),
    await fetchText(host, '/v1/runs', post({ agentId: 'local.live.spy', configurable: { ai: { provider: 1 } } })),
    await fetchText(host, '/v1/host/assay/chat', post({ message: '@nobody do it' })),
  ])
}

async function commands(runs: readonly string[]): Promise<Buffer> {
  const [first = '', refused = ''] = runs
  const lines = [
    ['runs', 'get', first],
    ['runs', 'events', first],
    ['runs', 'get', refused],
    ['agents', 'show', 'local.live.spy'],
    ['tools', 'list'],
    ['doctor'],
  ]
  const said = await Promise.all(lines.map(line => startAssay(['--data', world.data, ...line]).done))
  return Buffer.from(said.map(({ stdout, stderr }) => stdout + stderr).join('\n'))
}

describe('content-leak canaries', () => {
  it('every marker is where it must be, and nowhere else', () => {
    expect(Object.keys(outlets).sort()).toEqual([...OUTLETS].sort())
    expect(judge(SEEDS, outlets, MATRIX)).toEqual([])
    const cells = Object.values(MATRIX).flatMap(row => Object.values(row))
    const musts = cells.filter(cell => cell === 'must').length
    const looks = Object.keys(SEEDS).length * OUTLETS.length
    console.log(`${looks} cells in ${codingsOf('x').length} codings: ${musts} must, ${looks - cells.length} must not`)
  })

  it('secrets that a model or a tool repeats are named in their place', () => {
    const shown = outlets.events.toString()
    expect(shown).toContain('[REDACTED:OPENAI_API_KEY]')
    expect(shown).toContain('[REDACTED:WEB_TOKEN]')
    expect(outlets['model bodies'].toString()).toContain('[REDACTED:FILES_TOKEN]')
  })

  it('the search finds what a sabotaged host would say', () => {
    const leak = SEEDS.toolResult
    const said = [
      leak,
      encodeURIComponent(leak),
      btoa(`x${leak}y`),
      btoa(`xy${leak}z`),
      Buffer.from(leak).toString('hex'),
    ]
    for (const text of [...said, [...leak].reverse().join('')])
      expect(judge(SEEDS, { log: Buffer.from(`…${text}…`) }, MATRIX)).toEqual([expect.stringContaining('toolResult')])
    expect(foundIn(Buffer.from(leak, 'utf16le'), leak)).toEqual(['UTF-16'])
  })
})
