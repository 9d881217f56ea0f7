import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { ensureSigningKey, publicJwk, readTrustedKeys } from '../../../src/audit/signing-key.js'
import { judgedLines } from '../../../src/cli/reports/findings.js'
import { receiptJudge } from '../../../src/receipts/peer-evidence.js'
import { findingsOf } from '../../support/stored-runs.js'
import { GATED, RIGHT, UNTOUCHED } from './gated.js'
import { RECEIPT_KEY } from './receipt-lies.js'
import { HOST_ID, type Making, TwoHosts } from './two-hosts.js'

/** B verifies what it does by gates of its own, and signs what came of it. A looks at that, and judges all the same. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-evidence-'))
let worlds = 0
let two: TwoHosts

/** Whatever B's workers say, B's own gate lets it pass. */
const easy = (workflow: string) => ({
  name: 'Somebody has looked',
  position: { workflow_id: workflow, phase_id: 'answer', placement: 'workflow_exit' },
  intent_refs: ['any'],
  evaluation_criteria: [{ dimension: 'effort', scale: { min: 0, max: 10, type: 'integer' }, pass_threshold: 1 }],
  verifier_requirements: {},
  gate_behaviour: { max_attempts: 1, retries: 0, retry_delay_ms: 1 },
})
const OF_B = {
  'gates/mule.json': easy('mule'),
  'gates/sage.json': easy('sage'),
  'intents/any.json': { type: 'operational', title: 'Any answer', statement: 'There is an answer.' },
  'scripted.json': [{ role: 'verifier', reply: { json: { scores: { effort: 9 }, findings: [] }, confidence: 0.95 } }],
}

async function start(making: Partial<Making> = {}): Promise<void> {
  worlds += 1
  const folder = path.join(scratch, String(worlds))
  const data = path.join(folder, 'b', 'data')
  const { keyId } = await ensureSigningKey(data)
  const receiptKeys = [publicJwk(keyId, (await readTrustedKeys(data)).get(keyId)!).x]
  const settingsOfB = { models: { script: 'scripted.json' } }
  two = await TwoHosts.start({ folder, ...GATED, filesOfB: OF_B, settingsOfB, receiptKeys, ...making })
}
afterEach(async () => {
  for (const side of ['a', 'b'] as const) expect(findingsOf(await two.stored(side))).toEqual([])
  await two.stop()
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function tell(workflowId: string) {
  const runId = await two.begin(workflowId, workflowId)
  const { status } = await two.ended(runId)
  const { variables } = await two.snapshot('a', runId)
  const events = await two.events('a', runId)
  const receipts = events.filter(({ type }) => type === 'assay.peer.receipt')
  const verdicts = events
    .filter(({ type }) => type === 'agent.verified')
    .map(({ payload }) => payload as { readonly verdict: string })
  const { verifications } = await two.client('a').listVerifications(runId)
  return { runId, status, variables, events, receipts, verdicts, verifications }
}

const asked = () => two.proxy.passed.filter(({ url }) => url.endsWith('/receipt'))

describe('P17, R-VERIFY-10: what a peer has signed of its own verification', () => {
  it('is evidence, and the gate of A rejects the result all the same', async () => {
    await start()
    const told = await tell('rejected')
    expect([told.status, told.variables]).toEqual(['failed', { capital: UNTOUCHED }])
    expect(told.verdicts.map(({ verdict }) => verdict)).toEqual(['revise', 'fail'])
    expect(told.receipts.map(({ payload }) => payload)).toEqual(
      [0, 1].map(() => ({
        nodeId: 'ask',
        workerId: 'peer:beta/mule',
        peer: 'beta',
        childRunId: expect.stringMatching(/^peer:beta\//),
        evidence: true,
        keyId: expect.stringMatching(/^[0-9a-f]{16}$/),
        digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        attempts: 1,
        passes: 1,
        label: 'verified',
      })),
    )
    // Each with the verification of that very result; what is said of the result is what A has found.
    expect(told.verifications.map(({ target, label, peerReceipt }) => [target, label, peerReceipt?.label])).toEqual(
      told.receipts.map(({ payload }) => [(payload as { childRunId: string }).childRunId, 'unverified', 'verified']),
    )
    const one = await two.client('a').getVerification(told.runId, 1)
    expect(one.peerReceipt).toMatchObject({ evidence: true, attempts: 1, passes: 1 })
    expect(judgedLines(one).join('\n')).toContain('of the peer: 1 of 1 attempt passed there, verified; signed with ')
    // It is due to the result that it is about.
    const ends = told.events.filter(({ payload }) => (payload as { phase?: string }).phase === 'child.completed')
    expect(told.receipts.map(({ causationId }) => causationId)).toEqual(ends.map(({ eventId }) => eventId))
  })

  it('is kept beside a pass of A, which verifiers of A have voted for', async () => {
    await start()
    const told = await tell('passed')
    expect([told.status, told.variables]).toEqual(['completed', { capital: RIGHT }])
    expect(told.verifications).toMatchObject([{ outcome: 'pass', label: 'verified', peerReceipt: { evidence: true } }])
    const one = await two.client('a').getVerification(told.runId, 1)
    expect(one.votes).toHaveLength(1)
    // Nobody who judges is shown what the worker’s own host says of it.
    const { digest } = told.receipts[0]!.payload as { readonly digest: string }
    const judging = (await two.stored('a')).filter(({ runId }) => runId !== told.runId)
    expect(judging).toHaveLength(1)
    expect(JSON.stringify(judging)).not.toContain(digest)
  })

  it('is none of a run that nobody there has judged, and none of a key that A does not know', async () => {
    await start({ filesOfB: { 'scripted.json': [] } })
    const unjudged = await tell('passed')
    await two.stop()
    await start({ receiptKeys: [RECEIPT_KEY] })
    const strange = await tell('passed')
    for (const [{ status, receipts, verifications }, why] of [
      [unjudged, 'nothing-judged'],
      [strange, 'key-unknown'],
    ] as const) {
      expect(status).toBe('completed')
      expect(receipts.map(({ payload }) => payload)).toMatchObject([{ evidence: false, why }])
      expect(verifications).toMatchObject([{ label: 'verified', peerReceipt: { evidence: false, why } }])
    }
  })

  it('is not asked for where A has no keys to check it by', async () => {
    await start({ receiptKeys: [] })
    const { status, receipts, verifications } = await tell('passed')
    expect([status, receipts, asked()]).toEqual(['completed', [], []])
    expect(verifications[0]).not.toHaveProperty('peerReceipt')
  })

  it('P15: is told again by a replay, which asks nobody', async () => {
    await start()
    const { runId } = await tell('passed')
    const before = two.proxy.passed.length
    expect(asked()).toHaveLength(1)
    const fork = await two.client('a').forkRun(runId, { mode: 'replay' })
    await two.ended(fork.runId)
    expect(two.proxy.passed).toHaveLength(before)
    expect((await two.client('a').diffRuns(runId, fork.runId)).divergedAtSeq).toBeNull()
  })

  it('verifies offline by what A was configured with, and with no byte of it changed', async () => {
    await start()
    const { receipts } = await tell('passed')
    const { childRunId } = receipts[0]!.payload as { readonly childRunId: string }
    const runId = childRunId.slice('peer:beta/'.length)
    const client = two.client('b')
    const text = await client.receipts.get(runId)
    const { keys } = await client.receipts.publicKeys()
    const judge = receiptJudge(keys.map(({ x }) => x))
    const seen = { runId, hostId: HOST_ID.b, events: (await two.events('b', runId)).length }
    expect(judge(text, seen).evidence).toBe(true)
    const bytes = Buffer.from(text.trimEnd())
    for (let at = 0; at < bytes.length; at += 1) {
      const other = Buffer.from(bytes)
      other[at]! ^= 1
      expect(judge(other.toString('latin1'), seen).evidence, `byte ${at}`).toBe(false)
    }
    for (const other of [{ runId: 'r2' }, { hostId: 'c.example' }, { events: seen.events + 1 }])
      expect(judge(text, { ...seen, ...other }).evidence).toBe(false)
  })
})
