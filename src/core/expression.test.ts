import { describe, expect, it } from 'vitest'
import { type ExpressionScope, parseExpression } from './expression.js'

const evaluate = (source: string, scope: ExpressionScope = {}) => {
  const expression = parseExpression(source)
  if ('problem' in expression) throw new Error(expression.problem)
  return expression.evaluate(scope)
}

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

  it('X2: nested macros over large data fail before they begin', () => {
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
