/** API keys, by their hash. */
export interface KeyStore {
  putKey(key: ApiKey): Promise<void>
  listKeys(): Promise<ApiKey[]>
  findKey(hash: string): Promise<ApiKey | undefined>
}

export type ApiKey = {
  readonly keyId: string
  /** Hex SHA-256 of the key; the key itself is never stored. */
  readonly hash: string
  readonly tenant: string
  readonly principal: string
  readonly scopes: readonly string[]
  readonly test: boolean
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /**
   * Through whom it came to be, the first one first: who made the key that made the key that made it. Empty where no other
   * key has made it, or nobody noted it.
   */
  readonly madeBy: readonly KeyMaker[]
}

export type KeyMaker = { readonly tenant: string; readonly principal: string }
