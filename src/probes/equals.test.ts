import { expect, test } from 'vitest'
import { detailsOf, subjectOf } from '../../test/e2e/probes/rig.js'
import type { Json } from '../core/json.js'
import { probeEquals } from './equals.js'

const probe = (value: Json, output: Json, path?: string) =>
  probeEquals({ probe_id: 'p', type: 'equals', value, ...(path !== undefined && { path }) }, subjectOf(output))

test('the same value, however its keys are ordered', () => {
  expect(probe({ a: 1, b: [true, null] }, { x: { b: [true, null], a: 1 } }, '/x').outcome).toBe('held')
  expect(probe([1, 2], [2, 1]).outcome).toBe('failed')
  expect(probe(1, '1').outcome).toBe('failed')
  expect(probe(null, { a: 0 }, '/b')).toMatchObject({ outcome: 'unavailable', lasting: true })
})

test('evidence says what is there and what must be, and is short', () => {
  expect(detailsOf(probe('final', { s: 'draft' }, '/s'))).toBe('is "draft" and must be "final"')
  const [evidence] = probe('\u{1f600}'.repeat(5_000), 'x\0\ud800'.repeat(500)).evidence
  expect(evidence?.detail.length).toBeLessThanOrEqual(500)
  expect(evidence?.detail).not.toMatch(/\p{Cs}|\p{Cc}/u)
  expect(evidence?.ref).toBe('p')
})
