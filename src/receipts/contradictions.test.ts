import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { keyIdOf, type SigningKey } from '../audit/signing-key.js'
import { STATEMENT_KINDS, signStatement, statementText } from '../audit/statement.js'
import { AuditVerifier } from '../audit/verify.js'
import type { Json } from '../core/json.js'
import { taggedSha256OfJson } from '../digest.js'
import { type FamilyStory, gatedFamily, handing, score, writing } from '../testing/gated-families.js'
import { NO_TURNS } from '../timing/turns.js'
import { contradictionsIn, subjectsOf } from './contradictions.js'
import { ReceiptIssuer } from './issuer.js'
import { RECEIPT_KIND, type RunReceipt } from './receipt.js'
import { readReceipt, verifyReceipt } from './verify-receipt.js'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const keyId = keyIdOf(publicKey)
const key: SigningKey = { keyId, sign: text => sign(null, Buffer.from(text), privateKey).toString('base64url') }
const trusted = new Map([[keyId, publicKey]])

async function receiptOf(story: FamilyStory): Promise<RunReceipt> {
  const { rig, engine, runId } = await gatedFamily(story)
  const issuer = new ReceiptIssuer({
    engine,
    verifier: new AuditVerifier({ store: rig.store, keys: async () => trusted }),
    key,
    keys: async () => trusted,
    clock: rig.clock,
    turns: NO_TURNS,
    hostId: 'host.example',
    version: '1.0.0',
  })
  const issued = await issuer.issue('t1', runId)
  await engine.stop(0)
  if (!issued.ok) throw new Error(issued.refusal.message)
  const verified = verifyReceipt(issued.value, trusted, { runId, tenant: 't1', hostId: 'host.example' })
  if (!verified.ok) throw new Error(verified.message)
  return verified.receipt
}

const REWORKED: FamilyStory = { workflow: handing, votes: [score(2), score(9)] }

/** One that may be changed in whatever way. */
type Loose<T> = T extends readonly (infer Item)[]
  ? Loose<Item>[]
  : T extends object
    ? { -readonly [F in keyof T]: Loose<T[F]> }
    : T
type Change = (receipt: Loose<RunReceipt>) => void

const changed = (receipt: RunReceipt, change: Change): RunReceipt => {
  const copy = structuredClone(receipt) as Loose<RunReceipt>
  change(copy)
  return copy as RunReceipt
}

const textOf = (receipt: RunReceipt, subject = subjectsOf(receipt)): string =>
  statementText(signStatement(RECEIPT_KIND, { subject, predicate: receipt as unknown as Json }, key))

describe('what a receipt says', () => {
  test.each<[string, FamilyStory, object]>([
    ['sent back once', REWORKED, { label: 'verified' }],
    [
      'forced',
      { workflow: handing, gate: { behaviour: { on_fail: 'conditional_pass' } }, votes: [score(2)] },
      { label: 'forced' },
    ],
    [
      'accepted',
      {
        workflow: handing,
        gate: { behaviour: { on_fail: 'escalate', max_attempts: 1 } },
        votes: [score(2)],
        answer: 'accept',
      },
      { label: 'accepted' },
    ],
    ['an agent’s own', { workflow: writing('w'), votes: [score(9)] }, { label: 'verified', point: 'node' }],
  ])('of a result %s is its label everywhere', async (_, story, merge) => {
    const receipt = await receiptOf(story)
    expect(receipt.merges).toMatchObject([merge])
    expect(receipt.run.status).toBe('completed')
  })

  test('a person is named whose word a pass is, and what nobody passed is merged nowhere', async () => {
    const accepted = await receiptOf({
      workflow: handing,
      gate: { behaviour: { on_fail: 'escalate', max_attempts: 1 } },
      votes: [score(2)],
      answer: 'accept',
    })
    expect(accepted.attempts.at(-1)?.verdicts.at(-1)).toMatchObject({ agentId: 'host:human-override', person: 'ann' })
    const rejected = await receiptOf({ workflow: handing, votes: [score(2)] })
    expect([rejected.merges, rejected.attempts.length]).toEqual([[], 2])
    expect(rejected.goal).toMatchObject({ satisfied: false })
  })

  test('what a gate that does not block has said is told, and nothing is held by it', async () => {
    const receipt = await receiptOf({ workflow: handing, gate: { behaviour: { blocking: false } }, votes: [score(2)] })
    expect([receipt.merges, receipt.ungated, receipt.attempts.length]).toEqual([[], 1, 1])
  })
})

describe('what does not hang together is refused, although it is signed', () => {
  const forms: [string, Change][] = [
    [
      'C1: sequences beyond the log',
      r => {
        r.log.events = 3
      },
    ],
    ['C1: out of order', r => void r.attempts.reverse()],
    [
      'C2: an unknown gate',
      r => {
        r.gates[0]!.gateId = 'other'
      },
    ],
    ['C2: a gate twice', r => void r.gates.push(structuredClone(r.gates[0]!))],
    [
      'C3: a better label',
      r => {
        r.attempts[1]!.judgement!.verdict = 'conditional_pass'
      },
    ],
    [
      'C3: a label for a fail',
      r => {
        r.attempts[0]!.verdicts[0]!.label = 'verified'
      },
    ],
    [
      'C3: fewer criteria than the gate has',
      r => {
        r.attempts[1]!.verdicts[0]!.criteria = []
      },
    ],
    [
      'C3: a merge that is better than its pass',
      r => {
        r.merges[0]!.label = 'accepted'
      },
    ],
    [
      'C4: the verdict left out',
      r => {
        r.attempts[1]!.verdicts = []
      },
    ],
    ['C4: the attempt left out', r => void r.attempts.pop()],
    [
      'C4: the pass of another result',
      r => {
        r.attempts[1]!.resultHash = r.attempts[0]!.resultHash
      },
    ],
    [
      'C4: a revise for a pass',
      r => {
        r.merges[0]!.passes[0]!.verdict = r.attempts[0]!.verdicts[0]!.sequence
      },
    ],
    [
      'C4: a later word against it',
      r => {
        const { verdicts } = r.attempts[1]!
        const later = { ...verdicts[0]!, sequence: verdicts[0]!.sequence + 1, verdict: 'fail' as const, criteria: [] }
        delete later.label
        verdicts.push(later)
        r.merges[0]!.sequence = later.sequence + 1
        r.log.events = later.sequence + 2
      },
    ],
    [
      'C4: merged before it was passed',
      r => {
        r.merges[0]!.sequence = r.attempts[0]!.sequence + 1
      },
    ],
    [
      'C4: another gate there that has said nothing',
      r => void r.gates.push({ ...structuredClone(r.gates[0]!), gateId: 'g2' }),
    ],
    ['C4: merged twice', r => void r.merges.push({ ...structuredClone(r.merges[0]!), sequence: r.log.events - 1 })],
    ['C5: completed without outputs', r => void delete r.outputs],
    [
      'C5: failed with outputs',
      r => {
        r.run.status = 'failed'
      },
    ],
    [
      'C5: an exit gate that nothing has passed',
      r => void r.gates.push({ ...structuredClone(r.gates[0]!), gateId: 'g2', placement: 'workflow_exit' }),
    ],
    ['C6: reached, and something against it', r => void r.goal.against.push({ what: 'fail', nodeId: 'a' })],
    [
      'C7: judging for more than everything',
      r => {
        r.cost.verification.tokens = r.cost.spent.tokens + 1
      },
    ],
  ]

  test.each(forms)('%s', async (rule, change) => {
    const receipt = await whole
    expect(contradictionsIn(receipt, subjectsOf(receipt))).toEqual([])
    const other = changed(receipt, change)
    const verified = verifyReceipt(textOf(other), trusted)
    expect(verified).toMatchObject({ ok: false, why: 'contradicts-itself' })
    expect(contradictionsIn(other, subjectsOf(other)).map(one => one.slice(0, 2))).toContain(rule.slice(0, 2))
  })

  test('C8: a statement about something else', async () => {
    const receipt = await whole
    const [log, ...others] = subjectsOf(receipt)
    for (const subject of [others, [log!, ...others, { name: 'x', digest: { sha256: 'x' } }], []])
      expect(verifyReceipt(textOf(receipt, subject), trusted)).toMatchObject({ why: 'contradicts-itself' })
  })

  const whole = receiptOf(REWORKED)
})

describe('what somebody else brings', () => {
  test('has no room for anything but what a receipt says', async () => {
    const receipt = await receiptOf(REWORKED)
    const odd: [string, Change][] = [
      ['a field more', r => void Object.assign(r, { note: 'text' })],
      ['a field more, deep', r => void Object.assign(r.attempts[0]!.verdicts[0]!, { why: 'text' })],
      ['a field less', r => void delete (r as { cost?: unknown }).cost],
      [
        'lines of text for a name',
        r => {
          r.run.workflowId = 'a\nb'
        },
      ],
      [
        'a long name',
        r => {
          r.run.workflowId = 'x'.repeat(513)
        },
      ],
      [
        'another word',
        r => {
          ;(r.run as { status: string }).status = 'fine'
        },
      ],
      [
        'no hash',
        r => {
          r.outputs!.hash = 'sha256:abc'
        },
      ],
      [
        'another time',
        r => {
          r.run.endedAt = 'yesterday'
        },
      ],
      [
        'a number that is none',
        r => {
          ;(r.log as { events: unknown }).events = '3'
        },
      ],
    ]
    for (const [what, change] of odd)
      expect(verifyReceipt(textOf(changed(receipt, change)), trusted), what).toMatchObject({
        ok: false,
        why: 'malformed',
      })
    const many = changed(receipt, r => {
      for (let i = 0; i < 40_000; i += 1) r.goal.against.push({ what: 'fail', nodeId: 'n'.repeat(100) })
    })
    expect(readReceipt(textOf(many))).toMatchObject({ ok: false, why: 'too-large' })
  })

  test('is of the kind that is asked for', () => {
    expect(Object.values(STATEMENT_KINDS)).toContain(RECEIPT_KIND)
    for (const text of ['', '{}', 'null', '[[['.repeat(1_000), '\ufeff{}', JSON.stringify({ payload: 'x' })])
      expect(readReceipt(text)).toMatchObject({ ok: false, why: 'malformed' })
  })

  test('an output is found by its canonical JSON, however it is written', async () => {
    const receipt = await receiptOf({ workflow: writing('w'), votes: [score(9)] })
    const text = textOf(receipt)
    const [merge] = receipt.merges
    expect(merge!.resultHash).toBe(taggedSha256OfJson('text 0'))
    expect(verifyReceipt(text, trusted, { output: 'text 0' })).toMatchObject({
      ok: true,
      found: { merged: [{ label: 'verified', sequence: merge!.sequence }] },
    })
    expect(verifyReceipt(text, trusted, { output: 'text 1' })).toMatchObject({ why: 'other-output' })
  })
})
