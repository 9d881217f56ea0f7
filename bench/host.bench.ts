import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { AssayClient } from '../src/client/assay-client.js'
import { until } from '../test/support/host-process.js'
import { spawnModelServer } from '../test/support/openai-server.js'
import { startPostgres } from '../test/support/postgres.js'
import { modelCallCost } from './agents.js'
import { coldResume, handoffRate, turnCost } from './handoffs.js'
import { rawPostgres, rawSqlite, rowsIn } from './raw-limits.js'
import { type Load, load, residentMb, type Server, serveAssay, serveBare } from './serving.js'

const SECONDS = 5
const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-bench-'))
const report: string[] = []
const say = (line: string) => {
  report.push(line)
  console.log(line)
}

let postgres: Awaited<ReturnType<typeof startPostgres>>
let model: Awaited<ReturnType<typeof spawnModelServer>>
beforeAll(async () => {
  postgres = await startPostgres()
  model = await spawnModelServer(scratch, [])
})
afterAll(async () => {
  await postgres.stop()
  await model.close()
  writeFileSync(path.join(import.meta.dirname, 'latest.txt'), `${report.join('\n')}\n`)
  rmSync(scratch, { recursive: true, force: true })
})

const percent = (part: number, whole: number) => `${Math.round((100 * part) / whole)} %`

describe.each(['SQLite', 'PostgreSQL'] as const)('%s', kind => {
  it('measures', async () => {
    const folder = path.join(scratch, kind)
    const database = kind === 'SQLite' ? `sqlite:${folder}/data/assay.db` : await postgres.createDatabase()
    const host = await serveAssay(folder, database, model.url)
    say(`\n${kind}: cold start to first answer ${host.coldStartMs} ms`)
    const bare = await serveBare()
    for (const concurrency of [1, 16, 64]) {
      const ceiling = await load(bare, 'noop', concurrency, SECONDS)
      const real = await load(host, 'noop', concurrency, SECONDS)
      say(
        `${kind}: no-op runs at concurrency ${concurrency}: ${shown(real)}; bare server ${shown(ceiling)}; share ${percent(real.perSecond, ceiling.perSecond)}`,
      )
    }
    await bare.stop()
    const chained = await load(host, 'chain', 16, SECONDS)
    const events = chained.perSecond * 402
    const raw = kind === 'SQLite' ? rawSqlite(2) : undefined
    say(
      `${kind}: ${events} events/s in runs of 402 events${raw ? `; raw batched inserts ${raw.rowsPerSecond} rows/s; share ${percent(events, raw.rowsPerSecond)}; raw single commits ${raw.commitsPerSecond}/s` : ''}`,
    )
    if (kind === 'PostgreSQL') {
      const commits = await rawPostgres(await postgres.createDatabase(), 2)
      say(`PostgreSQL: raw commits ${commits.one}/s with one client, ${commits.sixteen}/s with sixteen`)
    }
    await modelCallCost(kind, host, model.url, SECONDS, say)
    await handoffRate(kind, host, SECONDS, say)
    await turnCost(kind, host, say)
    await coldResume(kind, host, () => serveAssay(folder, database, model.url), say)
    // A fresh process, so that what it holds comes from these runs alone.
    const second = await serveAssay(folder, database, model.url)
    await memory(kind, second)
    await stepCost(kind, second)
    await forkCost(kind, second, () => rowsIn(kind, database))
    await second.stop()
  }, 300_000)
})

const shown = ({ perSecond, p50, p99 }: Load) => `${perSecond}/s (p50 ${p50} ms, p99 ${p99} ms)`

/** Forks at the end of a run of a hundred events and of one of ten thousand: time, and rows that each fork writes. */
async function forkCost(kind: string, host: Server, rows: () => Promise<number>): Promise<void> {
  const client = new AssayClient({ url: host.url, key: host.key })
  for (const workflowId of ['hundred-events', 'ten-thousand-events']) {
    const began = performance.now()
    const { runId } = await client.createRun({ workflowId, inputs: {} })
    await until('the run to wait', async () => (await client.getRun(runId)).status === 'waiting-approval', 60_000)
    const told = performance.now() - began
    const fromSeq = (await client.readEvents(runId)).length
    const before = await rows()
    const times: number[] = []
    for (let i = 0; i < 40; i += 1) {
      const start = performance.now()
      await client.forkRun(runId, { mode: 'branch', fromSeq })
      times.push(performance.now() - start)
    }
    const written = ((await rows()) - before) / times.length
    const median = times.sort((a, b) => a - b)[times.length / 2]!
    say(
      `${kind}: ${workflowId} (${fromSeq} events) told in ${told.toFixed(0)} ms; a fork at its end takes ${median.toFixed(2)} ms and writes ${written} rows`,
    )
  }
}

/** Memory after ten thousand further finished runs, twice: what matters is that the second is not above the first. */
async function memory(kind: string, host: Server): Promise<void> {
  const readings: number[] = []
  for (let round = 0; round < 2; round += 1) {
    for (let runs = 0; runs < 10_000; ) runs += (await load(host, 'noop', 16, 2)).runs
    readings.push(residentMb(host.pid))
  }
  say(`${kind}: resident memory after 10,000 finished runs ${readings[0]} MB, after 20,000 ${readings[1]} MB`)
}

/** Milliseconds per step around step 10, 1,000 and 10,000 of one run, by the times in its own log. */
async function stepCost(kind: string, host: Server): Promise<void> {
  const client = new AssayClient({ url: host.url, key: host.key })
  const { runId } = await client.createRun({ workflowId: 'long', inputs: {} })
  await until('the long run to end', async () => (await client.getRun(runId)).status === 'completed', 120_000)
  const events = await client.readEvents(runId)
  const passes = events
    .filter(event => event.type === 'node.completed' && event.nodeId === 'step')
    .map(event => Date.parse(event.timestamp))
  const cost = (at: number) => ((passes[at + 90]! - passes[at]!) / 90).toFixed(3)
  say(
    `${kind}: cost per step, of which 1 ms is waiting, at step 10: ${cost(10)} ms, at 1,000: ${cost(1_000)} ms, at 10,000: ${cost(10_000)} ms`,
  )
}
