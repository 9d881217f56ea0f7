import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'
import { sha256 } from '../digest.js'
import type { PublicJwk } from '../engine/api.js'

/** What checkpoints are signed with. */
export type SigningKey = { readonly keyId: string; sign(text: string): string }

/** Public halves by key id: whose signatures are believed here. */
export type TrustedKeys = ReadonlyMap<string, KeyObject>

const PUBLIC = '.pub.pem'

export const signingKeyFile = (data: string): string => path.join(data, 'audit-key.pem')
/** Public halves of all keys that ever signed for this data, and of those of other hosts on the same database. */
export const trustedKeysFolder = (data: string): string => path.join(data, 'audit-keys')

/**
 * The key of this data folder, made on first use. Two hosts that start at once end up with the same key. To change the
 * key, move the file away: its public half stays behind, so what it signed can still be checked.
 */
export async function ensureSigningKey(data: string): Promise<SigningKey> {
  const file = signingKeyFile(data)
  await fs.mkdir(trustedKeysFolder(data), { recursive: true, mode: 0o700 })
  if ((await readIfPresent(file)) === undefined) await create(file, newPrivateKey(), 0o600)
  const privateKey = parse(file, await fs.readFile(file, 'utf8'), createPrivateKey)
  const publicKey = createPublicKey(privateKey)
  const keyId = keyIdOf(publicKey)
  // At every start, so that a crash between the two files leaves no key whose public half is nowhere.
  const publicFile = path.join(trustedKeysFolder(data), `${keyId}${PUBLIC}`)
  if ((await readIfPresent(publicFile)) === undefined) {
    await create(publicFile, publicKey.export({ type: 'spki', format: 'pem' }), 0o644)
  }
  return { keyId, sign: text => sign(null, Buffer.from(text), privateKey).toString('base64url') }
}

/** Keys whose signatures are believed. Makes nothing: a folder that was copied elsewhere can be checked as it is. */
export async function readTrustedKeys(data: string): Promise<TrustedKeys> {
  const keys = new Map<string, KeyObject>()
  for (const file of [signingKeyFile(data), ...(await publicFiles(data))]) {
    const text = await readIfPresent(file)
    if (text === undefined) continue
    const key = parse(file, text, createPublicKey)
    keys.set(keyIdOf(key), key)
  }
  return keys
}

/** What RFC 8037 calls it. Its id is ours: a fingerprint, and no thumbprint of RFC 7638. */
export const publicJwk = (keyId: string, key: KeyObject): PublicJwk => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: String(key.export({ format: 'jwk' }).x),
  kid: keyId,
  use: 'sig',
  alg: 'EdDSA',
})

/** A file of public keys that somebody was given: PEM, a JWK, or a set of them. What is in it is believed. */
export function publicKeysIn(name: string, text: string): TrustedKeys {
  const keys = text.trimStart().startsWith('{') ? jwksIn(name, text) : [parse(name, text, createPublicKey)]
  return new Map(keys.map(key => [keyIdOf(key), key]))
}

function jwksIn(name: string, text: string): KeyObject[] {
  const read = (jwk: unknown) => parse(name, '', () => createPublicKey({ key: publicPartOf(jwk), format: 'jwk' }))
  try {
    const value = JSON.parse(text) as { readonly keys?: unknown }
    return Array.isArray(value.keys) ? value.keys.map(read) : [read(value)]
  } catch (error) {
    throw new Error(`${name} holds no public key: ${(error as Error).message}`, { cause: error })
  }
}

/** Whatever else somebody has put there, such as the private half, is not looked at. */
function publicPartOf(jwk: unknown): { readonly [field: string]: string } {
  const fields = (jwk ?? {}) as { readonly [field: string]: unknown }
  return Object.fromEntries(['kty', 'crv', 'x'].map(field => [field, String(fields[field])]))
}

export const keyIdOf = (publicKey: KeyObject): string =>
  sha256(publicKey.export({ type: 'spki', format: 'der' })).slice(0, 16)

const newPrivateKey = (): string | Buffer =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })

function parse(file: string, text: string, read: (pem: string) => KeyObject): KeyObject {
  try {
    const key = read(text)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch (error) {
    throw new Error(`${file} is not a key: ${(error as Error).message}`, { cause: error })
  }
  throw new Error(`${file} is not an Ed25519 key`)
}

/** A link appears complete or not at all, and never replaces a file that another process made meanwhile. */
async function create(file: string, content: string | Buffer, mode: number): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await fs.writeFile(draft, content, { mode, flag: 'wx', flush: true })
  try {
    await fs.link(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await fs.rm(draft)
  }
}

async function publicFiles(data: string): Promise<string[]> {
  const folder = trustedKeysFolder(data)
  const names = (await ifPresent(fs.readdir(folder))) ?? []
  return names.filter(name => name.endsWith(PUBLIC)).map(name => path.join(folder, name))
}

const readIfPresent = (file: string): Promise<string | undefined> => ifPresent(fs.readFile(file, 'utf8'))

async function ifPresent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
