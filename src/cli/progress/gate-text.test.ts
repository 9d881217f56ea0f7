import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { RunEventDoc } from '../../client/wire-shapes.js'
import { advanceProgress, eventLine, frame, noProgress } from './progress.js'

const gate = { gateId: 'quality', attempt: 1 }

let sequence = 0
const event = (type: string, payload: object): RunEventDoc => ({
  eventId: `r:${sequence}`,
  runId: 'r',
  type,
  payload,
  timestamp: '2026-01-01T00:00:00.000Z',
  sequence: sequence++,
  schemaVersion: 1,
  engineVersion: '1',
  nodeId: 'hand',
})

const started = event('dws.verification.started', {
  ...gate,
  targetRef: 'c-1',
  resultHash: 'h',
  criteria: ['grounded', 'complete'],
  probes: 2,
  probesFailed: 1,
  verifiers: 3,
})
const issued = event('dws.verification.finding_issued', {
  ...gate,
  findingId: 'v1-1',
  dimension: 'grounded',
  classification: 'blocking',
})
const rendered = event('dws.verification.verdict_rendered', {
  ...gate,
  dwsVerdict: 'fail',
  quorum: { votes: 3, passVotes: 1 },
  resultHash: 'h',
})
const revise = event('agent.verified', {
  agentId: 'host:gate:quality',
  target: 'c-1',
  verdict: 'revise',
  confidence: 0.8,
})
const rework = event('assay.rework.began', { gateId: 'quality', attempt: 2, scope: 'targeted', workerId: 'writer' })

const shown = (...events: RunEventDoc[]) =>
  frame(events.reduce(advanceProgress, noProgress('t')), 0)
    .slice(1)
    .map(line => stripVTControlCharacters(line).trim())

describe('a result at a gate, as it is followed', () => {
  test('R-DWS-31: one line from the moment it is staged to the verdict, and one for each finding', () => {
    const judged = 'quality attempt 1: 2 probes (1 failed), 3 verifiers on grounded, complete'
    expect(shown(started)).toEqual([`⠋ ${judged}`])
    expect(shown(started, issued, rendered)).toEqual([
      `✗ ${judged} → fail, 1 of 3 votes for it`,
      '✗ quality attempt 1: blocking finding v1-1 in grounded',
    ])
  })

  test('R-VERIFY-14: the verdict that the run goes by, and the work that begins again', () => {
    expect(shown(revise, rework)).toEqual([
      '! host:gate:quality: revise for c-1 (confidence 0.8)',
      '◆ quality attempt 2: writer again, with what was found (targeted)',
    ])
    const ends = (['pass', 'fail'] as const).map(verdict =>
      event('agent.verified', { agentId: 'a.b', target: 'c-1', verdict }),
    )
    expect(shown(...ends)).toEqual(['✓ a.b: pass for c-1', '✗ a.b: fail for c-1'])
  })

  test.each([
    ['assay.result.staged', { targetRef: 'r:7' }, 'the result waits for its gates, target r:7'],
    ['assay.verifier.began', { ...gate, agentId: 'a.b', round: 2 }, 'quality attempt 1: verifier a.b, round 2'],
    [
      'assay.verifier.started',
      { ...gate, agentId: 'a.b', childRunId: 'c' },
      'quality attempt 1: verifier a.b is run c',
    ],
    ['assay.verifier.ended', { ...gate, agentId: 'a.b', vote: 'pass' }, 'quality attempt 1: verifier a.b says pass'],
    [
      'assay.verifier.ended',
      { ...gate, agentId: 'a.b', vote: 'none', fault: 'verifier_off_schema' },
      'quality attempt 1: verifier a.b gave no vote: verifier_off_schema',
    ],
    [
      'assay.verification.held',
      { ...gate, votes: 1, faults: 2, retryInMs: 5000 },
      'quality attempt 1: no quorum, 1 vote and 2 faults; asked again in 5 s',
    ],
    ['assay.verification.resumed', { ...gate, round: 2 }, 'quality attempt 1: asked again, round 2'],
    [
      'dws.verification.verdict_rendered',
      { ...gate, dwsVerdict: 'fail', quorum: { votes: 0, passVotes: 0 }, forced: true },
      'quality attempt 1: fail, let through all the same',
    ],
    [
      'assay.result.withheld',
      { ...gate, workerId: 'writer', criteriaFailed: 1, criteria: 3 },
      'quality attempt 1: what writer brought is not merged, 1 of 3 criteria not met',
    ],
  ])('R-DWS-31: %s is one line', (type, payload, line) => {
    expect(eventLine(event(type, payload))).toMatch(new RegExp(` ${type} hand {2}`))
    expect(eventLine(event(type, payload)).endsWith(line), eventLine(event(type, payload))).toBe(true)
  })
})
