import path from 'node:path'
import type { SecretRef } from '../agents/settings.js'
import { isObject, type Json } from '../core/json.js'
import { type Read, type Reading, refuseValue } from './reading.js'

const HOW = '{ env: VARIABLE } or { file: PATH }, which say where the secret is; it is never written down here'

/** R-EVENT-6: a secret is named in a file, never told. */
export const secretRef: Read<SecretRef> = (raw, setting, to) =>
  refIn(raw, to) ?? refuseValue(raw, setting, to, HOW, true)

function refIn(raw: Json, { folder }: Reading): SecretRef | undefined {
  if (!isObject(raw) || Object.keys(raw).length !== 1) return undefined
  if (typeof raw.env === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(raw.env)) return { env: raw.env }
  if (typeof raw.file !== 'string' || !/^[^\0]{1,4096}$/.test(raw.file)) return undefined
  return { file: path.resolve(folder, raw.file) }
}

/** What is called so holds a secret: `Authorization`, `X-API-Key`, `GITHUB_TOKEN`, `dbPassword`. */
const SECRET_WORDS =
  /^(auth|authorization|token|tokens|secret|secrets|key|keys|apikey|password|passwd|credential|credentials|cookie|pat)$/
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)

/** A header or a variable: text, unless its name says that it is a secret. */
export function textOrSecret(raw: Json, setting: string, to: Reading, name: string): string | SecretRef | undefined {
  if (typeof raw !== 'string') return secretRef(raw, setting, to)
  if (wordsOf(name).some(word => SECRET_WORDS.test(word))) return refuseValue(raw, setting, to, HOW, true)
  return /^[^\0\r\n]{0,4096}$/.test(raw) ? raw : refuseValue(raw, setting, to, 'one line of text', true)
}
