import { absent, present } from '../core/present.js'
import { chanceOf } from './chance.js'
import { type Estimate, meanOf } from './estimate.js'

/** How sure a judge said it was, and how right it turned out to be: 0 or 1, or the share of its votes that were. */
export type Claim = { readonly confidence: number; readonly right: number }

const BINS = 10
const RESAMPLES = 200
/** Any would do; a fixed one gives the same report for the same records. */
const SEED = 26

/**
 * Expected calibration error: how far stated confidence is from how often the judge is right, over ten bins of equal
 * width. The interval is a bootstrap of the claims. Chance alone makes every sample look worse than the judge is, so
 * what resampling adds is taken off, and zero is within the interval whenever a judge that is as sure as it should be
 * might well have looked like this.
 */
export function calibrationError(claims: readonly Claim[]): Estimate | undefined {
  const n = claims.length
  if (n === 0) return undefined
  const claimAt = (i: number): Claim => claims[i] ?? absent(`claim ${i}`)
  const value = errorOf(n, claimAt)
  const chance = chanceOf(SEED)
  const errors = repeated(n, () => claimAt(Math.floor(chance() * n)))
  const honest = repeated(n, i => {
    const { confidence } = claimAt(i)
    return { confidence, right: chance() < confidence ? 1 : 0 }
  })
  const bias = meanOf(errors) - value
  const low = value <= quantile(honest, 0.95) ? 0 : quantile(errors, 0.025) - bias
  return { value, low: clamp(low, 0, value), high: clamp(quantile(errors, 0.975) - bias, value, 1), n }
}

function errorOf(n: number, claimAt: (i: number) => Claim): number {
  const gaps = new Float64Array(BINS)
  for (let i = 0; i < n; i += 1) {
    const { confidence, right } = claimAt(i)
    const bin = Math.min(BINS - 1, Math.floor(confidence * BINS))
    gaps[bin] = (gaps[bin] ?? 0) + (right - confidence)
  }
  return gaps.reduce((sum, gap) => sum + Math.abs(gap), 0) / n
}

/** Errors of many samples, ascending. */
const repeated = (n: number, draw: (i: number) => Claim): number[] =>
  Array.from({ length: RESAMPLES }, () => errorOf(n, draw)).sort((a, b) => a - b)

const quantile = (ascending: readonly number[], share: number): number =>
  present(ascending[Math.floor(share * (ascending.length - 1))], 'sample')

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))
