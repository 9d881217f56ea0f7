import { type OpenInterrupt, openInterrupts } from '../../src/core/interrupt/decide.js'
import type { Json } from '../../src/core/json.js'
import type { Engine } from '../../src/engine/runtime/engine.js'

export type Word = 'accept' | 'reject' | 'refine' | 'garbage'

/** What someone would answer to a question of that kind. */
export function answerTo({ kind, data }: OpenInterrupt['asked'], word: Word): Json {
  const wrong = word === 'garbage'
  switch (kind) {
    case 'approval':
      return wrong ? { action: 42 } : { action: word, ...(word === 'refine' ? FEEDBACK : {}) }
    case 'clarification':
      return { answers: wrong ? {} : answers(data.questions) }
    case 'external-event':
      return wrong ? { unrelated: true } : (data.correlation ?? {})
    default:
      return { action: word }
  }
}

const FEEDBACK = { refineFeedback: { scope: 'whole', text: 'once more' } }

type Question = { readonly id: string; readonly schema?: { readonly type?: string; readonly minimum?: number } }

const answers = (questions: Json | undefined): Json =>
  Object.fromEntries(
    (questions as readonly Question[]).map(({ id, schema }) => [
      id,
      schema?.type === 'integer' ? (schema.minimum ?? 1) : 'yes',
    ]),
  )

/** People of whom each may answer, and who together are enough. */
export const peopleFor = ({ data }: OpenInterrupt['asked']): readonly string[] =>
  Array.isArray(data.approversList) ? (data.approversList as readonly string[]) : ['ann', 'bob']

/** What a run asks now. */
export async function asksOf(engine: Engine, tenant: string, runId: string): Promise<OpenInterrupt[]> {
  const view = await engine.inspect(tenant, runId)
  return view ? openInterrupts(view.plan, view.state) : []
}
