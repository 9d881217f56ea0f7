import { expect, test } from 'vitest'
import { traceparentOf } from './traceparent.js'

test('an effect always has the same trace context, and every other effect another one', () => {
  const one = traceparentOf('AXuHlDgJZTCEL8wRpZmUdVOt_iVjgwVg_Q1qsbIGT-4')
  expect(one).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect(one).toBe(traceparentOf('AXuHlDgJZTCEL8wRpZmUdVOt_iVjgwVg_Q1qsbIGT-4'))
  expect(one).not.toBe(traceparentOf('another'))
})
