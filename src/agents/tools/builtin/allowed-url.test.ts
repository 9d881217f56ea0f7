import { describe, expect, test } from 'vitest'
import { allowedUrl, readPrefix, type UrlPrefix } from './allowed-url.js'

const prefixes = ['https://docs.example/public', 'https://api.example:8443/', 'http://plain.example/a/b/']
  .map(readPrefix)
  .filter((prefix): prefix is UrlPrefix => prefix !== undefined)

describe('which URLs are below a prefix', () => {
  test.each([
    ['https://docs.example/public', 'https://docs.example/public'],
    ['https://docs.example/public/', 'https://docs.example/public/'],
    ['https://docs.example/public/a?b=c&d=../..', 'https://docs.example/public/a?b=c&d=../..'],
    ['HTTPS://DOCS.example:443/public/a', 'https://docs.example/public/a'],
    ['https://docs.example/x/../public/a', 'https://docs.example/public/a'],
    ['https://docs.example/public/%C3%A9', 'https://docs.example/public/%C3%A9'],
    ['https://api.example:8443', 'https://api.example:8443/'],
    ['https://api.example:8443/any%2fthing', 'https://api.example:8443/any%2fthing'],
    ['http://plain.example/a/b', 'http://plain.example/a/b'],
    ['http://plain.example/a/b/c', 'http://plain.example/a/b/c'],
  ])('%s is', (url, canonical) => {
    expect(allowedUrl(url, prefixes)).toBe(canonical)
  })

  test.each([
    ['another host that begins alike', 'https://docs.example.evil.org/public'],
    ['a host below', 'https://a.docs.example/public'],
    ['the root dot', 'https://docs.example./public'],
    ['another scheme', 'http://docs.example/public'],
    ['another port', 'https://docs.example:444/public'],
    ['no port where one is', 'https://api.example/'],
    ['a path that begins alike', 'https://docs.example/public-not'],
    ['a path that begins alike, escaped', 'https://docs.example/public%2Fa'],
    ['a path in other case', 'https://docs.example/PUBLIC/a'],
    ['the path above', 'https://docs.example/'],
    ['dots', 'https://docs.example/public/../secret'],
    ['escaped dots', 'https://docs.example/public/%2e%2e/secret'],
    ['half escaped dots', 'https://docs.example/public/.%2E/secret'],
    ['dots with an escaped slash', 'https://docs.example/public/..%2fsecret'],
    ['dots with an escaped backslash', 'https://docs.example/public/..%5Csecret'],
    ['dots escaped twice', 'https://docs.example/public/%252e%252e/secret'],
    ['dots with a parameter', 'https://docs.example/public/..;/secret'],
    ['a backslash', 'https://docs.example/public\\..\\secret'],
    ['an escaped NUL', 'https://docs.example/public/a%00b'],
    ['a user that looks like the host', 'https://docs.example@evil.org/public'],
    ['a user', 'https://user@docs.example/public'],
    ['a password', 'https://:pw@docs.example/public'],
    ['a fragment', 'https://docs.example/public#x'],
    ['an empty fragment', 'https://docs.example/public#'],
    ['a host hidden behind a backslash', 'https://evil.org\\@docs.example/public'],
    ['a tab that parsers drop', 'https://docs.example/pub\tlic'],
    ['a line break that parsers drop', 'https://docs.exa\nmple/public'],
    ['space around', ' https://docs.example/public'],
    ['no scheme', '//docs.example/public'],
    ['a path alone', '/public'],
    ['a file', 'file:///public'],
    ['a script', 'javascript:alert(1)'],
    ['data', 'data:text/plain,public'],
    ['a look-alike host', 'https://dоcs.example/public'],
    ['nothing', ''],
  ])('attack 52: %s is not', (_what, url) => {
    expect(allowedUrl(url, prefixes)).toBeUndefined()
  })

  test('without prefixes nothing is', () => {
    expect(allowedUrl('https://docs.example/', [])).toBeUndefined()
  })

  test.each([
    '',
    'docs.example',
    'ftp://a.example/',
    'https://u:p@a.example/',
    'https://a.example/?q',
    'https://a.example/#x',
    'https://a.example/a%2fb',
  ])('%j is no prefix', text => {
    expect(readPrefix(text)).toBeUndefined()
  })
})
