import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { signStatement, statementText } from '../../../src/audit/statement.js'
import type { Json } from '../../../src/core/json.js'
import {
  CERTIFICATE_KIND,
  certificateSubjects,
  type GoalCertificate,
  possibleIn,
} from '../../../src/receipts/goal-certificate.js'
import { verifyCertificate } from '../../../src/receipts/verify-certificate.js'
import { publicKeysIn } from '../../../src/audit/signing-key.js'
import { inspectorDouble } from '../../../src/testing/verification.js'
import { ManualClock, settled } from '../../../src/testing/manual-clock.js'
import { signer } from '../../e2e/audit/signer.js'
import { node, startHttp, type TestHost, workflow } from '../harness.js'

const HOUR = 3_600_000
let host: TestHost
let clock: ManualClock
let holds = false
beforeEach(async () => {
  holds = false
  clock = new ManualClock()
  const inspector = inspectorDouble(async () => [
    { probeId: 'probe-1', dimension: 'goal', outcome: holds ? 'held' : 'failed', evidence: [] },
  ])
  host = await startHttp({ clock, inspector })
  const put = { method: 'PUT', url: '/v1/workflows/step', payload: workflow('step', [node('a', 'core.noop')]) }
  expect((await host.call('alice', put as never)).status).toBe(201)
})
afterEach(() => host.close())

const post = async (url: string, payload: object = {}) => {
  const reply = await host.call('alice', { method: 'POST', url, payload } as never)
  await settled()
  return reply
}

async function made(bounds: object): Promise<string> {
  const { status, json } = await post('/v1/goals', {
    objective: 'CANARY-OBJECTIVE',
    completion: { check: 'host' },
    bounds,
    assay: {
      run: { workflowId: 'step' },
      judge: { escalateAfterSame: 0, probes: [{ type: 'equals', path: '/x', value: 1 }] },
    },
  })
  expect([status, json.message]).toEqual([200, undefined])
  return json.id
}

const keysOf = async () => {
  const { json } = await host.call('alice', { url: '/v1/audit/keys' })
  return publicKeysIn('keys', JSON.stringify(json))
}

async function certificate(goalId: string) {
  const { status, text: body } = await host.call('alice', { url: `/v1/goals/${goalId}/certificate` })
  expect(status).toBe(200)
  const verified = verifyCertificate(body, await keysOf(), { goalId })
  if (!verified.ok) throw new Error(verified.message)
  return { text: body, told: verified.certificate }
}

describe('the certificate of a goal', () => {
  test('R-GOAL-5 R-GOAL-6: says what is still possible at worst, before, between and after; and that nothing went over', async () => {
    const begun = clock.now()
    const deadline = new Date(begun + HOUR).toISOString()
    const id = await made({ maxLoopIterations: 3, runTimeoutMs: HOUR, maxCostUsd: 2 })
    expect((await certificate(id)).told).toMatchObject({
      goal: { goalId: id, state: 'active' },
      bounds: { maxLoopIterations: 3, deadline, maxCostNanoUsd: 2_000_000_000 },
      used: { runs: 0, finished: 0, judgeRuns: 0, costNanoUsd: 0 },
      open: [],
      possible: { runs: 3, costNanoUsd: 2_000_000_000, beginsUntil: deadline },
    })
    await post(`/v1/goals/${id}/run`)
    expect((await certificate(id)).told).toMatchObject({ used: { runs: 1, finished: 1 }, possible: { runs: 2 } })
    holds = true
    await post(`/v1/goals/${id}/run`)
    const { text, told } = await certificate(id)
    expect(told).toMatchObject({
      goal: { state: 'satisfied', closedAt: new Date(clock.now()).toISOString() },
      used: { runs: 2, finished: 2 },
      possible: { runs: 0, costNanoUsd: 0, beginsUntil: told.goal.closedAt },
    })
    expect(text).not.toContain('CANARY')
    // Nothing about a closed goal changes any more.
    await clock.advance(2 * HOUR)
    const later = (await certificate(id)).told
    expect({ ...later, issuer: null }).toEqual({ ...told, issuer: null })
  })

  test('where nothing bounds money or time it says so', async () => {
    const id = await made({ maxLoopIterations: 2 })
    expect((await certificate(id)).told.possible).toEqual({ runs: 2, costNanoUsd: null, beginsUntil: null })
  })

  test('one flipped byte does not verify, nor does one of another goal, or by another key', async () => {
    const id = await made({ maxLoopIterations: 2 })
    const { text } = await certificate(id)
    const keys = await keysOf()
    for (let at = 0; at < text.length - 1; at += 7) {
      const flipped = `${text.slice(0, at)}${String.fromCharCode(text.charCodeAt(at) ^ 1)}${text.slice(at + 1)}`
      expect(verifyCertificate(flipped, keys).ok, `byte ${at}`).toBe(false)
    }
    expect(verifyCertificate(text, keys, { goalId: 'goal-x' })).toMatchObject({ ok: false, why: 'other-goal' })
    expect(verifyCertificate(text, keys, { tenant: 'nobody' })).toMatchObject({ ok: false, why: 'other-tenant' })
    expect(verifyCertificate(text, new Map())).toMatchObject({ ok: false, why: 'key-unknown' })
  })

  test('is read by whoever may read goals, of the own tenant only', async () => {
    const id = await made({ maxLoopIterations: 2 })
    expect((await host.call('bob', { url: `/v1/goals/${id}/certificate` })).status).toBe(404)
    expect((await host.call('alice', { url: '/v1/goals/goal-nobody/certificate' })).status).toBe(404)
  })
})

describe('a certificate that a key holder has made up', () => {
  const { key, trusted } = signer
  const AT = (hour: number) => `2026-01-01T0${hour}:00:00.000Z`
  const TOLD: Omit<GoalCertificate, 'possible' | 'issuer' | 'log'> = {
    goal: { goalId: 'goal-1', tenant: 't1', createdAt: AT(0), state: 'active' },
    bounds: { maxLoopIterations: 3, deadline: AT(5), maxCostNanoUsd: 1_000 },
    used: { runs: 2, finished: 1, judgeRuns: 0, costNanoUsd: 300, lastBeganAt: AT(2) },
    open: [{ runId: 'run-2', role: 'work', grantNanoUsd: 500 }],
  }
  const signed = (told: typeof TOLD, more: Partial<GoalCertificate> = {}) => {
    const whole: GoalCertificate = {
      issuer: { hostId: 'host-1', assay: '1', issuedAt: AT(3) },
      log: { events: 9, head: 'x'.repeat(43) },
      ...told,
      possible: possibleIn(told),
      ...more,
    }
    const said = { subject: certificateSubjects(whole), predicate: whole as unknown as Json }
    return verifyCertificate(statementText(signStatement(CERTIFICATE_KIND, said, key)), trusted)
  }

  test('verifies where it agrees with itself', () => {
    expect(signed(TOLD)).toMatchObject({ ok: true })
  })

  test.each<[string, Partial<typeof TOLD>, Partial<GoalCertificate>]>([
    ['T1: more runs than allowed', { bounds: { maxLoopIterations: 1 } }, {}],
    ['T1: runs that are nowhere', { open: [] }, {}],
    ['T2: more money than there is', { bounds: { ...TOLD.bounds, maxCostNanoUsd: 700 } }, {}],
    ['T2: a run without a grant', { open: [{ runId: 'run-2', role: 'work' }] }, {}],
    ['T3: a run at the deadline', { used: { ...TOLD.used, lastBeganAt: AT(5) } }, {}],
    ['T3: a final closing at no time', { goal: { ...TOLD.goal, state: 'abandoned' } }, {}],
    ['T4: fewer runs to come than there may be', {}, { possible: { ...possibleIn(TOLD), runs: 0 } }],
    ['T4: less money', {}, { possible: { ...possibleIn(TOLD), costNanoUsd: 1 } }],
  ])('%s is refused', (rule, told, more) => {
    const refused = signed({ ...TOLD, ...told }, more)
    expect(refused).toMatchObject({ ok: false, why: 'contradicts-itself' })
    expect(refused.ok ? '' : refused.message).toContain(rule.slice(0, 2))
  })
})
