import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { criterion, fault, finding, gate, NOTHING_SETTLED, probed, vote } from '../../../testing/ballots.js'
import { type Gate, QUORUMS } from '../gate.js'
import type { Ballot, Fault, Judgement, Settled, Vote } from './judgement.js'
import { judgeVotes } from './quorum.js'

type Answer = Vote | Fault | undefined

const pass = (weight = 1): Vote => vote({ a: 1, b: 1 }, { weight })
const fail = (weight = 1): Vote => vote({ a: 0, b: 1 }, { weight, verdict: 'fail' })

/** How it came out: the class, or that it did not. */
function classOf(judgement: ReturnType<typeof judgeVotes>): 'pass' | 'fail' | 'open' | 'undecided' {
  if (typeof judgement === 'string') return judgement
  return judgement.verdict === 'fail' ? 'fail' : 'pass'
}

const CRITERIA = [criterion('a'), criterion('b')]

const outcome = (of: Gate, answers: readonly Answer[]) =>
  classOf(judgeVotes(of, ['a', 'b'], { settled: NOTHING_SETTLED, answers }))

const decided = (of: Gate, dimensions: readonly string[], ballot: Ballot): Judgement => {
  const judgement = judgeVotes(of, dimensions, ballot)
  if (typeof judgement === 'string') throw new Error(`not decided: ${judgement}`)
  return judgement
}

describe('R-DWS-24: a quorum of several verifiers', () => {
  const spelled = { p: pass, f: fail, x: fault, '.': () => undefined } as const
  const read = (answers: string, weights: readonly number[]) =>
    [...answers].map((letter, i) => spelled[letter as keyof typeof spelled](weights[i] ?? 1))

  // p: passes, f: fails, x: gave no vote, a point: has not answered.
  it.each<[string, (typeof QUORUMS)[number], number, string, number[]]>([
    ['p', 'majority', 1, 'pass', []],
    ['f', 'majority', 1, 'fail', []],
    ['pp.', 'majority', 1, 'pass', []],
    ['ff.', 'majority', 1, 'fail', []],
    ['pf.', 'majority', 1, 'open', []],
    ['pfx', 'majority', 1, 'undecided', []],
    ['ppx', 'majority', 1, 'pass', []],
    ['pf', 'majority', 1, 'fail', []],
    ['ppff', 'majority', 1, 'fail', []],
    ['ppf', 'majority', 3, 'fail', []],
    ['pp.', 'majority', 3, 'open', []],
    ['ppp', 'unanimous', 1, 'pass', []],
    ['f..', 'unanimous', 1, 'fail', []],
    ['pp.', 'unanimous', 1, 'open', []],
    ['ppx', 'unanimous', 1, 'undecided', []],
    ['fx', 'unanimous', 1, 'fail', []],
    ['p..', 'any', 1, 'pass', []],
    ['p..', 'any', 2, 'open', []],
    ['ff.', 'any', 1, 'open', []],
    ['ff.', 'any', 2, 'fail', []],
    ['fff', 'any', 1, 'fail', []],
    ['ffx', 'any', 1, 'undecided', []],
    ['pff', 'weighted', 1, 'pass', [3, 1, 1]],
    ['pff', 'weighted', 2, 'fail', [3, 1, 1]],
    ['pff', 'weighted', 1, 'fail', [2, 1, 1]],
    ['p..', 'weighted', 1, 'pass', [3]],
    ['ppf', 'weighted', 1, 'fail', [0.1, 0.2, 0.3]],
    ['fpp', 'weighted', 1, 'fail', [0.3, 0.2, 0.1]],
    ['xpf', 'weighted', 1, 'undecided', [1, 1, 1]],
    ['xpf', 'weighted', 1, 'pass', [1, 3, 1]],
    ['p', 'weighted', 1, 'fail', [0]],
  ])('%s by %s with at least %d is %s (weights %j)', (answers, quorum_strategy, min_agree, expected, weights) => {
    const of = gate(CRITERIA, { verifier_count: answers.length, quorum_strategy, min_agree })
    expect(outcome(of, read(answers, weights))).toBe(expected)
  })

  it('a verifier that has not answered weighs what the gate says', () => {
    const verifiers = [1, 1, 5].map((weight, i) => ({ agent_id: `v.${i}`, weight }))
    const plain = gate(CRITERIA, { verifier_count: 3, quorum_strategy: 'weighted' })
    const of = { ...plain, verifier_requirements: { ...plain.verifier_requirements, verifiers } }
    expect(outcome(of, [pass(), pass(), undefined])).toBe('open')
    expect(outcome(of, [undefined, undefined, pass(5)])).toBe('pass')
  })

  it('R-DWS-36: a verifier that nobody has asked yet is missed all the same', () => {
    expect(outcome(gate(CRITERIA), [])).toBe('open')
    expect(outcome(gate(CRITERIA, { verifier_count: 3, quorum_strategy: 'unanimous' }), [pass()])).toBe('open')
  })

  it('without early_stop all are heard', () => {
    const of = gate(CRITERIA, { verifier_count: 3, early_stop: false })
    expect(outcome(of, [pass(), pass(), undefined])).toBe('open')
    expect(outcome(of, [pass(), pass(), fault()])).toBe('pass')
  })
})

describe('what probes settle', () => {
  const GATE = gate([criterion('a'), criterion('b'), probed('p', 'x')], { verifier_count: 3, early_stop: false })
  const ALL = ['a', 'b', 'p']
  const held: Settled = { scores: { p: 1 }, findings: [], unavailable: [] }
  const failed: Settled = { scores: { p: 0 }, findings: [finding('p', 'blocking', 'p-x')], unavailable: [] }
  const unknown: Settled = { scores: {}, findings: [], unavailable: ['p'] }

  it('what failed fails at once, and nobody has to be asked', () => {
    expect(decided(GATE, ALL, { settled: failed, answers: [undefined, undefined, undefined] })).toEqual({
      verdict: 'fail',
      scores: { p: 0 },
      findings: failed.findings,
      quorum: { votes: 0, passVotes: 0, needed: 2 },
      failed: ['a', 'b', 'p'],
      unproven: ['a', 'b'],
    })
  })

  it('what failed fails whatever verifiers say, and is not their confidence', () => {
    const judgement = decided(GATE, ALL, { settled: failed, answers: [pass(), pass(), pass()] })
    expect(judgement).toMatchObject({ verdict: 'fail', failed: ['p'] })
    expect(judgement).not.toHaveProperty('confidence')
    expect(judgement).not.toHaveProperty('unproven')
  })

  it('what held leaves the verdict to the verifiers', () => {
    expect(classOf(judgeVotes(GATE, ALL, { settled: held, answers: [pass(), pass(), fail()] }))).toBe('pass')
    expect(classOf(judgeVotes(GATE, ALL, { settled: held, answers: [pass(), fail(), fail()] }))).toBe('fail')
  })

  it('they decide alone where nothing else is judged', () => {
    expect(decided(GATE, ['p'], { settled: held, answers: [] })).toEqual({
      verdict: 'pass',
      scores: { p: 1 },
      findings: [],
      quorum: { votes: 0, passVotes: 0, needed: 0 },
      failed: [],
    })
    expect(decided(GATE, ['p'], { settled: failed, answers: [] })).toMatchObject({ verdict: 'fail', failed: ['p'] })
    expect(judgeVotes(GATE, ['p'], { settled: unknown, answers: [] })).toBe('undecided')
  })

  it('R-DWS-36: what could not be found out is never a pass; a fail it could not change is one', () => {
    expect(judgeVotes(GATE, ALL, { settled: unknown, answers: [pass(), pass(), pass()] })).toBe('undecided')
    expect(judgeVotes(GATE, ALL, { settled: unknown, answers: [pass(), pass(), undefined] })).toBe('open')
    expect(judgeVotes(GATE, ALL, { settled: NOTHING_SETTLED, answers: [pass(), pass(), pass()] })).toBe('undecided')
    const judgement = decided(GATE, ALL, { settled: unknown, answers: [fail(), fail(), pass()] })
    expect(judgement).toMatchObject({ verdict: 'fail', failed: ['a', 'p'], unproven: ['p'] })
  })

  it('R-DWS-36: nothing judged is nothing shown', () => {
    expect(judgeVotes(GATE, [], { settled: NOTHING_SETTLED, answers: [] })).toBe('undecided')
    expect(judgeVotes(GATE, ['elsewhere'], { settled: held, answers: [] })).toBe('undecided')
  })
})

describe('what is told of a judgement', () => {
  const three = gate(CRITERIA, { verifier_count: 3 })
  const told = (answers: readonly Answer[], of = three) =>
    decided(of, ['a', 'b'], { settled: NOTHING_SETTLED, answers })

  it('R-DWS-25: all findings are kept, those of the outvoted too', () => {
    const blocking = vote({ a: 1, b: 1 }, { verdict: 'fail', findings: [finding('b', 'blocking', 'v3-1')] })
    const advice = vote({ a: 1, b: 1 }, { findings: [finding('a', 'advisory', 'v1-1')] })
    const { verdict, findings, quorum, failed } = told([advice, pass(), blocking])
    expect(verdict).toBe('conditional_pass')
    expect(findings.map(({ finding_id }) => finding_id)).toEqual(['v1-1', 'v3-1'])
    expect(quorum).toEqual({ votes: 3, passVotes: 2, needed: 2 })
    expect(failed).toEqual([])
  })

  it('R-DWS-17: a warning in any vote makes a pass conditional, and saves no fail', () => {
    const warned = vote({ a: 1, b: 1 }, { verdict: 'conditional_pass', findings: [finding('a', 'warning')] })
    const outvoted = vote({ a: 0, b: 1 }, { verdict: 'fail', findings: [finding('a', 'warning')] })
    expect(told([warned, pass(), fail()]).verdict).toBe('conditional_pass')
    expect(told([pass(), pass(), outvoted]).verdict).toBe('conditional_pass')
    expect(told([warned, fail(), fail()]).verdict).toBe('fail')
  })

  it('R-DWS-16: a pass over a mean below its threshold is conditional', () => {
    const low = vote({ a: 0, b: 1 }, { verdict: 'fail' })
    const { verdict, scores } = told([vote({ a: 0.5, b: 1 }), vote({ a: 0.5, b: 1 }), low])
    expect(scores.a).toBeLessThan(0.5)
    expect(verdict).toBe('conditional_pass')
    expect(told([pass(), pass(), vote({ a: 1, b: 0.4 }, { verdict: 'fail' })]).verdict).toBe('pass')
  })

  it('R-DWS-23: a fail names what any of its votes found wanting', () => {
    const onB = vote({ a: 1, b: 1 }, { verdict: 'fail', findings: [finding('b', 'blocking')] })
    expect(told([fail(), fail(), pass()]).failed).toEqual(['a'])
    expect(told([onB, fail(), pass()])).toMatchObject({ failed: ['a', 'b'] })
  })

  it('R-DWS-23: what was settled by few is judged again, for no quorum has seen it hold', () => {
    const unanimous = gate(CRITERIA, { verifier_count: 3, quorum_strategy: 'unanimous' })
    const early = told([fail(), undefined, undefined], unanimous)
    expect(early).toMatchObject({ verdict: 'fail', failed: ['a', 'b'], unproven: ['b'] })
    expect(told([fail(), pass(), pass()], unanimous)).toMatchObject({ failed: ['a'] })
    expect(told([fail(), fail(), undefined])).toMatchObject({ failed: ['a'] })
  })

  it('R-DWS-23: a dimension that was not judged this time is named when a verifier blocks on it', () => {
    const onB = vote({ a: 1 }, { verdict: 'fail', findings: [finding('b', 'blocking')] })
    expect(decided(gate(CRITERIA), ['a'], { settled: NOTHING_SETTLED, answers: [onB] }).failed).toEqual(['b'])
  })

  it('scores are weighted means', () => {
    const judgement = told([vote({ a: 1, b: 0.6 }, { weight: 3 }), vote({ a: 0.6, b: 0.7 }), fault(9)])
    expect(judgement.scores).toEqual({ a: 0.9, b: 0.625 })
    expect(told([vote({ a: 1, b: 0.6 }, { weight: 0 }), vote({ a: 0.5, b: 0.6 }, { weight: 0 })]).scores.a).toBe(0.75)
  })

  const sure = (of: Vote, confidence: number): Vote => ({ ...of, confidence })

  it.each<[string, readonly Answer[], Gate, number | undefined]>([
    ['one that does not say how sure it is', [pass()], gate(CRITERIA), undefined],
    ['one that does', [sure(pass(), 0.8)], gate(CRITERIA), 0.8],
    ['one that is sure of a fail', [sure(fail(), 0.9)], gate(CRITERIA), 0.9],
    ['three that agree and do not say', [pass(), pass(), pass()], three, undefined],
    ['the share of votes is none', [pass(), pass(), fail()], three, undefined],
    ['those on the winning side who say', [sure(pass(), 0.9), pass(), sure(fail(), 0.3)], three, 0.9],
    ['the winning side may be the one that fails', [sure(fail(), 0.4), sure(fail(), 0.6), sure(pass(), 1)], three, 0.5],
    ['only the losing side says', [fail(), fail(), sure(pass(), 1)], three, undefined],
    ['a fault is no vote', [sure(pass(), 0.9), sure(pass(), 0.7), fault()], three, 0.8],
    [
      'each says it for itself, whatever it weighs',
      [sure(pass(6), 0.4), sure(pass(3), 0.8), fail(1)],
      gate(CRITERIA, { verifier_count: 3, quorum_strategy: 'weighted' }),
      0.6,
    ],
  ])('R-VERIFY-9 confidence: %s', (_, answers, of, expected) => {
    expect(told(answers, of).confidence).toBe(expected)
  })
})

describe('whatever is voted', () => {
  const weight = fc.integer({ min: 1, max: 20 }).map(tenths => tenths / 10)
  const voted = fc
    .tuple(weight, fc.constantFrom(0, 0.4, 0.5, 1), fc.constantFrom(0.2, 0.5, 0.9), fc.subarray([...'abw']))
    .map(([weight, a, b, found]): Vote => {
      const findings = found.map(what => (what === 'w' ? finding('a', 'warning') : finding(what, 'blocking')))
      const fails = a < 0.5 || b < 0.5 || found.includes('a') || found.includes('b')
      const verdict = fails ? 'fail' : found.includes('w') ? 'conditional_pass' : 'pass'
      return vote({ a, b }, { weight, findings, verdict })
    })
  // Half of the votes pass, or there would be nothing to see.
  const cast = fc.oneof(voted, weight.map(pass))
  const answered = fc.oneof(
    { weight: 4, arbitrary: cast },
    { weight: 1, arbitrary: weight.map(fault) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  )
  const table = <T extends Answer>(answer: fc.Arbitrary<T>) =>
    fc
      .tuple(fc.array(answer, { minLength: 1, maxLength: 5 }), fc.constantFrom(...QUORUMS), fc.nat(), weight)
      .map(([answers, quorum_strategy, agree, unanswered]) => {
        const verifiers = answers.map(answer => ({ agent_id: 'v.v', weight: answer?.weight ?? unanswered }))
        const min_agree = 1 + (agree % answers.length)
        const plain = gate(CRITERIA, { verifier_count: answers.length, quorum_strategy, min_agree })
        return { of: { ...plain, verifier_requirements: { ...plain.verifier_requirements, verifiers } }, answers }
      })
  const RUNS = { numRuns: 500 }

  /** Every way in which those who are missing could yet vote. */
  function* completions(of: Gate, answers: readonly Answer[]): Generator<readonly Vote[]> {
    const gap = answers.findIndex(answer => answer === undefined || !('verdict' in answer))
    if (gap < 0) return yield answers as readonly Vote[]
    const weight = of.verifier_requirements.verifiers[gap]!.weight
    for (const said of [pass(weight), fail(weight)]) yield* completions(of, answers.with(gap, said))
  }

  it('R-DWS-36: it is decided exactly when no missing vote could change it', () => {
    const seen = { pass: 0, fail: 0, open: 0, undecided: 0 }
    fc.assert(
      fc.property(table(answered), ({ of, answers }) => {
        const now = outcome(of, answers)
        const later = new Set([...completions(of, answers)].map(complete => outcome(of, complete)))
        seen[now] += 1
        if (now === 'pass' || now === 'fail') expect([...later]).toEqual([now])
        else {
          expect(later).toEqual(new Set(['pass', 'fail']))
          expect(now).toBe(answers.includes(undefined) ? 'open' : 'undecided')
        }
      }),
      RUNS,
    )
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(5)
  })

  it('R-DWS-36: no vote never helps: where it passes without one, it passes with a fail there', () => {
    fc.assert(
      fc.property(table(answered), fc.nat(), ({ of, answers }, n) => {
        const at = n % answers.length
        const weight = of.verifier_requirements.verifiers[at]!.weight
        for (const nothing of [fault(weight), undefined])
          if (outcome(of, answers.with(at, nothing)) === 'pass')
            expect(outcome(of, answers.with(at, fail(weight)))).toBe('pass')
      }),
      RUNS,
    )
  })

  it('R-DWS-24: a vote that turns from fail to pass turns no pass into a fail', () => {
    fc.assert(
      fc.property(table(answered), fc.nat(), ({ of, answers }, n) => {
        const at = n % answers.length
        const weight = of.verifier_requirements.verifiers[at]!.weight
        const [before, after] = [fail, pass].map(said => outcome(of, answers.with(at, said(weight))))
        if (before === 'pass') expect(after).toBe('pass')
        if (after === 'fail') expect(before).toBe('fail')
      }),
      RUNS,
    )
  })

  it('R-DWS-24: it is the same in whatever order the verifiers sit', () => {
    const shuffled = table(answered).chain(({ of, answers }) =>
      fc.shuffledSubarray([...answers.keys()], { minLength: answers.length }).map(order => ({ of, answers, order })),
    )
    fc.assert(
      fc.property(shuffled, ({ of, answers, order }) => {
        const { verifiers } = of.verifier_requirements
        const moved = {
          ...of,
          verifier_requirements: { ...of.verifier_requirements, verifiers: order.map(i => verifiers[i]!) },
        }
        const here = judgeVotes(of, ['a', 'b'], { settled: NOTHING_SETTLED, answers })
        const there = judgeVotes(moved, ['a', 'b'], { settled: NOTHING_SETTLED, answers: order.map(i => answers[i]) })
        if (typeof here === 'string' || typeof there === 'string') {
          expect(there).toEqual(here)
          return
        }
        const { findings, scores, ...rest } = here
        expect(there).toMatchObject(rest)
        expect(there.findings).toHaveLength(findings.length)
        for (const [dimension, score] of Object.entries(scores)) expect(there.scores[dimension]).toBeCloseTo(score, 5)
      }),
      RUNS,
    )
  })

  it('R-DWS-24: equal weights are a majority', () => {
    fc.assert(
      fc.property(table(answered), weight, ({ of, answers }, same) => {
        const verifiers = answers.map(() => ({ agent_id: 'v.v', weight: same }))
        const equal = answers.map(answer => answer && { ...answer, weight: same })
        const by = (quorum_strategy: 'weighted' | 'majority') =>
          outcome(
            {
              ...of,
              verifier_requirements: { ...of.verifier_requirements, verifiers },
              multi_verifier: { ...of.multi_verifier, quorum_strategy },
            },
            equal,
          )
        expect(by('weighted')).toBe(by('majority'))
      }),
      RUNS,
    )
  })

  it('R-DWS-24: what passes unanimously passes by majority, and what passes by majority passes by any', () => {
    fc.assert(
      fc.property(table(cast), ({ of, answers }) => {
        const by = (quorum_strategy: (typeof QUORUMS)[number]) =>
          outcome({ ...of, multi_verifier: { ...of.multi_verifier, quorum_strategy } }, answers)
        if (by('unanimous') === 'pass') expect([by('majority'), by('weighted')]).toEqual(['pass', 'pass'])
        if (by('majority') === 'pass') expect(by('any')).toBe('pass')
      }),
      RUNS,
    )
  })

  it('R-DWS-24: a tie is a fail', () => {
    fc.assert(
      fc.property(fc.array(weight, { minLength: 1, maxLength: 4 }), weights => {
        const answers = [...weights.map(pass), ...weights.toReversed().map(fail)]
        for (const quorum_strategy of ['majority', 'weighted', 'unanimous'] as const)
          for (const seated of [answers, answers.toReversed()])
            expect(outcome(gate(CRITERIA, { verifier_count: answers.length, quorum_strategy }), seated)).toBe('fail')
      }),
      RUNS,
    )
  })

  it('R-DWS-23: what does not have to be judged again, a quorum has seen hold; a fail leaves something to judge', () => {
    fc.assert(
      fc.property(table(answered), ({ of, answers }) => {
        const judgement = judgeVotes(of, ['a', 'b'], { settled: NOTHING_SETTLED, answers })
        if (typeof judgement === 'string') return
        expect(judgement.failed.length > 0).toBe(judgement.verdict === 'fail')
        for (const dimension of ['a', 'b'] as const) {
          if (judgement.failed.includes(dimension)) continue
          const only = answers.map(answer => {
            if (answer === undefined || !('verdict' in answer)) return fail(answer?.weight)
            const wanting =
              answer.scores[dimension]! < 0.5 ||
              answer.findings.some(found => found.dimension === dimension && found.classification === 'blocking')
            return wanting ? fail(answer.weight) : pass(answer.weight)
          })
          // Those who did not vote weigh what they weigh at the gate.
          const weighed = only.map((said, i) => ({ ...said, weight: of.verifier_requirements.verifiers[i]!.weight }))
          expect(outcome(of, weighed)).toBe('pass')
        }
      }),
      RUNS,
    )
  })
})
