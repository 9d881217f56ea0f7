import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Answer } from './moves.js'
import type { Asked } from './questions.js'
import { MASK } from './telling.js'

/** What someone says who is asked. */
export function answerValue({ kind, about, shows }: Asked, { word, decision, value, asList }: Answer): Json {
  if (kind === 'clarification') {
    const ids = (shows.questions as readonly { readonly id: string }[]).map(({ id }) => id)
    const said = word === 'accept' ? 'confirm' : 'otherwise'
    const answered = word === 'garbage' ? ids.slice(1) : word === 'edit wrongly' ? [...ids, 'unasked'] : ids
    if (asList) return { answers: answered.map(id => ({ id, answer: said })) }
    return { answers: Object.fromEntries(answered.map(id => [id, said])) }
  }
  switch (word) {
    case 'accept':
    case 'reject':
      return { action: word }
    case 'refine':
      return { action: word, refineFeedback: { scope: 'whole' } }
    case 'garbage':
      return { action: 'shrug' }
    case 'edit wrongly':
      return { action: 'edit-accept', editedArtifactData: { kind: 'nonsense' } }
    case 'edit':
      return {
        action: 'edit-accept',
        editedArtifactData: about === 'merge' ? edited(shows.artifactData as JsonObject, value, asList) : decision,
      }
  }
}

/** One result changed, and another, perhaps, left out. */
function edited(results: JsonObject, value: string, shorter: boolean): JsonObject {
  const entries = Object.entries(results).map(([name, was], i) => [name, i === 0 && was !== MASK ? value : was])
  return Object.fromEntries(shorter ? entries.slice(0, -1) : entries)
}
