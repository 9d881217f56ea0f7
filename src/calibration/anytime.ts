/**
 * Bounds for the share of ones among zeros and ones that hold at every look. Whoever looks after each value and stops
 * when he likes the bound is wrong with a chance of at most `alpha` over the whole of it, however long he looks.
 *
 * A bet that starts with 1 and is fair, or worse, as long as the true share is at most p: it grows by how much likelier
 * the values are under a share above p than under p itself, averaged evenly over all shares from p to 1. By Ville's
 * inequality it ever reaches 1 / alpha with a chance of at most alpha, so every p for which it has is out of the question.
 */
export function lowerShare(ones: number, zeros: number, alpha: number): number {
  if (ones === 0) return 0
  const wanted = -Math.log(alpha)
  let [low, high] = [0, ones / (ones + zeros)]
  for (let step = 0; step < BISECTIONS; step += 1) {
    const middle = (low + high) / 2
    if (logWealth(ones, zeros, middle) >= wanted) low = middle
    else high = middle
  }
  return low
}

export const upperShare = (ones: number, zeros: number, alpha: number): number => 1 - lowerShare(zeros, ones, alpha)

const BISECTIONS = 40

/**
 * Logarithm of the mean over s from p to 1 of (s/p)^ones · ((1-s)/(1-p))^zeros. The integral is an incomplete beta
 * function, which for whole numbers is a sum of binomial chances: those of at most `ones` among one value more.
 */
function logWealth(ones: number, zeros: number, p: number): number {
  if (p <= 0) return Number.POSITIVE_INFINITY
  if (p >= 1) return Number.NEGATIVE_INFINITY
  const n = ones + zeros
  const [yes, no] = [Math.log(p), Math.log1p(-p)]
  // From the greatest term down: each follows from the one before, so nothing overflows.
  let term = logChoose(n + 1, ones) + ones * yes + (n + 1 - ones) * no
  let sum = term
  for (let k = ones; k > 0; k -= 1) {
    term += Math.log(k / (n + 2 - k)) + no - yes
    sum = addLogs(sum, term)
    if (term < sum - NEGLIGIBLE) break
  }
  const beta = -Math.log(n + 1) - logChoose(n, ones)
  return beta + sum - no - ones * yes - zeros * no
}

/** Of logarithms: what is so much smaller changes no digit. */
const NEGLIGIBLE = 40

const addLogs = (a: number, b: number): number => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)))

const logChoose = (n: number, k: number): number => logFactorial(n) - logFactorial(k) - logFactorial(n - k)

/** Those that somebody has asked for, from 0 on: a bound asks for the same few again and again. */
const LOG_FACTORIALS = [0]

function logFactorial(n: number): number {
  for (let i = LOG_FACTORIALS.length; i <= n; i += 1) LOG_FACTORIALS.push(LOG_FACTORIALS[i - 1]! + Math.log(i))
  return LOG_FACTORIALS[n]!
}
