import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { ManualClock, settled } from '../testing/manual-clock.js'
import { sleep } from './sleep.js'

test('sleep ends with its time and not before', async () => {
  const clock = new ManualClock()
  let isOver = false
  const sleeping = sleep(clock, 1_000).then(() => {
    isOver = true
  })
  await clock.advance(999)
  expect(isOver).toBe(false)
  await clock.advance(1)
  await sleeping
})

test('sleep ends when it is taken back, and at once when that was before', async () => {
  const caller = new AbortController()
  const sleeping = sleep(new ManualClock(), 1_000, caller.signal)
  caller.abort()
  await sleeping
  await sleep(new ManualClock(), 1_000, caller.signal)
})

test('what slept to the end leaves nobody listening', async () => {
  const clock = new ManualClock()
  const { signal } = new AbortController()
  const sleeping = sleep(clock, 10, signal)
  await settled()
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  await clock.advance(10)
  await sleeping
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})
