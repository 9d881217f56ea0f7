import { describe, expect, it } from 'vitest'
import { chanceOf } from './chance.js'
import { averageOf, rateOf, wilson } from './estimate.js'

describe('R-DWS-26: estimates with their intervals', () => {
  it('a proportion has Wilson’s interval', () => {
    // 81 of 263, the worked example of Newcombe (1998).
    const { low, high } = wilson(81 / 263, 263)
    expect([low, high].map(end => end.toFixed(4))).toEqual(['0.2553', '0.3662'])
  })

  it('few values that are all alike are not certainty, and none are no estimate', () => {
    expect(rateOf([1, 1, 1])).toMatchObject({ value: 1, low: expect.closeTo(0.4385, 4), high: 1, n: 3 })
    expect(rateOf([])).toBeUndefined()
  })

  it('a mean has Student’s interval', () => {
    // Mean 3, standard deviation √2.5, 4 degrees of freedom: 3 ± 2.776 · √(2.5 / 5).
    expect(averageOf([1, 2, 3, 4, 5])).toMatchObject({ value: 3, low: expect.closeTo(1.037, 3), n: 5 })
    // 30 degrees of freedom: the tables say 2.042.
    const wide = averageOf(Array.from({ length: 31 }, (_, i) => i))!
    const error = Math.sqrt((31 * 32) / 12 / 31)
    expect((wide.high - wide.value) / error).toBeCloseTo(2.042, 2)
  })

  it('one value has no interval, so there is no estimate', () => {
    expect(averageOf([4])).toBeUndefined()
  })

  it('chance is even, and the same for the same seed', () => {
    const draw = (seed: number) => Array.from({ length: 20_000 }, chanceOf(seed))
    expect(draw(1)).toEqual(draw(1))
    expect(draw(1).slice(0, 5)).not.toEqual(draw(2).slice(0, 5))
    for (const tenth of Array.from({ length: 10 }, (_, i) => i / 10)) {
      const inside = draw(3).filter(value => value >= tenth && value < tenth + 0.1).length
      expect(inside).toBeGreaterThan(1_850)
      expect(inside).toBeLessThan(2_150)
    }
  })
})
