import { beforeAll, describe, expect, test } from 'vitest'
import { engineRig } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { predicatesDouble } from '../../testing/verification.js'
import { sketch } from '../../testing/workflow.js'
import { checkSchedule, type ScheduleLogEvent, type ScheduleRuleId, SCHEDULE_RULES } from './check-schedule.js'

const MINUTE = 60_000

/** Ticks on time and late, runs under way, by hand, paused and not, edited, removed and back. */
let legal: ScheduleLogEvent[]

beforeAll(async () => {
  const rig = engineRig()
  const engine = await rig.host()
  const put = async (config: object, enabled = true) => {
    const slow = sketch({ id: 'w', nodes: { a: { type: 'core.delay', config: { delayMs: 130_000 } } } })
    const triggers = [{ id: 'tick', type: 'schedule', enabled, config: { cron: '* * * * *', ...config } }]
    expect((await engine.putWorkflow('t1', { ...slow, triggers })).ok).toBe(true)
    await settled()
  }
  await put({ missed: 'all', maxMissed: 3 })
  const { scheduleId } = (await engine.schedules.list('t1', { limit: 1 })).schedules[0]!
  await rig.clock.advance(7 * MINUTE)
  await put({ missed: 'once' })
  await rig.clock.advance(10 * MINUTE)
  await engine.schedules.pause('t1', scheduleId)
  await rig.clock.advance(5 * MINUTE)
  await engine.schedules.run('t1', scheduleId)
  await rig.clock.advance(5 * MINUTE)
  await engine.schedules.resume('t1', scheduleId)
  await rig.clock.advance(5 * MINUTE)
  await put({}, false)
  await rig.clock.advance(5 * MINUTE)
  await put({ missed: 'skip' })
  await rig.clock.advance(5 * MINUTE)
  legal = (await rig.store.readEvents(scheduleId, 0)).map(({ sequence, type, at, payload }) => ({
    sequence,
    type,
    at,
    payload: JSON.parse(payload),
  }))
}, 120_000)

/** A heartbeat that has looked, and found another answer twice. */
let beats: ScheduleLogEvent[]

beforeAll(async () => {
  const rig = engineRig()
  let looks = 0
  const predicates = predicatesDouble(async () => {
    looks += 1
    return { status: 'ok', holds: looks % 3 === 0 }
  })
  const engine = await rig.host({ predicates })
  const slow = sketch({ id: 'w', nodes: { a: { type: 'core.delay', config: { delayMs: 130_000 } } } })
  const config = { intervalSeconds: 60, probes: [{ type: 'http', url: 'https://example.com' }] }
  const triggers = [{ id: 'tick', type: 'event', eventType: 'heartbeat.stateChanged', config }]
  expect((await engine.putWorkflow('t1', { ...slow, triggers })).ok).toBe(true)
  await settled()
  const { scheduleId } = (await engine.schedules.list('t1', { limit: 1 })).schedules[0]!
  await rig.clock.advance(9 * MINUTE)
  beats = (await rig.store.readEvents(scheduleId, 0)).map(event => ({ ...event, payload: JSON.parse(event.payload) }))
})

type Mutant = (events: ScheduleLogEvent[]) => void

const where = (events: readonly ScheduleLogEvent[], type: string, nth = 0): number => {
  const places = events.flatMap((event, i) => (event.type === `assay.${type}` ? [i] : []))
  const place = places.at(nth)
  if (place === undefined) throw new Error(`there is no ${type}`)
  return place
}
const set =
  (type: string, change: object, nth = 0): Mutant =>
  events => {
    const i = where(events, type, nth)
    events[i] = { ...events[i]!, payload: { ...events[i]!.payload, ...change } }
  }
const renumber = (events: ScheduleLogEvent[]): void =>
  events.forEach((event, i) => {
    events[i] = { ...event, sequence: i }
  })
const drop =
  (type: string, nth = 0): Mutant =>
  events => {
    events.splice(where(events, type, nth), 1)
    renumber(events)
  }
const again =
  (type: string, change: object = {}, nth = 0): Mutant =>
  events => {
    const i = where(events, type, nth)
    events.splice(i + 1, 0, { ...events[i]!, payload: { ...events[i]!.payload, ...change } })
    renumber(events)
  }

const MUTANTS: readonly (readonly [ScheduleRuleId, string, Mutant])[] = [
  ['C1', 'a gap', events => void events.splice(3, 1)],
  ['C1', 'time that falls', events => void events.splice(4, 1, { ...events[4]!, at: 0 })],
  ['C1', 'another beginning', drop('schedule.registered')],
  ['C2', 'a number that is left out', set('stream.run.began', { ordinal: 7 }, 1)],
  ['C2', 'a run that begins twice', again('stream.run.began')],
  ['C2', 'a tick with two runs', again('stream.run.began', { runId: 'other', ordinal: 2 })],
  ['C2', 'a judge', set('stream.run.began', { role: 'judge' })],
  ['C3', 'a run beside another', drop('schedule.run.ended')],
  ['C3', 'an end of another run', set('schedule.run.ended', { runId: 'other' })],
  ['C4', 'a run of a tick that has not come', set('stream.run.began', { tick: '2026-01-01T00:00:30.000Z' })],
  ['C4', 'a run that nobody owes', drop('arm.ticked')],
  ['C5', 'a tick that was told before', again('arm.ticked')],
  ['C5', 'a tick that was not the one set', set('arm.set', { tick: 1 })],
  ['C5', 'a tick before it is due', set('arm.set', { dueAt: 9e15 })],
  ['C5', 'a stretch that ends before it begins', set('arm.skipped', { before: 0 })],
  ['C6', 'a tick in a pause', drop('arm.resumed')],
  [
    'C6',
    'a request by hand that is not the next',
    events => {
      const i = events.findIndex(({ payload }) => 'hand' in payload)
      events[i] = { ...events[i]!, payload: { hand: 2 } }
    },
  ],
  [
    'C7',
    'a pause that leaves something in line',
    events => {
      const i = where(events, 'arm.paused')
      events.splice(i, 0, { ...events[i]!, type: 'assay.arm.ticked', payload: { ticks: [events[i]!.at - 1] } })
      renumber(events)
    },
  ],
  ['C8', 'inputs', set('schedule.registered', { inputs: { n: 1 } })],
  ['C8', 'words', set('arm.skipped', { reason: 'because I say so' })],
  ['C8', 'an event of another stream', events => void events.splice(2, 1, { ...events[2]!, type: 'goal.closed' })],
]

describe('the checker of schedules', () => {
  test('is silent on a legal log that has everything in it', () => {
    expect(checkSchedule(legal)).toEqual([])
    const types = new Set(legal.map(({ type }) => type))
    for (const type of ['skipped', 'paused', 'resumed', 'disarmed', 'ticked', 'set'])
      expect([...types]).toContain(`assay.arm.${type}`)
    expect(legal.filter(({ type }) => type === 'assay.stream.run.began').length).toBeGreaterThan(5)
  })

  test.each(MUTANTS)('%s catches %s', (rule, _, mutate) => {
    const events = legal.map(event => ({ ...event }))
    mutate(events)
    expect(checkSchedule(events).map(finding => finding.rule)).toContain(rule)
  })

  const at = (events: readonly ScheduleLogEvent[], type: string, nth = 0) =>
    events.flatMap((event, i) => (event.type === type ? [i] : [])).at(nth)!
  const changed =
    (i: number, change: object): Mutant =>
    events => {
      events[i] = { ...events[i]!, payload: { ...events[i]!.payload, ...change } }
    }
  const gone =
    (i: number): Mutant =>
    events => {
      events.splice(i, 1)
      renumber(events)
    }

  test.each<[string, () => Mutant]>([
    ['a change that is not told', () => gone(at(beats, 'heartbeat.stateChanged'))],
    ['a change without its tick', () => gone(at(beats, 'assay.arm.ticked'))],
    ['a tick without a change', () => changed(at(beats, 'heartbeat.evaluated', 2), { changed: false })],
    ['a change that was not found out', () => changed(at(beats, 'heartbeat.evaluated', 2), { status: 'timeout' })],
    ['a look before it is due', () => changed(at(beats, 'assay.arm.set'), { dueAt: 9e15 })],
    [
      'a look while a run is under way',
      () => events => {
        const began = at(events, 'assay.stream.run.began')
        events.splice(began + 1, 0, { ...events[at(events, 'heartbeat.evaluated')]!, at: events[began]!.at })
        renumber(events)
      },
    ],
  ])('C9 catches %s', (_, mutant) => {
    expect(checkSchedule(beats)).toEqual([])
    const events = beats.map(event => ({ ...event }))
    mutant()(events)
    expect(checkSchedule(events).map(finding => finding.rule)).toContain('C9')
  })

  test('C4 catches a refusal of what is not in line', () => {
    const events = [...legal]
    events.push({
      ...events.at(-1)!,
      sequence: events.length,
      type: 'assay.schedule.refused',
      payload: { tick: 'x', code: 'y' },
    })
    expect(checkSchedule(events).map(({ rule }) => rule)).toEqual(['C4'])
  })

  test('every rule has a mutant', () => {
    expect([...new Set([...MUTANTS.map(([rule]) => rule), 'C9'])].sort()).toEqual(Object.keys(SCHEDULE_RULES))
  })
})
