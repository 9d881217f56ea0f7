import type { ErrorObject } from 'ajv/dist/2020.js'

const MAX_LENGTH = 300

/** One sentence about why a value does not conform: where, and what must be different. */
export function explainProblems(errors: readonly ErrorObject[] | null | undefined): string {
  // Without allErrors the last error is the outermost: for anyOf the alternatives come first, then anyOf itself.
  const error = errors?.at(-1)
  if (error === undefined) return 'the value does not conform'
  return clipText(`${place(error.instancePath)} ${demand(error)}`)
}

/** `/steps/0/name` → `steps.0.name`. */
const place = (pointer: string): string =>
  pointer === '' ? 'the value' : pointer.slice(1).split('/').map(unescaped).join('.')

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
