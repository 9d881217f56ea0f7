import { type Amounts, NOTHING, spentBy, spentByChild, sum } from '../budget/spending.js'
import { isBefore, type LoggedEvent, type RunLog } from '../checked.js'
import { get, show } from '../json.js'
import { eventsIn, REWORK, type VerificationAttempt } from './verification-attempts.js'

/** What an attempt at a gate says it has cost, and what the log adds up to (R-DWS-27). */

/** `content`: of the record of the attempt. */
export function costProblems(run: RunLog, verification: VerificationAttempt, content: unknown): string[] {
  const votes = eventsIn(verification, 'assay.verifier.ended').map(({ raw }) => spentByChild(get(raw.secret, 'spent')))
  const told = spentByChild(get(content, 'cost'))
  const problems = compared('votes', told, votes.reduce(sum, NOTHING))
  // Records of earlier versions do not tell what the work has cost.
  if (isBefore(run, 3)) return problems
  const work = workOf(run, verification)
  if (work === undefined) return problems
  const kept = get(content, 'work')
  return [
    ...problems,
    ...compared('work', spentByChild(get(kept, 'execution')), minus(work.spent, work.judged)),
    ...compared('verifiers of the work', spentByChild(get(kept, 'verification')), work.judged),
  ]
}

const compared = (what: string, told: Amounts, found: Amounts): string[] =>
  show(told) === show(found) ? [] : [`the ${what} cost ${show(told)}, the log adds up to ${show(found)}`]

const minus = (a: Amounts, b: Amounts): Amounts => ({
  tokens: a.tokens - b.tokens,
  cost: a.cost - b.cost,
  toolCalls: a.toolCalls - b.toolCalls,
  retries: a.retries - b.retries,
})

type Work = { readonly spent: Amounts; readonly judged: Amounts }

/** What was spent on the result that is judged: by the worker's run, or by the node itself since it began or was sent back. */
function workOf(run: RunLog, { point, node, target, started }: VerificationAttempt): Work | undefined {
  const before = run.events.slice(0, started.sequence).filter(event => event.node === node)
  if (point === 'harvest') {
    const ended = before.findLast(({ payload }) => payload.phase === 'child.completed' && payload.childRunId === target)
    const secret = ended?.raw.secret
    return { spent: spentByChild(get(secret, 'spent')), judged: spentByChild(get(secret, 'verification')) }
  }
  // The agent's call of the tool is the agent's work.
  if (point === 'tool') return { spent: NOTHING, judged: NOTHING }
  if (point !== 'node') return undefined
  const begun = before.findLastIndex(begins)
  return {
    spent: before
      .slice(begun + 1)
      // What other gates of the node have spent is not the work's.
      .filter(({ type }) => !type.startsWith('assay.verifier.'))
      .map(spentBy)
      .reduce(sum, NOTHING),
    judged: NOTHING,
  }
}

const begins = ({ type, payload }: LoggedEvent): boolean =>
  type === REWORK || (type === 'node.started' && payload.attempt === 0)
