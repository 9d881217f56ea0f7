import { describe, expect, it } from 'vitest'
import { bound, criterion, fault, finding, gate, probed, vote } from '../../testing/ballots.js'
import { recordOf } from './record.js'
import type { Ballot } from './voting/judgement.js'
import { judgeVotes } from './voting/quorum.js'

const BOUND = bound(gate([criterion('a'), criterion('b'), probed('p', 'x')], { verifier_count: 3 }))
const settled = { scores: { p: 1 }, findings: [], unavailable: [] }

function recorded(answers: Ballot['answers'], dimensions: readonly string[]) {
  const judgement = judgeVotes(BOUND.gate, dimensions, { settled, answers })
  if (typeof judgement === 'string') throw new Error(judgement)
  return recordOf({
    bound: BOUND,
    attempt: 2,
    placement: 'phase_exit',
    nodeId: 'n',
    target: 't',
    resultHash: 'h',
    output: { text: 'x' },
    evidence: [],
    rounds: [answers],
    judgement,
    dimensions,
    standing: { attempt: 2, blocking: 0, score: 1 },
    forced: true,
  })
}

const scale = { min: 0, max: 1, type: 'float' as const }

const by = (...evidenceFrom: string[]) => ({ outcome: 'passed', evidenceFrom })

describe('the record of an attempt', () => {
  it('R-DWS-25: has every vote, fault and finding, and where each criterion stands', () => {
    const warned = vote({ a: 1 }, { verdict: 'conditional_pass', findings: [finding('a', 'warning')], model: 'x:one' })
    const passed = vote({ a: 0.5 }, { model: 'x:two', confidence: 0.8 })
    expect(recorded([warned, fault(), passed], ['a', 'p'])).toEqual({
      gateId: 'g',
      gateName: BOUND.gate.name,
      gateVersion: BOUND.version,
      gateHash: BOUND.hash,
      blocking: true,
      attempt: 2,
      placement: 'phase_exit',
      nodeId: 'n',
      target: 't',
      resultHash: 'h',
      output: { text: 'x' },
      verdict: 'conditional_pass',
      criteria: [
        {
          dimension: 'a',
          score: 0.75,
          pass_threshold: 0.5,
          scale,
          passed: true,
          settledBy: 'verifiers',
          ...by('verifier:assay.verifier'),
        },
        {
          dimension: 'b',
          pass_threshold: 0.5,
          scale,
          passed: true,
          settledBy: 'earlier',
          ...by('verifier:assay.verifier'),
        },
        { dimension: 'p', score: 1, pass_threshold: 0.5, scale, passed: true, settledBy: 'probes', ...by('probe:x') },
      ],
      findings: warned.findings,
      evidence: [],
      votes: [warned, passed],
      faults: [fault()],
      quorum: { votes: 2, passVotes: 2, needed: 2 },
      confidence: 0.8,
      standing: { attempt: 2, blocking: 0, score: 1 },
      forced: true,
      role: 'verifier',
    })
  })

  it('a criterion that failed did not pass, even one that was not judged this time', () => {
    const blocked = vote({ a: 0 }, { verdict: 'fail', findings: [finding('b', 'blocking')] })
    const { criteria } = recorded([blocked, blocked, undefined], ['a', 'p'])
    expect(criteria.map(({ passed }) => passed)).toEqual([false, false, true])
  })

  it('says when verifiers that were to be independent ran on one model', () => {
    const on = (model?: string) => vote({ a: 1, b: 1 }, model === undefined ? {} : { model })
    expect(recorded([on('x:m'), on('y:m'), on('x:m')], ['a', 'b', 'p']).sharedModel).toBe(true)
    expect(recorded([on('x:m'), on('y:m'), fault()], ['a', 'b', 'p'])).not.toHaveProperty('sharedModel')
    expect(recorded([on(), on(), on()], ['a', 'b', 'p'])).not.toHaveProperty('sharedModel')
  })
})
