import { beforeEach, describe, expect, test } from 'vitest'
import { PROBLEMS, type ProblemCode, refuse } from '../core/problem.js'
import { MemoryStore } from '../store/memory/memory-store.js'
import { ManualClock } from '../testing/manual-clock.js'
import { type HttpAnswer, json, problem } from './http-answer.js'
import { Idempotency } from './idempotency.js'

const KEYED = { tenant: 'acme', endpoint: 'POST /v1/things', key: 'k1', digest: 'd1' }

let idempotency: Idempotency
beforeEach(() => {
  idempotency = new Idempotency(new MemoryStore(), new ManualClock(), 'host-1', 10_000)
})

const statuses = (...wanted: readonly number[]) =>
  (Object.keys(PROBLEMS) as ProblemCode[]).filter(code => wanted.includes(PROBLEMS[code].status))

const NEVER = ['validation_error', ...statuses(401, 403, 429, 500, 501, 503)] as const
const FINAL = statuses(410, 413, 415, 422)

/** The same request under the same key once for every answer there is. */
async function leases(...answers: readonly HttpAnswer[]): Promise<(readonly [status: number, replayed: boolean])[]> {
  const waiting = [...answers]
  const heard: (readonly [number, boolean])[] = []
  for (const _ of answers) {
    const { status, headers } = await idempotency.lease(KEYED, async () => waiting.shift()!)
    heard.push([status, headers?.['openwop-idempotent-replay'] === 'true'])
  }
  return heard
}

const refused = (code: ProblemCode): HttpAnswer => problem(refuse(code, 'no'))

describe('I3: what is remembered under an Idempotency-Key', () => {
  test.each(NEVER)(
    'I3 R-IDEM-3: %s never is: the same key tries again, and what comes of that is remembered',
    async code => {
      const { status } = PROBLEMS[code]
      expect(await leases(refused(code), json(201, {}), json(200, {}))).toEqual([
        [status, false],
        [201, false],
        [201, true],
      ])
    },
  )

  test.each(FINAL)('I3: %s is: it would not change', async code => {
    const { status } = PROBLEMS[code]
    expect(await leases(refused(code), json(201, {}))).toEqual([
      [status, false],
      [status, true],
    ])
  })

  test.each(statuses(404, 409))('I3: %s is, unless the same request may succeed later', async code => {
    const { status, retryable } = PROBLEMS[code]
    const second = retryable ? [201, false] : [status, true]
    expect(await leases(refused(code), json(201, {}))).toEqual([[status, false], second])
  })

  test('I3: the same holds where the response travels with a commit', async () => {
    const codes: ProblemCode[] = ['forbidden', 'validation_error', 'unauthenticated', 'rate_limited', 'run_terminal']
    const attempted: ProblemCode[] = []
    const attempt = async () => {
      const code = codes.shift()!
      attempted.push(code)
      return { ok: false as const, refusal: refuse(code, 'no') }
    }
    const heard: (ProblemCode | undefined)[] = []
    for (let i = 0; i < 7; i += 1) {
      const { body } = await idempotency.commit(KEYED, attempt, () => json(201, {}))
      heard.push(JSON.parse(body).error)
    }
    expect(attempted).toEqual(['forbidden', 'validation_error', 'unauthenticated', 'rate_limited', 'run_terminal'])
    expect(heard).toEqual([...attempted, 'run_terminal', 'run_terminal'])
  })
})
