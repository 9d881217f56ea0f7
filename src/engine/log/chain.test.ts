import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemIds } from '../../system.js'
import type { StoredEvent } from '../ports/event-log.js'
import { CHAIN_START, chainHash, contentDigests, linkHash } from './chain.js'
import '../../../test/support/seed.js'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')

const event: Omit<StoredEvent, 'hash' | 'erased'> = {
  sequence: 3,
  type: 'node.completed',
  nodeId: 'draft',
  payload: '{"nodeId":"draft"}',
  secret: '{"outputs":{"text":"hello"}}',
  cause: 2,
  foreignCause: null,
  at: 1_700_000_000_000,
  input: null,
  salt: 'c2FsdC1vZi10aGUtZXZlbnQ',
}

describe('L33: the form of a link', () => {
  test('is that of its description: fixed fields and salted digests, under a name', () => {
    const part = (name: string, text: string) => sha256([name, 'c2FsdC1vZi10aGUtZXZlbnQ', text].join('\0'))
    const digests = [part('payload', event.payload), part('secret', '{"outputs":{"text":"hello"}}'), '']
    const covered = ['2', 'before', '3', 'node.completed', '=draft', '2', '1700000000000', ...digests]
    expect(chainHash('before', event)).toBe(`2.${sha256(covered.join('\0'))}`)
  })

  test('never changes: a hash that was recorded once is the hash for ever', () => {
    expect(chainHash(CHAIN_START, event)).toBe('2.ko5URwT08_Xf3AuXFtMtRmwh5V_eb_khnTuu9OJTl_c')
    expect(chainHash(CHAIN_START, { ...event, salt: null })).toBe('cbI5MAWuRi5ado9JbuRc0Y0HoYK2v7XxkXkrSM6axHA')
  })

  test('an event without a salt has the older form, which covers the texts themselves and has no name', () => {
    const text = '["before",3,"node.completed","draft","{\\"nodeId\\":\\"draft\\"}",'
    const rest = '"{\\"outputs\\":{\\"text\\":\\"hello\\"}}",2,1700000000000,null]'
    expect(chainHash('before', { ...event, salt: null })).toBe(sha256(text + rest))
  })

  test('a cause on another host is covered in the place of one here, and cannot be taken for one', () => {
    const foreign = { ...event, cause: null, foreignCause: '2' }
    const hashes = [event, foreign, { ...event, cause: null }, { ...foreign, foreignCause: 'r:2' }].map(one =>
      chainHash('before', one),
    )
    expect(new Set(hashes).size).toBe(4)
  })

  test('a field that is stored later changes no hash', () => {
    expect(chainHash('before', { ...event, later: 'field' } as typeof event)).toBe(chainHash('before', event))
  })
})

const text = fc.string({ maxLength: 20 })
const contents = fc.record({ payload: text, secret: fc.option(text), input: fc.option(text), salt: text })

describe('content that is erased', () => {
  test('leaves digests that prove the chain as the content did', () => {
    fc.assert(
      fc.property(text, contents, (previous, content) => {
        const whole = { ...event, ...content }
        const { sequence, type, nodeId, cause, foreignCause, at } = whole
        const kept = { sequence, type, nodeId, cause, foreignCause, at }
        expect(linkHash(previous, kept, contentDigests(whole, whole.salt))).toBe(chainHash(previous, whole))
      }),
    )
  })

  test('is not to be guessed from them: equal content has other digests under another salt, and in another part', () => {
    fc.assert(
      fc.property(text, fc.uniqueArray(text, { minLength: 2, maxLength: 2 }), (same, [one, other]) => {
        const of = (salt = '') => contentDigests({ payload: same, secret: same, input: same }, salt)
        expect(new Set([...Object.values(of(one)), ...Object.values(of(other))]).size).toBe(6)
      }),
    )
  })

  test('nothing moves between salt and text, nor between type and node', () => {
    fc.assert(
      fc.property(text, text, fc.string({ minLength: 1, maxLength: 5 }), (one, other, moved) => {
        const digest = (salt: string, payload: string) =>
          contentDigests({ payload, secret: null, input: null }, salt).payload
        expect(digest(one, moved + other)).not.toBe(digest(one + moved, other))
        expect(digest(one, `${moved}\0${other}`)).not.toBe(digest(one + moved, other))
        const hashOf = (type: string, nodeId: string | null) => chainHash('', { ...event, type, nodeId })
        expect(hashOf(one, moved + other)).not.toBe(hashOf(one + moved, other))
        expect(hashOf(`${one}\0=${moved}`, null)).not.toBe(hashOf(one, moved))
        expect(hashOf(one, '')).not.toBe(hashOf(one, null))
      }),
    )
  })
})

test('salts of the system are sixteen bytes each, and none comes twice', () => {
  const salts = Array.from({ length: 1_000 }, () => systemIds.salt())
  expect(new Set(salts).size).toBe(1_000)
  expect(salts.every(salt => Buffer.from(salt, 'base64url').length === 16)).toBe(true)
})
