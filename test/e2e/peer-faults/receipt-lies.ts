import { generateKeyPairSync, sign } from 'node:crypto'
import { keyIdOf, publicJwk, type SigningKey } from '../../../src/audit/signing-key.js'
import { signStatement, statementText } from '../../../src/audit/statement.js'
import type { NoEvidence } from '../../../src/core/handoff/peer-receipt.js'
import type { Json } from '../../../src/core/json.js'
import { subjectsOf } from '../../../src/receipts/contradictions.js'
import { RECEIPT_KIND, type RunReceipt } from '../../../src/receipts/receipt.js'
import type { HostilePeer, Lie } from './hostile-peer.js'
import { type Case, drips, hangsUp, HUGE, JSON_TYPE, merged, pours, redirects, says, status, text } from './lie-kit.js'

/** What a peer gives for the receipt of its run, signed with a key that is known to A or with another. */

const madeKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const keyId = keyIdOf(publicKey)
  const signing: SigningKey = {
    keyId,
    sign: said => sign(null, Buffer.from(said), privateKey).toString('base64url'),
  }
  return { signing, x: publicJwk(keyId, publicKey).x }
}
const KNOWN = madeKey()
const STRANGE = madeKey()
/** Of the key that A knows the peer by. */
export const RECEIPT_KEY = KNOWN.x

const HASH = `sha256:${'a'.repeat(64)}`
const AT = '2026-01-01T00:00:00.000Z'
const NOTHING = { tokens: 0, costUsd: 0, toolCalls: 0, retries: 0 }
const GATE = { gateId: 'g1', version: 1, hash: 'a'.repeat(64), blocking: true, nodeId: 'a', criteria: ['right'] }

/** A run whose one gate, at its exit, has passed what it left. */
const receiptOf = (runId: string): RunReceipt => ({
  issuer: { hostId: 'b.example', assay: '1.0.0', issuedAt: AT },
  run: {
    runId,
    tenant: 'default',
    workflowId: 'work',
    workflowDigest: 'digest',
    engineVersion: '6',
    startedAt: AT,
    endedAt: AT,
    status: 'completed',
  },
  log: { events: 4, head: '', unchained: 4 },
  outputs: { hash: HASH, withheld: false },
  goal: { against: [] },
  gates: [{ ...GATE, placement: 'workflow_exit' }],
  attempts: [
    {
      sequence: 0,
      at: AT,
      gateId: 'g1',
      attempt: 1,
      nodeId: 'a',
      point: 'run',
      target: `${runId}:1`,
      resultHash: HASH,
      over: 'value',
      probes: 0,
      probesFailed: 0,
      votes: [],
      judgement: { verdict: 'pass', votes: 1, passVotes: 1 },
      verdicts: [
        { sequence: 1, at: AT, agentId: 'acme.judge', verdict: 'pass', criteria: ['right'], label: 'verified' },
      ],
    },
  ],
  merges: [
    {
      sequence: 2,
      at: AT,
      point: 'run',
      target: `${runId}:1`,
      resultHash: HASH,
      over: 'value',
      passes: [{ gateId: 'g1', verdict: 1 }],
      label: 'verified',
    },
  ],
  ungated: 0,
  bounds: { turns: 0, reworks: 0, breached: [] },
  cost: { spent: NOTHING, verification: NOTHING, unknown: NOTHING },
})

const signed = (receipt: RunReceipt, { signing } = KNOWN, subject = subjectsOf(receipt)): string =>
  statementText(signStatement(RECEIPT_KIND, { subject, predicate: receipt as unknown as Json }, signing))

/** As a peer gives it that has nothing to hide. */
export const honestReceipt = (runId: string): string => signed(receiptOf(runId))

const gives =
  (made: (runId: string) => string): Lie =>
  (_honest, _question, { runId }: HostilePeer) => ({ status: 200, body: made(runId) })

const changed =
  (change: (receipt: RunReceipt) => object): Lie =>
  (...asked) =>
    gives(runId => {
      const receipt = receiptOf(runId)
      return signed({ ...receipt, ...change(receipt) } as RunReceipt)
    })(...asked)

const flipped = (whole: string, at: number): string => {
  const bytes = Buffer.from(whole)
  bytes[at]! ^= 1
  return bytes.toString('latin1')
}

const RECEIPTS: readonly (readonly [string, Lie, NoEvidence])[] = [
  ['of another run', gives(() => honestReceipt('another-run')), 'other-run'],
  ['of another host', changed(({ issuer }) => ({ issuer: { ...issuer, hostId: 'c.example' } })), 'other-host'],
  ['of the host that asks', changed(({ issuer }) => ({ issuer: { ...issuer, hostId: 'a.example' } })), 'other-host'],
  ['of a run with another end', changed(({ log }) => ({ log: { ...log, events: 5, unchained: 5 } })), 'other-end'],
  [
    'of a run that has failed',
    changed(({ run }) => ({ run: { ...run, status: 'failed' }, outputs: undefined, merges: [] })),
    'other-end',
  ],
  ['with a key of its own', gives(runId => signed(receiptOf(runId), STRANGE)), 'key-unknown'],
  [
    'under the name of a known key',
    gives(runId =>
      signed(receiptOf(runId), { ...STRANGE, signing: { ...STRANGE.signing, keyId: KNOWN.signing.keyId } }),
    ),
    'signature-invalid',
  ],
  [
    'with one bit of its signature flipped',
    gives(runId => flippedSignature(honestReceipt(runId))),
    'signature-invalid',
  ],
  ['with one bit of its payload flipped', gives(runId => flipped(honestReceipt(runId), 40)), 'malformed'],
  [
    'whose label does not follow',
    changed(({ merges }) => ({ merges: merges.map(merge => ({ ...merge, label: 'conditional' })) })),
    'contradicts-itself',
  ],
  ['about something else', gives(runId => signed(receiptOf(runId), KNOWN, [])), 'contradicts-itself'],
  ['of a run that nobody has judged', changed(() => ({ gates: [], attempts: [], merges: [] })), 'nothing-judged'],
  ['with words in it', changed(({ run }) => ({ run: { ...run, evil: 'forged c.example\u0000' } })), 'malformed'],
  ['that is a page', text('<html></html>', { 'content-type': 'text/html' }), 'malformed'],
  ['that is a list of receipts', gives(runId => `[${honestReceipt(runId).trim()}]`), 'malformed'],
  ['twice in one', gives(runId => honestReceipt(runId).repeat(2)), 'malformed'],
  ['100,000 lists deep', text('['.repeat(100_000)), 'malformed'],
  ['of 100 MB', pours(JSON_TYPE, '{"payload":"', 'x', HUGE), 'too-large'],
  ['that drips', drips(JSON_TYPE), 'not-heard'],
  ['that is elsewhere', redirects, 'not-heard'],
  ['that it hangs up on', hangsUp, 'not-heard'],
  ['that is not there', status(404), 'not-offered'],
  ['that it will not give', status(403), 'not-offered'],
  ['that it cannot give', says({ status: 500 }), 'not-heard'],
]

function flippedSignature(whole: string): string {
  return whole.replace(/"sig":"([^"]+)"/, (_, sig: string) => {
    const bytes = Buffer.from(sig, 'base64')
    bytes[10]! ^= 1
    return `"sig":"${bytes.toString('base64')}"`
  })
}

export const RECEIPT_CASES: readonly Case[] = RECEIPTS.map(([name, receipt, why]) => ({
  name: `a receipt ${name}`,
  lies: { receipt },
  ending: merged(),
  receipt: why,
}))

export const lieAbout = (name: string): Lie => RECEIPTS.find(([known]) => known === name)![1]
