import { isObject, type Json } from '../core/json.js'
import { type Refusal, refuse } from '../core/problem.js'
import type { StandardKind } from '../engine/ports/standards.js'

const LABELS: { readonly [Kind in StandardKind]: string } = {
  gate: 'gate',
  intent: 'intent',
  knowledge: 'knowledge entry',
}

const ID_FIELDS: { readonly [Kind in StandardKind]: string } = {
  gate: 'gate_id',
  intent: 'intent_id',
  knowledge: 'entry_id',
}

/** All that is wrong; the message says the first of it. */
export function invalid(
  kind: StandardKind,
  document: Json,
  problems: readonly string[],
): { ok: false; refusal: Refusal } {
  const id = isObject(document) ? document[ID_FIELDS[kind]] : undefined
  const name = typeof id === 'string' && id.length <= 128 ? `${LABELS[kind]} ${JSON.stringify(id)}` : LABELS[kind]
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more: see details.problems)` : ''
  return { ok: false, refusal: refuse('validation_error', `${name}: ${problems[0]}${more}.`, { problems }) }
}

/** One by one, for whoever has no details to look at. */
export function eachOf({ message, details }: Refusal): readonly string[] {
  const problems = details?.problems
  return Array.isArray(problems) && problems.length > 1 ? problems.map(problem => `${String(problem)}.`) : [message]
}

export const unknown = (kind: StandardKind): Refusal =>
  refuse('not_found', `No such ${LABELS[kind]}, or it is not visible to this key.`)

export const shared = (kind: StandardKind, id: string): Refusal =>
  refuse(
    'standard_shared',
    `${LABELS[kind]} ${JSON.stringify(id)} comes with the project; change it in the project folder, or take another id.`,
    { id },
  )

export const inUse = (kind: StandardKind, id: string, gates: readonly string[]): Refusal =>
  refuse(
    'standard_in_use',
    `${LABELS[kind]} ${JSON.stringify(id)} is referred to by gate ${gates.join(', ')}; change or delete ${gates.length === 1 ? 'it' : 'them'} first.`,
    { id, gates },
  )
