import { expect, test } from 'vitest'
import { pageOf, urlsIn } from './urls.js'

test.each([
  ['See https://a.example/x.', ['https://a.example/x']],
  ['(https://a.example/x), [b](https://b.example/y?z=1;q)', ['https://a.example/x', 'https://b.example/y?z=1;q']],
  ['https://a.example/Film_(1999) and (https://a.example/Film_(1999))', ['https://a.example/Film_(1999)']],
  ['<HTTP://A.example>"https://b.example/"', ['HTTP://A.example', 'https://b.example/']],
  ['[https://a.example/x] https://a.example/x!', ['https://a.example/x']],
  ['ftp://a.example, xhttps://no, mailto:a@b', []],
])('addresses in %s', (text, expected) => {
  expect(urlsIn(text)).toEqual(expected)
})

test.each([
  ['https://A.example', 'https://a.example/'],
  ['https://a.example/x', 'https://a.example/x/#part'],
  ['https://a.example/x', 'https://a.example/x.);'],
])('%s and %s are one page', (one, other) => {
  expect(pageOf(one)).toBe(pageOf(other))
})

test('paths and queries tell pages apart', () => {
  const pages = ['https://a.example/x', 'https://a.example/X', 'https://a.example/x?y', 'https://b.example/x']
  expect(new Set(pages.map(pageOf)).size).toBe(pages.length)
})
