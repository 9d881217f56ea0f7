import path from 'node:path'
import type { SecretRef } from '../agents/settings.js'
import { createSecretRegister, type Redactor, type SecretRegister } from './redactor.js'

export type { Redactor } from './redactor.js'

/** Where secrets come from, and how they are kept from going anywhere else. */
export interface Secrets extends Pick<SecretRegister, 'spellings' | 'holdsKnown'> {
  /**
   * Read anew each time, so a changed secret is used at once. Whoever gets a value can rely on it that `redact` knows
   * it. Rejects with SecretMissing or SecretTooShort.
   */
  resolve(ref: SecretRef): Promise<string>
  readonly redact: Redactor
}

/** Shorter texts are found in too many places to mean anything there. */
const SHORTEST_SECRET = 6

/** Errors name the reference, and never tell anything of the value. */
export class SecretMissing extends Error {
  override readonly name = 'SecretMissing'
  constructor(ref: SecretRef, options?: ErrorOptions) {
    super(`there is no secret in ${spelled(ref)}`, options)
  }
}

export class SecretTooShort extends Error {
  override readonly name = 'SecretTooShort'
  constructor(ref: SecretRef) {
    super(`the secret in ${spelled(ref)} is too short: it needs at least ${SHORTEST_SECRET} characters`)
  }
}

/** `read` answers undefined, or rejects, when there is nothing to be had. */
export function createSecrets(read: (ref: SecretRef) => Promise<string | undefined>): Secrets {
  const register = createSecretRegister()
  return {
    redact: register.redact,
    spellings: register.spellings,
    holdsKnown: register.holdsKnown,
    async resolve(ref) {
      const value = await readOne(read, ref)
      if (value.length < SHORTEST_SECRET) throw new SecretTooShort(ref)
      register.add(nameOf(ref), value)
      return value
    },
  }
}

async function readOne(read: (ref: SecretRef) => Promise<string | undefined>, ref: SecretRef): Promise<string> {
  let text: string | undefined
  try {
    text = await read(ref)
  } catch (error) {
    throw new SecretMissing(ref, { cause: error })
  }
  // Editors end a file with a line break, which is no part of the secret.
  const value = text?.replace(/\r?\n$/, '')
  if (value === undefined || value === '') throw new SecretMissing(ref)
  return value
}

const spelled = (ref: SecretRef): string => ('env' in ref ? `the variable ${ref.env}` : `the file ${nameOf(ref)}`)

/** Not the whole path: messages and masks are seen by people who have no business with the host's folders. */
const nameOf = (ref: SecretRef): string => ('env' in ref ? ref.env : path.basename(ref.file))
