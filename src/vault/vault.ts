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
  /** The same for bytes, which stay bytes: what was sealed as one does not open as the other. */
  sealBytes(tenant: string, id: string, bytes: Uint8Array): Buffer
  openBytes(tenant: string, id: string, sealed: Uint8Array): Buffer
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
/** Before sealed bytes stands what stands before a sealed text. */
const PREFIX = /^(v[0-9])\.([0-9a-f]{16})\.$/
const PREFIX_BYTES = 20

/** The first key seals, all open. What is sealed names the version, and opens under it alone. */
export function createVault(keys: readonly Buffer[], version = HOST_VERSION): DataVault {
  if (keys.some(key => key.length !== KEY_BYTES)) throw new Error(`a data key has ${KEY_BYTES} bytes`)
  const byId = new Map(keys.map(key => [keyIdOf(key), key]))
  const [first] = byId
  if (first === undefined) throw new Error('a vault needs a data key')
  const [sealingId, sealingKey] = first
  const opened = (id: string, named: string | undefined, keyId: string | undefined, bytes: Buffer, owner: Buffer) => {
    if (named !== version || keyId === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) throw new SealBroken(id)
    const key = byId.get(keyId)
    if (key === undefined) throw new DataKeyUnknown(id, keyId)
    return decrypted(key, bytes, owner, id)
  }
  return {
    seal(tenant, id, contents) {
      const parts = encrypted(sealingKey, Buffer.from(JSON.stringify(contents)), belongingTo(version, tenant, id))
      return `${version}.${sealingId}.${Buffer.concat(parts).toString('base64url')}`
    },
    open(tenant, id, sealed) {
      const [, named, keyId, text] = SEALED.exec(sealed) ?? []
      const bytes = Buffer.from(text ?? '', 'base64url')
      return JSON.parse(opened(id, named, keyId, bytes, belongingTo(version, tenant, id)).toString('utf8')) as Json
    },
    sealBytes(tenant, id, bytes) {
      const parts = encrypted(sealingKey, bytes, belongingTo(version, tenant, id, 'bytes'))
      return Buffer.concat([Buffer.from(`${version}.${sealingId}.`), ...parts])
    },
    openBytes(tenant, id, sealed) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length)
      const [, named, keyId] = PREFIX.exec(bytes.toString('latin1', 0, PREFIX_BYTES)) ?? []
      return opened(id, named, keyId, bytes.subarray(PREFIX_BYTES), belongingTo(version, tenant, id, 'bytes'))
    },
  }
}

function encrypted(key: Buffer, plain: Uint8Array, owner: Buffer): Buffer[] {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(owner)
  return [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]
}

function decrypted(key: Buffer, bytes: Buffer, owner: Buffer, id: string): Buffer {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(owner)
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), finished(decipher, id)])
}

/** Nothing of the contents is read before this has vouched for them. */
function finished(decipher: { final(): Buffer }, id: string): Buffer {
  try {
    return decipher.final()
  } catch (error) {
    throw new SealBroken(id, { cause: error })
  }
}

/** As JSON, so that no two of these give the same bytes. */
const belongingTo = (...owner: readonly string[]): Buffer => Buffer.from(JSON.stringify(owner))

/** Says which key it was and nothing of what it is. */
const keyIdOf = (key: Buffer): string => sha256(Buffer.concat([Buffer.from('assay data key\0'), key])).slice(0, 16)
