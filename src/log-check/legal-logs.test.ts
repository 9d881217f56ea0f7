import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gatedRuns } from '../testing/gated-runs.js'
import { checkLog } from './check-log.js'
import { GATE_SHAPES } from './gate-shapes.js'
import { fromSeed, fromTape } from './testing/choice.js'
import { KINDS, legalLog } from './testing/legal-log.js'
import '../../test/support/seed.js'

const PER_KIND = 100

test.each(KINDS)('L1–L33: %s logs of a correct host have no findings', kind => {
  fc.assert(
    fc.property(fc.array(fc.nat(5039), { maxLength: 400, size: 'max' }), tape => {
      expect(checkLog(legalLog(kind, fromTape(tape)))).toEqual([])
    }),
    { numRuns: PER_KIND },
  )
})

test('L1–L33: logs of gated runs that the core has told have no findings, whole or as readers see them', () => {
  fc.assert(
    fc.property(fc.nat(), seed => {
      const input = gatedRuns(fromSeed(seed))
      expect(checkLog(input)).toEqual([])
      for (const { runId, row, events } of input.runs) {
        // Without its row nobody knows that a run is a fork.
        if (row?.fork) continue
        const run = { runId, events: events.map(({ secret: _secret, ...event }) => event) }
        expect(checkLog({ runs: [run] })).toEqual([])
        expect(checkLog({ runs: [run], dialect: 'openwop' })).toEqual([])
      }
    }),
    // A smaller seed makes no smaller log.
    { numRuns: PER_KIND, endOnFailure: true },
  )
})

test('gated runs tell everything that a gate can tell', () => {
  const told = new Set<string>()
  const said = new Set<unknown>()
  for (let seed = 0; seed < 60; seed += 1)
    for (const { events } of gatedRuns(fromSeed(seed * 31 + 7)).runs)
      for (const { type, payload } of events) {
        told.add(type)
        for (const value of Object.values(payload as object).flat()) said.add(value)
      }
  expect([...told]).toEqual(
    expect.arrayContaining([...Object.keys(GATE_SHAPES), 'interrupt.resolved', 'run.completed']),
  )
  const words = ['pass', 'conditional_pass', 'revise', 'fail', 'none', 'harvest', 'node', 'run', 'host:human-override']
  expect([...said]).toEqual(expect.arrayContaining([...words, 'self-verification', 'gate.on-fail.conditional-pass']))
})
