import type { PromptKind, PromptResolution } from '../../core/invocation/brief.js'
import type { Json, JsonObject } from '../../core/json.js'
import { type Candidate, candidates, type PromptPlaces } from './layers.js'
import { refText } from './ref.js'
import { type BoundValue, renderTemplate, type VariableValues } from './render.js'
import type { FindPrompt, PromptProblem } from './template.js'

/** One slot of a composition: where its prompt came from, and the text, if any layer had one. */
export type ResolvedSlot = {
  readonly resolution: PromptResolution
  readonly prompt?: { readonly source: string; readonly text: string; readonly values: readonly BoundValue[] }
}

export type ResolvedPrompts = {
  readonly ok: true
  readonly system: ResolvedSlot
  readonly user: ResolvedSlot
  /** One per slot of the node; at least one, which may be empty. */
  readonly fewShot: readonly ResolvedSlot[]
  readonly schemaHint: ResolvedSlot
}

/** R-PROMPT-1: every kind, through every layer; the first layer that has something wins. */
export function resolvePrompts(
  places: PromptPlaces,
  values: VariableValues,
  find: FindPrompt,
): ResolvedPrompts | PromptProblem {
  const { node } = places
  const slot = (kind: PromptKind, field: string, value: Json | undefined) =>
    resolveSlot(kind, candidates(kind, { field, value }, places, find), values, find)

  const system = slot('system', 'systemPromptRef', node.systemPromptRef)
  if (!system.ok) return system
  const user = slot('user', 'userPromptRef', node.userPromptRef)
  if (!user.ok) return user
  const fewShot: ResolvedSlot[] = []
  for (const [field, value] of fewShotRefs(node)) {
    const example = slot('few-shot', field, value)
    if (!example.ok) return example
    fewShot.push(example)
  }
  const schemaHint = slot('schema-hint', 'schemaHintPromptRef', node.schemaHintPromptRef)
  if (!schemaHint.ok) return schemaHint
  return { ok: true, system, user, fewShot, schemaHint }
}

/** A node without examples still has one slot, for those of the lower layers. */
function fewShotRefs({ fewShotPromptRefs: refs }: JsonObject): readonly (readonly [string, Json | undefined])[] {
  if (refs === undefined || refs === null) return [['fewShotPromptRefs', undefined]]
  if (!Array.isArray(refs)) return [['fewShotPromptRefs', refs]]
  if (refs.length === 0) return [['fewShotPromptRefs', undefined]]
  return (refs as readonly Json[]).map((ref, index) => [`fewShotPromptRefs[${index}]`, ref] as const)
}

function resolveSlot(
  kind: PromptKind,
  layers: readonly Candidate[],
  values: VariableValues,
  find: FindPrompt,
): ({ readonly ok: true } & ResolvedSlot) | PromptProblem {
  const winner = layers.find(({ is }) => is !== 'none')
  if (winner === undefined || winner.is === 'none') {
    return { ok: true, resolution: { kind, chain: layers.map(layer => told(layer)), resolved: null } }
  }
  if (winner.is === 'bad') return unresolved(winner.problem)
  const prompt = textOf(kind, winner, values, find)
  if (!prompt.ok) return prompt
  const { source } = prompt
  const chain = layers.map(layer =>
    layer === winner ? { layer: layer.layer, applied: true, source } : told(layer, winner.layer),
  )
  return { ok: true, resolution: { kind, chain, resolved: source }, prompt }
}

/** Only the winner is looked up: a layer that does not count cannot break anything. */
function textOf(
  kind: PromptKind,
  winner: Exclude<Candidate, { is: 'none' | 'bad' }>,
  values: VariableValues,
  find: FindPrompt,
): ({ readonly ok: true } & NonNullable<ResolvedSlot['prompt']>) | PromptProblem {
  if (winner.is === 'text') return { ok: true, source: winner.source, text: winner.text, values: [] }
  if (winner.is === 'inline') {
    const { source, text } = winner
    const rendered = renderTemplate({ templateId: source, version: '', kind, text }, {}, values)
    return rendered.ok ? { ...rendered, source } : rendered
  }
  const found = winner.is === 'ref' ? find(winner.ref, winner.home) : { ok: true as const, template: winner.template }
  if (!found.ok) return found
  const { template } = found
  const source = refText(template)
  if (template.kind !== kind)
    return unresolved(`${source} is a ${template.kind} prompt, used where a ${kind} one must be`)
  const overrides = winner.is === 'ref' ? winner.ref.variableOverrides : undefined
  const rendered = renderTemplate(template, overrides ?? {}, values)
  return rendered.ok ? { ...rendered, source } : rendered
}

/** A layer that was not applied. */
function told(layer: Candidate, winner?: string): PromptResolution['chain'][number] {
  const entry = { layer: layer.layer, applied: false }
  if (layer.is === 'none') return { ...entry, reason: layer.reason }
  if (layer.is === 'bad') return { ...entry, reason: 'not a prompt reference' }
  return { ...entry, source: sourceOf(layer), reason: `superseded by the ${winner} layer` }
}

function sourceOf(layer: Exclude<Candidate, { is: 'none' | 'bad' }>): string {
  if (layer.is === 'text' || layer.is === 'inline') return layer.source
  return refText(layer.is === 'ref' ? layer.ref : layer.template)
}

const unresolved = (message: string): PromptProblem => ({ ok: false, code: 'prompt_ref_unresolved', message })
