import { publicKeysIn } from '../audit/signing-key.js'
import type { NoEvidence, PeerReceipt } from '../core/handoff/peer-receipt.js'
import { taggedSha256 } from '../digest.js'
import type { RunReceipt } from './receipt.js'
import { verifyReceipt } from './verify-receipt.js'

/** What this host has seen itself of the run that a receipt is to be about. */
export type SeenEnd = {
  readonly runId: string
  readonly hostId: string
  /** How many events its log has. */
  readonly events: number
}

/**
 * Judges what peers give for receipts, by the keys that this host was configured with and none that a peer has shown (P17).
 * Whatever the text is, it is evidence or a word of the list why it is none.
 */
export function receiptJudge(receiptKeys: readonly string[]): (text: string, seen: SeenEnd) => PeerReceipt {
  const keys = publicKeysIn('receiptKeys', JSON.stringify({ keys: receiptKeys.map(asJwk) }))
  return (text, { runId, hostId, events }) => {
    const verified = verifyReceipt(text, keys, { runId, hostId })
    if (!verified.ok) return none(SAID.has(verified.why) ? (verified.why as NoEvidence) : 'malformed')
    const { receipt, keyId } = verified
    if (receipt.run.status !== 'completed' || receipt.log.events !== events) return none('other-end')
    const { attempts } = receipt
    if (attempts.length === 0) return none('nothing-judged')
    const passes = attempts.filter(({ verdicts }) => verdicts.at(-1)?.verdict === 'pass').length
    const digest = taggedSha256(text)
    return { evidence: true, keyId, digest, attempts: attempts.length, passes, label: labelOfLeft(receipt) }
  }
}

const SAID: ReadonlySet<string> = new Set<NoEvidence>([
  'too-large',
  'other-kind',
  'key-unknown',
  'signature-invalid',
  'contradicts-itself',
  'other-run',
  'other-host',
])

const asJwk = (x: string) => ({ kty: 'OKP', crv: 'Ed25519', x })

const none = (why: NoEvidence): PeerReceipt => ({ evidence: false, why })

/** What its gates at the exit say; nobody there says anything of what no gate at the exit has seen. */
const labelOfLeft = ({ merges }: RunReceipt) => merges.findLast(({ point }) => point === 'run')?.label ?? 'unverified'
