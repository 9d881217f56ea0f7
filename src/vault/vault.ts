import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Json } from '../core/json.js'
import { sha256 } from '../digest.js'

/**
 * Keeps what models and tools were told and have answered out of sight of whoever reads the database (AES-256-GCM).
 * Sealed contents belong to one tenant and one id: moved to another row, they do not open.
 */
export interface DataVault {
  seal(tenant: string, id: string, contents: Json): string
  /** Throws SealBroken, or DataKeyUnknown. */
  open(tenant: string, id: string, sealed: string): Json
}

/** The contents were changed, or are not those of this tenant and id. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken'
  constructor(id: string, options?: ErrorOptions) {
    super(`the sealed contents of ${id} have been changed, or are not its own`, options)
  }
}

/** They were sealed with a key that this host has not got. */
export class DataKeyUnknown extends Error {
  override readonly name = 'DataKeyUnknown'
  constructor(id: string, keyId: string) {
    super(`the contents of ${id} were sealed with the data key ${keyId}, which this host does not have`)
  }
}

const HOST_VERSION = 'v1'
const CIPHER = 'aes-256-gcm'
export const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const SEALED = /^(v[0-9])\.([0-9a-f]{16})\.([A-Za-z0-9_-]+)$/

/** The first key seals, all open. What is sealed names the version, and opens under it alone. */
export function createVault(keys: readonly Buffer[], version = HOST_VERSION): DataVault {
  if (keys.some(key => key.length !== KEY_BYTES)) throw new Error(`a data key has ${KEY_BYTES} bytes`)
  const byId = new Map(keys.map(key => [keyIdOf(key), key]))
  const [first] = byId
  if (first === undefined) throw new Error('a vault needs a data key')
  const [sealingId, sealingKey] = first
  return {
    seal(tenant, id, contents) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, sealingKey, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(belongingTo(version, tenant, id))
      const parts = [nonce, cipher.update(JSON.stringify(contents), 'utf8'), cipher.final(), cipher.getAuthTag()]
      return `${version}.${sealingId}.${Buffer.concat(parts).toString('base64url')}`
    },
    open(tenant, id, sealed) {
      const [, named, keyId, text] = SEALED.exec(sealed) ?? []
      const bytes = Buffer.from(text ?? '', 'base64url')
      if (named !== version || keyId === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) throw new SealBroken(id)
      const key = byId.get(keyId)
      if (key === undefined) throw new DataKeyUnknown(id, keyId)
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(belongingTo(version, tenant, id))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      const opened = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), finished(decipher, id)]
      return JSON.parse(Buffer.concat(opened).toString('utf8')) as Json
    },
  }
}

/** Nothing of the contents is read before this has vouched for them. */
function finished(decipher: { final(): Buffer }, id: string): Buffer {
  try {
    return decipher.final()
  } catch (error) {
    throw new SealBroken(id, { cause: error })
  }
}

/** As JSON, so that no two pairs of tenant and id give the same bytes. */
const belongingTo = (version: string, tenant: string, id: string): Buffer =>
  Buffer.from(JSON.stringify([version, tenant, id]))

/** Says which key it was and nothing of what it is. */
const keyIdOf = (key: Buffer): string => sha256(Buffer.concat([Buffer.from('assay data key\0'), key])).slice(0, 16)
