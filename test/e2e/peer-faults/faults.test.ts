import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SEED } from '../../support/crash-points.js'
import { findingsOf } from '../../support/stored-runs.js'
import { isThorough } from '../../support/thorough.js'
import { type Point, type Story, Sweep } from './sweep.js'
import { TwoHosts } from './two-hosts.js'
import { ON_A, ON_B } from './workflows.js'

/**
 * A hands work to B, and at one point of the story something goes wrong: on the way, or with one of the two. Everything
 * that is not lost for good must come to what it comes to without: the same on A, one run on B for each hand-off.
 */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-faults-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Somebody over there says yes as soon as he is asked. */
const approved: NonNullable<Story['play']> = async (two, runId) => {
  await two.until(
    'B to ask, and A to know',
    async () => (await two.a.store.readRun(null, runId))?.status === 'waiting-approval',
  )
  await two.until('the answer to be taken', async () => {
    const [run] = (await two.b.store.listRuns({ tenant: null, workflowId: 'add-asked', limit: 1 })) ?? []
    if (run === undefined || !run.status.startsWith('waiting-')) return run !== undefined
    await two
      .client('b')
      .resolveInterrupt(run.runId, 'gate', { action: 'accept' })
      .catch(() => undefined)
    return false
  })
}

/** Somebody takes the run back while B works for it. */
const cancelled: NonNullable<Story['play']> = async (two, runId) => {
  const isAtWork = async () =>
    (await two.a.store.readEvents(runId, 0)).some(({ payload }) => payload.includes('"dispatch.succeeded"'))
  await two.until('B to be at work', isAtWork)
  await two.until('the run to be stopped', async () => {
    const row = await two.a.store.readRun(null, runId)
    if (row?.status !== 'running') return true
    await two
      .client('a')
      .cancelRun(runId)
      .catch(() => undefined)
    return false
  })
}

const STORIES: readonly Story[] = [
  { workflowId: 'errands', status: 'completed', runsOnB: 3 },
  { workflowId: 'fanned', status: 'completed', runsOnB: 2 },
  { workflowId: 'asked', status: 'completed', runsOnB: 1, play: approved },
  { workflowId: 'waiting', status: 'cancelled', runsOnB: 1, play: cancelled },
]

/** Of all points of a story that many are met each time, other ones each time, so that in time all are. */
const SAMPLE = isThorough ? Number.POSITIVE_INFINITY : 90
/** In all stories together. */
const FLOOR = 300
let met = 0

const sampled = (points: readonly Point[]): readonly Point[] => {
  if (points.length <= SAMPLE) return points
  const every = points.length / SAMPLE
  return Array.from({ length: SAMPLE }, (_, i) => points[(SEED + Math.floor(i * every)) % points.length]!)
}

describe('R-XHOST-2, P1, P3, P4: one fault at one point', () => {
  it.each(STORIES)(
    '$workflowId: one run on B per hand-off, and the story is the one without the fault',
    async story => {
      const two = await TwoHosts.start({ folder: path.join(scratch, story.workflowId), a: ON_A, b: ON_B })
      const sweep = new Sweep(two, story)
      const clean = await sweep.learn()
      expect(clean.status).toBe(story.status)
      const points = sampled(sweep.points())
      for (const point of points) await sweep.meet(point)
      console.log(`${story.workflowId}: ${sweep.happened} of ${sweep.points().length} points, seed ${SEED}`)
      met += sweep.happened
      for (const side of ['a', 'b'] as const) expect(findingsOf(await two.stored(side))).toEqual([])
      expect(sweep.failures.length, sweep.failures.slice(0, 20).join('\n')).toBe(0)
      await two.stop()
    },
  )

  it('so many points were met that it says something', () => {
    expect(met).toBeGreaterThanOrEqual(FLOOR)
  })
})
