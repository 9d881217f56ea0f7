import path from 'node:path'
import { Type } from 'typebox'
import type { SecretRef } from '../agents/settings.js'
import { Closed, MapOf, Matching } from '../core/schema/kinds.js'

const HOW = '{ env: VARIABLE } or { file: PATH }, which say where the secret is; it is never written down here'

/** R-EVENT-6: a secret is named in a file, never told. */
export const SecretRefSchema = Type.Union(
  [
    Closed({ env: Matching(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, 'the name of a variable') }),
    Closed({ file: Matching(/^[^\0]{1,4096}$/, 'a file path') }),
  ],
  { 'x-must-be': HOW, 'x-unquoted': true },
)

/** Paths start at the folder of the file that names them. */
export const placedSecret = (ref: SecretRef, folder: string): SecretRef =>
  'file' in ref ? { file: path.resolve(folder, ref.file) } : ref

/** Headers, or variables of a process, by name: text, or where a secret is. */
export const TextsOrSecrets = (names: RegExp, what: string) =>
  MapOf(
    names,
    what,
    Type.Union(
      [Matching(/^[^\0\r\n]{0,4096}$/, 'one line of text', { 'x-must-be': 'one line of text' }), SecretRefSchema],
      { 'x-must-be': `one line of text, or ${HOW}`, 'x-unquoted': true },
    ),
  )

/** What is called so holds a secret: `Authorization`, `X-API-Key`, `GITHUB_TOKEN`, `dbPassword`. */
const SECRET_WORDS =
  /^(auth|authorization|token|tokens|secret|secrets|key|keys|apikey|password|passwd|credential|credentials|cookie|pat)$/
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)

/** Those whose name says that they are secrets, and that are written down all the same. */
export const plainSecrets = (given: { readonly [name: string]: string | SecretRef }, at: string): string[] =>
  Object.entries(given).flatMap(([name, value]) =>
    typeof value === 'string' && wordsOf(name).some(word => SECRET_WORDS.test(word))
      ? [`${at}.${name} must be ${HOW}`]
      : [],
  )
