import { describe, expect, test } from 'vitest'
import type { Recorded } from '../../core/run/events.js'
import { CountingIds } from '../../testing/engine-rig.js'
import { CHAIN_START } from './chain.js'
import { decode, encodeAll } from './encode.js'
import { type Upcasters, upcast } from './upcast.js'

const paused: Recorded = {
  runId: 'r',
  sequence: 4,
  at: 7,
  type: 'run.paused',
  payload: { drainPolicy: 'immediate' },
}

describe('an event on its way through a store', () => {
  test('comes back as it went in', () => {
    const [row] = encodeAll([paused], CHAIN_START, new CountingIds())
    expect(decode('r', row!)).toEqual(paused)
  })

  const RENAMED: Upcasters = {
    'run.paused': event => {
      const { policy = 'immediate', ...others } = event.payload as { policy?: 'immediate' }
      return { ...event, payload: { drainPolicy: policy, ...others } } as Recorded
    },
  }

  test('is of today’s shape once it is read, whatever shape it was written in', () => {
    const older = { ...paused, payload: { policy: 'immediate' } } as unknown as Recorded
    expect(upcast(older, RENAMED)).toEqual(paused)
    expect(upcast(paused, RENAMED)).toEqual(paused)
  })

  test('is left alone when its type has never changed', () => {
    const resumed: Recorded = { ...paused, type: 'run.resumed', payload: {} }
    expect(upcast(resumed, RENAMED)).toBe(resumed)
    expect(upcast(paused, Object.create({ 'run.paused': () => resumed }))).toBe(paused)
  })
})
