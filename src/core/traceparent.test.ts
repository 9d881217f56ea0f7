import { describe, expect, test } from 'vitest'
import { parseTraceparent, renderTraceparent } from './traceparent.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('a traceparent', () => {
  test('R-TRACE-1: is read as the recommendation has it, and written as version 00', () => {
    const read = parseTraceparent(`00-${TRACE}-${SPAN}-01`)
    expect(read).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true })
    expect(renderTraceparent(read!)).toBe(`00-${TRACE}-${SPAN}-01`)
  })

  test.each([
    ['00', false],
    ['01', true],
    ['02', false],
    ['03', true],
    ['fe', false],
    ['ff', true],
  ])('flags %s: of all flags, whether it is recorded is what is handed on', (flags, sampled) => {
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-${flags}`)).toEqual({ traceId: TRACE, spanId: SPAN, sampled })
  })

  test.each([`cc-${TRACE}-${SPAN}-01`, `01-${TRACE}-${SPAN}-01-what-the-future-brings`, `fe-${TRACE}-${SPAN}-01-`])(
    'of a later version its beginning counts: %s',
    text => {
      expect(parseTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true })
    },
  )

  test.each([
    ['nothing', undefined],
    ['an empty text', ''],
    ['a word', 'hello'],
    ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capital letters', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a version that is none', `ff-${TRACE}-${SPAN}-01`],
    ['more behind version 00', `00-${TRACE}-${SPAN}-01-more`],
    ['a version of one digit', `0-${TRACE}-${SPAN}-01`],
    ['a later version that goes on without a dash', `01-${TRACE}-${SPAN}-01x`],
    ['a trace too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['a trace too long', `00-${TRACE}a-${SPAN}-01`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['flags of one digit', `00-${TRACE}-${SPAN}-1`],
    ['a space before it', ` 00-${TRACE}-${SPAN}-01`],
    ['a line behind it', `00-${TRACE}-${SPAN}-01\n`],
    ['two of them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['letters that are no digits', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
  ])('R-XHOST-8: %s is none', (_what, text) => {
    expect(parseTraceparent(text)).toBeUndefined()
  })
})
