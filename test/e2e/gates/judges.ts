import type { ServerReply, ServerStep } from '../../support/openai-server.js'

/** A provider that knows the capital of France, as verifier and as worker. */

/** What it says each answer took. */
export const USAGE = { prompt_tokens: 5_000, completion_tokens: 100, total_tokens: 5_100 }

const says = (result: object): ServerReply => ({
  kind: 'text',
  text: JSON.stringify({ result, confidence: 0.9 }),
  usage: USAGE,
})

const WHY = 'That is the capital of another country.'

const FINE = says({ scores: { correctness: 9 }, findings: [] })
const AMISS = says({
  scores: { correctness: 2 },
  findings: [
    {
      dimension: 'correctness',
      classification: 'blocking',
      description: WHY,
      evidence: [{ evidence_type: 'comparison', ref: '/answer', detail: 'It is not the capital of France.' }],
    },
  ],
})

const JUDGE = 'You are a verifier'
const WRITER = 'You name capitals.'

/** Judges by the answer; writes the right one once it is told what was wrong. */
export const HONEST: readonly ServerStep[] = [
  { contains: [JUDGE, 'Paris'], reply: FINE },
  { contains: [JUDGE], reply: AMISS },
  { contains: [WRITER, WHY], reply: says({ answer: 'Paris' }) },
  { contains: [WRITER], reply: says({ answer: 'London' }) },
]

/** Nobody can be asked to judge. */
export const DOWN: readonly ServerStep[] = [{ contains: [JUDGE], reply: { kind: 'status', status: 500 } }, ...HONEST]

/** The n-th request of a verifier is never answered, the first being number 0. */
export const silentAt = (n: number): readonly ServerStep[] => [
  { contains: [JUDGE], times: n, reply: FINE },
  { contains: [JUDGE], times: 1, reply: { kind: 'hang' } },
  ...HONEST,
]
