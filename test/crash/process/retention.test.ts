import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { sketch } from '../../../src/testing/workflow.js'
import { runHere } from '../../cli/command-line.js'
import { crashPoints, SEED } from '../../support/crash-points.js'
import { type Crash, HostProcess, type HostSettings, isTerminal, until } from '../../support/host-process.js'
import { isThorough } from '../../support/thorough.js'

const DAY = 86_400_000
const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-retention-crash-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** A run of some 800 events, whose rows go in two slices. */
const LONG = sketch({
  id: 'long',
  nodes: { loop: { type: 'core.loop', config: { maxIterations: 200 } }, body: 'core.noop', end: 'core.noop' },
  edges: ['loop.body > body', 'body > loop', 'loop.done > end'],
})
const project = path.join(scratch, 'project')
mkdirSync(path.join(project, 'workflows'), { recursive: true })
writeFileSync(path.join(project, 'workflows', 'long.json'), JSON.stringify(LONG))

const PURGING = ['purgeFamily', 'deletePurged']
const ERASING = ['eraseTenants', 'eraseEvents', 'eraseRun', 'finishErasure']

let places = 0
/** A data folder with ended, sealed runs of tenant beta, and one of the host's own. */
async function place(): Promise<HostSettings & { readonly runIds: readonly string[]; readonly own: string }> {
  places += 1
  const data = path.join(scratch, `p${places}`)
  const settings = { data, database: `sqlite:${data}/assay.db`, project }
  const host = await HostProcess.spawn(settings)
  const { body } = await host.call('POST', '/v1/keys', { tenant: 'beta', scopes: ['runs:create', 'runs:read'] })
  const { key } = body as unknown as { key: string }
  const run = async (headers: Record<string, string>) => {
    const { runId } = (await host.call('POST', '/v1/runs', { workflowId: 'long' }, headers)).body
    await until('the run to end', async () =>
      isTerminal((await host.call('GET', `/v1/runs/${runId}`, undefined, headers)).body.status),
    )
    return runId
  }
  const beta = { authorization: `Bearer ${key}` }
  const runIds = [await run(beta), await run(beta)]
  const own = await run({})
  await host.handOver()
  return { ...settings, runIds, own }
}

function rowsOf(data: string, sql: string): number {
  const db = new Connection(path.join(data, 'assay.db'), 5_000, [])
  try {
    return Number(db.get(`SELECT count(*) AS n FROM ${sql}`)?.n)
  } finally {
    db.close()
  }
}

const verified = async (data: string) => {
  const { code, stdout } = await runHere(['--data', data, 'verify', '--integrity', '--all'])
  expect([code, stdout]).toEqual([0, expect.stringContaining('intact')])
  return stdout
}

const died = async (host: HostProcess) => expect((await host.exited).signal).toBe('SIGKILL')

async function purged(crash?: Crash): Promise<number> {
  const { runIds, own, ...settings } = await place()
  const { data } = settings
  const due = {
    ...settings,
    counted: PURGING,
    aheadMs: 10 * DAY,
    settings: { 'retention.tenants': 'beta=3' },
  }
  if (crash) {
    await died(await HostProcess.spawn({ ...due, crash }))
    await verified(data)
  }
  const host = await HostProcess.spawn(due)
  expect(await host.url(), host.errors).toBeDefined()
  await until('all rows to be gone', () => rowsOf(data, `events JOIN runs USING (run_id) WHERE tenant = 'beta'`) === 0)
  await until('their runs, too', () => rowsOf(data, `runs WHERE tenant = 'beta'`) === 0)
  expect((await host.call('GET', `/v1/runs/${own}`)).status).toBe(200)
  const writes = await host.handOver()
  expect(rowsOf(data, 'purged')).toBe(runIds.length)
  const said = await verified(data)
  expect(said).toContain(`${runIds.length} runs were purged when their retention was over, as their checkpoints tell`)
  expect(said).toMatch(/^1 runs, .*: intact$/m)
  return writes
}

async function erased(crash?: Crash): Promise<number> {
  const { runIds, own, ...settings } = await place()
  const { data } = settings
  const asked = { ...settings, counted: ERASING, aheadMs: 0 }
  const ask = (host: HostProcess) => host.call('POST', '/v1/host/assay/tenants/beta/erase', { tenant: 'beta' })
  if (crash) {
    const doomed = await HostProcess.spawn(asked)
    await doomed.url()
    await doomed.arm(crash)
    await ask(doomed).catch(error => expect(String(error)).toMatch(/fetch failed|terminated/))
    await died(doomed)
    await verified(data)
  }
  const host = await HostProcess.spawn(asked)
  await host.url()
  const state = async () => (await host.call('GET', '/v1/host/assay/tenants/beta')).body as unknown as { state: string }
  // Who died before it was marked has promised nothing.
  const isAsked = (await state()).state !== 'active'
  expect(isAsked).toBe(crash !== undefined && !(crash.at === 1 && crash.when === 'before'))
  if (!isAsked) expect((await ask(host)).status).toBe(202)
  await until('the tenant to be erased', async () => (await state()).state === 'erased')
  expect((await host.call('GET', `/v1/runs/${own}`)).status).toBe(200)
  const writes = await host.handOver()
  expect(rowsOf(data, `events JOIN runs USING (run_id) WHERE tenant = 'beta' AND erased IS NULL`)).toBe(0)
  expect(await verified(data)).toContain(`intact, content of ${runIds.length} runs erased`)
  return writes
}

test.each([
  ['S12: a host that is killed in the middle of a purge is followed by one that finishes it', purged, 8],
  ['S14: a host that is killed in the middle of an erasure is followed by one that finishes it', erased, 8],
] as const)('%s', { timeout: 300_000 }, async (_title, tell, every) => {
  const writes = await tell()
  expect(writes).toBeGreaterThanOrEqual(6)
  let killed = 0
  for (const crash of crashPoints(writes, isThorough ? 1 : every)) {
    await tell(crash)
    killed += 1
  }
  expect(killed, `seed ${SEED}`).toBeGreaterThanOrEqual(isThorough ? 2 * writes : 1)
})
