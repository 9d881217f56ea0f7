import fs from 'node:fs'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AssayClient } from '../../src/client/assay-client.js'
import { readLocalKey } from '../../src/client/local-key.js'
import { eventLine } from '../../src/cli/progress/progress.js'
import { demonstrate, mayDemonstrate } from '../../src/cli/serving/demonstration.js'
import { servedConfig } from '../../src/cli/serving/served-config.js'
import { freePort } from '../support/free-port.js'
import { repository, type Server, startAssay, startServer, temporaryFolder, until } from './assay-process.js'

let folder: string
let data: string
const servers: Server[] = []

beforeEach(() => {
  folder = temporaryFolder()
  data = path.join(folder, 'data')
})

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop('SIGKILL')
  fs.rmSync(folder, { recursive: true })
})

async function start(...args: string[]) {
  const server = await startServer(data, args)
  servers.push(server)
  const client = new AssayClient({ url: server.url, key: await readLocalKey(data) })
  return { server, client }
}

const workflowsOf = async (client: AssayClient) => (await client.listRuns()).runs.map(run => run.workflowId).sort()

const BOTH = ['approval', 'checked-answer']
const WEEK_MS = 7 * 24 * 60 * 60 * 1000

describe('a first start', () => {
  test('serves, and makes two real runs: one sent back, passed and finished, one that waits for the reader', async () => {
    const { server, client } = await start('--demo')
    await expect.poll(() => workflowsOf(client), { timeout: 60_000 }).toEqual(BOTH)
    const { runs } = await client.listRuns()
    const runOf = (workflowId: string) => runs.find(run => run.workflowId === workflowId)!.runId
    await expect
      .poll(async () => (await client.getRun(runOf('checked-answer'))).status, { timeout: 60_000 })
      .toBe('completed')
    const checked = await client.getRun(runOf('checked-answer'))
    expect(checked.convergence).toMatchObject({ goalSatisfied: true })
    const { verifications } = await client.listVerifications(checked.runId)
    expect(verifications.map(({ attempt, outcome, label }) => [attempt, outcome, label])).toEqual([
      [1, 'revise', 'unverified'],
      [2, 'pass', 'verified'],
    ])
    const waiting = await client.getRun(runOf('approval'))
    expect(waiting.status).toBe('waiting-approval')
    const { requestedAt, expiresAt } = waiting.interrupt!
    expect(Date.parse(expiresAt as string) - Date.parse(requestedAt)).toBe(WEEK_MS)
    expect(server.running.said()).not.toMatch(/checked-answer|attempt|demonstration/)
    expect((await server.assay('verify', '--all')).code).toBe(0)
  }, 120_000)

  test('what has been shown is read from the log: a host that died in between shows the rest, and then nothing', async () => {
    const first = await start()
    await first.client.createRun({ workflowId: 'checked-answer', tags: ['demonstration'] })
    await first.server.stop('SIGKILL')
    const second = await start('--demo')
    await expect.poll(() => workflowsOf(second.client), { timeout: 60_000 }).toEqual(BOTH)
    const said: string[] = []
    await demonstrate(showing(second.client, said))
    expect([await workflowsOf(second.client), said]).toEqual([BOTH, []])
  }, 120_000)

  test('where somebody has used the host, nothing is shown', async () => {
    const { client } = await start()
    await client.createRun({ workflowId: 'hello' })
    const said: string[] = []
    await demonstrate(showing(client, said))
    expect([await workflowsOf(client), said]).toEqual([['hello'], []])
  }, 120_000)

  test('with --no-demo no run is made: the first one is that of a user', async () => {
    const { client } = await start('--no-demo')
    // One request after the other is answered; the first of the two runs would be made before them.
    for (let asked = 0; asked < 20; asked += 1) await client.health()
    expect(await workflowsOf(client)).toEqual([])
  }, 120_000)
})

test('Ctrl-C in the middle of it drains the host: exit code 0, and the runs go on at the next start', async () => {
  const running = startAssay(['serve', '--port', String(await freePort()), '--data', data], { cwd: folder })
  const [, url] = await until(running, /is serving at (\S+)[\s\S]*try/)
  const client = new AssayClient({ url: url as string, key: await readLocalKey(data) })
  await expect.poll(() => workflowsOf(client), { timeout: 60_000 }).toContain('checked-answer')
  running.child.kill('SIGINT')
  const { code, stderr } = await running.done
  expect([code, stderr]).toEqual([0, expect.not.stringMatching(/could not be shown/)])
}, 120_000)

describe('on a screen', () => {
  test('what is seen is what the log and the findings of the two runs say, and where to look next', async () => {
    const { client } = await start()
    const said: string[] = []
    await demonstrate(showing(client, said))
    const [waiting, checked] = (await client.listRuns()).runs
    const { verifications } = await client.listVerifications(checked!.runId)
    const seen = said.join('\n')
    for (const { n } of verifications) {
      const { findings } = await client.getVerification(checked!.runId, n)
      for (const { description } of findings) expect(seen).toContain(description)
    }
    const { variables = {} } = await client.getRun(checked!.runId)
    expect(seen).toContain(JSON.stringify(variables.answer))
    expect(seen).toMatch(/goal satisfied/)
    // The last picture of each run has a line for what its log says last of each attempt.
    const told = (await client.readEvents(checked!.runId)).filter(
      event => event.type === 'dws.verification.finding_issued',
    )
    expect(told).toHaveLength(1)
    for (const event of told) expect(seen).toContain(eventLine(event).split('  ').at(-1))
    expect(seen).toContain(`the-command runs findings ${checked!.runId}`)
    expect(seen).toContain(`the-command interrupts resolve ${waiting!.runId} --accept`)
  }, 120_000)
})

/** A screen on which the last picture of each run stays, and whatever is said beside it. */
function showing(client: AssayClient, said: string[]) {
  let picture: string[] = []
  const keep = () => said.push(...picture.splice(0))
  const terminal = {
    out: () => undefined,
    note: (line: string) => {
      keep()
      said.push(stripVTControlCharacters(line))
    },
    draw: (text: string) => {
      picture = stripVTControlCharacters(text).split('\n')
    },
    isLive: true,
    columns: 200,
    readStdin: async () => '',
  }
  return { client, terminal, command: 'the-command', signal: new AbortController().signal }
}

describe('it is shown only where nothing can be disturbed or paid for', () => {
  const env = (more: object) => ({ data: path.join(folder, 'd'), ...more })

  test('with the bundled project, on SQLite, for this machine alone, by the offline model', () => {
    expect(mayDemonstrate(servedConfig(env({})))).toBe(true)
  })

  test.each([
    ['a project of one’s own', { project: path.join(repository, 'examples/hello') }],
    ['PostgreSQL', { database: 'postgres://127.0.0.1/x' }],
    ['a database that is lost on exit', { database: 'memory:' }],
    ['an address that others reach', { host: '0.0.0.0' }],
    ['conformance mode', { conformance: true }],
    ['a model that costs something', { 'models.worker': 'openai:gpt-5-mini' }],
    ['a verifier that costs something', { 'models.verifier': 'anthropic:claude-sonnet-4-5' }],
  ])('not with %s', (_what, given) => {
    expect(mayDemonstrate(servedConfig(env(given)))).toBe(false)
  })
})
