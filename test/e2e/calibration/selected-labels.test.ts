import { describe, expect, it } from 'vitest'
import { lowerShare } from '../../../src/calibration/anytime.js'
import { type Chance, chanceOf } from '../../../src/calibration/chance.js'
import { casesOf, type Digest, digestOf, type Entry, type Truth } from '../../../src/calibration/labels.js'
import { ALPHA, trackRecordOf } from '../../../src/calibration/licence.js'
import { calibrate } from '../../../src/calibration/report.js'
import { entryOf } from '../../../src/calibration/testing/entry.js'
import { isThorough } from '../../support/thorough.js'

/**
 * Simulated judges through the modes in which the product comes by labels. `bad`: the share of bad results that a judge
 * stops; `good`: of good results, the share it lets through. A correlated panel is three judges that share their errors.
 */
type Judge = { readonly bad: number; readonly good: number; readonly seats?: number }

const JUDGES: { readonly [name: string]: Judge } = {
  'always pass': { bad: 0, good: 1 },
  coin: { bad: 0.5, good: 0.5 },
  '0.8 and 0.9': { bad: 0.8, good: 0.9 },
  'correlated, 0.85 and 0.95': { bad: 0.85, good: 0.95, seats: 3 },
  'just too poor': { bad: 0.88, good: 0.99 },
  'just too poor for good results': { bad: 0.99, good: 0.88 },
  'at the bound': { bad: 0.9, good: 1 },
}

/** Of which verdicts a person says what is true; `asked`: why, as the product would tell it. */
const MODES: { readonly [name: string]: (passes: boolean, chance: Chance) => string | undefined } = {
  licensed: passes => (passes ? 'unlicensed' : undefined),
  escalate: passes => (passes ? undefined : 'exhausted'),
  'random audit': (_passes, chance) => (chance() < 0.3 ? 'audit' : undefined),
  'more of what failed': (passes, chance) => (chance() < (passes ? 0.15 : 0.6) ? 'audit' : undefined),
}

const ALL = Object.entries(JUDGES).flatMap(([name, judge]) =>
  Object.entries(MODES).map(([mode, choose]) => [name, mode, judge, choose] as const),
)

const seed = 26
const GOOD_WORK = 0.9
/** As many verdicts, and as many trials, as a record holds. */
const RECORD = 500
/** Bets on counts, with a look after every verdict. */
const BETS = isThorough ? 20_000 : 400
/** Whole records, through the product's own digests and labels. */
const STUDIES = isThorough ? 200 : 24
const RESULTS = 200

type Seen = { readonly passes: boolean; readonly truth: Truth; readonly asked?: string }

function judged(judge: Judge, truth: Truth, chance: Chance): boolean {
  return chance() < (truth === 'good' ? judge.good : 1 - judge.bad)
}

/** The work of one gate, in the order of time, as its mode shows it. */
function workOf(judge: Judge, mode: (typeof MODES)[string], chance: Chance): Seen {
  const truth = chance() < GOOD_WORK ? 'good' : 'bad'
  const passes = judged(judge, truth, chance)
  const asked = mode(passes, chance)
  return { passes, truth, ...(asked === undefined ? {} : { asked }) }
}

/** Planted defects and outputs that somebody brought as good, in turn, while the work goes on. */
function trialsOf(judge: Judge, chance: Chance): Seen[] {
  return (['bad', 'good'] as const).map(truth => ({ truth, passes: judged(judge, truth, chance) }))
}

function votesOf({ seats = 1 }: Judge, passes: boolean) {
  return Array.from({ length: seats }, (_, k) => ({ agentId: `j${k}`, scores: { correctness: passes ? 9 : 3 } }))
}

function entry(judge: Judge, { passes, truth, asked }: Seen, name: string): Entry {
  const word = asked === undefined ? {} : ({ by: 'ada', asked, verdict: truth === 'good' ? 'pass' : 'fail' } as const)
  return entryOf({ runId: name, result: name, votes: votesOf(judge, passes), ...word })
}

const history = (judge: Judge, mode: (typeof MODES)[string], chance: Chance): Entry[] =>
  Array.from({ length: RESULTS }, (_, i) => entry(judge, workOf(judge, mode, chance), `run-${i}`))

const WANTED = 0.9
const MIN_N = 30

/** The product's own bound, made once for the counts that gates come by again and again. */
function boundOf(ones: number, zeros: number, alpha: number): number {
  const known = BOUNDS.get(alpha) ?? new Map<number, number>()
  BOUNDS.set(alpha, known)
  const key = ones * 10_000 + zeros
  const bound = known.get(key) ?? lowerShare(ones, zeros, alpha)
  known.set(key, bound)
  return bound
}
const BOUNDS = new Map<number, Map<number, number>>()

/** What the record of one side comes to, kept as counts while verdicts come in. */
class Tally {
  n = 0
  ones = 0
  zeros = 0
  readonly strata = [true, false].map(passes => ({ passes, size: 0, told: 0, hits: 0 }))

  constructor(
    readonly truth: Truth,
    readonly right: boolean,
  ) {}

  add({ passes, truth, asked }: Seen, isTrial: boolean): void {
    const isOfSide = truth === this.truth
    const isKnown = isTrial || asked !== undefined
    if (isOfSide && isKnown) this.n += 1
    if (isOfSide && isTrial && passes === this.right) this.ones += 1
    if (isOfSide && isKnown && passes !== this.right) this.zeros += 1
    if (isTrial) return
    const stratum = this.strata[passes ? 0 : 1]!
    stratum.size += 1
    if (asked === undefined) return
    stratum.told += 1
    if (isOfSide) stratum.hits += 1
  }

  /** By docs/contract/licence.md: the better of two bounds, each at half of the chance. */
  get lower(): number {
    return Math.max(boundOf(this.ones, this.zeros, ALPHA / 2), this.#byWork())
  }

  get reaches(): boolean {
    return this.n >= MIN_N && this.lower >= WANTED
  }

  /** Each part has bounds for its size and for the share of it that is of this side; all of them hold at once. */
  #byWork(): number {
    const seen = this.strata.filter(({ size }) => size > 0)
    const alpha = ALPHA / 2 / (2 * Math.max(1, seen.length))
    const total = seen.reduce((sum, { size }) => sum + size, 0)
    let [right, wrong] = [0, 0]
    for (const { passes, size, told, hits } of seen)
      if (passes === this.right) right += boundOf(size, total - size, alpha) * boundOf(hits, told - hits, alpha)
      else wrong += (1 - boundOf(total - size, size, alpha)) * (1 - boundOf(told - hits, hits, alpha))
    return right === 0 ? 0 : right / (right + wrong)
  }
}

const sidesOf = (): [Tally, Tally] => [new Tally('bad', false), new Tally('good', true)]

/** Whether the gate is ever licensed, by one who looks after every verdict. */
function isEverLicensed(judge: Judge, mode: (typeof MODES)[string], chance: Chance): boolean {
  const sides = sidesOf()
  for (let i = 0; i < RECORD; i += 1) {
    const work = workOf(judge, mode, chance)
    const trials = i % 2 === 0 ? trialsOf(judge, chance) : []
    for (const side of sides) {
      side.add(work, false)
      for (const trial of trials) side.add(trial, true)
    }
    if (sides.every(side => side.reaches)) return true
  }
  return false
}

const repeated = <T>(times: number, make: (chance: Chance) => T): T[] =>
  Array.from({ length: times }, (_, i) => make(chanceOf(seed * 100_000 + i)))

/** No more than this many of so many events of that chance, but once in ten thousand. */
const most = (n: number, chance: number): number => n * chance + 3.8 * Math.sqrt(n * chance * (1 - chance))

/** For whoever wants to know how far it is from what is stated. */
const told = (line: string): void => {
  if (isThorough) process.stdout.write(`${line}\n`)
}

const percent = (part: number, of: number): string => `${((100 * part) / Math.max(of, 1)).toFixed(2)} %`

describe(`R-DWS-26: false licences (seed ${seed}, ${BETS} gates, a look after each of ${RECORD} verdicts)`, () => {
  it.each(ALL)(
    '%s, %s: at most as often as stated, to a judge that is not good enough',
    (name, mode, judge, choose) => {
      const fooled = repeated(BETS, chance => isEverLicensed(judge, choose, chance)).filter(Boolean).length
      told(`${name}, ${mode}: ${fooled} of ${BETS} licensed (${percent(fooled, BETS)}, stated ${100 * ALPHA} %)`)
      expect(fooled).toBeLessThanOrEqual(most(BETS, ALPHA))
    },
  )

  it('a judge that is good enough does get one', () => {
    const able: Judge = { bad: 0.99, good: 0.995 }
    const held = repeated(BETS, chance => isEverLicensed(able, MODES.licensed!, chance)).filter(Boolean).length
    told(`0.99 and 0.995, licensed: ${held} of ${BETS} licensed (${percent(held, BETS)})`)
    expect(held).toBeGreaterThan(BETS / 2)
  })

  it('whoever looked at the share that was seen, and not at the bound, would be fooled far more often', () => {
    const fooled = repeated(BETS, chance => {
      const [bad] = sidesOf()
      for (let i = 0; i < RECORD; i += 1) {
        for (const trial of trialsOf(JUDGES['just too poor']!, chance)) bad.add(trial, true)
        if (bad.n >= MIN_N && bad.ones / bad.n >= WANTED) return true
      }
      return false
    })
    expect(fooled.filter(Boolean).length).toBeGreaterThan(most(BETS, ALPHA))
  })
})

describe(`R-DWS-26: labels that are selected (seed ${seed}, ${STUDIES} studies of ${RESULTS} results)`, () => {
  it.each(ALL)('%s, %s: the product’s own record comes to the same as the counts', (_name, _mode, judge, choose) => {
    for (const chance of repeated(3, one => one)) {
      const work = Array.from({ length: RESULTS }, () => workOf(judge, choose, chance))
      const trials = Array.from({ length: RESULTS / 2 }, () => trialsOf(judge, chance)).flat()
      const digests: Digest[] = work.map((one, i) => digestOf(entry(judge, one, `run-${i}`)))
      const planted = trials.map((one, i) => ({ digest: digestOf(entry(judge, one, `trial-${i}`)), truth: one.truth }))
      const [bad, good] = sidesOf()
      for (const side of [bad, good]) {
        for (const one of work) side.add(one, false)
        for (const one of trials) side.add(one, true)
      }
      expect(trackRecordOf(casesOf(digests, planted))).toEqual({
        badStopped: { n: bad.n, lower: expect.closeTo(bad.lower, 9) },
        goodPassed: { n: good.n, lower: expect.closeTo(good.lower, 9) },
      })
    }
  })

  it.each(ALL)('%s, %s: whatever rate is told covers the truth, and none is told that cannot be known', (...given) => {
    const [name, mode, judge, choose] = given
    const counts = { told: 0, missed: 0 }
    for (const report of repeated(STUDIES, chance => calibrate('facts', history(judge, choose, chance)))) {
      const passed = GOOD_WORK * judge.good + (1 - GOOD_WORK) * (1 - judge.bad)
      const truths = [
        [report.gate.true_positive_rate, judge.bad],
        [report.gate.true_negative_rate, judge.good],
        [report.passed?.right, (GOOD_WORK * judge.good) / passed],
        [report.failed?.right, ((1 - GOOD_WORK) * judge.bad) / (1 - passed)],
      ] as const
      for (const [estimate, truth] of truths) {
        if (estimate === undefined) continue
        counts.told += 1
        if (truth < estimate.low - 1e-9 || truth > estimate.high + 1e-9) counts.missed += 1
      }
      // One kind of verdict that nobody looks at: neither rate can be known.
      if (report.unseen.length > 0)
        expect(report.gate.true_positive_rate ?? report.gate.true_negative_rate).toBeUndefined()
    }
    told(
      `${name}, ${mode}: ${counts.told} rates told, ${percent(counts.told - counts.missed, counts.told)} cover the truth`,
    )
    // An always-passing judge has no failure that an escalation could show to anybody.
    if (name !== 'always pass' || mode !== 'escalate') expect(counts.told).toBeGreaterThanOrEqual(STUDIES)
    // Wilson's intervals are meant to hold in 95 of 100 cases, and hold in 92 where a rate is near 0 or 1.
    expect(counts.missed).toBeLessThanOrEqual(most(counts.told, 0.08))
  })
})
