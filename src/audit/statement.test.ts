import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../core/json.js'
import { sha256 } from '../digest.js'
import { checkpointHash } from './checkpoint.js'
import { keyIdOf, type SigningKey } from './signing-key.js'
import {
  type BroughtStatement,
  isUnread,
  judgeStatement,
  readStatement,
  STATEMENT_KINDS,
  signStatement,
  statementText,
} from './statement.js'

const newKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const keyId = keyIdOf(publicKey)
  const key: SigningKey = { keyId, sign: text => sign(null, Buffer.from(text), privateKey).toString('base64url') }
  return { key, publicKey, trusted: new Map([[keyId, publicKey]]) }
}

const KIND = STATEMENT_KINDS.runReceipt
const { key, publicKey, trusted } = newKey()
const said = {
  subject: [{ name: 'one', digest: { sha256: sha256('one') } }],
  predicate: { what: 'ünd so', n: [1, 2, { deep: true }] },
}
const signed = signStatement(KIND, said, key)
const text = statementText(signed)

const read = (from: string, maxBytes = 10_000): BroughtStatement => {
  const found = readStatement(KIND, from, maxBytes)
  if (isUnread(found)) throw new Error(`${found.why}: ${found.message}`)
  return found
}
const whyNot = (from: string, maxBytes = 10_000): string | undefined => {
  const found = readStatement(KIND, from, maxBytes)
  return isUnread(found) ? found.why : judgeStatement(found, trusted)
}

describe('a signed statement', () => {
  test('reads back as it was said, and its signature is that of DSSE over exactly these bytes', () => {
    const brought = read(text)
    expect(brought.statement).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      predicateType: KIND,
      ...said,
    })
    expect([brought.keyId, judgeStatement(brought, trusted)]).toEqual([key.keyId, undefined])
    const { payload, payloadType, signatures } = JSON.parse(text)
    const body = Buffer.from(payload, 'base64')
    const encoded = Buffer.concat([
      Buffer.from(`DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${body.length} `),
      body,
    ])
    expect(verify(null, encoded, publicKey, Buffer.from(signatures[0].sig, 'base64'))).toBe(true)
  })

  test('does not survive the change of a single byte, wherever it is', () => {
    const bytes = Buffer.from(text)
    let flipped = 0
    for (let at = 0; at < bytes.length - 1; at += 1)
      for (const bit of [1, 2, 4, 8, 16, 32, 64, 128]) {
        const changed = Buffer.from(bytes)
        changed[at] = bytes[at]! ^ bit
        expect(whyNot(changed.toString()), `byte ${at}, bit ${bit}`).toBeDefined()
        flipped += 1
      }
    expect(flipped).toBe((bytes.length - 1) * 8)
    // The end of the line says nothing.
    expect(whyNot(text.trimEnd())).toBeUndefined()
  })

  test('in other bytes is none: blanks, another order, fields twice, other base64, more signatures', () => {
    const { payload, payloadType, signatures } = signed
    const other = (inner: string) => Buffer.from(inner).toString('base64')
    const inner = Buffer.from(payload, 'base64').toString()
    const forms = [
      ` ${text}`,
      `${text}\n`,
      JSON.stringify(signed, null, 1),
      JSON.stringify({ signatures, payloadType, payload }),
      text.replace('{"payload":', '{"payload":"","payload":'),
      canonicalJson({ ...signed, payload: payload.replace(/=*$/, '==='), more: 1 }),
      canonicalJson({ ...signed, payload: `${payload}\n` }),
      canonicalJson({ ...signed, payload: other(` ${inner}`) }),
      canonicalJson({ ...signed, signatures: [...signatures, ...signatures] }),
      canonicalJson({ ...signed, signatures: [] }),
      canonicalJson({ ...signed, payloadType: 'text/plain' }),
      canonicalJson({ ...signed, payload: other('['.repeat(200_000)) }),
      canonicalJson({ ...signed, payload: other(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`) }),
      `${'['.repeat(1_000)}`,
      canonicalJson({ ...signed, signatures: [{ keyid: 'x'.repeat(16), sig: signatures[0].sig }] }),
      '',
      'null',
      '[]',
      '{}',
      '{"payload":1}',
    ]
    for (const form of forms) expect(whyNot(form, 400_000), form.slice(0, 80)).toBe('malformed')
  })

  test('is bytes before it is a text: what is no UTF-8 is not taken for the sign that stands for that', () => {
    const doubtful = signStatement(KIND, { ...said, predicate: { what: 'a\ufffdb' } }, key)
    expect(whyNot(statementText(doubtful))).toBeUndefined()
    const bytes = Buffer.from(doubtful.payload, 'base64')
    const at = bytes.indexOf(Buffer.from('\ufffd'))
    const broken = Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)])
    expect(whyNot(canonicalJson({ ...doubtful, payload: broken.toString('base64') }))).toBe('malformed')
  })

  test('is looked at no further when it is too large', () => {
    expect(whyNot(text, text.length - 1)).toBe('too-large')
    expect(whyNot('x'.repeat(5_000_000))).toBe('too-large')
  })

  test('is of one kind, and no other kind passes for it', () => {
    const inner = canonicalJson({ ...read(text).statement, predicateType: 'urn:assay:statement:other:1' })
    const sig = Buffer.from(
      key.sign(`DSSEv1 28 application/vnd.in-toto+json ${Buffer.byteLength(inner)} ${inner}`),
      'base64url',
    )
    const other = {
      ...signed,
      payload: Buffer.from(inner).toString('base64'),
      signatures: [{ keyid: key.keyId, sig: sig.toString('base64') }],
    }
    expect(whyNot(canonicalJson(other))).toBe('other-kind')
  })

  test('is believed of known keys only, and of the one that has signed it', () => {
    const stranger = newKey()
    const brought = read(text)
    expect(judgeStatement(brought, stranger.trusted)).toBe('key-unknown')
    const posing = new Map([[key.keyId, stranger.publicKey]])
    expect(judgeStatement(brought, posing)).toBe('signature-invalid')
  })

  test('is nothing that the same key signs otherwise: a checkpoint, a mark of erasure', () => {
    const digest = checkpointHash({ prev: '', seq: 0, at: 1, keyId: key.keyId, runs: [], purged: [] })
    const borrowed = Buffer.from(key.sign(digest), 'base64url').toString('base64')
    const forms = [Buffer.from(digest).toString('base64'), signed.payload]
    const found = forms.map(payload =>
      whyNot(canonicalJson({ ...signed, payload, signatures: [{ keyid: key.keyId, sig: borrowed }] })),
    )
    expect(found).toEqual(['malformed', 'signature-invalid'])
    // What a statement is signed by has blanks, which no digest has.
    expect(digest).toMatch(/^[\w-]{43}$/)
  })
})
