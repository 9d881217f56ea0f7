import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SEED } from '../../support/crash-points.js'
import { findingsOf } from '../../support/stored-runs.js'
import { isThorough } from '../../support/thorough.js'
import { type PlannedFault, REQUEST_FAULTS, STREAM_FAULTS } from './fault-proxy.js'
import { handedTo, plotOf } from './plot.js'
import { TwoHosts } from './two-hosts.js'
import { ON_A, ON_B } from './workflows.js'

/** Many hand-offs at once while the way between the hosts is bad and both die again and again. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-chaos-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const RUNS = isThorough ? 60 : 8
const HANDOFFS = 3
/** Of so many requests every third goes wrong; after them the way is good again. */
const BAD_REQUESTS = RUNS * 30
const DEATHS = isThorough ? 60 : 6

/** The same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function badWay(next: (below: number) => number): PlannedFault[] {
  const faults = [...REQUEST_FAULTS, ...STREAM_FAULTS]
  return Array.from({ length: BAD_REQUESTS }, (_, at) => ({
    at,
    fault: faults[next(faults.length)]!,
    after: next(4),
  })).filter(() => next(3) === 0)
}

describe('P1, P3, P4: everything at once', () => {
  it(`seed ${SEED}: one run on B per hand-off, and each run of A is as it would be without`, async () => {
    const next = numbers(SEED)
    const two = await TwoHosts.start({
      folder: path.join(scratch, 'chaos'),
      a: ON_A,
      b: ON_B,
      lostAfter: 24 * 3_600_000,
    })
    const calm = await two.begin('errands', 'calm')
    await two.ended(calm)
    const familyOf = async (runId: string) => {
      const onA = (await two.stored('a')).filter(run => run.runId === runId || run.row?.parentRunId === runId)
      const named = new Set(handedTo(onA))
      const onB = (await two.stored('b')).filter(run => named.has(run.runId))
      return plotOf([...onA, ...onB])
    }
    const expected = await familyOf(calm)
    const before = (await two.stored('b')).length

    two.proxy.plan(...badWay(next))
    let left = DEATHS
    // Each in turn lives to see some writes, and no more.
    const doom = () => {
      const side = left % 2 === 0 ? two.a : two.b
      if (left === 0 || side.isDead || side.isDoomed) return
      left -= 1
      side.arm({ at: 1 + next(25), when: next(2) === 0 ? 'before' : 'after' })
    }
    const runIds: string[] = []
    for (let i = 0; i < RUNS; i += 1) runIds.push(await two.begin('errands', `run-${i}`))
    await two.until('all runs to end', async () => {
      doom()
      const rows = await Promise.all(runIds.map(runId => two.a.store.readRun(null, runId)))
      return rows.every(row => row?.endedAt !== null)
    })
    const { faults } = two.proxy
    const deaths = two.a.deaths + two.b.deaths
    console.log(`${faults} faults of ${two.proxy.passed.length} requests, ${deaths} deaths, seed ${SEED}`)
    expect(faults).toBeGreaterThan(RUNS * 5)
    expect(deaths).toBeGreaterThan(DEATHS / 3)
    for (const runId of runIds) expect(await familyOf(runId)).toEqual(expected)
    expect((await two.stored('b')).length - before).toBe(RUNS * HANDOFFS)
    for (const side of ['a', 'b'] as const) expect(findingsOf(await two.stored(side))).toEqual([])
    await two.stop()
  })
})
