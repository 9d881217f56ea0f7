import { describe, expect, test } from 'vitest'
import type { ScheduleArm } from '../arm/arm.js'
import { decideSchedule, type ScheduleInput } from './decide.js'
import { type ScheduleEffect, scheduleEffects, scheduleStatus, scheduleWakeAt } from './effects.js'
import type { ScheduledWork, ScheduleRecorded } from './events.js'
import { evolveSchedule } from './evolve.js'
import type { ScheduleState } from './state.js'

const MINUTE = 60_000
const ID = 'schedule-1'
const work: ScheduledWork = { workflowId: 'report', triggerId: 'daily', inputs: { n: 1 }, principal: 'ada' }
const arm: ScheduleArm = {
  kind: 'schedule',
  cron: '* * * * *',
  timezone: 'UTC',
  missed: { policy: 'once' },
  jitterMs: 0,
}
const REGISTER: ScheduleInput = { type: 'Register', scheduleId: ID, tenant: 'acme', work, arm }

class Story {
  state: ScheduleState = { phase: 'absent' }
  readonly events: ScheduleRecorded[] = []

  put(now: number, input: ScheduleInput): string[] {
    const decision = decideSchedule(this.state, { ...input, now })
    if (!decision.ok) return [decision.refusal.code]
    this.events.push(...decision.events)
    this.state = decision.state
    return decision.events.map(({ type }) => type.replace(/^assay\./, ''))
  }

  get owed(): ScheduleEffect | undefined {
    return scheduleEffects(this.state)[0]
  }

  ticks(now: number, ticks: number[], next: number, begun?: { runId: string; tick: string }): string[] {
    const { owed } = this
    if (owed?.kind !== 'find-ticks') throw new Error(`owed is ${owed?.kind}`)
    const found = { type: 'TicksFound' as const, round: owed.round, ticks, more: false, next }
    return this.put(now, begun ? { ...found, begun } : found)
  }
}

/** Registered at 0, its first tick at one minute. */
function given(): Story {
  const story = new Story()
  expect(story.put(0, REGISTER)).toEqual(['schedule.registered', 'arm.armed'])
  expect(story.ticks(0, [], MINUTE)).toEqual(['arm.set'])
  return story
}

const at = (minute: number) => new Date(minute * MINUTE).toISOString()

describe('a schedule', () => {
  test('R-ARM-1: begins a run in the decision that hears of its tick, names the tick there, and waits for the end', () => {
    const story = given()
    const begun = { runId: 'r1', tick: at(1) }
    expect(story.ticks(MINUTE, [], 2 * MINUTE, begun)).toEqual(['arm.ticked', 'arm.set', 'stream.run.began'])
    expect(story.events.at(-1)?.payload).toEqual({ role: 'work', ordinal: 1, runId: 'r1', tick: at(1) })
    expect(story.owed).toMatchObject({ kind: 'watch-run', runId: 'r1', watches: true })
    expect(story.put(9 * MINUTE, { type: 'RunEnded', runId: 'other', outcome: 'failed' })).toEqual([])
    expect(story.put(9 * MINUTE, { type: 'RunEnded', runId: 'r1', outcome: 'failed' })).toEqual(['schedule.run.ended'])
    expect(story.state).toMatchObject({ run: null, latest: { runId: 'r1', tick: at(1), outcome: 'failed' } })
    const next = { runId: 'r2', tick: at(9) }
    const ticks = [2, 3, 4, 5, 6, 7, 8, 9].map(minute => minute * MINUTE)
    expect(story.ticks(9 * MINUTE, ticks.slice(-1), 10 * MINUTE, next)).toEqual([
      'arm.skipped',
      'arm.ticked',
      'arm.set',
      'stream.run.began',
    ])
  })

  test('R-ARM-1: no run begins that another tick was made ready for, or that nothing owes', () => {
    const story = given()
    expect(story.ticks(MINUTE, [], 2 * MINUTE, { runId: 'r1', tick: at(7) })).toEqual(['arm.ticked', 'arm.set'])
    expect(story.owed).toMatchObject({ kind: 'start-run', tick: { tick: MINUTE } })
    expect(story.put(MINUTE, { type: 'RunReady', begun: { runId: 'r1', tick: at(7) } })).toEqual([])
    expect(story.put(MINUTE, { type: 'RunReady', begun: { runId: 'r1', tick: at(1) } })).toEqual(['stream.run.began'])
    expect(story.put(MINUTE, { type: 'RunReady', begun: { runId: 'r2', tick: at(1) } })).toEqual([])
  })

  test('a run that cannot be started is tried again later, for as long as that may help', () => {
    const story = given()
    story.ticks(MINUTE, [], 2 * MINUTE)
    const refused = { type: 'RunRefused', tick: at(1), code: 'service_unavailable', mayHelpLater: true } as const
    expect(story.put(MINUTE, refused)).toEqual(['schedule.held'])
    expect(story.owed).toMatchObject({ kind: 'start-run', notBefore: MINUTE + 1_000 })
    expect(scheduleWakeAt(story.state)).toBe(MINUTE + 1_000)
    for (let i = 0; i < 20; i++) story.put(MINUTE, refused)
    expect(story.state).toMatchObject({ held: { failures: 21, until: MINUTE + 300_000 } })
    expect(story.put(MINUTE, { ...refused, tick: at(9) })).toEqual([])
    expect(story.put(MINUTE, { ...refused, code: 'validation_error', mayHelpLater: false })).toEqual([
      'schedule.refused',
    ])
    expect(story.state).toMatchObject({ held: null, run: null, arm: { owed: [] } })
    expect(story.owed).toMatchObject({ kind: 'find-ticks', notBefore: 2 * MINUTE })
  })

  test('by hand: at once, with a name of its own, never beside another', () => {
    const story = given()
    expect(story.put(10, { type: 'RunNow' })).toEqual(['arm.ticked'])
    expect(story.put(10, { type: 'RunNow' })).toEqual(['schedule_busy'])
    expect(story.put(10, { type: 'RunReady', begun: { runId: 'r1', tick: 'hand:1' } })).toEqual(['stream.run.began'])
    expect(story.put(20, { type: 'RunNow' })).toEqual(['schedule_busy'])
    story.put(30, { type: 'RunEnded', runId: 'r1', outcome: 'completed' })
    story.put(30, { type: 'Pause' })
    expect(story.put(40, { type: 'RunNow' })).toEqual(['arm.ticked'])
    expect(story.owed).toMatchObject({ kind: 'start-run', tick: { hand: 2 } })
    // The tick of the schedule is still there, afterwards.
    expect(story.events.filter(({ type }) => type === 'assay.arm.set')).toHaveLength(1)
  })

  test('registered again as it is, it goes on as it was; changed, from now on, and paused if it was paused', () => {
    const story = given()
    expect(story.put(10, REGISTER)).toEqual([])
    expect(story.put(10, { ...REGISTER, work: { ...work, inputs: { n: 2 } } })).toEqual(['schedule.registered'])
    expect(scheduleWakeAt(story.state)).toBe(MINUTE)
    story.put(20, { type: 'Pause' })
    const other = { ...REGISTER, work: { ...work, inputs: { n: 2 } }, arm: { ...arm, cron: '0 * * * *' } }
    expect(story.put(30, other)).toEqual(['arm.armed', 'arm.paused'])
    expect(scheduleWakeAt(story.state)).toBe(null)
    expect(story.put(40, { type: 'Resume' })).toEqual(['arm.resumed'])
    expect(story.owed).toMatchObject({ kind: 'find-ticks', cron: '0 * * * *', after: 40 })
  })

  test('removed, it does nothing more; what is under way ends; registered again, it begins anew', () => {
    const story = given()
    story.ticks(MINUTE, [], 2 * MINUTE, { runId: 'r1', tick: at(1) })
    expect(story.put(MINUTE, { type: 'Remove' })).toEqual(['schedule.removed', 'arm.disarmed'])
    expect(story.put(MINUTE, { type: 'Remove' })).toEqual([])
    for (const type of ['Pause', 'Resume', 'RunNow'] as const)
      expect(story.put(MINUTE, { type })).toEqual(['not_found'])
    expect(story.put(2 * MINUTE, { type: 'RunEnded', runId: 'r1', outcome: 'completed' })).toEqual([
      'schedule.run.ended',
    ])
    expect([story.owed, scheduleWakeAt(story.state), scheduleStatus(story.state)]).toEqual([
      undefined,
      null,
      'cancelled',
    ])
    expect(story.put(3 * MINUTE, REGISTER)).toEqual(['arm.armed'])
    expect(story.owed).toMatchObject({ kind: 'find-ticks', after: 3 * MINUTE })
  })

  test('at which hosts die again and again it is paused, until somebody resumes it', () => {
    const story = given()
    expect(story.put(5, { type: 'Poisoned', attempts: 6 })).toEqual(['schedule.quarantined', 'arm.paused'])
    expect([story.owed, scheduleStatus(story.state)]).toEqual([undefined, 'paused'])
  })

  test('its log is dense, its time never goes back, its payloads have no inputs, and it folds to the same', () => {
    const story = given()
    story.ticks(MINUTE, [], 2 * MINUTE, { runId: 'r1', tick: at(1) })
    story.put(5, { type: 'RunEnded', runId: 'r1', outcome: 'cancelled' })
    expect(story.events.map(({ sequence }) => sequence)).toEqual(story.events.map((_, i) => i))
    expect(story.events.at(-1)?.at).toBe(MINUTE)
    expect(JSON.stringify(story.events.map(({ payload }) => payload))).not.toContain('"n":1')
    const folded = story.events.reduce<ScheduleState>(evolveSchedule, { phase: 'absent' })
    expect(JSON.parse(JSON.stringify(folded))).toEqual(JSON.parse(JSON.stringify(story.state)))
  })
})
