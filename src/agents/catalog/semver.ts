/** Versions as packs and prompts have them (SemVer 2.0.0), and the ranges that packs ask for. */

type Version = { readonly numbers: readonly number[]; readonly pre: readonly string[] }

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/
const COMPARATOR = /^(\^|~|>=|<=|>|<|=)?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/

export const RANGE_RULE = '1.2.3, ^1.2.3, ~1.2.3, ">=1.2.0 <2.0.0", several of them with ||, or *'

/** Negative when `a` is the older one. Build metadata does not count. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)]
  for (const [index, number] of left.numbers.entries()) {
    const difference = number - (right.numbers[index] ?? 0)
    if (difference !== 0) return difference
  }
  return comparePre(left.pre, right.pre)
}

export const isRange = (range: string): boolean =>
  alternatives(range).every(parts => parts.every(part => part === '*' || COMPARATOR.test(part)))

export const satisfies = (version: string, range: string): boolean =>
  alternatives(range).some(parts => parts.every(part => part === '*' || meets(version, part)))

const alternatives = (range: string): readonly (readonly string[])[] =>
  range.split('||').map(part => part.trim().split(/\s+/))

function meets(version: string, comparator: string): boolean {
  const [, operator = '=', bound = ''] = COMPARATOR.exec(comparator) ?? []
  const order = compareVersions(version, bound)
  switch (operator) {
    case '>=':
      return order >= 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '<':
      return order < 0
    case '^':
      return order >= 0 && sameUpTo(version, bound, leading(bound))
    case '~':
      return order >= 0 && sameUpTo(version, bound, 2)
    default:
      return order === 0
  }
}

/** How many numbers `^` holds fixed: up to and with the first that is not 0. */
function leading(version: string): number {
  const first = parse(version).numbers.findIndex(number => number !== 0)
  return first === -1 ? 3 : first + 1
}

const sameUpTo = (a: string, b: string, count: number): boolean =>
  parse(a).numbers.slice(0, count).join('.') === parse(b).numbers.slice(0, count).join('.')

function parse(version: string): Version {
  const match = VERSION.exec(version)
  if (match === null) throw new Error(`not a version: ${version}`)
  return { numbers: match.slice(1, 4).map(Number), pre: match[4]?.split('.') ?? [] }
}

/** A version without a pre-release part is the newer one; numbers are older than words. */
function comparePre(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length
  for (const [index, left] of a.entries()) {
    const right = b[index]
    if (right === undefined) return 1
    if (left === right) continue
    const [leftNumber, rightNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)]
    if (leftNumber && rightNumber) return Number(left) - Number(right)
    if (leftNumber !== rightNumber) return leftNumber ? -1 : 1
    return left < right ? -1 : 1
  }
  return a.length - b.length
}
