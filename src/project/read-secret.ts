import fs from 'node:fs/promises'
import path from 'node:path'
import type { SecretRef } from '../agents/settings.js'
import type { Environment } from './agent-defaults.js'

/** The end of a line is no part of a secret, and an empty one is none. */
export async function readSecret(ref: SecretRef, env: Environment, folder: string): Promise<string | undefined> {
  const value = 'env' in ref ? env[ref.env] : await textOf(path.resolve(folder, ref.file))
  return value?.trim() || undefined
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await fs.readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
