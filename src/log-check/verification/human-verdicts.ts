import { eachRun, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { isTimeout } from '../interrupt/answering.js'
import { behindMask, isGateQuestion } from '../interrupt/questions.js'
import { get, list, same, show, text } from '../json.js'
import { withoutRemarks } from '../story.js'
import {
  eventsIn,
  OVERRIDE,
  VERIFIED,
  type VerificationAttempt,
  verificationAttemptOf,
  verificationAttemptsOf,
} from './verification-attempts.js'

/** Verdicts that a person gives in place of the verifiers. */
export const humanVerdictRules: readonly Rule[] = [
  {
    id: 'L24k',
    title:
      'A person is asked about the result that is being verified, for a reason that is so; their word is told at once, as theirs, and says what they answered; nobody else’s is',
    source: 'agents §23.2, R-DWS-36, R-VERIFY-8',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const verification of verificationAttemptsOf(run))
        for (const [problem, event] of wordProblems(run, verification)) say(problem, event)
      for (const [problem, event] of tellingProblems(run)) say(problem, event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

const questionsIn = (verification: VerificationAttempt): LoggedEvent[] =>
  eventsIn(verification, 'interrupt.requested').filter(isGateQuestion)

const answerIn = (verification: VerificationAttempt, { payload }: LoggedEvent): LoggedEvent | undefined =>
  eventsIn(verification, 'interrupt.resolved').find(event => event.payload.interruptId === payload.interruptId)

function wordProblems(run: RunLog, verification: VerificationAttempt): Problem[] {
  const problems: Problem[] = []
  const questions = questionsIn(verification)
  for (const extra of questions.slice(1)) problems.push(['asked twice about one result', extra])
  const [question] = questions
  if (question !== undefined) problems.push(...reasonProblems(verification, question))
  const answer = question === undefined ? undefined : answerIn(verification, question)
  const words = verification.verdicts.filter(isWord)
  for (const word of words) {
    if (answer === undefined || answer.sequence > word.sequence) problems.push(['nobody was asked', word])
    else problems.push(...answerProblems(answer, word, keyDue(run, verification, question, answer)))
  }
  return problems
}

const isWord = ({ payload }: LoggedEvent): boolean =>
  payload.agentId === OVERRIDE || list(payload.criteria).some(key => WORD_KEYS.includes(key))

const WORD_KEYS: readonly unknown[] = ['human-override', 'human-confirmed', 'human-accepted', 'no-answer']

const isPassing = (rendered: LoggedEvent | undefined): boolean =>
  rendered !== undefined && rendered.payload.dwsVerdict !== 'fail'

function reasonProblems(verification: VerificationAttempt, question: LoggedEvent): Problem[] {
  const { gateId, attempt, target, rendered, verdicts, blocking } = verification
  const data = behindMask(question, 'data')
  const asked = (name: string) => get(data, name)
  const problems: Problem[] = []
  if (asked('gateId') !== gateId || asked('attempt') !== attempt || asked('artifactId') !== target)
    problems.push([`asked about ${show(asked('artifactId'))}, verified is ${show(target)}`, question])
  if (!blocking) problems.push(['a gate that does not block asks', question])
  const isFailed = verdicts.some(({ payload, sequence }) => payload.verdict === 'fail' && sequence < question.sequence)
  const holds: { readonly [reason: string]: boolean } = {
    unsettled: rendered === undefined,
    unchecked: rendered === undefined,
    exhausted: isFailed,
    // A pass is not enough where the verifiers have no licence, are not sure, or could not see all of it.
    unlicensed: isPassing(rendered),
    unsure: isPassing(rendered),
    unseen: isPassing(rendered),
  }
  if (holds[text(asked('reason')) ?? ''] !== true) problems.push([`asked because ${show(asked('reason'))}`, question])
  return problems
}

const WORDS: { readonly [action: string]: string } = { accept: 'pass', refine: 'revise', reject: 'fail' }

const actionOf = (answer: LoggedEvent): string | undefined =>
  isTimeout(answer) ? 'reject' : text(get(behindMask(answer, 'resumeValue'), 'action'))

/** Accepting a result that the verifiers passed is no override; what they could not see all of is the person's word. */
function keyDue(
  run: RunLog,
  { rendered }: VerificationAttempt,
  question: LoggedEvent | undefined,
  answer: LoggedEvent,
): string {
  if (isTimeout(answer)) return 'no-answer'
  if (actionOf(answer) !== 'accept' || !isPassing(rendered)) return 'human-override'
  const reason = question && get(behindMask(question, 'data'), 'reason')
  return reason === 'unseen' && !isBefore(run, 3) ? 'human-accepted' : 'human-confirmed'
}

function answerProblems(answer: LoggedEvent, word: LoggedEvent, due: string): Problem[] {
  const problems: Problem[] = []
  const action = actionOf(answer)
  const said = WORDS[action ?? '']
  if (action !== undefined && word.payload.verdict !== said)
    problems.push([`${show(action)} becomes ${show(word.payload.verdict)}`, word])
  const keys = list(word.payload.criteria).filter(key => WORD_KEYS.includes(key))
  if (!same(keys, [due])) problems.push([`told as ${show(keys)}, it is ${due}`, word])
  if ((word.payload.agentId === OVERRIDE) !== (due === 'human-override'))
    problems.push([`the word of ${show(word.payload.agentId)}`, word])
  const by = get(word.raw.secret, 'by')
  if (word.raw.secret !== undefined && !isTimeout(answer) && by !== answer.payload.resolvedBy)
    problems.push([`the word of ${show(by)}, answered has ${show(answer.payload.resolvedBy)}`, word])
  return problems
}

/** What a person says is told as soon as the node goes on, and no verdict in their name without it. */
function tellingProblems(run: RunLog): Problem[] {
  const problems: Problem[] = []
  const story = withoutRemarks(run)
  const asked = new Set(run.events.filter(isGateRequest).map(({ payload }) => payload.interruptId))
  story.forEach((event, place) => {
    const [before, next] = [story[place - 1], story[place + 1]]
    const isPersons = event.type === VERIFIED && event.payload.agentId === OVERRIDE
    if (isPersons && (before?.type !== 'node.resumed' || before.node !== event.node))
      problems.push([`a person’s word after ${before?.type ?? 'nothing'}`, event])
    if (event.type !== 'node.resumed' || !asked.has(event.payload.interruptId) || next === undefined) return
    // Refusing a result that the verifiers have already failed needs no verdict of its own.
    const isRefusal = ['reject', 'timeout'].includes(String(before?.payload.action))
    const isRefused = isRefusal && verificationAttemptOf(run, event)?.verdicts.at(-1)?.payload.verdict === 'fail'
    if (next.type !== VERIFIED && !isRefused) problems.push([`an answer, and then ${next.type}`, event])
  })
  return problems
}

const isGateRequest = (event: LoggedEvent): boolean => event.type === 'interrupt.requested' && isGateQuestion(event)
