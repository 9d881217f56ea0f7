import { describe, expect, test } from 'vitest'
import { type EntryTerms, isSayable, LONGEST_TTL_SECONDS, typeToKeep, wrongWith } from './entry-rules.js'

const memory: EntryTerms = { space: 'memory', scope: 'team', ref: 'people', id: 'ann', tags: [] }
const file: EntryTerms = { space: 'workspace', scope: '', ref: '', id: 'a/b.md', tags: [] }

describe('R-MEM-18: what a run may write', () => {
  test.each<Partial<EntryTerms>>([
    {},
    { id: 'x'.repeat(1500), ref: 'x'.repeat(256), scope: 'x'.repeat(256) },
    { id: 'é'.repeat(750) },
    { id: '../{"a":1}', ref: '%00 é 😀' },
    { tags: Array.from({ length: 32 }, () => 't'.repeat(256)) },
    { ttlSeconds: 1 },
    { ttlSeconds: LONGEST_TTL_SECONDS },
  ])('an entry with %o', more => {
    expect(wrongWith({ ...memory, ...more })).toBeUndefined()
  })

  test.each<[Partial<EntryTerms>, RegExp]>([
    [{ id: '' }, /the id must/],
    [{ id: 'a\nb' }, /the id must/],
    [{ id: 'a\0' }, /the id must/],
    [{ id: 'a\ud800' }, /the id must/],
    [{ id: 'x'.repeat(1501) }, /the id must/],
    [{ id: '狗'.repeat(501) }, /the id has 1503 bytes, and may have 1500/],
    [{ ref: '' }, /the reference must/],
    [{ ref: '\u2028' }, /the reference must/],
    [{ ref: 'x'.repeat(257) }, /the reference must/],
    [
      { id: '狗'.repeat(500), ref: '狗'.repeat(256), scope: '狗'.repeat(256) },
      /have 3036 bytes together, and may have 2400/,
    ],
    [{ tags: Array.from({ length: 33 }, () => 't') }, /it has 33 tags/],
    [{ tags: ['a', 'b\u0007'] }, /each tag must/],
    [{ tags: ['t'.repeat(257)] }, /each tag must/],
    [{ ttlSeconds: 0 }, /what has expired already/],
    [{ ttlSeconds: Number.NaN }, /what has expired already/],
    [{ ttlSeconds: LONGEST_TTL_SECONDS + 1 }, /may be 3155760000/],
    [{ ttlSeconds: 1e308 }, /may be 3155760000/],
  ])('no entry with %o', (more, said) => {
    expect(wrongWith({ ...memory, ...more })).toMatch(said)
  })

  test.each<[Partial<EntryTerms>, RegExp]>([
    [{ id: 'a//b' }, /the path must/],
    [{ id: 'a/' }, /the path must/],
    [{ id: 'a..b' }, /the path must/],
    [{ id: 'a\\b' }, /the path must/],
    [{ id: 'ａ.md' }, /the path must/],
    [{ contentType: '' }, /the contentType must/],
    [{ contentType: 'text' }, /the contentType must/],
    [{ contentType: 'text/plain\r\nx-evil: 1' }, /the contentType must/],
    [{ contentType: 'text/é' }, /the contentType must/],
  ])('no file with %o', (more, said) => {
    expect([wrongWith(file), wrongWith({ ...file, contentType: 'text/plain; charset=utf-8' })]).toEqual([
      undefined,
      undefined,
    ])
    expect(wrongWith({ ...file, ...more })).toMatch(said)
  })
})

test('S11: nothing can be under a text with a control character or half a character', () => {
  for (const text of ['a\0', '\n', '\ud800', 'a\udc00b']) expect([text, isSayable(text)]).toEqual([text, false])
  for (const text of ['', 'a b', '😀', 'é']) expect([text, isSayable(text)]).toEqual([text, true])
})

test('of the type of a file as much is kept as can be sent again', () => {
  const types = {
    'text/plain': 'text/plain',
    'text/plain; charset=utf-8': 'text/plain; charset=utf-8',
    'text/plain ; charset="utf-8"; x=y': 'text/plain',
    [`text/plain; a=${'x'.repeat(300)}`]: 'text/plain',
    'text/é': 'application/octet-stream',
    text: 'application/octet-stream',
    '': 'application/octet-stream',
  }
  for (const [sent, kept] of Object.entries(types)) expect([sent, typeToKeep(sent)]).toEqual([sent, kept])
})
