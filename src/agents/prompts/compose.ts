import type { Composition } from '../../core/invocation/brief.js'
import type { Json } from '../../core/json.js'
import type { TeamMember } from '../../core/supervisor/team.js'
import { taggedSha256OfJson } from '../../digest.js'
import type { ResolvedPrompts, ResolvedSlot } from './resolve.js'

/** In the order in which they stand in the composition. */
export const slotsOf = ({ system, user, fewShot, schemaHint }: ResolvedPrompts): readonly ResolvedSlot[] => [
  system,
  user,
  ...fewShot,
  schemaHint,
]

/** By hash: what a verifier judges by, whatever it judges. */
export const rubricHash = (rubric: string): string => taggedSha256OfJson(rubric)

/** Whom a supervisor is told of. */
export const teamHash = (team: readonly TeamMember[]): string => taggedSha256OfJson(team as unknown as Json)

/** R-PROMPT-5: what was sent, by hash. `redact` comes first, so that no hash is one of a secret. */
export function compositionOf(
  prompts: ResolvedPrompts,
  sent: { readonly system: string; readonly user: string },
  redact: (value: Json) => Json,
): Composition {
  const used = slotsOf(prompts).flatMap(({ prompt }) => prompt ?? [])
  const variableHashes: { [name: string]: string } = Object.create(null)
  for (const { source, values } of used) {
    for (const { name, value } of values) {
      const hash = taggedSha256OfJson(redact(value))
      // Two prompts may give one name to two values.
      const taken = variableHashes[name] !== undefined && variableHashes[name] !== hash
      variableHashes[taken ? `${source}#${name}` : name] = hash
    }
  }
  return {
    refs: used.map(({ source }) => source),
    kind: kindOf(prompts),
    hash: taggedSha256OfJson({ system: sent.system, user: sent.user }),
    variableHashes: { ...variableHashes },
  }
}

function kindOf({ system, user }: ResolvedPrompts): Composition['kind'] {
  if (user.prompt === undefined) return 'system-only'
  return system.prompt === undefined ? 'user-only' : 'system+user'
}
