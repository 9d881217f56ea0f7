import { expect, test } from 'vitest'
import { cronCalendar } from '../../../src/calendar/cron-calendar.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { engineRig } from '../../../src/testing/engine-rig.js'
import { goalHost, made, stateOf } from '../../../src/testing/goal-rig.js'
import { inspectorDouble } from '../../../src/testing/verification.js'
import { minutesOf, ticksOf } from './year.js'

/** A year of goals on schedules, under a clock that is moved, against a wall clock that is read every minute (`year.ts`). */

const DAY = 86_400_000
/** The clock of tests starts here. */
const START = Date.UTC(2026, 0, 1)
const STEP = { id: 'step', nodes: { a: 'core.noop' } } as const

const ZONES = [
  ['Europe/Berlin', '30 2 * * *'],
  ['America/New_York', '30 1 * * *'],
  ['Australia/Lord_Howe', '15 2 * * *'],
] as const

const completion = {
  check: 'host',
  verifierRef: null,
  probes: [{ probe_id: 'done', type: 'equals', value: 1 }],
} as const
const unmet = inspectorDouble(async () => [{ probeId: 'done', dimension: 'goal', outcome: 'failed', evidence: [] }])

const onSchedule = (cron: string, timezone: string) =>
  ({
    completion,
    continuation: {
      mode: 'schedule',
      armRef: null,
      arm: { kind: 'schedule', cron, timezone, missed: { policy: 'once' }, jitterMs: 0 },
    },
    bounds: { maxLoopIterations: 1_000 },
  }) as const

test('R-GOAL-14: goals on schedules have a run for each time there was in a year, across changes of clocks', async () => {
  const rig = engineRig()
  const options = { workflow: STEP as never, calendar: cronCalendar(), inspector: unmet }
  const host = await goalHost(rig, [], { ...options, sweepMs: DAY / 4, leaseMs: 10 * DAY })
  const ids: string[] = []
  for (const [timezone, cron] of ZONES) ids.push((await made(host, onSchedule(cron, timezone))).goalId)
  await rig.clock.advance(365 * DAY)
  for (const [i, [timezone, cron]] of ZONES.entries()) {
    const expected = ticksOf(cron, minutesOf(timezone, 2026)).filter(at => at > START && at <= START + 365 * DAY)
    const { contributing, finished } = await stateOf(host, ids[i]!)
    const begun: number[] = []
    for (const runId of contributing) {
      const [started] = await rig.store.readEvents(runId, 0, 1)
      begun.push(JSON.parse(started!.payload).metadata.tick)
    }
    expect(expected.length).toBeGreaterThan(360)
    expect(begun.map(at => new Date(at).toISOString())).toEqual(expected.map(at => new Date(at).toISOString()))
    expect(finished).toBe(expected.length)
  }
}, 120_000)

/** Calls of the store while `many` goals wait for a far time, and three are due each minute. */
async function costOf(many: number) {
  const rig = engineRig()
  const seen = { calls: 0, due: 0 }
  const store = new Proxy(rig.store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'onHint') return value?.bind?.(target) ?? value
      return async (...parameters: unknown[]) => {
        seen.calls += 1
        const result = await value.apply(target, parameters)
        if (name === 'dueRuns') seen.due += result.length
        return result
      }
    },
  }) as Store
  const options = { workflow: STEP as never, calendar: cronCalendar(), inspector: unmet, store, cachedRuns: 10 }
  const host = await goalHost(rig, [], options)
  for (let i = 0; i < many; i += 1) await made(host, onSchedule('0 0 1 12 *', 'UTC'))
  for (let i = 0; i < 3; i += 1) await made(host, onSchedule('* * * * *', 'UTC'))
  await rig.clock.advance(120_000)
  seen.calls = 0
  seen.due = 0
  await rig.clock.advance(180_000)
  return seen
}

test('only goals that are due are looked at: those that wait for later cost no query and no look', async () => {
  const few = await costOf(0)
  expect(few.due).toBeGreaterThan(0)
  expect(await costOf(200)).toEqual(few)
}, 120_000)
