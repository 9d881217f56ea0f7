import type { ModelReply, ModelSaid } from '../../core/invocation/brief.js'
import { MAX_CALLS_AT_ONCE } from '../../core/invocation/model-call.js'
import type { Json } from '../../core/json.js'
import { summaryOf } from '../../core/reasoning.js'
import type { BrokenRule, ModelCallContents, ModelCallRequest } from '../../engine/ports/agents.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import type { Redactor, Secrets } from '../../secrets/secrets.js'
import { tokenBound } from '../token-bound.js'
import { keptRule } from './broken-rule.js'
import { cleanText } from './clean.js'
import { readAnswer } from './read-answer.js'
import { type ReadCall, readCalls } from './read-calls.js'
import type { Spoken } from './spoken.js'

export type JudgedReply = { readonly told: Omit<ModelReply, 'retries'>; readonly contents: ModelCallContents }

/** Some calls too many are told to be; a model that asks for twice as many as it may has lost its way. */
const MOST_CALLS_READ = 2 * MAX_CALLS_AT_ONCE

/**
 * What the run is told of a reply and what is kept of it. The kinds of outcome are told apart in this order, and none is
 * ever put in the place of another: a refusal is a refusal even when it reads like an answer (R-LIVE-30, R-ENV-1).
 */
export async function judgeReply(
  spoken: Spoken,
  { tenant, brief, verbosity }: Pick<ModelCallRequest, 'tenant' | 'brief' | 'verbosity'>,
  { schemas, secrets }: { readonly schemas: SchemaChecker; readonly secrets: Secrets },
): Promise<JudgedReply> {
  const { redact } = secrets
  const text = redact.text(cleanText(spoken.text))
  const carry = spoken.carry === undefined ? undefined : redact.json(spoken.carry)
  const tell = (said: ModelSaid, calls: readonly ReadCall[] = [], reasons = '', broken?: BrokenRule): JudgedReply => {
    const kept = calls.map(call => call.kept)
    const problem = said.kind === 'unusable' ? redact.text(said.problem) : undefined
    const reasoning = shown(redact.text(cleanText(spoken.reasoning || reasons)), verbosity)
    return {
      told: {
        said: redacted(said, redact),
        ...(reasoning === undefined ? undefined : { reasoning }),
        usage: spoken.usage,
        replyTokens: boundOf(text, kept, carry) + (problem === undefined ? 0 : tokenBound(problem)),
      },
      contents: {
        text,
        calls: kept,
        ...(problem === undefined ? undefined : { problem }),
        ...(broken === undefined ? undefined : { violation: keptRule(broken, redact) }),
        ...(carry === undefined ? undefined : { carry }),
      },
    }
  }
  if (spoken.finish.kind !== 'done') return tell(spoken.finish)
  if (spoken.calls.length > MOST_CALLS_READ) {
    const problem = `The answer asks for ${spoken.calls.length} tool calls at once; ask for ${MAX_CALLS_AT_ONCE} at most.`
    return tell({ kind: 'unusable', reason: 'schema-violation', problem })
  }
  if (spoken.calls.length > 0) {
    const calls = await readCalls(spoken.calls, brief, { schemas, redact, tenant })
    return tell({ kind: 'tools', calls: calls.map(call => call.wanted) }, calls)
  }
  const { said, reasoning, broken } = await readAnswer(spoken.text, brief, { schemas, tenant })
  return tell(said, [], reasoning, broken)
}

/** R-ENV-5: what was checked is redacted afterwards, and before anybody sees it. Calls have been redacted one by one. */
function redacted(said: ModelSaid, redact: Redactor): ModelSaid {
  if (said.kind === 'answered') return { ...said, result: redact.json(said.result) }
  // What is to be mended may be quoted, so it is kept apart.
  return said.kind === 'unusable' ? { ...said, problem: MEND } : said
}

const MEND = 'The answer is not what was asked for.'

/** R-EVENT-5. */
function shown(reasoning: string, verbosity: ModelCallRequest['verbosity']): string | undefined {
  if (reasoning === '' || verbosity === 'off') return undefined
  return verbosity === 'full' ? reasoning : summaryOf(reasoning)
}

/** What fencing a result takes besides the result. */
const FENCE = 64

const boundOf = (text: string, calls: ModelCallContents['calls'], carry: Json | undefined): number =>
  tokenBound(text, carry === undefined ? '' : JSON.stringify(carry)) +
  calls.reduce(
    (sum, { id, name, toolId = '', args, problem = '' }) =>
      sum + FENCE + tokenBound(id, name, toolId, JSON.stringify(args), problem),
    0,
  )
