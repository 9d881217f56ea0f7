import type { ResultLabel } from '../verification/label.js'
import type { PeerTold } from './peer-work.js'

/** Why what a peer gave for a receipt of its run is none, or says nothing that could be evidence. */
export const NO_EVIDENCE = [
  'not-offered',
  'not-heard',
  'too-large',
  'malformed',
  'other-kind',
  'key-unknown',
  'signature-invalid',
  'contradicts-itself',
  'other-run',
  'other-host',
  'other-end',
  'nothing-judged',
] as const
export type NoEvidence = (typeof NO_EVIDENCE)[number]

/** P17: what a peer says, signed, that its own gates have made of the run. */
export type PeerReceipt =
  | {
      readonly evidence: true
      /** Of the key that it is signed with, one of those that this host believes. */
      readonly keyId: string
      /** SHA-256 of its text. */
      readonly digest: string
      readonly attempts: number
      readonly passes: number
      /** What it says of what the run there left. */
      readonly label: ResultLabel
    }
  | { readonly evidence: false; readonly why: NoEvidence }

/** `assay.peer.receipt`. It has no part in what becomes of the result. */
export type PeerReceiptTold = Required<PeerTold> & PeerReceipt

/** Takes over names, hashes, words of a list and numbers, and nothing else that may be there. */
export function receiptTold(
  { nodeId, workerId, peer, childRunId }: Required<PeerTold>,
  receipt: PeerReceipt,
): PeerReceiptTold {
  const place = { nodeId, workerId, peer, childRunId }
  if (!receipt.evidence) return { ...place, evidence: false, why: receipt.why }
  const { keyId, digest, attempts, passes, label } = receipt
  return { ...place, evidence: true, keyId, digest, attempts, passes, label }
}
