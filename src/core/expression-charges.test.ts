import { describe, expect, it } from 'vitest'
import { parseExpression } from './expression.js'
import type { Json } from './json.js'
import { Meter } from './meter.js'
import { matchesPattern, partsOf } from './pattern.js'
import { compileCondition } from './workflow/condition.js'
import type { EdgeCondition } from './workflow/definition.js'

const stepsOf = (source: string, inputs: { readonly [name: string]: unknown } = {}): number => {
  const expression = parseExpression(source)
  if ('problem' in expression) throw new Error(expression.problem)
  const result = expression.evaluate({ inputs }, Number.POSITIVE_INFINITY)
  if (!result.ok) throw new Error(result.error.message)
  return result.steps
}

const text = (n: number): string => 'x'.repeat(n)
const list = (n: number): number[] => Array.from({ length: n }, (_, i) => i)
/** Members whose names are all four characters long. */
const members = (n: number) => Object.fromEntries(list(n).map(i => [`k${100 + i}`, i]))

/** What each further one takes, from 400 to 800. */
const perItem = (source: string, of: (n: number) => unknown, more: { readonly [name: string]: unknown } = {}): number =>
  (stepsOf(source, { a: of(800), ...more }) - stepsOf(source, { a: of(400), ...more })) / 400

describe('what an expression takes', () => {
  it.each([
    ['1', 2],
    ['inputs.a', 14],
    ['inputs.a.b', 4],
    ['-1 - 1', 5],
    ['has(inputs.a)', 42],
    ['[1, 2]', 6],
    ['{"a": 1}', 15],
    ['size("abc")', 43],
    ['size(inputs.s)', 46],
    ['"abc".size()', 43],
    ['"abc".startsWith("a")', 84],
    ['"abc".contains("a")', 89],
    ['["a"].join("b")', 92],
    ['"abc".matches("a")', 696],
    ['[1].all(x, true)', 47],
    ['[1].all(x, x == 1)', 49],
    ['inputs.s == inputs.s', 48],
    ['inputs.s + inputs.s', 90],
    ['1 in [1]', 47],
    ['cel.bind(x, 1, x)', 5],
    ['timestamp("2026-01-01T00:00:00Z").getHours("UTC")', 5_126],
  ])('%s: %i steps, however fast the host is', (source, steps) => {
    expect(stepsOf(source, { a: { b: 1 }, s: 'abcd' })).toBe(steps)
  })

  const SEARCH = 'inputs.a.contains("y")'

  it.each<readonly [string, string, (n: number) => unknown, number]>([
    ['a text that is compared', '"x" + "y" == inputs.a', text, 1 / 4],
    ['a list that is compared', '[1] + [2] == inputs.a', list, 1],
    ['an object that is compared', '[1] + [2] == inputs.a', members, 26],
    ['what is compared by !=', '"x" + "y" != inputs.a', text, 1 / 4],
    ['what is compared by <', '"x" + "y" < inputs.a', text, 1 / 4],
    ['what is compared by <=', '"x" + "y" <= inputs.a', text, 1 / 4],
    ['what is compared by >', '"x" + "y" > inputs.a', text, 1 / 4],
    ['what is compared by >=', '"x" + "y" >= inputs.a', text, 1 / 4],
    [
      'an object of texts',
      '[1] + [2] == inputs.a',
      n => Object.fromEntries(list(n).map(i => [`k${100 + i}`, 'abcd'])),
      28,
    ],
    ['a list of texts', '[1] + [2] == inputs.a', n => list(n).map(() => 'abcd'), 3],
    ['a list of lists', '[1] + [2] == inputs.a', n => list(n).map(() => [1, 2]), 4],
    ['a text that is joined, on the left', 'inputs.a + inputs.b', text, 1 / 4],
    ['a text that is joined, on the right', 'inputs.b + inputs.a', text, 1 / 4],
    ['a list that is looked into', '"nothing" in inputs.a', list, 1],
    ['an argument of a function', 'size(inputs.a) > 0', text, 1 / 4],
    ['a receiver of a method', 'inputs.a.size() > 0', text, 1 / 4],
    ['an argument of a method', 'inputs.b.startsWith(inputs.a)', text, 1 / 4],
    ['a text that one character is sought in', SEARCH, text, 1 / 4 + 1 / 64],
    ['a text that 64 characters are sought in', `inputs.a.contains("${text(64)}y")`, text, 1 / 4 + 65 / 64],
    ['a text that is sought', 'inputs.c.contains(inputs.a)', text, 1],
    ['one searched after something longer was sought', `inputs.b.contains(inputs.c) || ${SEARCH}`, text, 1 / 4 + 1],
    ['one searched before something longer is', `${SEARCH} || inputs.b.contains(inputs.c)`, text, 1 / 4 + 1 / 64 + 1],
    ['where a text is found', 'inputs.a.indexOf("y") < 0', text, 1 / 4 + 1 / 64],
    ['where it is found last', 'inputs.a.lastIndexOf("y") < 0', text, 1 / 4 + 1 / 64],
    ['a text that is taken apart', 'inputs.a.split("y")', text, 1 / 4 + 1 / 64],
    ['a list that is put together', 'inputs.a.join("yyyy")', n => list(n).map(() => 'x'), 3 + 1 / 16],
    ['a text that a pattern is sought in', 'inputs.a.matches("y")', text, 3],
    ['passes of all', 'inputs.a.all(x, x >= 0.0)', list, 4],
    ['passes of exists', 'inputs.a.exists(x, x < 0.0)', list, 4],
    ['passes of exists_one', 'inputs.a.exists_one(x, x < 0.0)', list, 4],
    ['passes of filter', 'inputs.a.filter(x, x < 0.0) == []', list, 4],
    ['passes of map, and what they give', 'inputs.a.map(x, x)', list, 3],
    ['passes over members', 'inputs.a.all(k, true)', members, 2],
    ['a method in a pass', 'inputs.a.all(x, "x".size() > 0)', list, 45],
    ['a function in a pass', 'inputs.a.all(x, size("x") > 0)', list, 45],
    ['passes in a pass', 'inputs.a.all(x, [1].all(y, true))', list, 47],
    ['a zone in a pass', 'inputs.a.all(x, timestamp(0).getHours("UTC") == 0)', list, 5_128],
    ['a list in the result', 'inputs.a', list, 1],
    ['an object in the result', 'inputs.a', members, 11],
  ])('%s: so much for each further one', (_what, source, of, steps) => {
    expect(perItem(source, of, { b: 'yy', c: text(64) })).toBeCloseTo(steps, 2)
  })
})

describe('what a condition without an expression takes', () => {
  const takes = (condition: EdgeCondition, a: Json): number => {
    const compiled = compileCondition(condition)
    if ('problem' in compiled) throw new Error(compiled.problem)
    const meter = new Meter()
    compiled({ output: { a } }, meter)
    return meter.spent
  }

  it.each<[EdgeCondition['type'] & string, Json, (n: number) => Json, number]>([
    ['equals', text(10_000), text, 1 / 4],
    ['notEquals', text(10_000), text, 1 / 4],
    ['equals', list(10_000), list, 1],
    ['equals', 'short', text, 0],
    ['contains', text(64), text, 1],
    ['contains', 'nothing', list, 1],
    ['regex', 'y', text, 3],
  ])('%s %j: so much for each further one', (type, right, of, steps) => {
    const at = (n: number) => takes({ type, left: 'a', right }, of(n))
    expect((at(800) - at(400)) / 400).toBeCloseTo(steps, 2)
  })

  it('W1: a look that has no room left for its expression says so, and is no edge that is not taken', () => {
    const compiled = compileCondition({ expression: 'inputs.a == inputs.a' })
    if ('problem' in compiled) throw new Error(compiled.problem)
    const inputs = { a: text(4_000) }
    const roomy = new Meter(2_000)
    expect(compiled({ inputs }, roomy)).toBe(true)
    expect(roomy.spent).toBe(stepsOf('inputs.a == inputs.a', inputs))
    const tight = new Meter(roomy.spent - 1)
    expect(() => compiled({ inputs }, tight)).toThrow('more steps than there is room for')
    expect(tight.isOver).toBe(true)
  })
})

describe('what a pattern takes', () => {
  it('X3: to read it, 200 for each part, once for as long as the meter runs; to seek it, its size for each character', () => {
    const meter = new Meter()
    matchesPattern('', 'abc', meter)
    const [read, size] = [partsOf('abc') * 200, meter.spent - partsOf('abc') * 200]
    expect([partsOf('abc'), size]).toEqual([5, 5])
    matchesPattern('', 'abc', meter)
    expect(meter.spent).toBe(read + 2 * size)
    matchesPattern(text(100), 'abc', meter)
    expect(meter.spent).toBe(read + 103 * size)
  })

  it('X3: who has not paid for reading a pattern pays, though it was read before', () => {
    const [first, second] = [new Meter(), new Meter()]
    for (const meter of [first, second]) matchesPattern('', 'a{20}b', meter)
    expect(second.spent).toBe(first.spent)
  })

  it('X3: nothing is begun that there is no room for: neither reading nor seeking', () => {
    const unread = new Meter(200)
    expect(() => matchesPattern('', '(', unread)).toThrow('more steps than there is room for')
    const unsought = new Meter(1_000)
    expect(() => matchesPattern(text(1_000), 'ab', unsought)).toThrow('more steps than there is room for')
  })

  it.each([
    ['a', 3],
    ['ab', 4],
    ['a{10}', 22],
    ['a{2,10}', 22],
    ['(ab){10}', 82],
    ['(a{10}){10}', 442],
    ['[a-z{9}]', 3],
    ['[]a]{3}', 8],
    ['[^]a]', 3],
    ['\\({3}', 8],
    ['(a', 3],
  ])('%s has about %i parts', (source, parts) => {
    expect(partsOf(source)).toBe(parts)
  })

  it('one that is longer than any may be is not read, and found nowhere', () => {
    const meter = new Meter()
    expect(matchesPattern(text(2_000), text(1_001), meter)).toBe(false)
    expect(meter.spent).toBe(0)
    expect(matchesPattern(text(2_000), text(1_000), meter)).toBe(true)
  })
})
