import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AssayClient } from '../../../src/client/assay-client.js'
import { readLocalKey } from '../../../src/client/local-key.js'
import { crashPoints, SEED } from '../../support/crash-points.js'
import { type Crash, HostProcess, isTerminal, RUN_WRITES, until } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { isThorough } from '../../support/thorough.js'

/**
 * The template `release-notes` under kill -9: notes are written, sent back by their gate, sent back by a person, approved and
 * published. A receiver of ours counts what comes, by its Idempotency-Key, as one that publishes once would.
 */

const template = path.resolve(import.meta.dirname, '../../../templates/release-notes')
const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-publish-'))
const project = path.join(scratch, 'project')

/** What came, by path and then by key; a path is a telling's own. */
const published = new Map<string, string[]>()
/** Called when a request has come and before it is answered. */
const meanwhile = new Map<string, () => void>()
let receiver: http.Server
let origin: string

beforeAll(async () => {
  mkdirSync(project)
  cpSync(template, project, { recursive: true })
  receiver = http.createServer((request, response) => {
    const place = request.url ?? ''
    published.set(place, [...(published.get(place) ?? []), String(request.headers['idempotency-key'])])
    const first = meanwhile.get(place)
    meanwhile.delete(place)
    first?.()
    response.end('{}')
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
})

afterAll(async () => {
  await new Promise(resolve => receiver.close(resolve))
  rmSync(scratch, { recursive: true, force: true })
})

let tellings = 0

type Telling = { readonly data: string; readonly database: string; readonly place: string }

function newTelling(): Telling {
  tellings += 1
  const data = path.join(scratch, `data-${tellings}`)
  return { data, database: `sqlite:${data}/assay.db`, place: `/${tellings}` }
}

const spawn = ({ data, database }: Telling, crash?: Crash): Promise<HostProcess> =>
  HostProcess.spawn({
    data,
    database,
    project,
    counted: RUN_WRITES,
    settings: { 'steps.allowPrivate': 'true', 'models.worker': 'scripted:scripted' },
    ...(crash && { crash }),
  })

/** Whatever has happened before: the run is started once, sent back once and then approved. */
async function play(host: HostProcess, { data, place }: Telling): Promise<string> {
  const url = await host.url()
  if (url === undefined) throw new Error(`the host died before it served: ${host.errors}`)
  const client = new AssayClient({ url, key: (await readLocalKey(data)) as string })
  const request = { workflowId: 'release-notes', inputs: { publishTo: `${origin}${place}` } }
  const { runId } = await client.createRun(request, 'once')
  await until(`run ${runId} to end`, async () => {
    const { status } = await client.getRun(runId)
    if (status === 'waiting-approval') await answer(client, runId)
    return isTerminal(status)
  })
  return runId
}

async function answer(client: AssayClient, runId: string): Promise<void> {
  const given = (await client.readEvents(runId)).filter(({ type }) => type === 'interrupt.resolved').length
  const refine = { action: 'refine', refineFeedback: { scope: 'whole', text: 'Say how much faster.' } }
  // One that was heard already is not heard again.
  await client.resolveInterrupt(runId, 'ask', given === 0 ? refine : { action: 'accept' }).catch(error => {
    if (!/interrupt_already_resolved|not_found|409/.test(String(error.code ?? error))) throw error
  })
}

/** Lets a host run into its death. False when the story was over before. */
async function doomed(host: HostProcess, telling: Telling): Promise<boolean> {
  let signal: string | null | undefined
  void host.exited.then(death => {
    signal = death.signal
  })
  const told = async () => {
    await play(host, telling)
    await host.handOver()
  }
  await told().catch(async error => {
    await until('the host to die', () => signal !== undefined, 10_000).catch(() => Promise.reject(error))
  })
  return signal === 'SIGKILL'
}

const idOf = (definition: unknown) => (definition as { readonly id?: string } | undefined)?.id

async function finished(telling: Telling): Promise<number> {
  const host = await spawn(telling)
  await play(host, telling)
  const writes = await host.handOver()
  const runs = await storedRuns(telling.database)
  expect(findingsOf(runs)).toEqual([])
  const [root] = runs.filter(({ row, definition }) => row?.parentRunId === null && idOf(definition) === 'release-notes')
  expect(root?.row?.status).toBe('completed')
  const completed = root?.events.filter(({ type, nodeId }) => type === 'node.completed' && nodeId === 'publish')
  expect(completed).toHaveLength(1)
  expect(new Set(published.get(telling.place)).size, 'published so often').toBe(1)
  return writes
}

describe('release notes, approved and published', () => {
  it('are published once, whenever the host is killed', async () => {
    const calm = newTelling()
    const writes = await finished(calm)
    expect(published.get(calm.place)).toHaveLength(1)
    const queue = crashPoints(writes, isThorough ? 1 : 4)
    const planned = queue.length
    let kills = 0
    const goOn = async () => {
      for (let crash = queue.shift(); crash; crash = queue.shift()) {
        const telling = newTelling()
        if (await doomed(await spawn(telling, crash), telling)) kills += 1
        await finished(telling)
      }
    }
    await Promise.all([goOn(), goOn()])
    console.log(`${kills} kills of ${planned} over ${writes} transactions, published once each, seed ${SEED}`)
    expect(kills).toBeGreaterThan(planned * 0.8)
  })

  it('are asked for again under the same key when the host is killed while they are being published', async () => {
    const telling = newTelling()
    const host = await spawn(telling)
    await host.url()
    meanwhile.set(telling.place, () => host.child.kill('SIGKILL'))
    expect(await doomed(host, telling)).toBe(true)
    expect(published.get(telling.place)).toHaveLength(1)
    await finished(telling)
    expect(published.get(telling.place)).toHaveLength(2)
  })
})
