import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { criterion, gate, probed, probeResult } from '../../testing/ballots.js'
import { askedOf, settledBy } from './evidence.js'
import type { ProbeResult } from './voting/judgement.js'

const SHOWN = { ...probed('shown', 's'), settled_by_probes: false }
const GATE = gate([criterion('judged'), probed('format', 'a', 'b'), SHOWN, probed('size', 'c')])
const ALL = ['size', 'format', 'shown', 'judged']

describe('what probes settle', () => {
  it('verifiers judge the rest, in the order of the gate', () => {
    expect(askedOf(GATE, ALL)).toEqual(['judged', 'shown'])
    expect(askedOf(GATE, ['size', 'shown', 'elsewhere'])).toEqual(['shown'])
    expect(askedOf(GATE, askedOf(GATE, ALL))).toEqual(askedOf(GATE, ALL))
  })

  it('all held: the best score, and nothing to say', () => {
    const evidence = [probeResult('format', 'a', 'held'), probeResult('format', 'b', 'held')]
    expect(settledBy(GATE, ['format', 'judged'], evidence)).toEqual({
      scores: { format: 1 },
      findings: [],
      unavailable: [],
    })
  })

  it('R-DWS-13: each that failed is a blocking finding with evidence', () => {
    const why = [{ evidence_type: 'metric', ref: '/n', detail: '3, not 4' }] as const
    const evidence = [probeResult('format', 'a', 'failed', why), probeResult('format', 'b', 'failed')]
    expect(settledBy(GATE, ['format'], evidence)).toEqual({
      scores: { format: 0 },
      findings: [
        {
          finding_id: 'p-a',
          dimension: 'format',
          classification: 'blocking',
          description: 'The check a of format does not hold.',
          evidence: why,
          recommendation: 'Make the check a hold.',
          source: 'host:probe',
        },
        expect.objectContaining({ finding_id: 'p-b', evidence: [expect.objectContaining({ ref: 'b' })] }),
      ],
      unavailable: [],
    })
  })

  it('R-DWS-36: what could not be found out, or was not heard of, settles nothing', () => {
    const held = probeResult('format', 'a', 'held')
    const nothing = { scores: {}, findings: [], unavailable: ['format'] }
    expect(settledBy(GATE, ['format'], [held, probeResult('format', 'b', 'unavailable')])).toEqual(nothing)
    expect(settledBy(GATE, ['format'], [held])).toEqual(nothing)
    expect(settledBy(GATE, ['format'], [held, probeResult('size', 'b', 'held')])).toEqual(nothing)
  })

  it('one that failed is enough, whatever the others would have found', () => {
    const evidence = [probeResult('format', 'a', 'unavailable'), probeResult('format', 'b', 'failed')]
    expect(settledBy(GATE, ['format'], evidence)).toMatchObject({ scores: { format: 0 }, unavailable: [] })
  })

  it('a probe that a verifier is only shown settles nothing', () => {
    const evidence = [probeResult('shown', 's', 'failed')]
    expect(settledBy(GATE, ['shown'], evidence)).toEqual({ scores: {}, findings: [], unavailable: [] })
  })

  it('a dimension has the best score only if each of its probes held, in whatever order they are told', () => {
    const outcome = fc.constantFrom<ProbeResult['outcome']>('held', 'failed', 'unavailable')
    fc.assert(
      fc.property(outcome, outcome, outcome, fc.boolean(), (a, b, c, backwards) => {
        const told = [probeResult('format', 'a', a), probeResult('format', 'b', b), probeResult('size', 'c', c)]
        const settled = settledBy(GATE, ALL, backwards ? told.toReversed() : told)
        expect(settled.scores.format === 1).toBe(a === 'held' && b === 'held')
        expect(settled.scores.format === 0).toBe(a === 'failed' || b === 'failed')
        expect(settled.scores.size === 1).toBe(c === 'held')
        expect(settled.findings.length).toBe(told.filter(result => result.outcome === 'failed').length)
        // Every settled dimension is either known or said not to be.
        for (const dimension of ['format', 'size'])
          expect(Object.hasOwn(settled.scores, dimension)).toBe(!settled.unavailable.includes(dimension))
      }),
    )
  })
})
