import { verify } from 'node:crypto'
import { canonicalJson, isObject, type Json } from '../core/json.js'
import type { SigningKey, TrustedKeys } from './signing-key.js'

/**
 * What a host says for others to keep, signed: an in-toto statement in a DSSE envelope.
 *
 *  1. What is signed is the pre-authentication encoding of DSSE, which begins with `DSSEv1` and names the type. Checkpoints and
 *     marks of erasure are signed by a hash in base64url, in which no blank can stand: none of the three passes for another.
 *  2. The kind of a statement is its `predicateType`, inside of what is signed: one kind never passes for another.
 *  3. There is one way to write a statement down. A text that says the same in other bytes is refused, so no byte of it
 *     can be changed without somebody noticing.
 */
export type Statement = {
  readonly _type: typeof STATEMENT_TYPE
  readonly subject: readonly Subject[]
  readonly predicateType: StatementKind
  readonly predicate: Json
}

/** What a statement is about, by its digest. */
export type Subject = { readonly name: string; readonly digest: { readonly [algorithm: string]: string } }

/** One line for each kind that a host signs. */
export const STATEMENT_KINDS = {
  runReceipt: 'urn:assay:statement:run-receipt:1',
  goalCertificate: 'urn:assay:statement:goal-certificate:1',
} as const
export type StatementKind = (typeof STATEMENT_KINDS)[keyof typeof STATEMENT_KINDS]

/** The envelope of DSSE: what is signed, in base64, with its type and one signature. */
export type SignedStatement = {
  readonly payload: string
  readonly payloadType: typeof PAYLOAD_TYPE
  readonly signatures: readonly [{ readonly keyid: string; readonly sig: string }]
}

export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json'

export function signStatement(
  kind: StatementKind,
  { subject, predicate }: Pick<Statement, 'subject' | 'predicate'>,
  key: SigningKey,
): SignedStatement {
  const text = canonicalJson({ _type: STATEMENT_TYPE, subject: subject as Json, predicateType: kind, predicate })
  const sig = Buffer.from(key.sign(preAuthentication(text)), 'base64url').toString('base64')
  return {
    payload: Buffer.from(text).toString('base64'),
    payloadType: PAYLOAD_TYPE,
    signatures: [{ keyid: key.keyId, sig }],
  }
}

/** As it is written down, with the end of its line. */
export const statementText = (signed: SignedStatement): string => `${canonicalJson(signed)}\n`

/** A statement that somebody else has brought: what it says, and who is to have signed it. Nobody has verified it yet. */
export type BroughtStatement = {
  readonly signed: SignedStatement
  readonly keyId: string
  readonly statement: Statement
}

export type UnreadStatement = { readonly why: 'too-large' | 'malformed' | 'other-kind'; readonly message: string }

/** Takes nothing but a statement of this kind, as `statementText` writes it; the end of its line may be missing. */
export function readStatement(kind: StatementKind, text: string, maxBytes: number): BroughtStatement | UnreadStatement {
  const bytes = text.length > maxBytes ? text.length : Buffer.byteLength(text)
  if (bytes > maxBytes)
    return { why: 'too-large', message: `it has ${bytes} bytes, and one of this kind has ${maxBytes} at most` }
  const signed = envelopeIn(parsed(text))
  if (signed === undefined || text.replace(/\n$/, '') !== canonicalJson(signed))
    return malformed('it is not a DSSE envelope of in-toto with one signature, in canonical JSON')
  const inner = textIn(signed.payload)
  const said = inner === undefined ? undefined : parsed(inner)
  const statement = said === undefined ? undefined : statementIn(said)
  if (statement === undefined || said === undefined || canonicalJson(said) !== inner)
    return malformed('its payload is not an in-toto statement in canonical JSON')
  if (statement.predicateType !== kind)
    return { why: 'other-kind', message: `it is not of the kind ${kind}, but of another: ${statement.predicateType}` }
  return { signed, keyId: signed.signatures[0].keyid, statement }
}

export const isUnread = (read: BroughtStatement | UnreadStatement): read is UnreadStatement => 'why' in read

/** What is wrong with the signature; undefined where the key that it names has signed exactly this. */
export function judgeStatement(
  { signed, keyId }: BroughtStatement,
  keys: TrustedKeys,
): 'key-unknown' | 'signature-invalid' | undefined {
  const key = keys.get(keyId)
  if (key === undefined) return 'key-unknown'
  const text = Buffer.from(signed.payload, 'base64').toString()
  const sig = Buffer.from(signed.signatures[0].sig, 'base64')
  return verify(null, Buffer.from(preAuthentication(text)), key, sig) ? undefined : 'signature-invalid'
}

/** DSSE v1, `PAE`: lengths are in bytes. */
const preAuthentication = (text: string): string =>
  `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${Buffer.byteLength(text)} ${text}`

const malformed = (message: string): UnreadStatement => ({ why: 'malformed', message })

/** No statement of a host is nested so deep; one that is would take more of the stack than there is. */
const MAX_DEPTH = 32

function parsed(text: string): Json | undefined {
  if (isDeep(text)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    // Whoever asks says what it is instead.
    return undefined
  }
}

function isDeep(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length && depth <= MAX_DEPTH; at += 1) {
    const sign = text[at]
    if (sign === '"') at = endOfString(text, at)
    else if (sign === '[' || sign === '{') depth += 1
    else if (sign === ']' || sign === '}') depth -= 1
  }
  return depth > MAX_DEPTH
}

function endOfString(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

function envelopeIn(value: Json | undefined): SignedStatement | undefined {
  if (!isObject(value) || !hasOnly(value, ['payload', 'payloadType', 'signatures'])) return undefined
  const { payload, payloadType, signatures } = value
  const [signature, ...others] = Array.isArray(signatures) ? (signatures as readonly Json[]) : []
  if (typeof payload !== 'string' || payloadType !== PAYLOAD_TYPE || others.length > 0) return undefined
  if (!isObject(signature ?? null) || !hasOnly(signature as never, ['keyid', 'sig'])) return undefined
  const { keyid, sig } = signature as { readonly [name: string]: Json }
  if (typeof keyid !== 'string' || !KEY_ID.test(keyid) || typeof sig !== 'string' || !SIGNATURE.test(sig))
    return undefined
  if (Buffer.from(sig, 'base64').toString('base64') !== sig) return undefined
  return { payload, payloadType, signatures: [{ keyid, sig }] }
}

function statementIn(value: Json): Statement | undefined {
  if (!isObject(value) || !hasOnly(value, ['_type', 'subject', 'predicateType', 'predicate'])) return undefined
  const { _type, subject, predicateType } = value
  const isOne =
    _type === STATEMENT_TYPE &&
    typeof predicateType === 'string' &&
    Array.isArray(subject) &&
    (subject as readonly Json[]).every(isSubject)
  return isOne ? (value as Statement) : undefined
}

const isSubject = (value: Json): boolean =>
  isObject(value) &&
  hasOnly(value, ['name', 'digest']) &&
  typeof value.name === 'string' &&
  isObject(value.digest) &&
  Object.values(value.digest).every(digest => typeof digest === 'string')

const hasOnly = (value: { readonly [name: string]: Json }, names: readonly string[]): boolean =>
  Object.keys(value).length === names.length && names.every(name => Object.hasOwn(value, name))

const KEY_ID = /^[0-9a-f]{16}$/
/** 64 bytes in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{86}==$/

/** The text whose UTF-8 this is in base64, if there is one and this is how it is written. */
function textIn(base64: string): string | undefined {
  const text = Buffer.from(base64, 'base64').toString()
  return Buffer.from(text).toString('base64') === base64 ? text : undefined
}
