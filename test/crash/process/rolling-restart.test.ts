import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { sketch } from '../../../src/testing/workflow.js'
import { freePort } from '../../support/free-port.js'
import { HostProcess, until } from '../../support/host-process.js'
import { startPostgres } from '../../support/postgres.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'

/**
 * Hosts are started, for the first time and again, and stopped while clients create runs. A client tries a create again, under its key, until it
 * is answered 201; what it was told meanwhile is counted.
 */

const KEY = 'a-key-that-all-hosts-of-this-test-know'
const CLIENTS = 8
/** Between creates and between tries, so that there are hundreds of them and not tens of thousands. */
const PAUSE_MS = 40
const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-rolling-'))
const project = path.join(scratch, 'project')
mkdirSync(path.join(project, 'workflows'), { recursive: true })
// Enough of them that loading takes a while; the one that is asked for is loaded last.
for (let i = 0; i < 60; i += 1) writeWorkflow(`a-${i}`)
writeWorkflow('wanted')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

function writeWorkflow(id: string): void {
  const definition = sketch({ id, nodes: { a: 'core.noop', b: 'core.noop' }, edges: ['a > b'] })
  writeFileSync(path.join(project, 'workflows', `${id}.json`), JSON.stringify(definition))
}

/** Nobody listened, or the connection was given up before the request was read. */
const NOT_TAKEN = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET'])

type Place = { readonly port: number; readonly name: string }

const spawn = (database: string, { port, name }: Place) => {
  const data = path.join(scratch, name)
  mkdirSync(data, { recursive: true })
  const settings = { port: String(port), 'log.level': 'error' }
  return HostProcess.spawn({ data, database, project, hostName: name, settings, env: { ASSAY_API_KEY: KEY } })
}

/**
 * Stops it in good order and starts it again, the first times as a new process; whether it serves is for its clients to
 * find out.
 */
async function restarted(host: HostProcess, database: string, place: Place, round: number): Promise<HostProcess> {
  await (round < 2 ? host.finish() : host.handOver())
  const next = await spawn(database, place)
  expect(await next.url(), next.errors).toBeDefined()
  return next
}

/** Clients that create one run after another, each asking the next host when one does not take it. */
class Load {
  /** Runs by the key they were created under. */
  readonly created = new Map<string, string[]>()
  readonly answers = new Map<string, number>()
  readonly #end = new AbortController()
  readonly #clients: Promise<void>[]

  constructor(private readonly ports: readonly number[]) {
    this.#clients = Array.from({ length: CLIENTS }, (_, i) => this.#client(i))
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await Promise.all(this.#clients)
  }

  async #client(nth: number): Promise<void> {
    for (let i = 0; !this.#end.signal.aborted; i += 1) {
      const key = `client-${nth}-create-${i}`
      for (let tries = nth; ; tries += 1) {
        const answer = await this.#create(this.ports[tries % this.ports.length]!, key)
        this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1)
        if (answer === '201') break
        await delay(PAUSE_MS)
      }
      // Every now and then it is not sure of its answer and asks once more.
      if (i % 10 === 0) await this.#create(this.ports[nth % this.ports.length]!, key)
      await delay(PAUSE_MS)
    }
  }

  async #create(port: number, key: string): Promise<string> {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/v1/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ workflowId: 'wanted' }),
      })
      const body = (await response.json()) as { runId: string; error: string }
      if (response.status === 201) this.created.set(key, [...(this.created.get(key) ?? []), body.runId])
      if (response.status === 503) expect(response.headers.get('retry-after'), JSON.stringify(body)).toMatch(/^\d+$/)
      return String(response.status)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      return (error.cause as { code?: string })?.code ?? error.message
    }
  }
}

async function expectEachOnce({ created, answers }: Load, database: string): Promise<void> {
  const told = Object.fromEntries(answers)
  expect(Object.keys(told).filter(answer => answer !== '201' && answer !== '503' && !NOT_TAKEN.has(answer))).toEqual([])
  expect(told['503'], JSON.stringify(told)).toBeGreaterThan(0)
  const acknowledged = [...created.values()].map(runIds => new Set(runIds))
  expect(acknowledged.filter(runIds => runIds.size !== 1)).toEqual([])
  const stored = await storedRuns(database)
  expect(stored.map(({ runId }) => runId).sort()).toEqual(acknowledged.flatMap(runIds => [...runIds]).sort())
  expect(stored.filter(({ row }) => row?.status !== 'completed')).toEqual([])
  expect(findingsOf(stored)).toEqual([])
}

it('F3, E62: two hosts on one PostgreSQL, restarted in turn under load: every create 2xx or 503, none lost, none twice', async () => {
  const postgres = await startPostgres({ durable: false })
  try {
    const database = await postgres.createDatabase()
    const places = [
      { port: await freePort(), name: 'first' },
      { port: await freePort(), name: 'second' },
    ]
    const load = new Load(places.map(({ port }) => port))
    const hosts = await Promise.all(places.map(place => spawn(database, place)))
    for (const host of hosts) expect(await host.url(), host.errors).toBeDefined()
    for (let round = 0; round < 3; round += 1) {
      const enough = load.created.size + 30
      await until('creates to be answered', () => load.created.size > enough)
      hosts[round % 2] = await restarted(hosts[round % 2]!, database, places[round % 2]!, round)
    }
    await load.stop()
    for (const host of hosts) await host.finish()
    await expectEachOnce(load, database)
  } finally {
    await postgres.stop()
  }
})

it('E62: one host on SQLite, restarted under load: every create 2xx or 503 or not connected, none lost, none twice', async () => {
  const place = { port: await freePort(), name: 'alone' }
  const database = `sqlite:${path.join(scratch, 'alone', 'assay.db')}`
  const load = new Load([place.port])
  let host = await spawn(database, place)
  expect(await host.url(), host.errors).toBeDefined()
  for (let round = 1; round < 4; round += 1) {
    const enough = load.created.size + 30
    await until('creates to be answered', () => load.created.size > enough)
    host = await restarted(host, database, place, round)
  }
  await load.stop()
  await host.finish()
  await expectEachOnce(load, database)
})
