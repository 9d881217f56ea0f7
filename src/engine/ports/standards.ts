/** What work is held to, with all of its versions. */
export interface StandardStore {
  /** Returns the version: the latest one where nothing has changed, else one more. */
  putStandard(record: NewStandard): Promise<number>
  /** False when there is none. Its versions are kept. */
  deleteStandard(standard: { tenant: string | null; kind: StandardKind; id: string; now: number }): Promise<boolean>
  /** The latest version of each that is not deleted: the tenant's own and the shared ones, by kind and id. */
  listStandards(tenant: string): Promise<Standard[]>
}

export type StandardKind = 'gate' | 'intent' | 'knowledge'

/** `tenant: null` is shared with every tenant (loaded from the project folder). */
export type NewStandard = {
  readonly tenant: string | null
  readonly kind: StandardKind
  readonly id: string
  /** SHA-256 of the body. */
  readonly hash: string
  /** The document, complete, as JSON. */
  readonly body: string
  readonly updatedAt: number
}

export type Standard = NewStandard & { readonly version: number }
