import { isObject, type Json, type JsonObject } from '../../src/core/json.js'
import type { Ask, KeyOf } from './live-host.js'
import type { Good } from './operations.js'

/** Numbers from a seed: the same requests for the same seed (mulberry32). */
export class Chance {
  #state: number
  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to just under 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  of<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T
  }
}

const TEXTS = [
  '',
  'x',
  '\0',
  'a\0b',
  '\n',
  '\u200b',
  '\ud800',
  '\u202e',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  "' OR 1=1 --",
  '{{7*7}}',
  '<script>alert(1)</script>',
  '*',
  '%00',
  '\u{1f600}',
  'x'.repeat(300),
  'x'.repeat(20_000),
]
const VALUES: readonly Json[] = [
  ...TEXTS,
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53 + 2,
  [],
  {},
  [[[[]]]],
  { a: { b: 1 } },
]
const BODIES = [
  '',
  '{',
  '[]',
  'null',
  '"x"',
  '{"a":1,"a":2}',
  '{"__proto__":{"x":1}}',
  `${'['.repeat(200)}`,
  '\ufeff{}',
  'NaN',
]
const HEADERS: readonly { readonly [name: string]: string }[] = [
  { 'idempotency-key': 'x'.repeat(300) },
  { 'idempotency-key': 'a b' },
  { 'x-dedup': 'enforce' },
  { 'x-force-engine-version': '99' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-encoding': 'gzip' },
  { 'x-http-method-override': 'DELETE', 'x-tenant-id': 'beta' },
  { 'x-assay-tenant': 'beta' },
  { accept: 'application/json' },
  { 'if-none-match': '*' },
  { 'if-match': '"7"' },
  { 'if-match': '*' },
  { 'if-match': 'W/"\u00e9' },
  { 'content-type': 'multipart/form-data; boundary=XX' },
  { 'content-type': 'image/svg+xml; a="\u00e9"' },
  { 'idempotency-key': 'always-the-same' },
]

type Mutation = (good: Required<Good>, chance: Chance) => Required<Good>

const withAsk = (good: Required<Good>, more: Ask): Required<Good> => ({ ...good, ask: { ...good.ask, ...more } })

/** A body whose one member, at any depth, is another, is gone or is new. */
function changed(value: Json, chance: Chance): Json {
  if (Array.isArray(value) && value.length > 0 && chance.next() < 0.7) {
    const i = Math.floor(chance.next() * value.length)
    return value.map((item: Json, at) => (at === i ? changed(item, chance) : item))
  }
  if (!isObject(value)) return chance.of(VALUES)
  const names = Object.keys(value)
  const what = chance.next()
  if (names.length === 0 || what < 0.1)
    return { ...value, [chance.of(['extra', 'tenantId', 'owner', 'toString'])]: chance.of(VALUES) }
  const name = chance.of(names)
  if (what < 0.25) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
  const inside = value[name] as Json
  return { ...value, [name]: what < 0.65 ? changed(inside, chance) : chance.of(VALUES) } as JsonObject
}

/** Cut, doubled, or with something else in the middle. */
function spoilt(bytes: string | Buffer, chance: Chance): Buffer {
  const whole = Buffer.from(bytes)
  const at = Math.floor(chance.next() * whole.length)
  const middle = Buffer.from(chance.of(['', '\0', '\r\n--XX\r\n', '"', 'x'.repeat(20_000)]))
  return Buffer.concat([whole.subarray(0, at), middle, whole.subarray(chance.of([0, at, whole.length]))])
}

const MUTATIONS: readonly Mutation[] = [
  (good, chance) => {
    const parts = good.url.split('?')[0]!.split('/')
    const i = 2 + Math.floor(chance.next() * (parts.length - 2))
    parts[i] = encodeURIComponent(chance.of(TEXTS).replace(/\p{Surrogate}/gu, '?'))
    return { ...good, url: parts.join('/') }
  },
  (good, chance) => {
    const name = chance.of([
      'limit',
      'cursor',
      'status',
      'streamMode',
      'since',
      'fromSeq',
      'lastSequence',
      'tag',
      'tenantId',
      'scope',
      'ref',
      'q',
      'at',
      'prefix',
      'version',
      'after',
      'raw',
      'destroy',
      '__proto__',
    ])
    const value = encodeURIComponent(
      String(chance.of(VALUES))
        .replace(/\p{Surrogate}/gu, '?')
        .slice(0, 2_000),
    )
    return { ...good, url: `${good.url}${good.url.includes('?') ? '&' : '?'}${name}=${value}` }
  },
  (good, chance) =>
    good.ask.body === undefined ? good : withAsk(good, { body: changed(good.ask.body as Json, chance) }),
  (good, chance) =>
    good.ask.body === undefined ? good : withAsk(good, { body: changed(good.ask.body as Json, chance) }),
  (good, chance) => (good.ask.body === undefined ? good : withAsk(good, { bytes: chance.of(BODIES) })),
  (good, chance) => (good.ask.bytes === undefined ? good : withAsk(good, { bytes: spoilt(good.ask.bytes, chance) })),
  (good, chance) => withAsk(good, { headers: chance.of(HEADERS) }),
  (good, chance) => ({ ...good, who: chance.of<KeyOf>([null, 'bob', 'tester', 'reader', 'canceller']) }),
  (good, chance) => withAsk(good, { method: chance.of(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) }),
]

export const mutated = (good: Required<Good>, chance: Chance): Required<Good> => chance.of(MUTATIONS)(good, chance)
