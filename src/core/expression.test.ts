import { Environment } from '@marcbachmann/cel-js'
import { describe, expect, it } from 'vitest'
import { type ExpressionScope, parseExpression } from './expression.js'

const evaluate = (source: string, scope: ExpressionScope = {}) => {
  const expression = parseExpression(source)
  if ('problem' in expression) throw new Error(expression.problem)
  const { steps: _, ...result } = expression.evaluate(scope)
  return result
}

const stepsOf = (source: string, scope: ExpressionScope = {}): number => {
  const expression = parseExpression(source)
  if ('problem' in expression) throw new Error(expression.problem)
  return expression.evaluate(scope, Number.POSITIVE_INFINITY).steps
}

const OVER = { ok: false, error: { code: 'expression_budget_exceeded' } }

const many = <T>(of: (i: number) => T) => Array.from({ length: 2_000 }, (_, i) => of(i))
const members = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`key${i}`, `value${i}`]))
const large = () => Array.from({ length: 20_000 }, (_, i) => i)

describe('expressions', () => {
  it.each([
    ['inputs.n + 1', { inputs: { n: 1 } }, 2],
    ['inputs.n * 2 - 0.5', { inputs: { n: 1 } }, 1.5],
    ['int(inputs.n) % 2 == 0', { inputs: { n: 4 } }, true],
    ['inputs.list.map(x, x * 2)', { inputs: { list: [1, 2] } }, [2, 4]],
    ['{"a": inputs.s, "b": [1, 2]}', { inputs: { s: 'x' } }, { a: 'x', b: [1, 2] }],
    ['has(inputs.missing) ? 1 : 2', { inputs: {} }, 2],
    ['inputs.s.matches("^a+$")', { inputs: { s: 'aaa' } }, true],
    ['(inputs.s + "matches").matches("matches$")', { inputs: { s: 'x' } }, true],
    ['null', {}, null],
  ])('%s gives plain JSON', (source, scope, expected) => {
    expect(evaluate(source, scope)).toEqual({ ok: true, value: expected })
  })

  it.each([
    '1 +',
    'while(1){}',
    'function(){}',
    '`x`',
    `${'('.repeat(5_000)}1`,
    'a'.repeat(5_000),
    `[${'1,'.repeat(3_000)}1]`,
  ])('X1: what is not a small CEL expression is refused when it is read: %#', source => {
    expect(parseExpression(source)).toHaveProperty('problem')
  })

  it.each([
    'constructor.constructor("return process")()',
    'this',
    'inputs.constructor',
    'inputs.__proto__',
    'process.exit()',
    'inputs.toString()',
  ])('no host object can be reached: %s', source => {
    const expression = parseExpression(source)
    if ('problem' in expression) return
    expect(expression.evaluate({ inputs: {} })).toMatchObject({ ok: false, error: { code: 'expression_error' } })
  })

  it('X2: nested macros over large data are not gone through', () => {
    const list = Array.from({ length: 2_000 }, (_, i) => i)
    const nested = 'inputs.l.all(a, inputs.l.all(b, inputs.l.all(c, a + b + c >= 0)))'
    expect(evaluate(nested, { inputs: { l: list } })).toMatchObject({
      ok: false,
      error: { code: 'expression_budget_exceeded' },
    })
    expect(evaluate('inputs.l.all(a, a >= 0)', { inputs: { l: list } })).toEqual({ ok: true, value: true })
  })

  it.each([
    [
      'lists written out',
      `${'[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(a, '.repeat(6)}true${')'.repeat(6)}`,
      {},
    ],
    ['comparisons of collections', 'inputs.l.map(a, inputs.l == inputs.m)', { l: large(), m: large() }],
    [
      'patterns over long texts',
      'inputs.l.exists(x, inputs.s.matches("(a+)+$"))',
      { l: large(), s: 'a'.repeat(30_000) },
    ],
    ['joined lists', 'inputs.l.map(a, (inputs.l + inputs.l + inputs.l + inputs.l).size())', { l: large() }],
  ])('X2: %s count', (_what, source, inputs) => {
    expect(evaluate(source, { inputs })).toMatchObject({ ok: false, error: { code: 'expression_budget_exceeded' } })
  })

  it.each([
    // t = 900,000 x a, p = (?i)(?:a?){900}z: held a host up for minutes.
    ['a pattern that is large', 'inputs.t.matches("(?i)(?:a?){900}z")', { t: 'a'.repeat(900_000) }],
    ['a pattern that is large to read', `inputs.t.matches("${'a{1000}'.repeat(100)}")`, { t: 'a' }],
    ['patterns, each read once more', 'inputs.p.exists(p, "x".matches(p))', { p: many(i => `^(?:a?){99}${i}$`) }],
    ['the length of a long text in a loop', 'inputs.l.all(x, inputs.t.size() > 0)', { l: large(), t: 'x'.repeat(1e6) }],
    [
      'a text sought in a text',
      'inputs.t.contains(inputs.u)',
      { t: 'a'.repeat(1e6), u: `${'a'.repeat(5e4)}b${'a'.repeat(5e4)}` },
    ],
    ['what is put between elements', 'inputs.l.map(x, "").join(inputs.t)', { l: large(), t: 'x'.repeat(1e6) }],
    [
      'a text taken apart, and gone through twice',
      'inputs.t.split("").map(x, inputs.t.split("").size())',
      { t: 'x'.repeat(5e3) },
    ],
    ['lists that double', `[[1, 1]]${'.map(x, x + x)'.repeat(40)}`, {}],
    [
      'bound lists that double',
      `${'cel.bind(a, inputs.l, '}${'cel.bind(a, a + a, '.repeat(40)}a.size()${')'.repeat(41)}`,
      { l: [1] },
    ],
    ['one value in many places of a result', 'inputs.l.map(x, inputs.l)', { l: large() }],
    ['objects that are compared', 'inputs.a == inputs.b', { a: members(40_000), b: members(40_000) }],
    ['objects within lists', 'inputs.a == inputs.b', { a: many(() => members(20)), b: many(() => members(20)) }],
    ['a value sought in a list', 'inputs.l.all(x, "y" in inputs.l)', { l: large() }],
    [
      'times of a named zone',
      'inputs.l.map(x, timestamp("2026-01-01T00:00:00Z").getHours("Europe/Berlin"))',
      { l: large() },
    ],
  ])('X2: %s: refused before it is done', (_what, source, inputs) => {
    expect(evaluate(source, { inputs })).toMatchObject(OVER)
  })

  it('X2: a refusal that a macro swallows is one, and ends what would follow', () => {
    const inputs = { l: [1, 2, 3], a: members(40_000), b: members(40_000) }
    expect(evaluate('inputs.l.exists(x, x == 1.0 || inputs.a == inputs.b)', { inputs })).toEqual({
      ok: true,
      value: true,
    })
    expect(evaluate('inputs.l.exists(x, inputs.a == inputs.b || x == 3.0)', { inputs })).toMatchObject(OVER)
  })

  it('X2 X3: a search is charged by the parts of the pattern times the characters of the text', () => {
    const steps = (n: number, parts: number) =>
      stepsOf(`inputs.t.matches("(?i)(?:a?){${parts}}z")`, { inputs: { t: 'a'.repeat(n) } })
    const perText = (parts: number) => (steps(20_000, parts) - steps(10_000, parts)) / 10_000
    expect(perText(100)).toBeGreaterThan(200)
    expect(perText(200) / perText(100)).toBeCloseTo(2, 1)
  })

  it('X2: what is asked of one row is not charged for the others', () => {
    const rows = many(i => ({ name: `n${i}`, tags: ['a', 'b'] }))
    expect(evaluate('inputs.rows.filter(r, r.name == inputs.name).size()', { inputs: { rows, name: 'n7' } })).toEqual({
      ok: true,
      value: 1,
    })
  })

  it.each([
    '(inputs.a + inputs.b).size() == ( inputs.c[0] ) && 1.0 in (inputs.a + inputs.b)',
    '((inputs.s)).contains( ( "b)" ) ) || (inputs.s + "(").endsWith(")")',
    '[1, 2].map(x, x + 0.5)',
    'cel.bind(x, inputs.a + inputs.a, (x + x).size())',
    'inputs.a.filter(x, x > 1.0).map(x, x * 2.0).exists(x, x == 4.0)',
    'inputs.m.all(k, k.size() == 1) ? "yes" : "no"',
    '{"a": inputs.s + inputs.s, "b": inputs.a + [3]}',
    'has(inputs.m.a) && size(inputs.m) == 1 && !(inputs.s).matches(r"^(\\()b")',
    '["a", "b"].join(inputs.s) + r"(\\n" + string(1) + string(inputs.a.size())',
    'inputs.s < inputs.t && inputs.s.indexOf("b") == 1 && inputs.s.split("b").size() == 2',
    'bytes(inputs.s).size() == inputs.s.size() && type(inputs.a) == list',
    'timestamp("2026-01-01T00:00:00Z").getHours("UTC") == 0',
  ])('is charged without changing what it says: %s', source => {
    const inputs = { a: [1, 2], b: [2], c: [3], s: 'abc', t: 'abd', m: { a: 1 } }
    const plain = new Environment({
      unlistedVariablesAreDyn: true,
      homogeneousAggregateLiterals: false,
    }).registerOperator('int + double', (a: bigint, b: number) => Number(a) + b)
    const said = JSON.parse(
      JSON.stringify(plain.evaluate(source, { inputs }), (_, value) =>
        typeof value === 'bigint' ? Number(value) : value,
      ),
    )
    expect(evaluate(source, { inputs })).toEqual({ ok: true, value: said })
  })

  it('nobody but the host charges: its own functions cannot be called', () => {
    expect(parseExpression('assayRepeated(inputs.l, -1000000)')).toHaveProperty('problem')
  })

  it('X2: ordinary work over thousands of elements is within the budget', () => {
    const rows = Array.from({ length: 5_000 }, (_, i) => ({ name: `n${i}`, n: i }))
    expect(evaluate('inputs.rows.filter(r, r.name == "n7" || r.n > 4998).map(r, r.n)', { inputs: { rows } })).toEqual({
      ok: true,
      value: [7, 4999],
    })
  })

  it('X4: data that is nested without end is an error of the expression, not of the host', () => {
    let deep: unknown = 1
    for (let i = 0; i < 50_000; i += 1) deep = [deep]
    expect(evaluate('inputs.x', { inputs: { x: deep } })).toMatchObject({ ok: false })
    expect(evaluate('inputs.l.all(a, a == inputs.x)', { inputs: { x: deep, l: [1] } })).toHaveProperty('ok')
  })

  it('X3: a pattern that would explode elsewhere is matched in linear time', () => {
    expect(evaluate('inputs.s.matches("^(a+)+$")', { inputs: { s: `${'a'.repeat(50_000)}!` } })).toEqual({
      ok: true,
      value: false,
    })
  })

  it('a bad pattern or a missing value is an error of the expression, not of the host', () => {
    expect(evaluate('inputs.s.matches("(")', { inputs: { s: 'x' } })).toMatchObject({
      ok: false,
      error: { code: 'expression_error' },
    })
    expect(evaluate('inputs.a.b.c', { inputs: {} })).toMatchObject({ ok: false, error: { code: 'expression_error' } })
  })
})
