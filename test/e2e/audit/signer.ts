import { generateKeyPairSync, sign } from 'node:crypto'
import { keyIdOf, type SigningKey, type TrustedKeys } from '../../../src/audit/signing-key.js'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const keyId = keyIdOf(publicKey)

/** A key that really signs, and who trusts it. */
export const signer: { readonly key: SigningKey; readonly trusted: TrustedKeys } = {
  key: { keyId, sign: text => sign(null, Buffer.from(text), privateKey).toString('base64url') },
  trusted: new Map([[keyId, publicKey]]),
}
