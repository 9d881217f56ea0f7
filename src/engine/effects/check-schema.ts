import { failure } from '../../core/problem.js'
import type { PerformEffect } from './effect-context.js'

/** Checks a value against a schema its author wrote, away from the main thread. */
export const checkSchema: PerformEffect<'check-schema'> = async (
  context,
  { tenant },
  { nodeId, since, schema, value },
) => {
  const problem = await context.schemas.check(schema, value, tenant)
  const answer =
    problem === undefined
      ? { ok: true as const, output: null }
      : { ok: false as const, error: failure('validation_error', problem, { retryable: false }) }
  return { input: { type: 'EffectAnswered', nodeId, since, answer } }
}
