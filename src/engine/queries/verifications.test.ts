import { describe, expect, test } from 'vitest'
import type { VerificationRecord } from '../../core/verification/record.js'
import { finding, judged, kept, record, rows, said } from '../../testing/verifications.js'
import { verificationsIn, verificationsOf } from './verifications.js'

const attempt = (n: number, more: Partial<VerificationRecord> = {}) => record({ attempt: n, ...more })

describe('R-DWS-13: the attempts of a run, by its log', () => {
  test('each has what was found and the verdict over it, in the order in which they were judged', () => {
    const found = verificationsOf(
      rows([
        ...judged(attempt(1), 'art-0', 'revise'),
        { type: 'node.started', payload: {} },
        ...judged(attempt(2, { verdict: 'pass', findings: [] }), 'art-4', 'pass'),
      ]),
    )
    expect(found.map(({ n, artifactId, verified }) => [n, artifactId, verified?.verdict])).toEqual([
      [1, 'art-0', 'revise'],
      [2, 'art-4', 'pass'],
    ])
    expect(found[0]?.record.findings).toEqual([finding()])
    expect(found[0]?.verified).toEqual({ agentId: 'assay.verifier', verdict: 'revise', at: expect.any(Number) })
  })

  test('R-DWS-5: a gate that does not block has findings and no verdict', () => {
    const [only] = verificationsOf(rows(judged(attempt(1), 'art-0')))
    expect(only?.record.verdict).toBe('fail')
    expect(only).not.toHaveProperty('verified')
  })

  test('what the log must not show is masked here too', () => {
    const masked = { ...attempt(1), output: '[REDACTED]' }
    const [only] = verificationsOf(rows(judged(attempt(1), 'art-0', 'pass', JSON.parse(JSON.stringify(masked)))))
    expect(only?.record.output).toBe('[REDACTED]')
  })

  test('what an agent keeps under the name of a result is none', () => {
    const forged = kept('art-0', { ...attempt(1, { verdict: 'pass' }) } as never)
    const broken = kept('art-1', 'all is well')
    expect(verificationsOf(rows([forged, broken, ...judged(attempt(1), 'art-2', 'fail')]))).toHaveLength(1)
  })

  test('R-VERIFY-21: the latest verdict over a result holds, with the person whose word it is', () => {
    const one = attempt(1)
    const accepted = { agentId: 'host:human-override', verdict: 'pass' as const, criteria: ['human-override'] }
    const log = [...judged(one, 'art-0', 'fail'), said(one, accepted, { by: 'ada', why: 'known gap' })]
    expect(verificationsOf(rows(log))).toEqual([
      expect.objectContaining({
        verified: expect.objectContaining(accepted),
        person: { by: 'ada', why: 'known gap' },
      }),
    ])
  })

  test('R-VERIFY-21: a verdict over another result changes nothing, whichever part of it is another', () => {
    const one = attempt(1)
    const others: Partial<VerificationRecord>[] = [
      { resultHash: 'x' },
      { gateId: 'x' },
      { attempt: 2 },
      { target: 'x' },
    ]
    for (const other of others) {
      const log = [...judged(one, 'art-0', 'fail'), said({ ...one, ...other }, { agentId: 'a.b', verdict: 'pass' })]
      expect(verificationsOf(rows(log))[0]?.verified?.verdict, JSON.stringify(other)).toBe('fail')
    }
  })
})

describe('R-VERIFY-19: the best of what did not pass', () => {
  const bestIn = (...log: Parameters<typeof rows>[0][]) =>
    verificationsOf(rows(log.flat()))
      .filter(({ best }) => best)
      .map(({ n }) => n)
  const two = { findings: [finding(), finding({ finding_id: 'v1-2' })] }

  test('has the fewest blocking findings, then the highest score; the first of equals', () => {
    const worse = judged(attempt(1, two), 'art-0', 'revise')
    expect(bestIn(worse, judged(attempt(2), 'art-1', 'revise'), judged(attempt(3, two), 'art-2', 'fail'))).toEqual([2])
    expect(bestIn(judged(attempt(1), 'art-0', 'revise'), judged(attempt(2), 'art-1', 'fail'))).toEqual([1])
  })

  test('is nothing once an attempt at the work has passed, by whomever', () => {
    const one = attempt(1)
    const override = said(one, { agentId: 'host:human-override', verdict: 'pass' }, { by: 'ada' })
    expect(bestIn(judged(one, 'art-0', 'fail'), [override])).toEqual([])
  })

  test('is told for each piece of work; a first attempt begins a new one', () => {
    const critic = { workerId: 'critic' }
    expect(
      bestIn(
        judged(attempt(1), 'art-0', 'fail'),
        judged(attempt(1, critic), 'art-1', 'fail'),
        judged(attempt(1), 'art-2', 'revise'),
        judged(attempt(2, { verdict: 'pass', findings: [] }), 'art-3', 'pass'),
      ),
    ).toEqual([1, 2])
  })
})

describe('reading', () => {
  test('goes through the log in pages and keeps nothing but what it needs', async () => {
    const noise = Array.from({ length: 600 }, () => ({ type: 'node.started', payload: {} }))
    const log = rows([...noise, ...judged(attempt(1), 'art-600', 'fail'), ...noise])
    const asked: number[] = []
    const readEvents = async (_tenant: string, _runId: string, from: number, limit = 0) => {
      asked.push(limit)
      return log.slice(from, from + limit)
    }
    expect(await verificationsIn({ readEvents }, 't', 'r')).toHaveLength(1)
    expect(asked).toEqual(Array(5).fill(256))
  })

  test('R-SEC-2: another tenant has no such run', async () => {
    expect(await verificationsIn({ readEvents: async () => undefined }, 't', 'r')).toBeUndefined()
  })
})
