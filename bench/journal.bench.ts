import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { openStore } from '../src/store/open-store.js'
import { startPostgres } from '../test/support/postgres.js'
import { type JournalHost, replayOf, serveJournal, sourceOf } from './journal-hosts.js'
import { seedPostgres, seedSqlite } from './journal-seed.js'

/** `ROWS=1000,10000` measures less, to see that it works. Rows are multiples of a thousand. */
const ROWS = process.env.ROWS?.split(',').map(Number) ?? [1_000, 100_000, 1_000_000]
const ROUNDS = 20
const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-journal-'))
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
  writeFileSync(path.join(import.meta.dirname, 'journal.txt'), `${report.join('\n')}\n`)
  rmSync(scratch, { recursive: true, force: true })
})

type Times = { readonly [rows: string]: number }

/** Times by length, and how many times the first the others are. */
function compare(kind: string, what: string, times: Times, unit: string): void {
  const [first = 0, ...more] = ROWS.map(n => times[n] ?? 0)
  const ratios = more.map(time => (time / first).toFixed(2)).join(', ')
  say(`${kind}: ${what}: ${[first, ...more].join(' / ')} ${unit}; times the first: ${ratios}`)
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
const mb = (bytes: number): number => Math.round(bytes / 1024 / 1024)

describe.each(['SQLite', 'PostgreSQL'] as const)('%s', kind => {
  it('measures', async () => {
    const databases: Record<string, string> = {}
    for (const n of ROWS) databases[n] = await seeded(kind, n)
    say(`\n${kind}: journals of ${ROWS.join(', ')} rows`)
    const probe = fileURLToPath(new URL('./journal-probe.mjs', import.meta.url))
    const asked = JSON.stringify({ databases, rounds: ROUNDS })
    const { stdout } = await promisify(execFile)(process.execPath, [probe, asked])
    for (const [what, times] of Object.entries(JSON.parse(stdout) as { [what: string]: Times }))
      compare(kind, what, times, 'µs')
    const hosts = new Map<number, JournalHost>()
    for (const n of ROWS) hosts.set(n, await serveJournal(path.join(scratch, `${kind}-${n}`), databases[n]!))
    await whole(kind, hosts)
    await replay(kind, hosts.get(ROWS[0]!)!)
    for (const host of hosts.values()) await host.stop()
  }, 1_800_000)
})

async function seeded(kind: 'SQLite' | 'PostgreSQL', n: number): Promise<string> {
  const folder = path.join(scratch, `${kind}-${n}`)
  mkdirSync(folder, { recursive: true })
  const url = kind === 'SQLite' ? `sqlite:${folder}/assay.db` : await postgres.createDatabase()
  await (await openStore(url)).close()
  const began = performance.now()
  if (kind === 'SQLite') seedSqlite(url.slice('sqlite:'.length), n)
  else await seedPostgres(url, n)
  console.log(`${kind}: ${n} rows made in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return url
}

/** Whole runs that touch memory and branches of one that has, over HTTP, and what the hosts hold before and after. */
async function whole(kind: string, hosts: ReadonlyMap<number, JournalHost>): Promise<void> {
  const sources = new Map<JournalHost, Awaited<ReturnType<typeof sourceOf>>>()
  const before: string[] = []
  for (const host of hosts.values()) {
    sources.set(host, await sourceOf(host))
    const { rss, held } = await host.memory()
    before.push(`${mb(rss)} (${mb(held)})`)
  }
  const branch = async (host: JournalHost) => {
    const { runId, fromSeq } = sources.get(host)!
    const began = performance.now()
    await host.client.forkRun(runId, { mode: 'branch', fromSeq })
    return performance.now() - began
  }
  for (const workflowId of ['noop', 'put', 'list', 'search'])
    await side(kind, `a run (${workflowId})`, hosts, host => host.complete(workflowId))
  await side(kind, 'a branch of a run that has memory', hosts, branch)
  const after: string[] = []
  for (const host of hosts.values()) {
    const { rss, held } = await host.memory()
    after.push(`${mb(rss)} (${mb(held)})`)
  }
  say(`${kind}: memory of the hosts, resident (held) MB: ${before.join(' / ')} before, ${after.join(' / ')} after`)
}

/** One host after the other, round after round. The first round warms up. */
async function side(
  kind: string,
  what: string,
  hosts: ReadonlyMap<number, JournalHost>,
  once: (host: JournalHost) => Promise<number>,
): Promise<void> {
  const times = new Map<number, number[]>()
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [n, host] of hosts) {
      const spent: number[] = []
      for (let i = 0; i < 5; i += 1) spent.push(await once(host))
      if (round > 0) times.set(n, [...(times.get(n) ?? []), ...spent])
    }
  const medians = Object.fromEntries([...times].map(([n, found]) => [n, Number(median(found).toFixed(2))]))
  compare(kind, what, medians, 'ms')
}

async function replay(kind: string, host: JournalHost): Promise<void> {
  const before = await host.memory()
  const { events, told, replayed } = await replayOf(host)
  const after = await host.memory()
  const rate = (ms: number) => Math.round((events * 1000) / ms)
  say(
    `${kind}: a run of ${events} events is told at ${rate(told)} events/s and replayed at ${rate(median(replayed))}; five replays take the host from ${mb(before.rss)} (${mb(before.held)}) MB to ${mb(after.rss)} (${mb(after.held)})`,
  )
}
