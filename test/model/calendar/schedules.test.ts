import { expect, test } from 'vitest'
import { engineRig } from '../../../src/testing/engine-rig.js'
import { sketch } from '../../../src/testing/workflow.js'
import { minutesOf, ticksOf } from './year.js'

/**
 * A year of schedules on the real engine, under a clock that is moved: the runs that there are in the end, against a wall
 * clock of the zone that is read every minute (`year.ts`).
 */

const DAY = 86_400_000
/** The clock of tests starts here. */
const START = Date.UTC(2026, 0, 1)

const SCHEDULES = [
  ['Europe/Berlin', '30 2 * * *'],
  ['America/New_York', '30 1 * * *'],
  ['Australia/Lord_Howe', '15 2 * * *'],
  ['Europe/Berlin', '*/30 1-3 * * SUN'],
  ['America/New_York', '0 1-3 * * SAT,SUN'],
  ['Australia/Lord_Howe', '0,30 1,2 1-7 * *'],
] as const

test('a year of schedules across changes of clocks has a run for each time there was, and no other', async () => {
  const rig = engineRig()
  // What is due between two sweeps is watched by timers: the sweep itself may be rare.
  const engine = await rig.host({ sweepMs: DAY / 4, leaseMs: 10 * DAY, cachedRuns: 50 })
  for (const [i, [timezone, cron]] of SCHEDULES.entries()) {
    const definition = {
      ...sketch({ id: `w${i}`, nodes: { a: 'core.noop' } }),
      triggers: [{ id: 'tick', type: 'schedule', config: { cron, timezone } }],
    }
    expect((await engine.putWorkflow('t1', definition)).ok).toBe(true)
  }
  await rig.clock.advance(365 * DAY)
  const zones = [...new Set(SCHEDULES.map(([timezone]) => timezone))]
  const clocks = new Map(zones.map(timezone => [timezone, minutesOf(timezone, 2026)]))
  for (const [i, [timezone, cron]] of SCHEDULES.entries()) {
    const expected = ticksOf(cron, clocks.get(timezone)!).filter(at => at > START && at <= START + 365 * DAY)
    const begun: number[] = []
    const late: number[] = []
    for (let before: string | undefined; ; ) {
      const page = await engine.list({ tenant: 't1', workflowId: `w${i}`, limit: 200, ...(before ? { before } : {}) })
      for (const { runId, createdAt } of page) {
        const [started] = (await engine.readEvents('t1', runId, 0, 1)) ?? []
        const tick = Date.parse(JSON.parse(started!.payload).metadata.tick)
        begun.push(tick)
        if (createdAt !== tick) late.push(tick)
      }
      before = page.at(-1)?.runId
      if (page.length < 200) break
    }
    expect(expected.length).toBeGreaterThan(300)
    const shown = (ticks: readonly number[]) => ticks.map(at => new Date(at).toISOString())
    expect(shown(begun.sort((a, b) => a - b))).toEqual(shown(expected))
    expect(late).toEqual([])
  }
})
