import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Arm, type ArmTick, GRACE_MS, type Missed, mostOwed, offsetOf } from './arm.js'
import { type ArmInput, type ArmTold, armDisarms, armed, armHears, armPauses, armResumes, isFree } from './decide.js'
import { armOwes, armPending, armWakeAt } from './effects.js'
import type { ArmFact } from './events.js'
import { armBegan, evolveArm } from './evolve.js'
import { type ArmState, UNARMED } from './state.js'

const MINUTE = 60_000
const STREAM = 'stream-1'

/** A stream that has nothing but an arm, in a world whose schedules have a tick every minute. */
class Standing {
  state: ArmState = UNARMED
  now = 0
  busy = false
  freeSince: number | null = null
  readonly facts: ArmFact[] = []
  readonly runs: ArmTick[] = []

  get told(): ArmTold {
    return { stream: STREAM, now: this.now, busy: this.busy, freeSince: this.freeSince }
  }

  tell(facts: readonly ArmFact[]): ArmFact[] {
    for (const fact of facts) this.state = evolveArm(this.state, fact)
    this.facts.push(...facts)
    return [...facts]
  }

  arm(arm: Arm): ArmFact[] {
    return this.tell(armed(this.state, arm, this.told))
  }

  hear(input: ArmInput): ArmFact[] {
    return this.tell(armHears(this.state, input, this.told))
  }

  /** Does what is owed now, as a host would. */
  look(holds: boolean | null = null): void {
    for (;;) {
      const tick = armOwes(this.state, this.busy)
      if (tick !== undefined) {
        this.state = armBegan(this.state, tick)
        this.runs.push(tick)
        this.busy = true
        return
      }
      const effect = armPending(STREAM, this.state, this.busy).find(({ notBefore }) => notBefore <= this.now)
      const before = this.state
      if (effect?.kind === 'find-ticks') this.hear({ type: 'TicksFound', ...everyMinute(effect, this.now) })
      else if (effect?.kind === 'ask-predicate')
        this.hear({ type: 'PredicateAnswered', round: effect.round, status: holds === null ? 'error' : 'ok', holds })
      else if (this.now >= (armWakeAt(this.state, this.busy) ?? Number.POSITIVE_INFINITY))
        this.hear({ type: 'TimeCame' })
      if (this.state === before) return
    }
  }

  ended(): void {
    this.busy = false
    this.freeSince = this.now
  }
}

function everyMinute(
  { round, after, offset, latest }: Extract<ReturnType<typeof armPending>[number], { kind: 'find-ticks' }>,
  now: number,
) {
  const until = Math.floor((now - offset) / MINUTE)
  const first = Math.floor(after / MINUTE) + 1
  const all = Array.from({ length: Math.max(0, until - first + 1) }, (_, i) => (first + i) * MINUTE)
  return {
    round,
    ticks: all.slice(-latest),
    more: all.length > latest,
    next: (Math.max(until, first - 1) + 1) * MINUTE,
  }
}

const schedule = (missed: Missed, jitterMs = 0): Arm => ({
  kind: 'schedule',
  cron: '* * * * *',
  timezone: 'UTC',
  missed,
  jitterMs,
})
const minutes = (ticks: readonly ArmTick[]) =>
  ticks.map(one => ('tick' in one ? one.tick / MINUTE : `hand ${one.hand}`))
const kinds = (facts: readonly ArmFact[]) => facts.map(({ type }) => type.replace('assay.arm.', ''))

describe('a schedule', () => {
  test('R-ARM-1: a tick that is heard of twice has one run', () => {
    const one = new Standing()
    one.arm(schedule({ policy: 'once' }))
    one.look()
    expect(one.state.at).toEqual({ phase: 'set', tick: MINUTE, dueAt: MINUTE })
    one.now = MINUTE
    const [effect] = armPending(STREAM, one.state, false)
    if (effect?.kind !== 'find-ticks') throw new Error('nothing is asked')
    const heard: ArmInput = { type: 'TicksFound', ...everyMinute(effect, one.now) }
    expect(kinds(one.hear(heard))).toEqual(['ticked', 'set'])
    expect(one.hear(heard)).toEqual([])
    one.look()
    one.ended()
    expect(one.hear(heard)).toEqual([])
    expect(minutes(one.runs)).toEqual([1])
  })

  test('nothing comes of a tick before it is due, and of none that the calendar invents before the recorded one', () => {
    const one = new Standing()
    one.arm(schedule({ policy: 'all', most: 10 }))
    one.look()
    const { round } = one.state
    one.now = MINUTE - 1
    expect(one.hear({ type: 'TicksFound', round, ticks: [MINUTE], more: false, next: 2 * MINUTE })).toEqual([])
    one.now = 2 * MINUTE
    one.hear({ type: 'TicksFound', round, ticks: [30_000, MINUTE, 2 * MINUTE, 3 * MINUTE], more: false, next: 90_000 })
    expect(minutes(one.state.owed)).toEqual([1, 2])
    // A next tick that lies behind those told is none.
    expect(one.state.at.phase).toBe('spent')
  })

  test.each<[string, Missed, { at: number; runs: number[]; skipped: unknown[] }]>([
    [
      'skip, long after',
      { policy: 'skip' },
      { at: 10.5 * MINUTE + GRACE_MS, runs: [11], skipped: [[1, 11, 'missed']] },
    ],
    ['once', { policy: 'once' }, { at: 10.5 * MINUTE, runs: [10], skipped: [[1, 10, 'missed']] }],
    ['all up to 3', { policy: 'all', most: 3 }, { at: 10.5 * MINUTE, runs: [8, 9, 10], skipped: [[1, 8, 'missed']] }],
    ['all up to 100', { policy: 'all', most: 100 }, { at: 3.5 * MINUTE, runs: [1, 2, 3], skipped: [] }],
  ])('after a silence: %s', (_, missed, { at, runs, skipped }) => {
    const one = new Standing()
    one.arm(schedule(missed))
    one.look()
    one.now = at
    one.look()
    for (let i = 0; i < runs.length; i++) {
      one.ended()
      if (i + 1 < runs.length) one.look()
    }
    expect(minutes(one.runs)).toEqual(runs)
    const told = one.facts.flatMap(fact =>
      fact.type === 'assay.arm.skipped'
        ? [[fact.payload.from / MINUTE, fact.payload.before / MINUTE, fact.payload.reason]]
        : [],
    )
    expect(told).toEqual(skipped)
  })

  test('skip: a tick too late is missed, one that found the stream busy is skipped as that', () => {
    const late = new Standing()
    late.arm({ ...schedule({ policy: 'skip' }), cron: '0 0 1 1 *' } as Arm)
    const { round } = late.state
    late.hear({ type: 'TicksFound', round, ticks: [], more: false, next: 0 + MINUTE })
    late.now = 2 * MINUTE + 1
    const facts = late.hear({ type: 'TicksFound', round: late.state.round, ticks: [], more: false, next: 60 * MINUTE })
    expect(facts[0]).toEqual({
      type: 'assay.arm.skipped',
      payload: { from: MINUTE, before: MINUTE + 1, reason: 'missed' },
    })
    const busy = new Standing()
    busy.arm(schedule({ policy: 'skip' }))
    busy.look()
    busy.now = MINUTE
    busy.look()
    busy.now = 2 * MINUTE + 30_000
    busy.ended()
    busy.look()
    expect(busy.facts.filter(({ type }) => type === 'assay.arm.skipped')).toEqual([
      { type: 'assay.arm.skipped', payload: { from: 2 * MINUTE, before: 2 * MINUTE + 1, reason: 'busy' } },
    ])
    expect(minutes(busy.runs)).toEqual([1])
  })

  test('R-ARM-1: no run beside one that is under way; while it is, nobody looks at the arm', () => {
    const one = new Standing()
    one.arm(schedule({ policy: 'all', most: 5 }))
    one.look()
    one.now = MINUTE
    one.look()
    expect([one.busy, armWakeAt(one.state, true), armPending(STREAM, one.state, true)]).toEqual([true, null, []])
    one.now = 4 * MINUTE
    one.look()
    expect(one.hear({ type: 'TicksFound', round: one.state.round, ticks: [], more: false, next: 9 * MINUTE })).toEqual(
      [],
    )
    expect(minutes(one.runs)).toEqual([1])
    for (let i = 0; i < 3; i++) {
      one.ended()
      one.look()
    }
    expect(minutes(one.runs)).toEqual([1, 2, 3, 4])
  })

  test('paused it is owed nothing, and what fell into the pause never happened', () => {
    const one = new Standing()
    one.arm(schedule({ policy: 'all', most: 5 }))
    one.look()
    one.now = 3 * MINUTE
    one.look()
    expect(kinds(one.tell(armPauses(one.state)))).toEqual(['skipped', 'paused'])
    one.ended()
    expect([armWakeAt(one.state, false), armPending(STREAM, one.state, false)]).toEqual([null, []])
    one.now = 100.5 * MINUTE
    one.tell(armResumes(one.state, one.told))
    one.look()
    one.now = 101 * MINUTE
    one.look()
    expect(minutes(one.runs)).toEqual([1, 101])
    expect([armPauses({ ...one.state, at: { phase: 'paused', tick: null } }), armResumes(one.state, one.told)]).toEqual(
      [[], []],
    )
  })

  test('by hand a run is started also while it is paused, and not beside another', () => {
    const one = new Standing()
    one.arm(schedule({ policy: 'once' }))
    one.look()
    one.tell(armPauses(one.state))
    one.hear({ type: 'AskedByHand' })
    expect(one.hear({ type: 'AskedByHand' })).toEqual([])
    one.look()
    expect(one.hear({ type: 'AskedByHand' })).toEqual([])
    one.ended()
    one.hear({ type: 'AskedByHand' })
    one.look()
    expect(minutes(one.runs)).toEqual(['hand 1', 'hand 2'])
  })

  test('an edit and a closing drop what is owed', () => {
    const one = new Standing()
    one.arm(schedule({ policy: 'all', most: 5 }))
    one.look()
    one.now = 3 * MINUTE
    one.hear({ type: 'TicksFound', ...everyMinute(armPending(STREAM, one.state, false)[0] as never, one.now) })
    expect(one.state.owed).toHaveLength(3)
    expect(kinds(one.arm(schedule({ policy: 'once' })))).toEqual(['skipped', 'armed'])
    expect(one.state).toMatchObject({ owed: [], at: { phase: 'seeking', after: 3 * MINUTE } })
    one.hear({ type: 'AskedByHand' })
    expect(kinds(one.tell(armDisarms(one.state)))).toEqual(['disarmed'])
    expect([armOwes(one.state, false), armWakeAt(one.state, false), armDisarms(one.state)]).toEqual([
      undefined,
      null,
      [],
    ])
  })

  test('jitter is the same for every tick of a stream and on every host, and spreads streams', () => {
    const arm = schedule({ policy: 'once' }, 30_000)
    const offsets = Array.from({ length: 1_000 }, (_, i) => offsetOf(`stream-${i}`, arm))
    expect(Math.max(...offsets)).toBeLessThanOrEqual(30_000)
    for (let third = 0; third < 3; third++)
      expect(offsets.filter(ms => Math.floor(ms / 10_001) === third).length).toBeGreaterThan(250)
    const one = new Standing()
    one.arm(arm)
    one.look()
    const offset = offsetOf(STREAM, arm)
    expect(offset).toBeGreaterThan(0)
    expect(one.state.at).toEqual({ phase: 'set', tick: MINUTE, dueAt: MINUTE + offset })
    one.now = MINUTE + offset - 1
    one.look()
    expect(one.runs).toEqual([])
    one.now += 1
    one.look()
    expect(minutes(one.runs)).toEqual([1])
  })
})

describe('a heartbeat', () => {
  const heartbeat: Arm = { kind: 'heartbeat', everyMs: MINUTE, maxRuntimeMs: 1_000, predicate: {} }
  const evaluated = (one: Standing) =>
    one.facts.flatMap(fact =>
      fact.type === 'heartbeat.evaluated' ? [[fact.payload.status, fact.payload.changed]] : [],
    )

  test('tells every evaluation, and a run only where the answer is another one than the last', () => {
    const one = new Standing()
    one.arm(heartbeat)
    for (const [i, holds] of [false, false, true, true, null, true, false].entries()) {
      one.now = i * MINUTE
      one.look(holds)
      if (one.busy) one.ended()
    }
    expect(evaluated(one)).toEqual([
      ['ok', false],
      ['ok', false],
      ['ok', true],
      ['ok', false],
      ['error', false],
      ['ok', false],
      ['ok', true],
    ])
    expect(minutes(one.runs)).toEqual([2, 6])
    expect(one.facts.filter(({ type }) => type === 'heartbeat.stateChanged').map(({ payload }) => payload)).toEqual([
      { heartbeatId: STREAM, from: { holds: false }, to: { holds: true } },
      { heartbeatId: STREAM, from: { holds: true }, to: { holds: false } },
    ])
  })

  test('never overlaps itself: ticks that pass while it is evaluated, or while a run is under way, are not queued', () => {
    const one = new Standing()
    one.arm(heartbeat)
    const [asked] = armPending(STREAM, one.state, false)
    one.now = 3.5 * MINUTE
    one.hear({ type: 'PredicateAnswered', round: asked!.round, status: 'timeout', holds: null })
    expect(one.state.at).toMatchObject({ phase: 'set', tick: 4 * MINUTE })
    // The answer of another round is nobody's.
    one.now = 5 * MINUTE
    expect(one.hear({ type: 'PredicateAnswered', round: asked!.round, status: 'ok', holds: true })).toEqual([])
    one.look(false)
    one.now = 6 * MINUTE
    one.look(true)
    one.now = 20 * MINUTE
    one.look(false)
    expect(evaluated(one)).toEqual([
      ['timeout', false],
      ['ok', false],
      ['ok', true],
    ])
    one.ended()
    one.look(false)
    expect(minutes(one.runs)).toEqual([6, 7])
  })

  test('goes on from its last answer after a pause, on its own grid', () => {
    const one = new Standing()
    one.now = 5_000
    one.arm(heartbeat)
    one.look(false)
    one.tell(armPauses(one.state))
    one.now = 10 * MINUTE
    one.tell(armResumes(one.state, one.told))
    expect(one.state).toMatchObject({ holds: false, at: { phase: 'set', tick: 10 * MINUTE + 5_000 } })
  })
})

describe('a commitment', () => {
  const when: Arm = { kind: 'predicate', everyMs: MINUTE, maxRuntimeMs: 1_000, predicate: {} }

  test('to a time fires once, also when the host comes late, and is not lost in a pause', () => {
    const one = new Standing()
    one.arm({ kind: 'time', at: 2 * MINUTE })
    expect(armWakeAt(one.state, false)).toBe(2 * MINUTE)
    one.now = MINUTE
    one.look()
    one.tell(armPauses(one.state))
    one.now = 50 * MINUTE
    one.look()
    expect(one.runs).toEqual([])
    one.tell(armResumes(one.state, one.told))
    one.look()
    one.ended()
    one.now = 99 * MINUTE
    one.look()
    expect([minutes(one.runs), one.state.at.phase]).toEqual([[2], 'spent'])
    one.tell(armPauses(one.state))
    one.tell(armResumes(one.state, one.told))
    one.look()
    expect(one.runs).toHaveLength(1)
  })

  test('to a condition fires when it holds for the first time, and never again', () => {
    const one = new Standing()
    one.arm(when)
    for (const [i, holds] of [false, null, true, false, true].entries()) {
      one.now = i * MINUTE
      one.look(holds)
      if (one.busy) one.ended()
    }
    expect([minutes(one.runs), one.state.at.phase]).toEqual([[2], 'spent'])
  })

  test('one that has come waits for the end of a pause', () => {
    const one = new Standing()
    one.arm(when)
    one.hear({ type: 'PredicateAnswered', round: one.state.round, status: 'ok', holds: true })
    one.tell(armPauses(one.state))
    expect([armOwes(one.state, false), armWakeAt(one.state, false)]).toEqual([undefined, null])
    one.tell(armResumes(one.state, one.told))
    one.look()
    expect(one.runs).toHaveLength(1)
    expect(one.state.at.phase).toBe('spent')
  })
})

test('a manual arm has no ticks', () => {
  const one = new Standing()
  one.arm({ kind: 'manual' })
  one.now = 9 * MINUTE
  one.look()
  expect([one.runs, armWakeAt(one.state, false), isFree(one.state, one)]).toEqual([[], null, true])
  one.hear({ type: 'AskedByHand' })
  one.look()
  expect(minutes(one.runs)).toEqual(['hand 1'])
})

type Step = 'minute' | 'hours' | 'look' | 'end' | 'pause' | 'resume' | 'hand'

describe('whatever happens to a schedule', () => {
  test('I3 I4 I5: every tick has one run, was skipped or fell into a pause, in order and never too early', () => {
    const seen = { runs: 0, skipped: 0, paused: 0, hand: 0 }
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom<Step>('minute', 'look', 'look', 'end') },
      { weight: 1, arbitrary: fc.constantFrom<Step>('hours', 'pause', 'resume', 'hand') },
    )
    const missed = fc.oneof(
      fc.constantFrom<Missed>({ policy: 'skip' }, { policy: 'once' }),
      fc.integer({ min: 1, max: 9 }).map((most): Missed => ({ policy: 'all', most })),
    )
    fc.assert(
      fc.property(missed, fc.constantFrom(0, 45_000), fc.array(step, { maxLength: 60 }), (policy, jitter, steps) => {
        const one = new Standing()
        const arm = schedule(policy, jitter)
        one.arm(arm)
        const offset = offsetOf(STREAM, arm)
        const pauses: { from: number; to: number }[] = []
        for (const what of steps) {
          if (what === 'minute') one.now += 47_000
          if (what === 'hours') one.now += 40 * MINUTE
          if (what === 'look') one.look()
          if (what === 'end' && one.busy) one.ended()
          if (what === 'hand') one.hear({ type: 'AskedByHand' })
          const { at } = one.state
          // What was due when a pause began, and nobody had heard of, never happened either.
          const unheard = at.phase === 'set' ? at.tick : at.phase === 'seeking' ? at.after : one.now
          if (what === 'pause' && one.tell(armPauses(one.state)).length > 0)
            pauses.push({ from: unheard, to: Number.POSITIVE_INFINITY })
          const paused = pauses.at(-1)
          if (what === 'resume' && one.tell(armResumes(one.state, one.told)).length > 0) paused!.to = one.now
          expect(one.state.owed.filter(tick => 'tick' in tick).length).toBeLessThanOrEqual(Math.max(1, mostOwed(arm)))
        }
        const begun = one.runs.flatMap(tick => ('tick' in tick ? [tick.tick] : []))
        expect(begun).toEqual([...new Set(begun)].sort((a, b) => a - b))
        const owed = one.state.owed.flatMap(tick => ('tick' in tick ? [tick.tick] : []))
        const gone = one.facts.flatMap(fact => (fact.type === 'assay.arm.skipped' ? [fact.payload] : []))
        const horizon = one.state.at.phase === 'set' ? one.state.at.tick : Math.max(0, ...begun, ...owed)
        for (let tick = MINUTE; tick < horizon; tick += MINUTE) {
          const fates = [
            ...begun.filter(at => at === tick).map(() => 'run'),
            ...owed.filter(at => at === tick).map(() => 'owed'),
            ...gone.filter(({ from, before }) => from <= tick && tick < before).map(() => 'skipped'),
          ]
          const inPause = pauses.some(({ from, to }) => from <= tick && tick <= to)
          if (fates.length === 0) expect(inPause).toBe(true)
          else expect(fates).toHaveLength(1)
          seen[fates[0] === 'skipped' ? 'skipped' : fates.length === 0 ? 'paused' : 'runs'] += 1
        }
        for (const tick of begun) expect(tick + offset).toBeLessThanOrEqual(one.now)
        seen.hand += one.runs.length - begun.length
      }),
      { numRuns: 2_000, seed: 1 },
    )
    for (const [what, count] of Object.entries(seen)) expect([what, count > 200]).toEqual([what, true])
  })
})
