import { describe, expect, test } from 'vitest'
import { traceBegun, traceparentFor } from './trace.js'

const INBOUND = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const ID = 'AXuHlDgJZTCEL8wRpZmUdVOt_iVjgwVg_Q1qsbIGT-4'
const parts = (text: string) => text.split('-')

describe('the trace of a tree of runs', () => {
  test('R-TRACE-1: is the one it was asked for under', () => {
    expect(traceBegun('run-1', INBOUND)).toBe(INBOUND)
    expect(traceBegun('run-1', INBOUND.replace(/01$/, '00'))).toBe(INBOUND.replace(/01$/, '00'))
    // What is not known is not handed on.
    expect(traceBegun('run-1', `${INBOUND.replace(/^00/, '42').replace(/01$/, '05')}-more`)).toBe(INBOUND)
  })

  test('R-XHOST-8: is one of its own where there is none, or what came is malformed', () => {
    const own = traceBegun('run-1')
    expect(own).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(traceBegun('run-1', 'rubbish')).toBe(own)
    expect(parts(traceBegun('run-2'))[1]).not.toBe(parts(own)[1])
    expect(own).not.toContain('run-1')
  })

  test('R-XHOST-5: everything that is sent has it, with a span that is the same for every try', () => {
    const one = traceparentFor('run-7', INBOUND, ID)
    expect(parts(one)[1]).toBe(parts(INBOUND)[1])
    expect(parts(one)[2]).not.toBe(parts(INBOUND)[2])
    expect(one).toBe(traceparentFor('run-7', INBOUND, ID))
    expect(parts(traceparentFor('run-7', INBOUND, 'another'))[2]).not.toBe(parts(one)[2])
    // Of whichever run of the tree it is.
    expect(traceparentFor('run-8', INBOUND, ID)).toBe(one)
  })

  test('whoever does not record the trace says so to all', () => {
    expect(traceparentFor('run-7', INBOUND.replace(/01$/, '00'), ID)).toMatch(/-00$/)
  })

  test('a run of before traces were recorded has one for all it sends', () => {
    const [one, other] = [traceparentFor('run-7', undefined, ID), traceparentFor('run-7', undefined, 'another')]
    expect(one).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(parts(one)[1]).toBe(parts(other)[1])
    expect(parts(one)[2]).not.toBe(parts(other)[2])
    expect(parts(traceparentFor('run-8', undefined, ID))[1]).not.toBe(parts(one)[1])
  })
})
