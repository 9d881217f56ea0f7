import { type TProperties, Type } from 'typebox'
import { isObject, type Json, type JsonObject } from '../json.js'
import { Closed, DistinctBy, Flag, ListOf, May, NumberFrom } from '../schema/kinds.js'
import { schemaProblems } from '../schema/problems.js'
import { Anything, SchemaField, SomeText, WorkerIdField } from '../workflow/fields.js'

/** What an orchestrator may decide in one turn (contract agents §3.2). */
export type OrchestratorDecision =
  | { readonly kind: 'next-worker'; readonly nextWorkerIds: readonly string[]; readonly confidence?: number }
  | {
      readonly kind: 'terminate'
      readonly reason?: string
      readonly confidence?: number
      readonly successCriteria?: readonly { readonly key: string; readonly met: boolean }[]
    }
  | {
      readonly kind: 'clarify'
      readonly prompt?: string
      readonly questions?: readonly JsonObject[]
      readonly confidence?: number
    }
  | {
      readonly kind: 'escalate'
      readonly reason?: string
      readonly title?: string
      readonly artifact?: Json
      readonly confidence?: number
    }
  | { readonly kind: 'ask-user'; readonly prompt: string }

/** No operator can set the floor lower (R-CONF-5). */
export const LOWEST_FLOOR = 0.5

/** What the host asks of an orchestrator's confidence. */
export type ConfidencePolicy = {
  /** A decision below it is shown to a person first. */
  readonly floor: number
  /** `approval`, `clarification` or a vendor kind `x-host-…`. */
  readonly interruptKind: string
}

/** Below which an agent's own decision is held, unless the run or the agent's manifest says otherwise (R-LOWC-4). */
export const DEFAULT_THRESHOLD = 0.7

/** Workers that one decision may name at most. */
const MAX_WORKERS = 100

const Kind = <const Name extends OrchestratorDecision['kind']>(kind: Name, fields: TProperties) =>
  Closed({ kind: Type.Literal(kind), ...fields })

const confidence = May(NumberFrom(0, 1, { description: 'How sure the orchestrator is' }))

const Question = Closed({ id: SomeText(), question: SomeText(), schema: May(SchemaField()) })

/** R-ORCH-1 */
export const DecisionSchema = Type.Union(
  [
    Kind('next-worker', {
      nextWorkerIds: ListOf(WorkerIdField(), 1, MAX_WORKERS, { description: 'Who works next, in this order' }),
      confidence,
    }),
    Kind('terminate', {
      reason: May(SomeText({ description: 'Why it ends' })),
      confidence,
      successCriteria: May(
        ListOf(Closed({ key: SomeText(), met: Flag() }), 0, 100_000, {
          description: 'Which criteria are met',
          'x-must-be': 'a list of {key, met}',
        }),
      ),
    }),
    Kind('clarify', {
      prompt: May(SomeText({ description: 'What is asked of a person' })),
      questions: May(
        DistinctBy(
          ListOf(Question, 1, 100_000, {
            description: 'What is asked, one by one',
            'x-must-be': 'a list of at least one question',
          }),
          item => isObject(item as Json) && (item as JsonObject).id,
        ),
      ),
      confidence,
    }),
    Kind('escalate', {
      reason: May(SomeText({ description: 'Why a person has to look' })),
      title: May(SomeText({ description: 'What at, in a line' })),
      artifact: May(Anything({ description: 'What at' })),
      confidence,
    }),
    Kind('ask-user', { prompt: SomeText({ description: 'What is asked of a person' }) }),
  ],
  { 'x-must-be': 'an object with a kind' },
)

/** Everything wrong with a decision; each entry names the field and the fix. */
export const decisionProblems = (value: Json | undefined, field: string): string[] =>
  schemaProblems(DecisionSchema, value ?? null, field)

export const isDecision = (value: Json | undefined): value is OrchestratorDecision & JsonObject =>
  decisionProblems(value, '').length === 0

/** R-CONF-2, R-CONF-6: whether a person must look first. No confidence is no opinion. */
export const isBelow = (decision: OrchestratorDecision, floor: number): boolean =>
  (decision.kind === 'next-worker' || decision.kind === 'terminate') &&
  decision.confidence !== undefined &&
  decision.confidence < floor
