import type { Fields } from '../checked.js'
import { isFields, show, text } from '../json.js'
import { extraFields, fieldProblems, filled, listOf, optionally, type Shape, share } from '../structure/shape.js'

const workerIds = listOf(
  '1 or more workflow ids',
  1,
  value => typeof value === 'string' && value.length > 0 && value.length <= 256,
)

const criteria = listOf(
  '{key, met}',
  0,
  item => isFields(item) && filled.holds(item.key) && typeof item.met === 'boolean' && Object.keys(item).length === 2,
)

const questions = listOf(
  '{id, question, schema?}',
  1,
  item =>
    isFields(item) &&
    filled.holds(item.id) &&
    filled.holds(item.question) &&
    optionally(isFields)(item.schema) &&
    Object.keys(item).every(key => ['id', 'question', 'schema'].includes(key)),
)

/** agents §3.2. The protocol names the last two kinds only; their fields are Assay's. */
const DECISIONS: { readonly [kind: string]: Shape } = {
  'next-worker': {
    required: { nextWorkerIds: workerIds },
    optional: { kind: filled, confidence: share },
    closed: true,
  },
  terminate: {
    optional: { kind: filled, reason: filled, confidence: share, successCriteria: criteria },
    closed: true,
  },
  'ask-user': { required: { prompt: filled }, optional: { kind: filled }, closed: true },
  clarify: { optional: { kind: filled, prompt: filled, questions, confidence: share }, closed: true },
  escalate: {
    optional: {
      kind: filled,
      reason: filled,
      title: filled,
      artifact: { is: 'a JSON value', holds: () => true },
      confidence: share,
    },
    closed: true,
  },
}

const OURS: readonly string[] = ['clarify', 'escalate']

const VENDOR_KIND = /^vendor\.[^.]+\..+$/

export function decisionProblems(decision: unknown, assay: boolean): string[] {
  if (!isFields(decision)) return ['the decision is not an object']
  const kind = text(decision.kind) ?? ''
  if (!Object.hasOwn(DECISIONS, kind))
    return !assay && VENDOR_KIND.test(kind) ? [] : [`a decision of kind ${show(decision.kind)}`]
  return assay || !OURS.includes(kind) ? shapeProblems(DECISIONS[kind] as Shape, decision, kind) : []
}

const shapeProblems = (shape: Shape, decision: Fields, kind: string): string[] => [
  ...fieldProblems(shape, decision, true).map(problem => `${kind}: ${problem}`),
  ...extraFields(shape, decision, true).map(field => `${kind} has ${field}`),
]
