import type { ModelSaid } from '../../core/invocation/brief.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { BriefContents, BrokenRule } from '../../engine/ports/agents.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import { brokenRule } from './broken-rule.js'
import { cleanText } from './clean.js'
import { findJson } from './find-json.js'

export type ReadAnswer = {
  readonly said: Extract<ModelSaid, { kind: 'answered' | 'unusable' }>
  /** What a model that has no reasoning of its own has written about its reasons. */
  readonly reasoning?: string
  /** Where it breaks its schema, if that is what is wrong with it. Not redacted yet. */
  readonly broken?: BrokenRule
}

/**
 * A text as the answer it was asked to be. What is checked is what is told: nothing is mended after the check, and a
 * value that breaks the schema never leaves here (R-MANIF-7, R-LIVE-11).
 */
export async function readAnswer(
  text: string,
  brief: BriefContents,
  { schemas, tenant }: { readonly schemas: SchemaChecker; readonly tenant: string },
): Promise<ReadAnswer> {
  const clean = cleanText(text)
  if (!brief.wrapped && brief.returnSchema === undefined) {
    if (clean.trim() === '') return parseError('The answer was empty')
    return { said: { kind: 'answered', result: clean } }
  }
  const json = findJson(clean)
  if (!json.ok) return parseError(`${json.problem}. Answer with one JSON value and nothing else.`)
  const unwrapped = brief.wrapped ? unwrap(json.value) : { result: json.value }
  if ('problem' in unwrapped) return violation(unwrapped.problem, unwrapped.broken)
  const { result, confidence, reasoning } = unwrapped
  const found = brief.returnSchema && (await schemas.violation(brief.returnSchema, result, tenant))
  if (found !== undefined) {
    const [root, what] = brief.wrapped ? ['result', 'result'] : ['answer', 'The answer']
    return violation(`${what} breaks its schema: ${found.problem}`, brokenRule(found, result, root))
  }
  return {
    said: {
      kind: 'answered',
      result,
      ...(confidence === undefined ? undefined : { confidence }),
      ...(json.recovery === undefined ? undefined : { recovery: json.recovery }),
    },
    ...(reasoning === undefined ? undefined : { reasoning }),
  }
}

type Unwrapped = { readonly result: Json; readonly confidence?: number; readonly reasoning?: string }

/** R-LIVE-13: an answer that does not say how sure it is cannot slip past the threshold, it is asked for again. */
function unwrap(value: Json): Unwrapped | { readonly problem: string; readonly broken: BrokenRule } {
  const breaks = (problem: string, steps: readonly string[], rule: string) => ({
    problem,
    broken: brokenRule({ steps, rule }, value, 'answer'),
  })
  if (!isObject(value)) {
    const rule = 'must be a JSON object with result and confidence'
    return breaks(`The answer ${rule}`, [], rule)
  }
  if (!Object.hasOwn(value, 'result')) return breaks('result is missing', [], 'must have the property "result"')
  const { result = null, confidence, reasoning } = value as JsonObject
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1)) {
    return breaks('confidence must be a number from 0 to 1', ['confidence'], 'must be a number from 0 to 1')
  }
  return { result, confidence, ...(typeof reasoning === 'string' ? { reasoning } : undefined) }
}

const parseError = (problem: string): ReadAnswer => unusable('parse-error', problem)
const violation = (problem: string, broken: BrokenRule): ReadAnswer => ({
  ...unusable('schema-violation', problem),
  broken,
})

const LONGEST_PROBLEM = 2_000

const unusable = (reason: 'parse-error' | 'schema-violation', problem: string): ReadAnswer => ({
  said: { kind: 'unusable', reason, problem: cleanText(problem).slice(0, LONGEST_PROBLEM) },
})
