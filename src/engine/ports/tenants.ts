/** The tenant was erased, or is being erased: nothing more of it is stored. Nothing of the write is done. */
export class TenantErased extends Error {
  override readonly name = 'TenantErased'
  override readonly message = 'the tenant was erased'
}

/** The keys that contents of one tenant are sealed with, each itself sealed by the host's own. Part of the Store. */
export interface DataKeyStore {
  readDataKey(tenant: string): Promise<string | undefined>
  /** Keeps the key if the tenant has none, and answers with the one that it has now. */
  putDataKey(tenant: string, wrapped: string): Promise<string>
}

/**
 * Tenants that are erased. Part of the Store.
 *
 * A tenant goes in two steps, each of which can be repeated. It is marked, together with the end of its keys: from then
 * on nothing of it is made, and what was sealed with its data key cannot be opened by anybody. Then its content goes, a
 * slice at a time, under a lease. Of its runs stay ids, types and times, and of their events digests that prove the
 * chain (`chain.ts`) and from which nobody can tell what was there.
 */
export interface TenantStore {
  /** Marks all of these tenants, or none, and deletes their keys. One that is marked already gets this mark in its place. */
  eraseTenants(marks: readonly ErasureMark[]): Promise<EraseResult>
  readErasure(tenant: string): Promise<Erasure | undefined>
  /** Leases a tenant that is marked and has content left; not again before the lease is over or its host was fenced. */
  claimErasure(claim: { hostId: string; now: number; leaseMs: number }): Promise<string | undefined>
  /** The next run of a marked tenant that has content left, purged ones included, and the events that are its own. */
  nextToErase(tenant: string): Promise<RunToErase | undefined>
  /** Puts what is left in the place of content; false when the lease is lost. */
  eraseEvents(erasing: Erasing & { readonly runId: string }, events: readonly ErasedEvent[]): Promise<boolean>
  /** Deletes what belongs to a run whose events are erased, and goes on to the next; false when the lease is lost. */
  eraseRun(erasing: Erasing & { readonly runId: string }): Promise<boolean>
  /** Deletes up to `limit` rows of each kind that the tenant has besides runs. With the last of them it is erased. */
  finishErasure(erasing: Erasing & { readonly at: number; readonly limit: number }): Promise<'more' | 'done' | 'lost'>
}

/** Whose content goes, and who holds the lease. */
export type Erasing = { readonly tenant: string; readonly hostId: string }

/** `open`: so many of their runs have not ended. */
export type EraseResult = { readonly kind: 'marked' } | { readonly kind: 'open'; readonly runs: number }

/** That somebody who may has asked for it, signed by the host that was asked: no row alone makes a tenant an erased one. */
export type ErasureMark = {
  readonly tenant: string
  readonly askedAt: number
  /** Which key signed: fingerprint of its public half. */
  readonly keyId: string
  readonly signature: string
}

/** Makes and judges those. */
export interface ErasureMarks {
  sign(tenant: string, askedAt: number): ErasureMark
  /** Why a row proves nothing; undefined when it does. */
  judge(erasure: Erasure): Promise<'unsigned' | 'key-unknown' | 'signature-invalid' | undefined>
}

export type Erasure = {
  readonly tenant: string
  readonly askedAt: number
  /** Null, both, on rows that are older than signatures. */
  readonly keyId: string | null
  readonly signature: string | null
  /** Null while there is content left. */
  readonly erasedAt: number | null
}

export type RunToErase = { readonly runId: string; readonly fromSeq: number; readonly length: number }

export type ErasedEvent = { readonly sequence: number; readonly erased: string }
