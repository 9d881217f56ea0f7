/** Answers that are given again under the same Idempotency-Key. */
export interface ResponseStore {
  /** Layer 1 idempotency for operations that are not a single commit. See http/idempotency.ts. */
  getResponse(key: ResponseKey): Promise<RememberedResponse | undefined>
  /** Atomic insert-if-absent of a pending one; an expired one may be taken over by CAS. */
  claimResponse(
    response: RememberedResponse,
    now: number,
  ): Promise<{ claimed: true } | { claimed: false; response: RememberedResponse }>
  finishResponse(response: RememberedResponse): Promise<void>
  deleteResponse(key: ResponseKey): Promise<void>
  purgeResponses(olderThan: number): Promise<number>
}

export type ResponseKey = { readonly tenant: string; readonly endpoint: string; readonly key: string }

export type RememberedResponse = ResponseKey & {
  readonly digest: string
  readonly state: 'pending' | 'completed' | 'retryable-failure' | 'terminal-failure'
  readonly leaseOwner: string
  readonly leaseUntil: number
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  readonly at: number
}
