import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, it } from 'vitest'
import { openStore } from '../src/store/open-store.js'
import { startPostgres } from '../test/support/postgres.js'
import { seedPostgres, seedSqlite } from './journal-seed.js'

const SIZES = process.env.SIZES?.split(',').map(Number) ?? [1_000, 100_000, 1_000_000]
const scratch = process.env.KEEP ?? mkdtempSync(path.join(os.tmpdir(), 'assay-journal-'))
afterAll(async () => {
  await (await startPostgres()).stop()
})
describe.each(process.env.KINDS?.split(',') ?? ['SQLite', 'PostgreSQL'])('%s', kind => {
  it('measures', async () => {
    const databases: Record<string, string> = {}
    for (const n of SIZES) {
      const began = performance.now()
      const folder = path.join(scratch, `${kind}-${n}`)
      mkdirSync(folder, { recursive: true })
      const url = kind === 'SQLite' ? `sqlite:${folder}/assay.db` : await (await startPostgres()).createDatabase()
      await (await openStore(url)).close()
      if (kind === 'SQLite') seedSqlite(url.slice('sqlite:'.length), n)
      else await seedPostgres(url, n)
      databases[n] = url
      console.log(`${kind}: ${n} rows in ${((performance.now() - began) / 1000).toFixed(1)} s`)
    }
    const probe = fileURLToPath(new URL('./journal-probe.mjs', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [probe, JSON.stringify({ databases, rounds: 10 })])
    for (const [name, times] of Object.entries(JSON.parse(stdout) as Record<string, Record<string, number>>)) {
      const [first, ...more] = SIZES.map(n => times[n]!)
      console.log(
        `${kind}: ${name}: ${[first, ...more].join(' / ')} µs; ${more.map(t => (t / first!).toFixed(2)).join(', ')}`,
      )
    }
  }, 900_000)
})
