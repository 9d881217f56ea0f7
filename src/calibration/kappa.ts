import { type Estimate, meanOf, wilson, Z95 } from './estimate.js'

/** What a judge said of one result, and what the result was. `against`: the share of its votes that failed it. */
export type Ruling = { readonly against: number; readonly bad: boolean }

/**
 * Cohen's kappa: how much more often judge and truth agree than two that know nothing of each other would. Undefined
 * when all results are alike, for then agreement shows nothing.
 */
export function kappaOf(rulings: readonly Ruling[]): Estimate | undefined {
  const n = rulings.length
  const bad = rulings.filter(ruling => ruling.bad).length / n
  if (n === 0 || bad === 0 || bad === 1) return undefined
  const against = meanOf(rulings.map(ruling => ruling.against))
  const hits = rulings.reduce((sum, ruling) => sum + (ruling.bad ? ruling.against : 0), 0) / n
  const table: Table = [
    [hits, against - hits],
    [bad - hits, 1 - against - bad + hits],
  ]
  const agreed = table[0][0] + table[1][1]
  const expected = against * bad + (1 - against) * (1 - bad)
  const value = (agreed - expected) / (1 - expected)
  const reach = Z95 * standardError(table, value, expected, n)
  // The error of a judge that was never wrong is zero, however few results it saw: ask how rarely it may be wrong.
  const low = agreed > 1 - 1e-9 ? (wilson(1, n).low - expected) / (1 - expected) : value - reach
  return { value, low: Math.max(-1, low), high: Math.min(1, value + reach), n }
}

/** Shares of all results: rows are what the judge said (fail, pass), columns what was true (bad, good). */
type Table = readonly [readonly [number, number], readonly [number, number]]

/** For large samples, after Fleiss, Cohen and Everitt (1969). */
function standardError(table: Table, kappa: number, expected: number, n: number): number {
  const [[failBad, failGood], [passBad, passGood]] = table
  const [fail, pass] = [failBad + failGood, passBad + passGood]
  const [bad, good] = [failBad + passBad, failGood + passGood]
  const apart = 1 - kappa
  const alike = failBad * (1 - (fail + bad) * apart) ** 2 + passGood * (1 - (pass + good) * apart) ** 2
  const unlike = failGood * (bad + pass) ** 2 + passBad * (good + fail) ** 2
  const variance = alike + apart ** 2 * unlike - (kappa - expected * apart) ** 2
  return Math.sqrt(Math.max(0, variance) / n) / (1 - expected)
}
