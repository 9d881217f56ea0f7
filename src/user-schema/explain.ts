import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Violation } from '../engine/ports/schema-checker.js'

const MAX_LENGTH = 300

/** Why a value does not conform: one sentence, and apart from it where, as steps from the root, and what is demanded there. */
export function explainProblems(errors: readonly ErrorObject[] | null | undefined): Violation {
  // Without allErrors the last error is the outermost: for anyOf the alternatives come first, then anyOf itself.
  const error = errors?.at(-1)
  if (error === undefined) return { problem: 'the value does not conform', steps: [], rule: 'must conform' }
  const steps = error.instancePath.split('/').slice(1).map(unescaped)
  const rule = demand(error)
  return { problem: clipText(`${place(steps)} ${rule}`), steps, rule: clipText(rule) }
}

const place = (steps: readonly string[]): string => (steps.length === 0 ? 'the value' : steps.join('.'))

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')

function demand({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return `must have the property ${quote(params.missingProperty)}`
    case 'additionalProperties':
      return `must not have the property ${quote(params.additionalProperty)}`
    case 'unevaluatedProperties':
      return `must not have the property ${quote(params.unevaluatedProperty)}`
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).map(quote).join(', ')}`
    case 'const':
      return `must be ${quote(params.allowedValue)}`
    case 'false schema':
      return 'must not be there'
    default:
      return message ?? `must satisfy ${keyword}`
  }
}

const quote = (value: unknown): string => JSON.stringify(value)

export const clipText = (text: string): string =>
  text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text
