import { describe, expect, test } from 'vitest'
import { readDeclaration } from './declaration.js'

const GOOD = { description: 'Counts words', inputSchema: { type: 'object' }, run: () => 1 }

describe('what a module must export', () => {
  test('the least, and the most', () => {
    expect(readDeclaration(GOOD, 'module')).toEqual({ ok: true, declaration: GOOD })
    const more = { title: 'T', outputSchema: {}, safetyTier: 'pure', repeat: 'safe', scopes: ['words:read'] }
    expect(readDeclaration({ ...GOOD, ...more }, 'module').ok).toBe(true)
  })

  const cyclic: { [name: string]: unknown } = { type: 'object' }
  cyclic.self = cyclic

  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /export an object/],
    ['a function', () => 1, /export an object/],
    ['a list', [GOOD], /export an object/],
    ['no description', { ...GOOD, description: undefined }, /^description must be/],
    ['an empty description', { ...GOOD, description: ' ' }, /^description must be/],
    ['no schema', { ...GOOD, inputSchema: undefined }, /^inputSchema must be/],
    ['a schema of its own kind', { ...GOOD, inputSchema: true }, /^inputSchema must be/],
    ['a handler in a schema', { ...GOOD, inputSchema: { type: 'object', handler: () => 1 } }, /^inputSchema must be/],
    ['a handler deep in a schema', { ...GOOD, outputSchema: { a: [{ b: () => 1 }] } }, /^outputSchema must be/],
    ['a cyclic schema', { ...GOOD, inputSchema: cyclic }, /^inputSchema must be/],
    ['no code', { ...GOOD, run: undefined }, /^run must be a function/],
    ['code as text', { ...GOOD, run: 'return 1' }, /^run must be a function/],
    ['another tier', { ...GOOD, safetyTier: 'harmless' }, /^safetyTier must be/],
    ['another policy', { ...GOOD, repeat: 'always' }, /^repeat must be/],
    ['scopes that are none', { ...GOOD, scopes: 'all' }, /^scopes must be/],
    ['a second handler', { ...GOOD, handler: () => 1 }, /"handler" is not a member/],
    ['a slip of the pen', { ...GOOD, inputschema: {} }, /"inputschema" is not a member/],
    ['an own __proto__', JSON.parse('{"__proto__":{"run":1},"description":"x"}'), /"__proto__" is not a member/],
  ])('R-TOOL-11: %s is refused', (_what, exported, problem) => {
    const read = readDeclaration(exported, 'module')
    expect(read).toEqual({ ok: false, problem: expect.stringMatching(problem) })
  })

  test('R-TOOL-11: data that declares a handler is refused, even a function', () => {
    expect(readDeclaration(GOOD, 'data')).toEqual({
      ok: false,
      problem: expect.stringMatching(/cannot bring a handler/),
    })
  })
})
