import { describe, expect, it } from 'vitest'
import { type Chance, chanceOf } from '../../../src/calibration/chance.js'
import { casesOf, type Digest, digestOf, type Entry, type Truth } from '../../../src/calibration/labels.js'
import { ALPHA, trackRecordOf } from '../../../src/calibration/licence.js'
import { calibrate } from '../../../src/calibration/report.js'
import { entryOf } from '../../../src/calibration/testing/entry.js'

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
}

/** Of which verdicts a person says what is true; `asked`: why, as the product would tell it. */
const MODES: { readonly [name: string]: (passes: boolean, chance: Chance) => string | undefined } = {
  licensed: passes => (passes ? 'unlicensed' : undefined),
  escalate: passes => (passes ? undefined : 'exhausted'),
  'random audit': (_passes, chance) => (chance() < 0.3 ? 'audit' : undefined),
  'more of what failed': (passes, chance) => (chance() < (passes ? 0.15 : 0.6) ? 'audit' : undefined),
}

/** The whole sweep with `ASSAY_TEST_THOROUGH`. */
const isThorough = process.env.ASSAY_TEST_THOROUGH !== undefined
const seed = 26
const GOOD_WORK = 0.9
const STUDIES = isThorough ? 400 : 24
const RESULTS = isThorough ? 500 : 200
/** A look after every label would be quadratic; a look at each of these is less often, and fewer chances to be fooled. */
const LOOK_EVERY = isThorough ? 5 : 50

function verdictOf(judge: Judge, truth: Truth, chance: Chance): boolean {
  return chance() < (truth === 'good' ? judge.good : 1 - judge.bad)
}

function votesOf({ seats = 1 }: Judge, passes: boolean) {
  return Array.from({ length: seats }, (_, k) => ({ agentId: `j${k}`, scores: { correctness: passes ? 9 : 3 } }))
}

/** The work of one gate, in the order of time, as its mode shows it. */
function history(judge: Judge, mode: (typeof MODES)[string], chance: Chance): Entry[] {
  return Array.from({ length: RESULTS }, (_, i) => {
    const truth = chance() < GOOD_WORK ? 'good' : 'bad'
    const passes = verdictOf(judge, truth, chance)
    const asked = mode(passes, chance)
    const word = asked === undefined ? {} : ({ by: 'ada', asked, verdict: truth === 'good' ? 'pass' : 'fail' } as const)
    return entryOf({ runId: `run-${i}`, result: `${i}`, votes: votesOf(judge, passes), ...word })
  })
}

/** Planted defects and outputs that somebody brought as good, in turn, while the work goes on. */
function trials(judge: Judge, chance: Chance): { digest: Digest; truth: Truth }[] {
  return Array.from({ length: 2 * RESULTS }, (_, i) => {
    const truth = i % 2 === 0 ? 'bad' : 'good'
    const votes = votesOf(judge, verdictOf(judge, truth, chance))
    return { digest: digestOf(entryOf({ runId: `trial-${i}`, result: `planted ${i}`, votes })), truth }
  })
}

const WANTED = 0.9

/** Whether the gate is ever licensed, by one who looks again and again. */
function isEverLicensed(judge: Judge, mode: (typeof MODES)[string], chance: Chance): boolean {
  const work = history(judge, mode, chance).map(digestOf)
  const planted = trials(judge, chance)
  for (let n = LOOK_EVERY; n <= RESULTS; n += LOOK_EVERY) {
    const { badStopped, goodPassed } = trackRecordOf(casesOf(work.slice(0, n), planted.slice(0, 2 * n)))
    const reached = [badStopped, goodPassed].every(side => side.n >= 30 && side.lower >= WANTED)
    if (reached) return true
  }
  return false
}

const studies = <T>(make: (chance: Chance) => T): T[] =>
  Array.from({ length: STUDIES }, (_, i) => make(chanceOf(seed * 1_000 + i)))

/** No more than this many of so many events of that chance, but once in ten thousand. */
const most = (n: number, chance: number): number => n * chance + 3.8 * Math.sqrt(n * chance * (1 - chance))

describe(`R-DWS-26: labels that are selected (seed ${seed}, ${STUDIES} studies of ${RESULTS} results)`, () => {
  const all = Object.entries(JUDGES).flatMap(([name, judge]) =>
    Object.entries(MODES).map(([mode, choose]) => [name, mode, judge, choose] as const),
  )

  it.each(all)(
    '%s, %s: a licence is given to a judge that is not good enough at most as often as stated',
    (...given) => {
      const [, , judge, mode] = given
      const fooled = studies(chance => isEverLicensed(judge, mode, chance)).filter(Boolean).length
      expect(fooled).toBeLessThanOrEqual(most(STUDIES, ALPHA))
    },
  )

  it('a judge that is good enough does get one', () => {
    const able: Judge = { bad: 0.99, good: 0.995 }
    const held = studies(chance => isEverLicensed(able, MODES.licensed!, chance)).filter(Boolean).length
    expect(held).toBeGreaterThan(STUDIES / 2)
  })

  it.each(all)('%s, %s: whatever rate is told covers the truth, and none is told that cannot be known', (...given) => {
    const [name, mode, judge, choose] = given
    const counts = { told: 0, missed: 0 }
    for (const report of studies(chance => calibrate('facts', history(judge, choose, chance)))) {
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
    // An always-passing judge has no failure that an escalation could show to anybody.
    if (name !== 'always pass' || mode !== 'escalate') expect(counts.told).toBeGreaterThanOrEqual(STUDIES)
    // Wilson's intervals are meant to hold in 95 of 100 cases, and hold in 92 where a rate is near 0 or 1.
    expect(counts.missed).toBeLessThanOrEqual(most(counts.told, 0.08))
  })
})
