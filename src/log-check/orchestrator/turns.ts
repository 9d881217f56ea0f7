import type { Fields, LoggedEvent, RunLog } from '../checked.js'
import { behindMask } from '../interrupt/questions.js'
import { fields, get, isFields, list, text } from '../json.js'
import {
  type Asked,
  answerTo,
  askedIn,
  eventsOfType,
  hasCompleted,
  type NodeAttempt,
  nodeAttemptsOfType,
  oncePerRun,
  SUPERVISOR,
} from '../node/node-attempts.js'

/** One start of a supervisor: what it decided, whom it asked, what came of it. */
export type Turn = {
  readonly nodeAttempt: NodeAttempt
  readonly decided: LoggedEvent | undefined
  readonly decision: Fields
  readonly escalated: LoggedEvent | undefined
  /** In which a decision is held until a person ratifies it. */
  readonly held: Asked | undefined
  /** All other questions. */
  readonly asked: readonly Asked[]
}

export const turnsOf = oncePerRun((run: RunLog): Turn[] => nodeAttemptsOfType(run, SUPERVISOR).map(readTurn))

function readTurn(nodeAttempt: NodeAttempt): Turn {
  const [decided] = eventsOfType(nodeAttempt, 'runOrchestrator.decided')
  const questions = askedIn(nodeAttempt)
  const isHeld = ({ request }: Asked) => request.payload.kind === 'low-confidence'
  return {
    nodeAttempt,
    decided,
    decision: decided === undefined ? {} : fields(behindMask(decided, 'decision')),
    escalated: eventsOfType(nodeAttempt, 'core.workflowChain.confidence-escalated')[0],
    held: questions.find(isHeld),
    asked: questions.filter(question => !isHeld(question)),
  }
}

/** What becomes of a decision. `unclear`: the answer is masked, or of a kind whose meaning only its host knows. */
export type Verdict =
  | { readonly is: 'carried out'; readonly decision: Fields }
  | { readonly is: 'refused' | 'unclear' | 'unanswered' }

const ACTS: readonly unknown[] = ['next-worker', 'terminate']

export const isAct = (decision: Fields): boolean => ACTS.includes(decision.kind)

/** Whether a decision to act is acted on: at once, or as the person answered who was asked because of its confidence. */
export function verdictOf({ decision, escalated, asked, nodeAttempt }: Turn): Verdict {
  // R-VERIFY-12: nobody ends a run as a success while a gate says otherwise.
  if (!isAct(decision) || get(get(nodeAttempt.end?.payload, 'outputs'), 'refused') !== undefined)
    return { is: 'refused' }
  if (escalated === undefined) return { is: 'carried out', decision }
  const question = asked.find(({ request }) => request.sequence > escalated.sequence)
  if (question?.resolved === undefined) return { is: 'unanswered' }
  if (question.resolved.payload.reason === 'timeout') return { is: 'refused' }
  const answer = answerTo(question)
  if (!isFields(answer)) return { is: 'unclear' }
  return question.request.payload.kind === 'clarification' ? answeredBy(answer, decision) : actedOn(answer, decision)
}

function actedOn(answer: Fields, decision: Fields): Verdict {
  if (answer.action === 'accept') return { is: 'carried out', decision }
  if (answer.action === 'edit-accept' && isFields(answer.editedArtifactData))
    return { is: 'carried out', decision: answer.editedArtifactData }
  return { is: ['reject', 'refine'].includes(text(answer.action) ?? '') ? 'refused' : 'unclear' }
}

/** By question id, or as a list of {id, answer}. */
function answeredBy({ answers }: Fields, decision: Fields): Verdict {
  const words = Array.isArray(answers) ? answers.map(answer => get(answer, 'answer')) : Object.values(fields(answers))
  const confirms = words.length > 0 && words.every(word => word === 'confirm')
  return confirms ? { is: 'carried out', decision } : { is: 'refused' }
}

/** The turn whose decision a node that starts here carries out: the latest that has completed. */
export const turnBefore = (run: RunLog, start: LoggedEvent): Turn | undefined => turnsBefore(run).get(start)

const turnsBefore = oncePerRun((run: RunLog): Map<LoggedEvent, Turn> => {
  const turns = new Map(
    turnsOf(run)
      .filter(({ nodeAttempt }) => hasCompleted(nodeAttempt))
      .map(turn => [turn.nodeAttempt.end, turn]),
  )
  const before = new Map<LoggedEvent, Turn>()
  let latest: Turn | undefined
  for (const event of run.events) {
    latest = turns.get(event) ?? latest
    if (event.type === 'node.started' && latest !== undefined) before.set(event, latest)
  }
  return before
})

/** Undefined where the log does not show it. */
export function workersOf(turn: Turn | undefined): readonly unknown[] | undefined {
  if (turn === undefined) return undefined
  const verdict = verdictOf(turn)
  return verdict.is === 'carried out' ? list(verdict.decision.nextWorkerIds) : undefined
}
