import { describe, expect, it } from 'vitest'
import { effectiveVotes } from './agreement.js'
import { chanceOf } from './chance.js'

const ballots = (votes: readonly (readonly boolean[])[], judges = ['a', 'b', 'c']) =>
  votes.map(ballot => ({ votes: ballot.map((passes, i) => ({ judge: judges[i]!, passes })) }))

const ALL_OF_THREE = Array.from({ length: 8 }, (_, bits) => [0, 1, 2].map(bit => (bits & (1 << bit)) > 0))
const INDEPENDENT = [...ALL_OF_THREE, ...ALL_OF_THREE]
const IDENTICAL = Array.from({ length: 12 }, (_, i) => [i % 3 > 0, i % 3 > 0, i % 3 > 0])

describe('R-DWS-26: how many votes a panel is worth', () => {
  it('identical judges are worth one, independent ones as many as they are', () => {
    expect(effectiveVotes(ballots(IDENTICAL))).toEqual({ value: 1, from: 'votes' })
    expect(effectiveVotes(ballots(INDEPENDENT))).toEqual({ value: 3, from: 'votes' })
  })

  it('seats of one judge are compared like judges', () => {
    expect(effectiveVotes(ballots(IDENTICAL, ['a', 'a', 'a']))).toEqual({ value: 1, from: 'votes' })
    expect(effectiveVotes(ballots(INDEPENDENT, ['a', 'a', 'a']))).toEqual({ value: 3, from: 'votes' })
  })

  it('judges that contradict each other are not worth more than their number', () => {
    const opposed = Array.from({ length: 12 }, (_, i) => [i % 2 === 0, i % 2 === 1])
    expect(effectiveVotes(ballots(opposed))).toEqual({ value: 2, from: 'votes' })
  })

  it('judges that have passed everything have not shown that they differ', () => {
    expect(effectiveVotes(ballots(Array.from({ length: 12 }, () => [true, true])))).toEqual({ value: 1, from: 'votes' })
  })

  it('is not known for one judge, for fewer than 10 shared results, or for one that always says the same', () => {
    expect(effectiveVotes([])).toBeUndefined()
    expect(effectiveVotes(ballots(INDEPENDENT.map(([a]) => [a!])))).toBeUndefined()
    expect(effectiveVotes(ballots(IDENTICAL.slice(0, 9)))).toBeUndefined()
    expect(effectiveVotes(ballots(INDEPENDENT.map(([a]) => [a!, true])))).toBeUndefined()
  })

  it('finds the correlation that was put in', () => {
    const chance = chanceOf(5)
    // Each of three copies a common draw with probability √0.5, so any two correlate by 0.5: 3 / (1 + 2 · 0.5) = 1.5.
    const votes = Array.from({ length: 4_000 }, () => {
      const common = chance() < 0.5
      return [0, 1, 2].map(() => (chance() < Math.SQRT1_2 ? common : chance() < 0.5))
    })
    expect(effectiveVotes(ballots(votes))?.value).toBeCloseTo(1.5, 1)
  })

  it('goes by errors where the truth is known: good judges that agree are not taken for one', () => {
    const chance = chanceOf(6)
    const history = Array.from({ length: 2_000 }, () => {
      const truth = chance() < 0.5 ? ('good' as const) : ('bad' as const)
      const isRight = () => chance() < 0.9
      return { truth, votes: ['a', 'b', 'c'].map(judge => ({ judge, passes: isRight() === (truth === 'good') })) }
    })
    const byErrors = effectiveVotes(history)
    expect(byErrors).toEqual({ value: expect.closeTo(3, 0), from: 'errors' })
    expect(effectiveVotes(history.map(({ votes }) => ({ votes })))).toEqual({
      value: expect.closeTo(1.3, 0),
      from: 'votes',
    })
  })

  it('two that meet only where others disagree say nothing of each other', () => {
    const pairs = Array.from({ length: 40 }, (_, i) => [i % 4 > 0, i % 4 > 0])
    const split = Array.from({ length: 12 }, (_, i) => [true, false, i % 2 === 0])
    expect(effectiveVotes(ballots([...pairs, ...split]))!.value).toBeLessThan(2)
  })

  it('who has not erred has not shown with whom it errs', () => {
    const perfect = IDENTICAL.map(ballot => ({ ...ballots([ballot])[0]!, truth: ballot[0] ? 'good' : 'bad' }) as const)
    expect(effectiveVotes(perfect)?.from).toBe('votes')
  })
})
