import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { answering, type Behaviour, type Sink, startSink } from '../../e2e/webhooks/sink.js'
import { createRun, ended, forkRun } from '../../support/client.js'
import { eventsOf, expectFaithful, toldBy } from '../../support/deliveries.js'
import { freePort } from '../../support/free-port.js'
import { HostProcess, until } from '../../support/host-process.js'
import { storedRuns } from '../../support/stored-runs.js'
import { writeProject } from '../process/workflows.js'

const RUNS = 50
const DEADLINE_MS = 60_000

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (let close = opened.pop(); close !== undefined; close = opened.pop()) await close()
})

async function startHost() {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-webhooks-'))
  opened.push(() => rmSync(scratch, { recursive: true, force: true }))
  const data = path.join(scratch, 'data')
  const database = `sqlite:${data}/assay.db`
  const settings = { 'webhooks.allowPrivate': 'true' }
  const host = await HostProcess.spawn({ data, database, project: writeProject(scratch), settings })
  await host.url()
  opened.push(() => host.finish())
  return { host, database }
}

async function startReceiver(behave: Behaviour = answering(200)): Promise<Sink> {
  const sink = await startSink({ behave })
  opened.push(() => sink.close())
  return sink
}

async function subscribe(host: HostProcess, url: string, events: readonly string[]) {
  const { status, body } = await host.call('POST', '/v1/webhooks', { url, events })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}

const startRuns = (host: HostProcess): Promise<string[]> =>
  Promise.all(Array.from({ length: RUNS }, () => createRun(host, 'delivery')))

/** Every event the subscription is owed, as the log has them. */
async function owedOf(database: string, wanted: RegExp): Promise<Set<string>> {
  const runs = await storedRuns(database)
  return new Set(
    runs
      .filter(({ row }) => (row as { fork?: { mode: string } | null }).fork?.mode !== 'replay')
      .flatMap(({ runId, events }) =>
        events.filter(({ type }) => wanted.test(type)).map(({ sequence }) => `${runId}:${sequence}`),
      ),
  )
}

async function receivedAll(sink: Sink, secret: string, owed: ReadonlySet<string>): Promise<void> {
  const told = () => eventsOf(sink.received.map(request => toldBy(request, secret)))
  await until('every event to be delivered', () => told().size >= owed.size, DEADLINE_MS)
  expect(told()).toEqual(owed)
  expectFaithful(sink.received.map(request => toldBy(request, secret)))
}

describe('E12: deliveries of a host as a process', () => {
  it(`tells a receiver every event of ${RUNS} runs and of a branch, in order and signed, and nothing of a replay`, async () => {
    const { host, database } = await startHost()
    const sink = await startReceiver()
    const { secret } = await subscribe(host, sink.url, ['run.*', 'node.completed'])
    const runs = await startRuns(host)
    for (const runId of runs) await ended(host, runId)
    const replays = await Promise.all(runs.map(runId => forkRun(host, runId, { mode: 'replay' })))
    const branch = await forkRun(host, runs[0]!, { mode: 'branch', fromSeq: 0 })
    for (const runId of [...replays, branch]) await ended(host, runId)
    const owed = await owedOf(database, /^(run\..*|node\.completed)$/)
    await receivedAll(sink, secret, owed)
    const told = sink.received.map(request => toldBy(request, secret))
    expect(told.filter(({ runId }) => runId === branch).length).toBeGreaterThan(0)
    expect(told.filter(({ runId }) => replays.includes(runId))).toEqual([])
    expect(owed.size).toBeGreaterThan(RUNS * 3)
    console.log(`webhooks: ${sink.received.length} requests for ${owed.size} events of ${RUNS + 1} runs`)
  })

  it('is not held up by receivers that are down, slow, endless or send it elsewhere', async () => {
    const { host, database } = await startHost()
    const elsewhere = await startReceiver()
    const bad = {
      slow: await startReceiver(never),
      endless: await startReceiver(endless),
      redirecting: await startReceiver(answering(302, { location: elsewhere.url })),
    }
    const good = await startReceiver()
    for (const { url } of Object.values(bad)) await subscribe(host, url, ['*'])
    await subscribe(host, `http://127.0.0.1:${await freePort()}/nobody`, ['*'])
    const { secret } = await subscribe(host, good.url, ['run.*'])

    const runs = await startRuns(host)
    for (const runId of runs) await ended(host, runId)
    await receivedAll(good, secret, await owedOf(database, /^run\./))
    // They were asked, and are what they are: the others did not wait for them to be done.
    for (const [name, sink] of Object.entries(bad))
      await until(`the ${name} receiver to be tried`, () => sink.received.length > 0, DEADLINE_MS)
    expect(elsewhere.received).toEqual([])
    expect(elsewhere.connections).toBe(0)
    const tries = Object.entries(bad).map(([name, sink]) => `${name} ${sink.received.length}`)
    console.log(
      `webhooks: ${good.received.length} requests to the good receiver; tries of the others: ${tries.join(', ')}`,
    )
  })
})

/** The connection stays open and nothing comes. */
const never: Behaviour = () => undefined

/** A body without end, as fast as it is read. */
const endless: Behaviour = response => {
  response.writeHead(200)
  const more = () => {
    while (response.write(CHUNK));
    response.once('drain', more)
  }
  response.once('error', () => undefined)
  more()
}

const CHUNK = Buffer.alloc(64 * 1024, 'x')
