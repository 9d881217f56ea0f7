import type { TrustedKeys } from '../audit/signing-key.js'
import { type BroughtStatement, isUnread, judgeStatement, readStatement } from '../audit/statement.js'
import type { Json } from '../core/json.js'
import { schemaProblems } from '../core/schema/problems.js'
import { taggedSha256OfJson } from '../digest.js'
import { contradictionsIn } from './contradictions.js'
import { MAX_RECEIPT_BYTES, RECEIPT_KIND, type ReceiptMerge, RunReceipt } from './receipt.js'

/** A receipt that somebody has brought: well-formed, and nothing more is known of it. */
export type BroughtReceipt = { readonly receipt: RunReceipt; readonly brought: BroughtStatement }

export type ReceiptFault =
  | 'too-large'
  | 'malformed'
  | 'other-kind'
  | 'key-unknown'
  | 'signature-invalid'
  | 'contradicts-itself'
  | 'other-run'
  | 'other-host'
  | 'other-tenant'
  | 'other-output'

export type Verified<T> =
  | ({ readonly ok: true } & T)
  | { readonly ok: false; readonly why: ReceiptFault; readonly message: string }

/** What whoever asks knows already of what the receipt is to be about. */
export type WantedReceipt = {
  readonly runId?: string
  readonly hostId?: string
  readonly tenant?: string
  /** A value that the run must have left, or merged. */
  readonly output?: Json
}

/** Takes untrusted text. Whatever it is, it costs no more than its size, and no more than `MAX_RECEIPT_BYTES` is looked at. */
export function readReceipt(text: string): Verified<BroughtReceipt> {
  const brought = readStatement(RECEIPT_KIND, text, MAX_RECEIPT_BYTES)
  return isUnread(brought) ? refused(brought.why, brought.message) : receiptIn(brought)
}

function receiptIn(brought: BroughtStatement): Verified<BroughtReceipt> {
  const [problem] = schemaProblems(RunReceipt, brought.statement.predicate, 'predicate')
  if (problem !== undefined) return refused('malformed', problem)
  return { ok: true, brought, receipt: brought.statement.predicate as RunReceipt }
}

/**
 * Whether a receipt is one: signed by a key that is trusted, in agreement with itself, and about what is asked for. `found` is
 * what the wanted output is to the run. Knows no server and no clock: what is true once stays so.
 */
export function verifyReceipt(
  text: string,
  keys: TrustedKeys,
  wanted: WantedReceipt = {},
): Verified<{ readonly receipt: RunReceipt; readonly keyId: string; readonly found?: FoundOutput }> {
  const brought = readStatement(RECEIPT_KIND, text, MAX_RECEIPT_BYTES)
  if (isUnread(brought)) return refused(brought.why, brought.message)
  const { keyId } = brought
  const fault = judgeStatement(brought, keys)
  if (fault === 'key-unknown') return refused(fault, `it is signed with key ${keyId}, which is not among those given`)
  if (fault !== undefined) return refused(fault, `it does not bear a signature of key ${keyId}`)
  const read = receiptIn(brought)
  if (!read.ok) return read
  const { receipt } = read
  const [contradiction] = contradictionsIn(receipt, brought.statement.subject)
  if (contradiction !== undefined) return refused('contradicts-itself', contradiction)
  const other = otherThan(receipt, wanted)
  if (other !== undefined) return other
  if (wanted.output === undefined) return { ok: true, receipt, keyId }
  const found = findOutput(receipt, wanted.output)
  return found
    ? { ok: true, receipt, keyId, found }
    : refused('other-output', 'no outputs, and nothing that was merged, have the hash of this value')
}

function otherThan({ run, issuer }: RunReceipt, { runId, hostId, tenant }: WantedReceipt) {
  if (runId !== undefined && run.runId !== runId) return refused('other-run', `it is of run ${run.runId}`)
  if (hostId !== undefined && issuer.hostId !== hostId) return refused('other-host', `it is of host ${issuer.hostId}`)
  if (tenant !== undefined && run.tenant !== tenant) return refused('other-tenant', `it is of tenant ${run.tenant}`)
  return undefined
}

/** What a value is to the run. The same value may have been merged on the way, and be what the run left. */
export type FoundOutput = {
  readonly hash: string
  /** It is the run's outputs: what the gates at its exit say of it, and `unverified` where none stands there that blocks. */
  readonly left?: ReceiptMerge['label']
  /** It was merged on the way. */
  readonly merged: readonly Pick<ReceiptMerge, 'sequence' | 'label'>[]
}

/**
 * The value by its hash: SHA-256 over canonical JSON. A gate at the exit judges `{outputs}`, with what else it names of the run,
 * so outputs are looked for in both forms.
 */
function findOutput({ outputs, merges }: RunReceipt, value: Json): FoundOutput | undefined {
  const [hash, asLeft] = [taggedSha256OfJson(value), taggedSha256OfJson({ outputs: value })]
  const values = merges.filter(({ over }) => over === 'value')
  const merged = values
    .filter(({ resultHash, point }) => point !== 'run' && resultHash === hash)
    .map(({ sequence, label }) => ({ sequence, label }))
  const exit = values.find(({ resultHash, point }) => point === 'run' && (resultHash === hash || resultHash === asLeft))
  const isLeft = outputs?.hash === hash || exit !== undefined
  if (!isLeft && merged.length === 0) return undefined
  return { hash, ...(isLeft && { left: exit?.label ?? 'unverified' }), merged }
}

const refused = (why: ReceiptFault, message: string) => ({ ok: false as const, why, message })
