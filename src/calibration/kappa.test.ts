import { describe, expect, it } from 'vitest'
import { kappaOf } from './kappa.js'

const rulings = (counts: { hit: number; falseAlarm: number; miss: number; right: number }) => [
  ...Array.from({ length: counts.hit }, () => ({ against: 1, bad: true })),
  ...Array.from({ length: counts.falseAlarm }, () => ({ against: 1, bad: false })),
  ...Array.from({ length: counts.miss }, () => ({ against: 0, bad: true })),
  ...Array.from({ length: counts.right }, () => ({ against: 0, bad: false })),
]

describe('R-DWS-26: Cohen’s kappa of votes and truth', () => {
  it('is what it is by hand', () => {
    // Agreed (20 + 15) / 50 = 0.7; by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5; (0.7 − 0.5) / 0.5 = 0.4.
    const kappa = kappaOf(rulings({ hit: 20, falseAlarm: 5, miss: 10, right: 15 }))!
    expect(kappa.value).toBeCloseTo(0.4)
    // Of the variance: 0.4·0.34² + 0.3·0.46² + 0.36·(0.1·1.1² + 0.2·0.9²) − 0.1² = 0.20164, so 1.96 · √(0.20164/50)/0.5.
    expect(kappa.value - kappa.low).toBeCloseTo(1.96 * Math.sqrt(0.20164 / 50) * 2, 3)
    expect(kappa.n).toBe(50)
  })

  it('is 1 for a judge that was never wrong, and no surer than few results allow', () => {
    const few = kappaOf(rulings({ hit: 2, falseAlarm: 0, miss: 0, right: 2 }))!
    const many = kappaOf(rulings({ hit: 200, falseAlarm: 0, miss: 0, right: 200 }))!
    expect([few.value, few.high, many.value]).toEqual([1, 1, 1])
    expect(few.low).toBeLessThan(0.1)
    expect(many.low).toBeGreaterThan(0.97)
  })

  it('is 0 for a judge that says the same of everything, and −1 for one that is always wrong', () => {
    expect(kappaOf(rulings({ hit: 5, falseAlarm: 5, miss: 0, right: 0 }))?.value).toBe(0)
    expect(kappaOf(rulings({ hit: 0, falseAlarm: 5, miss: 5, right: 0 }))?.value).toBe(-1)
  })

  it('is not known without results, or when they are all alike', () => {
    expect(kappaOf([])).toBeUndefined()
    expect(kappaOf(rulings({ hit: 3, falseAlarm: 0, miss: 2, right: 0 }))).toBeUndefined()
  })
})
