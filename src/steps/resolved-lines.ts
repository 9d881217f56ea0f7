import type { SecretRef } from '../agents/settings.js'
import { isObject, type Json } from '../core/json.js'
import type { Secrets } from '../secrets/secrets.js'

/** Lines by name, with what stands for a secret resolved; the problem names the line and never the secret. */
export async function resolvedLines(
  given: Json | undefined,
  what: string,
  secrets: Secrets,
): Promise<{ readonly lines: { readonly [name: string]: string } } | { readonly problem: string }> {
  const lines: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(isObject(given) ? given : {})) {
    try {
      lines[name] = isObject(value) ? await secrets.resolve(value as SecretRef) : String(value)
    } catch (error) {
      return { problem: `${what} ${name}: ${error instanceof Error ? error.message : 'no secret'}` }
    }
  }
  return { lines }
}
