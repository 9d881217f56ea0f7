import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Decision } from './setup.js'

/** What the model knows to be asked. */
export type Asked = {
  readonly interruptId: string
  readonly node: string
  readonly about: 'question' | 'plea' | 'doubt' | 'hold' | 'merge'
  readonly kind: string
  /** What the one who is asked sees, apart from wording. */
  readonly shows: JsonObject
  readonly timeoutMs?: number
  readonly dueAt?: number
  /** The results that are asked about. */
  readonly brings?: JsonObject
  /** Names among them that their worker says must not be seen. */
  readonly hidden?: readonly string[]
}

/** R-CONF-2, R-CONF-6 */
export const isDoubtful = ({ kind, confidence }: Decision, floor: number): boolean =>
  (kind === 'next-worker' || kind === 'terminate') && confidence !== undefined && Number(confidence) < floor

type Circumstances = {
  readonly doubtful: boolean
  readonly escalation: string
  readonly turn: number
  readonly floor: number
}

/** What a decision leads to asking; undefined when it is simply carried out. */
export function questionAbout(
  decision: Decision,
  { doubtful, escalation, turn, floor }: Circumstances,
): Pick<Asked, 'about' | 'kind' | 'shows'> | undefined {
  if (doubtful && escalation === 'clarification')
    return { about: 'doubt', kind: 'clarification', shows: { questions: [{ id: 'decision' }] } }
  if (doubtful && escalation === 'approval') {
    const actions = ['accept', 'reject', 'edit-accept']
    return {
      about: 'doubt',
      kind: 'approval',
      shows: { artifactId: `lead-turn-${turn}`, artifactData: decision, actions },
    }
  }
  if (doubtful) {
    const payload = { decision, confidence: Number(decision.confidence), floor }
    return { about: 'doubt', kind: 'custom', shows: { customKind: escalation, payload } }
  }
  switch (decision.kind) {
    case 'clarify':
    case 'ask-user': {
      const listed = decision.kind === 'clarify' ? decision.questions : undefined
      const questions = (listed ?? [{ id: 'answer' }]).map(({ id }) => ({ id: String(id) }))
      return { about: 'question', kind: 'clarification', shows: { questions } }
    }
    case 'escalate': {
      const shown = decision.artifact === undefined ? {} : { artifactData: decision.artifact }
      const actions = ['accept', 'reject', 'refine']
      return { about: 'plea', kind: 'approval', shows: { artifactId: `lead-turn-${turn}`, ...shown, actions } }
    }
    default:
      return undefined
  }
}

/** What an answer comes to; undefined when it is no answer to what was asked. */
export function judged({ kind, about, shows, brings = {} }: Asked, value: Json): JsonObject | undefined {
  const said = typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
  if (kind === 'clarification') return answers(said.answers, shows.questions as readonly { readonly id: string }[])
  const actions = (shows.actions as readonly Json[] | undefined) ?? ['accept', 'reject', 'edit-accept']
  const { action, refineFeedback, editedArtifactData: edited } = said
  if (!actions.includes(action ?? null)) return undefined
  if (action === 'refine') return refineFeedback === undefined ? undefined : { action, refineFeedback }
  if (action !== 'edit-accept') return { action: action! }
  if (edited === undefined) return undefined
  const kinds = about === 'hold' ? ALL_KINDS : ['next-worker', 'terminate']
  if (about !== 'merge' && !kinds.includes(String((edited as JsonObject).kind))) return undefined
  if (about === 'merge' && Object.keys(edited as JsonObject).some(name => brings[name] === undefined)) return undefined
  return { action, editedArtifactData: edited }
}

const ALL_KINDS = ['next-worker', 'terminate', 'clarify', 'ask-user', 'escalate']

/** Every question, and none that was not asked, as an object or as a list. */
function answers(given: Json | undefined, questions: readonly { readonly id: string }[]): JsonObject | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const said = Array.isArray(given)
    ? Object.fromEntries((given as readonly JsonObject[]).map(({ id, answer }) => [id, answer]))
    : (given as JsonObject)
  const ids = questions.map(({ id }) => id)
  const isWhole = ids.every(id => Object.hasOwn(said, id)) && Object.keys(said).every(id => ids.includes(id))
  return isWhole ? { answers: said } : undefined
}
