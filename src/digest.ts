import { hash } from 'node:crypto'
import { canonicalJson, type Json } from './core/json.js'

/** SHA-256, the one hash that things are named and compared by. */
export const sha256 = (data: string | Uint8Array, encoding: 'hex' | 'base64url' = 'hex'): string =>
  hash('sha256', data, encoding)

/** Over canonical JSON, so that equal values have equal hashes on every host. */
export const sha256OfJson = (value: Json): string => sha256(canonicalJson(value))

/** As events and documents carry it: the hash with the name of its algorithm before it. */
export const taggedSha256 = (text: string): string => `sha256:${sha256(text)}`

export const taggedSha256OfJson = (value: Json): string => taggedSha256(canonicalJson(value))
