import { describe, expect, it } from 'vitest'
import { calibrationError } from './calibration-error.js'
import { chanceOf } from './chance.js'

const claims = (n: number, confidence: number, right: number) =>
  Array.from({ length: n }, (_, i) => ({ confidence, right: i < right ? 1 : 0 }))

describe('R-DWS-26: how sure a judge is, and how sure it should be', () => {
  it('is what it is by hand: the gaps of the bins, by their weight', () => {
    // 10 claims of 0.95, 7 right: 0.25 apart. 30 of 0.65, 24 right: 0.15 apart. (10 · 0.25 + 30 · 0.15) / 40 = 0.175.
    expect(calibrationError([...claims(10, 0.95, 7), ...claims(30, 0.65, 24)])?.value).toBeCloseTo(0.175)
  })

  it('puts full confidence into the last bin', () => {
    expect(calibrationError([...claims(5, 1, 5), ...claims(5, 0.9, 4)])?.value).toBeCloseTo(0.05)
  })

  it('tells a judge that is too sure from one that was unlucky', () => {
    const tooSure = calibrationError(claims(200, 0.95, 140))!
    expect(tooSure.low).toBeGreaterThan(0.15)
    expect(tooSure.high).toBeLessThan(0.35)
    expect(calibrationError(claims(10, 0.85, 7))).toMatchObject({ value: expect.closeTo(0.15), low: 0, n: 10 })
  })

  it('holds zero for about 95 of 100 judges that are as sure as they should be', () => {
    const chance = chanceOf(7)
    const studies = Array.from({ length: 200 }, () =>
      Array.from({ length: 60 }, () => {
        const confidence = 0.5 + chance() / 2
        return { confidence, right: chance() < confidence ? 1 : 0 }
      }),
    )
    const held = studies.filter(study => calibrationError(study)?.low === 0).length
    expect(held / studies.length).toBeGreaterThan(0.91)
    expect(held / studies.length).toBeLessThan(0.99)
  })

  it('is not known without a claim, and the same whenever it is asked for', () => {
    expect(calibrationError([])).toBeUndefined()
    expect(calibrationError(claims(20, 0.8, 15))).toEqual(calibrationError(claims(20, 0.8, 15)))
  })
})
