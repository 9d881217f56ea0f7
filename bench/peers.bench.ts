import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { ensureLocalKey, readLocalKey } from '../src/client/local-key.js'
import { sha256 } from '../src/digest.js'
import { loopOf, next, terminate } from '../src/testing/orchestration.js'
import { type Sketch, sketch } from '../src/testing/workflow.js'
import { freePort } from '../test/support/free-port.js'
import { HostProcess } from '../test/support/host-process.js'
import { startPostgres } from '../test/support/postgres.js'
import { type Load, load, type Server } from './serving.js'

/** What it costs to hand work to another host, beside the same hand-off to a worker of one's own. */

const SECONDS = Number(process.env.SECONDS ?? 5)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-bench-'))
const report: string[] = []
const say = (line: string) => {
  report.push(line)
  console.log(line)
}

let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres.stop()
  writeFileSync(path.join(import.meta.dirname, 'peers.txt'), `${report.join('\n')}\n`)
  rmSync(scratch, { recursive: true, force: true })
})

const worker: Sketch = {
  id: 'worker',
  nodes: {
    sum: {
      type: 'core.setVariable',
      config: { name: 'sum' },
      inputs: { value: { type: 'expression', expression: 'variables.given + 1' } },
    },
  },
  variables: [{ name: 'given', type: 'number' }],
}
const handsTo = (id: string, workerId: string): Sketch =>
  loopOf(
    { rules: [{ when: 'iteration == 1', decide: next(workerId) }, { decide: terminate }] },
    {
      id,
      dispatch: { inputMapping: { given: 'mine' }, outputMapping: { mine: 'sum' } },
      variables: [{ name: 'mine', type: 'number', defaultValue: 20 }],
    },
  )
const WORKFLOWS = [worker, handsTo('local', 'worker'), handsTo('foreign', 'peer:beta/worker')]

type Place = { readonly folder: string; readonly database: string; readonly hostId: string; readonly port: number }
type Running = Server & { readonly host: HostProcess }

async function serve(
  { folder, database, hostId, port }: Place,
  peers: object,
  env: Record<string, string>,
): Promise<Running> {
  const project = path.join(folder, 'project')
  const data = path.join(folder, 'data')
  for (const needed of [path.join(project, 'workflows'), data]) mkdirSync(needed, { recursive: true })
  for (const workflow of WORKFLOWS)
    writeFileSync(path.join(project, 'workflows', `${workflow.id}.json`), JSON.stringify(sketch(workflow)))
  writeFileSync(path.join(project, 'assay.config.json'), JSON.stringify({ peers }))
  const settings = { hostId, port: String(port), 'log.level': 'warn', 'rateLimit.requestsPerSecond': '0' }
  const host = await HostProcess.spawn({ data, database, project, settings, env })
  const url = await host.url()
  if (url === undefined) throw new Error(`no host: ${host.errors}`)
  const stop = async () => void (await host.finish())
  return { url, key: (await readLocalKey(data))!, pid: host.child.pid!, stop, host }
}

/** A and B, which know each other. */
async function serveBoth(kind: string): Promise<{ readonly a: Running; readonly b: Running }> {
  const place = async (name: string): Promise<Place> => {
    const folder = path.join(scratch, kind, name)
    mkdirSync(path.join(folder, 'data'), { recursive: true })
    const database = kind === 'SQLite' ? `sqlite:${folder}/data/assay.db` : await postgres.createDatabase()
    return { folder, database, hostId: `${name}.example`, port: await freePort() }
  }
  const [atA, atB] = [await place('a'), await place('b')]
  const keyOfB = await ensureLocalKey(path.join(atB.folder, 'data'))
  const alpha = { url: urlOf(atA), hostId: atA.hostId, keyIds: [`local-${sha256(keyOfB).slice(0, 8)}`] }
  const b = await serve(atB, { hosts: { alpha } }, {})
  const beta = { url: urlOf(atB), hostId: atB.hostId, keyRef: { env: 'KEY_OF_B' } }
  const a = await serve(atA, { hosts: { beta } }, { KEY_OF_B: keyOfB })
  return { a, b }
}

const urlOf = ({ port }: Place): string => `http://127.0.0.1:${port}`

/** Processor time that a process has had so far, all its threads together, in milliseconds. */
function spentMs(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

type Measured = Load & { readonly cpuMs: number }

async function measure(a: Running, b: Running, workflowId: string, concurrency: number): Promise<Measured> {
  const before = spentMs(a.pid) + spentMs(b.pid)
  const loaded = await load(a, workflowId, concurrency, SECONDS)
  const cpuMs = (spentMs(a.pid) + spentMs(b.pid) - before) / loaded.runs
  return { ...loaded, cpuMs }
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((x, y) => x - y)[Math.floor(numbers.length / 2)] ?? 0

const shown = (rounds: readonly Measured[]): string =>
  `${median(rounds.map(({ perSecond }) => perSecond))}/s (p50 ${median(rounds.map(({ p50 }) => p50))} ms, p99 ${median(rounds.map(({ p99 }) => p99))} ms, ${median(rounds.map(({ cpuMs }) => cpuMs)).toFixed(2)} ms of processor)`

const ratio = (foreign: readonly Measured[], local: readonly Measured[], field: keyof Measured): string =>
  median(foreign.map((round, i) => round[field] / local[i]![field])).toFixed(2)

describe.each(['SQLite', 'PostgreSQL'] as const)('%s', kind => {
  it('measures', async () => {
    const { a, b } = await serveBoth(kind)
    for (const workflowId of ['local', 'foreign']) await load(a, workflowId, 4, 2)
    for (const concurrency of [1, 16, 64]) {
      const local: Measured[] = []
      const foreign: Measured[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        local.push(await measure(a, b, 'local', concurrency))
        foreign.push(await measure(a, b, 'foreign', concurrency))
      }
      say(
        `${kind}: hand-off runs at concurrency ${concurrency}: to a worker here ${shown(local)}; to a peer ${shown(foreign)}; a local one costs 1, one to a peer ${ratio(foreign, local, 'p50')} in time to the end (p50) and ${ratio(foreign, local, 'cpuMs')} in processor time of both hosts`,
      )
    }
    await a.stop()
    await b.stop()
  }, 600_000)
})
