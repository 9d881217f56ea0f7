import { randomBytes } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'

/**
 * The secrets that sign links to interrupts, one per line, newest first: the first signs, all verify. A data folder
 * makes its first secret itself. Hosts that share a database must share their secrets, through ASSAY_TOKEN_SECRETS.
 */
export const linkSecretsFile = (data: string): string => path.join(data, 'link-secrets')

/** Old secrets that still verify after a rotation. */
const KEPT = 5

export async function ensureLinkSecrets(data: string): Promise<readonly string[]> {
  const known = await readLinkSecrets(data)
  return known.length > 0 ? known : rotateLinkSecrets(data)
}

/** Puts a new secret first. Links that were made before stay valid until they expire. */
export async function rotateLinkSecrets(data: string): Promise<readonly string[]> {
  const secrets = [randomBytes(32).toString('base64url'), ...(await readLinkSecrets(data))].slice(0, KEPT)
  await fs.mkdir(data, { recursive: true, mode: 0o700 })
  const draft = `${linkSecretsFile(data)}.${randomBytes(6).toString('hex')}`
  await fs.writeFile(draft, `${secrets.join('\n')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  await fs.rename(draft, linkSecretsFile(data))
  return secrets
}

async function readLinkSecrets(data: string): Promise<readonly string[]> {
  try {
    const text = await fs.readFile(linkSecretsFile(data), 'utf8')
    return text.split('\n').filter(line => line !== '')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
