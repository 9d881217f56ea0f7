import { findOpen } from '../../core/interrupt/decide.js'
import { bareAnswer, schemasFor } from '../../core/interrupt/interrupt.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { decide, type Rules } from '../../core/run/decide.js'
import type { InspectedRun, ResolveInterruptCommand } from '../api.js'
import type { Clock } from '../ports/clock.js'
import type { SchemaChecker } from '../ports/schema-checker.js'
import { shownHash } from '../queries/shown-hash.js'
import type { Input } from './run-writer.js'

/**
 * The answer as the run will hear it, or why it will not. The rules are asked first, so that only whoever may answer
 * learns what the author's schema says.
 */
export async function answerFor(
  { clock, schemas }: { readonly clock: Clock; readonly schemas: SchemaChecker },
  rules: Rules,
  { tenant, plan, state }: InspectedRun,
  command: ResolveInterruptCommand,
): Promise<Input | Refusal> {
  const { type: _, value, ...answer } = command
  const open = findOpen(plan, state, command, clock.now())
  if ('code' in open) return open
  const { kind, shown, interruptId } = open.asked
  const { said, ...claim } = bareAnswer(kind, value)
  const input = {
    ...answer,
    ...claim,
    type: 'ResolveInterrupt' as const,
    value: said,
    shownHash: shownHash(kind, shown),
    // What is judged below is what is answered, whatever the node asks by then.
    interruptId,
  }
  const trial = decide(rules, state, { ...input, now: clock.now() })
  if (!trial.ok) return trial.refusal
  for (const [schema, part, field] of schemasFor(open.asked, said)) {
    const problem = await schemas.check(schema, part, tenant)
    if (problem !== undefined)
      return refuse('validation_error', `${field} does not fit its schema: ${problem}`, { field })
  }
  return input
}
