/** Answers that are given again under the same Idempotency-Key. */
export interface ReceiptStore {
  /** Layer 1 idempotency for operations that are not a single commit. See http/idempotency.ts. */
  getReceipt(key: ReceiptKey): Promise<Receipt | undefined>
  /** Atomic insert-if-absent of a pending receipt; an expired pending one may be taken over by CAS. */
  claimReceipt(receipt: Receipt, now: number): Promise<{ claimed: true } | { claimed: false; receipt: Receipt }>
  finishReceipt(receipt: Receipt): Promise<void>
  deleteReceipt(key: ReceiptKey): Promise<void>
  purgeReceipts(olderThan: number): Promise<number>
}

export type ReceiptKey = { readonly tenant: string; readonly endpoint: string; readonly key: string }

export type Receipt = ReceiptKey & {
  readonly digest: string
  readonly state: 'pending' | 'completed' | 'retryable-failure' | 'terminal-failure'
  readonly leaseOwner: string
  readonly leaseUntil: number
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  readonly at: number
}
