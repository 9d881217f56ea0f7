import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../engine/ports/event-log.js'
import { CHAIN_START, chainHash, ERASED, erasedContent } from '../engine/log/chain.js'
import { verifyLog } from './verify-log.js'
import '../../test/support/seed.js'

type Content = Omit<StoredEvent, 'hash' | 'sequence' | 'erased'>

const text = fc.string({ unit: 'binary', maxLength: 12 })
const content: fc.Arbitrary<Content> = fc.record({
  type: text,
  nodeId: fc.option(text),
  payload: text,
  secret: fc.option(text),
  cause: fc.option(fc.nat()),
  foreignCause: fc.constant(null),
  at: fc.nat(),
  input: fc.option(text),
  salt: fc.option(text),
})

/** The first `older` events have no hash, as if they had been written before there was a chain. */
function logOf(contents: readonly Content[], older = 0): StoredEvent[] {
  let head = CHAIN_START
  return contents.map((content, sequence) => {
    const event = { ...content, sequence }
    head = sequence < older ? CHAIN_START : chainHash(head, event)
    return { ...event, hash: head, erased: null }
  })
}

const expectedOf = (events: readonly StoredEvent[]) => ({ length: events.length, head: events.at(-1)?.hash ?? '' })

const logs = fc
  .tuple(fc.array(content, { minLength: 1, maxLength: 12 }), fc.nat(12))
  .map(([contents, older]) => ({ events: logOf(contents, Math.min(older, contents.length)), older }))
const chains = fc.array(content, { minLength: 1, maxLength: 12 }).map(contents => logOf(contents))

const MUTATIONS: { readonly [Field in keyof StoredEvent]: fc.Arbitrary<StoredEvent[Field]> } = {
  sequence: fc.nat(20),
  type: text,
  nodeId: fc.option(text),
  payload: text,
  secret: fc.option(text),
  cause: fc.option(fc.nat()),
  foreignCause: fc.constant(null),
  at: fc.nat(),
  input: fc.option(text),
  salt: fc.option(text),
  hash: fc.oneof(text, fc.constant('')),
  erased: fc.oneof(text, fc.constant('{}')),
}

const mutation = fc
  .constantFrom(...(Object.keys(MUTATIONS) as (keyof StoredEvent)[]))
  .chain(field => (MUTATIONS[field] as fc.Arbitrary<unknown>).map(value => ({ field, value })))

describe('a log that was not changed', () => {
  test('has no anomaly, also when its beginning is older than the chain', () => {
    fc.assert(fc.property(logs, ({ events }) => verifyLog(events, expectedOf(events)) === undefined))
    expect(verifyLog([], { length: 0, head: '' })).toBeUndefined()
  })
})

describe('a log that was changed is named at the first place that shows it', () => {
  test('any field of any event', () => {
    const changed = fc.tuple(chains, fc.nat(), mutation).filter(([events, at, { field, value }]) => {
      return events[at % events.length]![field] !== value
    })
    fc.assert(
      fc.property(changed, ([events, at, { field, value }]) => {
        const index = at % events.length
        const tampered = events.with(index, { ...events[index]!, [field]: value })
        const found = verifyLog(tampered, expectedOf(events))
        // An event under a higher number is one that is missing under its own; one under a lower, one too many.
        const isLower = field === 'sequence' && (value as number) < index
        expect(found?.kind).toBe(field === 'sequence' ? (isLower ? 'event-extra' : 'event-missing') : 'event-changed')
        expect(found?.sequence).toBe(isLower ? value : index)
      }),
      { numRuns: 2000 },
    )
  })

  test('a missing event', () => {
    fc.assert(
      fc.property(logs, fc.nat(), ({ events }, at) => {
        const sequence = at % events.length
        expect(verifyLog(events.toSpliced(sequence, 1), expectedOf(events))).toEqual({
          kind: 'event-missing',
          sequence,
        })
      }),
    )
  })

  test('two events that changed places', () => {
    const pairs = fc.tuple(chains, fc.nat(), fc.nat()).filter(([{ length }, a, b]) => a % length !== b % length)
    fc.assert(
      fc.property(pairs, ([events, a, b]) => {
        const [one, other] = [a % events.length, b % events.length].sort((x, y) => x - y) as [number, number]
        const swapped = events
          .with(one, { ...events[other]!, sequence: one })
          .with(other, { ...events[one]!, sequence: other })
        expect(verifyLog(swapped, expectedOf(events))).toEqual({ kind: 'event-changed', sequence: one })
      }),
    )
  })

  test('events that were added', () => {
    fc.assert(
      fc.property(chains, content, (events, more) => {
        const { length } = events
        const longer = [...events, { ...more, sequence: length, hash: 'x', erased: null }]
        expect(verifyLog(longer, expectedOf(events))).toEqual({ kind: 'event-extra', sequence: length })
      }),
    )
  })

  test('hashes that were taken away from the beginning', () => {
    fc.assert(
      fc.property(chains, fc.nat(), (events, at) => {
        const upto = at % events.length
        const blank = events.map(event => (event.sequence <= upto ? { ...event, hash: '' } : event))
        expect(verifyLog(blank, expectedOf(events))).toEqual({ kind: 'event-changed', sequence: 0 })
      }),
    )
  })

  test('the first hash after events that are older than the chain, taken away', () => {
    const partlyOlder = logs.filter(({ events, older }) => older < events.length)
    fc.assert(
      fc.property(partlyOlder, ({ events, older }) => {
        const blank = events.with(older, { ...events[older]!, hash: '' })
        expect(verifyLog(blank, expectedOf(events))).toEqual({ kind: 'event-changed', sequence: older })
      }),
    )
  })

  test('a log that was hashed anew, of which only the end can tell', () => {
    fc.assert(
      fc.property(chains, fc.nat(), (events, at) => {
        const index = at % events.length
        const forged = logOf(events.with(index, { ...events[index]!, payload: `${events[index]!.payload}!` }))
        expect(verifyLog(forged, expectedOf(events))).toEqual({ kind: 'head-mismatch' })
      }),
    )
  })
})

describe('a log whose content was erased', () => {
  const salted = fc
    .array(content, { minLength: 1, maxLength: 8 })
    .map(contents => logOf(contents.map(one => ({ ...one, salt: one.salt ?? 'salt' }))))
  const erasedOf = (events: readonly StoredEvent[]) =>
    events.map(event => ({ ...event, ...ERASED, erased: erasedContent(event) }))

  test('is a chain as it was, whole or in part', () => {
    fc.assert(
      fc.property(chains, fc.nat(), (events, at) => {
        const erased = erasedOf(events)
        expect(verifyLog(erased, expectedOf(events))).toBeUndefined()
        const upto = at % (events.length + 1)
        expect(verifyLog([...erased.slice(0, upto), ...events.slice(upto)], expectedOf(events))).toBeUndefined()
      }),
    )
  })

  test('and was changed is named, whatever was changed of it', () => {
    const changed = fc.tuple(salted, fc.nat(), mutation).filter(([events, at, { field, value }]) => {
      return erasedOf(events)[at % events.length]![field] !== value
    })
    fc.assert(
      fc.property(changed, ([events, at, { field, value }]) => {
        const [erased, index] = [erasedOf(events), at % events.length]
        const found = verifyLog(erased.with(index, { ...erased[index]!, [field]: value }), expectedOf(events))
        expect(found).toBeDefined()
        if (field !== 'sequence') expect(found).toEqual({ kind: 'event-changed', sequence: index })
      }),
      { numRuns: 2000 },
    )
  })

  test('is not one that says it keeps nothing, where something was kept', () => {
    fc.assert(
      fc.property(salted, fc.nat(), (events, at) => {
        const [erased, sequence] = [erasedOf(events), at % events.length]
        const bare = erased.with(sequence, { ...erased[sequence]!, type: 'forged', erased: '{}' })
        expect(verifyLog(bare, expectedOf(events))).toEqual({ kind: 'event-changed', sequence })
      }),
    )
  })
})
