import { expect, test } from 'vitest'
import { detailsOf, subjectOf } from '../../test/e2e/probes/rig.js'
import type { Json } from '../core/json.js'
import { probeNumeric } from './numeric.js'

const probe = (n: Json, limits: { min?: number; max?: number }) =>
  probeNumeric({ probe_id: 'p', type: 'numeric', path: '/n', ...limits }, subjectOf({ n }))

test.each<[Json, { min?: number; max?: number }, 'held' | 'failed']>([
  [0.8, { min: 0.8 }, 'held'],
  [0.79, { min: 0.8 }, 'failed'],
  [3, { min: 1, max: 3 }, 'held'],
  [3.1, { max: 3 }, 'failed'],
  [-5, {}, 'held'],
  ['2', { min: 1 }, 'failed'],
  [null, {}, 'failed'],
  [[2], { min: 1 }, 'failed'],
])('%j within %j has %s', (n, limits, outcome) => {
  expect(probe(n, limits).outcome).toBe(outcome)
})

test('evidence has the number and the limit', () => {
  expect(probe(0.5, { min: 0.8 }).evidence).toEqual([
    { evidence_type: 'metric', ref: '/n', detail: 'is 0.5; it must be at least 0.8' },
  ])
  const nowhere = probeNumeric({ probe_id: 'p', type: 'numeric', path: '/m' }, subjectOf({ n: 1 }))
  expect([nowhere.outcome, detailsOf(nowhere)]).toEqual(['unavailable', 'nothing at /m; the output has n'])
})
