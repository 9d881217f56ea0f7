import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/store/sqlite/driver.js'
import { HostProcess, isTerminal, until } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { writeProject } from './workflows.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-syscalls-'))
const project = writeProject(scratch, 'linear')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const CALLS = 'pwrite64,fsync,fdatasync'
/** How many points of each sweep are tried; they are spread evenly over all there are. */
const POINTS = { SIGKILL: 6, EIO: 4, ENOSPC: 4 }

const STRACE = ['strace', '-f', '-e', `trace=${CALLS}`]
/** Faster, for only these calls stop the host; but a signal that is to come with one of them does not. */
const FILTERED = [...STRACE, '--seccomp-bpf']

const hasStrace = (() => {
  try {
    execFileSync('strace', [...FILTERED.slice(1), '-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

let count = 0
const fresh = () => {
  count += 1
  const data = path.join(scratch, `p${count}`)
  return { data, database: `sqlite:${data}/assay.db`, project }
}

/** Creates a run with a key and waits for its end, for as long as the host answers. */
async function useHost(host: HostProcess, key: string): Promise<{ acknowledged: string[]; refused: number }> {
  const acknowledged: string[] = []
  let refused = 0
  for (let i = 0; i < 4; i += 1) {
    const answer = await host
      .call('POST', '/v1/runs', { workflowId: 'linear' }, { 'idempotency-key': `${key}-${i}` })
      .catch(() => undefined)
    if (answer?.status === 201) acknowledged.push(answer.body.runId)
    else if (answer) {
      expect([500, 503]).toContain(answer.status)
      refused += 1
    } else break
  }
  return { acknowledged, refused }
}

/** The host comes back, every acknowledged run is there and ends, and the log is legal. */
async function recovered(settings: ReturnType<typeof fresh>, acknowledged: readonly string[]): Promise<void> {
  const host = await HostProcess.spawn(settings)
  await host.url()
  for (const runId of acknowledged)
    await until(`run ${runId} to end`, async () =>
      isTerminal((await host.call('GET', `/v1/runs/${runId}`)).body.status),
    )
  await host.handOver()
  expect(findingsOf(await storedRuns(settings.database))).toEqual([])
  const database = openDatabase(`${settings.data}/assay.db`, 0)
  expect(database.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' })
  database.close()
}

const spread = (total: number, points: number): number[] =>
  Array.from({ length: points }, (_, i) => 1 + Math.floor((i * total) / points))

/** How many such calls a host makes while it serves; what it writes when it is stopped comes after every fault. */
async function countCalls(): Promise<number> {
  const settings = fresh()
  const trace = path.join(scratch, 'trace')
  const host = await HostProcess.spawn({ ...settings, under: [...FILTERED, '-o', trace] })
  await host.url()
  const { acknowledged } = await useHost(host, 'dry')
  for (const runId of acknowledged)
    await until('the run to end', async () => isTerminal((await host.call('GET', `/v1/runs/${runId}`)).body.status))
  const served = readFileSync(trace, 'utf8')
  await host.finish()
  const calls = served.split('\n').filter(line => /(pwrite64|fsync|fdatasync)\(/.test(line)).length
  // strace counts the calls of each thread apart, so later points than this are often not reached.
  return Math.ceil(calls * 0.4)
}

describe.runIf(hasStrace)('F1, F5: faults at system calls, SQLite (needs strace)', () => {
  let total: number
  beforeAll(async () => {
    total = await countCalls()
    expect(total).toBeGreaterThan(20)
  })

  it('SIGKILL at the n-th write or sync: nothing acknowledged is lost, the log stays legal', async () => {
    let kills = 0
    for (const at of spread(total, POINTS.SIGKILL)) {
      const settings = fresh()
      const host = await HostProcess.spawn({
        ...settings,
        under: [...STRACE, '-o', '/dev/null', '-e', `inject=${CALLS}:signal=SIGKILL:when=${at}`],
      })
      const url = await host.url()
      const { acknowledged } = url ? await useHost(host, `kill-${at}`) : { acknowledged: [] }
      const died = await Promise.race([
        host.exited.then(() => true),
        until('the end', () => false, 3_000).catch(() => false),
      ])
      if (died) kills += 1
      else await host.finish().catch(() => undefined)
      await recovered(settings, acknowledged)
    }
    console.log(`${kills} kills at ${total} system calls`)
    expect(kills).toBeGreaterThan(POINTS.SIGKILL / 2)
  })

  it.each(['EIO', 'ENOSPC'] as const)(
    '%s at the n-th write or sync: no answer claims what is not stored',
    async error => {
      let faults = 0
      for (const at of spread(total, POINTS[error] + 1).slice(1)) {
        const settings = fresh()
        const trace = `${settings.data}.trace`
        const host = await HostProcess.spawn({
          ...settings,
          under: [...FILTERED, '-o', trace, '-e', `inject=${CALLS}:error=${error}:when=${at}`],
        })
        const url = await host.url()
        const { acknowledged } = url ? await useHost(host, `fail-${at}`) : { acknowledged: [] }
        if (url) await host.signal('SIGKILL')
        await host.exited
        if (readFileSync(trace, 'utf8').includes('INJECTED')) faults += 1
        await recovered(settings, acknowledged)
      }
      console.log(`${faults} times ${error}`)
      expect(faults).toBeGreaterThan(POINTS[error] / 3)
    },
  )
})
