import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { fields, get, isFields, same, show, text } from '../json.js'
import { DISPATCH, nodeAttemptOf } from '../node/node-attempts.js'
import { withoutRemarks } from '../story.js'
import { TERMINAL } from '../walk.js'
import { behindMask, isBudgetQuestion, isGateQuestion, type Question, walkQuestions } from './questions.js'

/** Answers, and how they end the waiting of a node. */
export const answeringRules: readonly Rule[] = [
  {
    id: 'L28c',
    title:
      'An answer, a vote or a question back is to an open interrupt of its node; an interrupt is resolved at most once',
    source: 'core §7.3, §7.4',
    checks: eachRun((run, say) => {
      walkQuestions(run, ({ event, open }) => {
        if (!FROM_OUTSIDE.includes(event.type)) return
        if (open === undefined || open.id !== event.payload.interruptId)
          say(`${event.type} of ${show(event.payload.interruptId)}, which ${event.node} does not ask now`, event)
        else if (event.payload.kind !== undefined && event.payload.kind !== open.kind)
          say(`an answer to ${show(event.payload.kind)}, asked was ${show(open.kind)}`, event)
      })
    }),
  },
  {
    id: 'L28e',
    title:
      'An answer is told, told in the older spelling of its kind, and its node resumes and settles, one after the other; when a run ends nothing is open',
    source: 'core §7.3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const [problem, event] of orderProblems(run)) say(problem, event)
      const left = walkQuestions(run)
      const end = run.events.find(event => TERMINAL.includes(event.type))
      if (end !== undefined) for (const [node] of left) say(`${node} still waits for an answer`, end)
    }),
  },
  {
    id: 'L28f',
    title: 'An answer is one that was offered, whoever decided is named, and both spellings of it agree',
    source: 'core §5.4, §7.2',
    checks: eachRun((run, say) => {
      const resolvedBy = new Map<string | undefined, LoggedEvent>()
      walkQuestions(run, ({ event, open }) => {
        const resolved = resolvedBy.get(event.node)
        if (event.type === 'interrupt.resolved') {
          resolvedBy.set(event.node, event)
          if (open !== undefined) for (const problem of answerProblems(open, event)) say(problem, event)
        } else if (event.type === 'approval.received') {
          for (const problem of decisionProblems(event, resolved)) say(problem, event)
        } else if (event.type === 'clarification.resolved' && resolved !== undefined) {
          const answers = get(resolved.payload.resumeValue, 'answers')
          if (answers !== undefined && !same(answers, event.payload.answers))
            say('the answers are not those told', event)
        }
      })
    }),
  },
  {
    id: 'L28h',
    title:
      'Only a limit ends the waiting without an answer, not before its time, and never in favour: approvals are rejected, the rest fails; no answer comes later',
    source: 'core §7.6',
    checks: eachRun((run, say) => {
      const lost = new Set<string | undefined>()
      walkQuestions(run, ({ event, open }) => {
        if (event.type === 'interrupt.resolved' && open !== undefined) {
          for (const problem of timeProblems(open, event, run.graph !== undefined)) say(problem, event)
          if (isTimeout(event) && !isApproval(open)) lost.add(event.node)
        } else if (event.type === 'node.completed' && lost.has(event.node))
          say(`${event.node} completes although nobody answered`, event)
        if (['node.completed', 'node.failed', 'node.started'].includes(event.type)) lost.delete(event.node)
      })
    }),
  },
]

const FROM_OUTSIDE: readonly string[] = ['interrupt.resolved', 'assay.interrupt.voted', 'assay.interrupt.asked']

/** What an answered node may write before it settles; a held agent's invocation is completed, too. */
const WRITES: readonly string[] = [
  'agent.invocation.completed',
  'variable.changed',
  'channel.written',
  'runOrchestrator.decided',
]
const OUTCOMES: readonly string[] = ['node.completed', 'node.failed', 'node.retried']
const TOLD: readonly string[] = ['approval.received', 'clarification.resolved', 'node.resumed']

export const isTimeout = (resolved: LoggedEvent): boolean => resolved.payload.reason === 'timeout'

const isApproval = ({ kind }: Question): boolean => kind === 'approval' || kind === 'low-confidence'

function orderProblems(run: RunLog): [string, LoggedEvent][] {
  const story = withoutRemarks(run)
  const problems: [string, LoggedEvent][] = []
  const expected = new Set<LoggedEvent>()
  story.forEach((event, place) => {
    if (event.type !== 'interrupt.resolved') {
      if (TOLD.includes(event.type) && !expected.has(event) && !isOfBudget(run, event))
        problems.push([`${event.type} without an answer`, event])
      return
    }
    const wanted = [...spellings(event), 'node.resumed']
    wanted.forEach((type, i) => {
      const told = story[place + 1 + i]
      if (told !== undefined) expected.add(told)
      const same = told?.type === type && told.node === event.node
      if (!same) problems.push([`the answer is followed by ${told?.type ?? 'nothing'}, not ${type}`, event])
      else if (type === 'node.resumed' && told.payload.interruptId !== event.payload.interruptId)
        problems.push([`${event.node} resumes from ${show(told.payload.interruptId)}`, told])
    })
    // Whoever waited for its budget goes on with what that kept it from.
    if (isOfBudget(run, event)) return
    let next = place + 1 + wanted.length
    while (story[next]?.node === event.node && WRITES.includes(story[next]?.type ?? '')) next += 1
    const outcome = story[next]
    // A decision that a person has ratified may itself be a question.
    if (story[next - 1]?.type === 'runOrchestrator.decided' && outcome?.type === 'interrupt.requested') return
    // A dispatch goes on with its other workers; what becomes of a result at a gate is told as a verdict.
    if (nodeAttemptOf(run, event)?.typeId === DISPATCH || isOfGate(run, event, outcome)) return
    if (outcome?.node !== event.node || !OUTCOMES.includes(outcome?.type ?? ''))
      problems.push([`${event.node} is answered and does not settle, but ${outcome?.type ?? 'nothing'} follows`, event])
  })
  return problems
}

/** Whether an event is about a question of the budget, with which several nodes may wait. */
const isOfBudget = (run: RunLog, { payload: { interruptId } }: LoggedEvent): boolean =>
  run.events.some(
    event =>
      event.type === 'interrupt.requested' && event.payload.interruptId === interruptId && isBudgetQuestion(event),
  )

/** An answer to a gate's question, or one after which a gate looks at the result. */
function isOfGate(run: RunLog, resolved: LoggedEvent, next: LoggedEvent | undefined): boolean {
  const asked = run.events.findLast(
    ({ type, payload, sequence }) =>
      type === 'interrupt.requested' &&
      payload.interruptId === resolved.payload.interruptId &&
      sequence < resolved.sequence,
  )
  return (asked !== undefined && isGateQuestion(asked)) || next?.type === 'assay.result.staged'
}

/** A clarification that timed out has no answer, so its older spelling is missing. */
function spellings(resolved: LoggedEvent): string[] {
  if (resolved.payload.kind === 'approval') return ['approval.received']
  return resolved.payload.kind === 'clarification' && !isTimeout(resolved) ? ['clarification.resolved'] : []
}

function answerProblems({ kind, data }: Question, resolved: LoggedEvent): string[] {
  const value = behindMask(resolved, 'resumeValue')
  // Readers outside see a mask where the value carries a secret.
  if (isTimeout(resolved) || !isFields(value)) return []
  if (kind === 'approval' && Array.isArray(data.actions)) {
    const action = value.action
    const offered = data.actions.filter(candidate => candidate !== 'ask')
    const outcome = action === 'reject' ? 'rejected' : undefined
    return [
      ...(offered.includes(action) ? [] : [`the answer is ${show(action)}, offered was ${show(offered)}`]),
      ...(resolved.payload.outcome === outcome
        ? []
        : [`${show(action)} with outcome ${show(resolved.payload.outcome)}`]),
    ]
  }
  if (kind === 'clarification' && Array.isArray(data.questions))
    return clarificationProblems(data.questions, value.answers)
  if (kind !== 'external-event') return []
  return Object.entries(fields(data.correlation))
    .filter(([name, expected]) => !same(get(value, name), expected))
    .map(([name]) => `an event with another ${name}`)
}

/** By question id, or as a list of {id, answer}. */
function clarificationProblems(questions: readonly unknown[], answers: unknown): string[] {
  const asked = questions.map(question => String(get(question, 'id'))).sort()
  const ids = Array.isArray(answers) ? answers.map(answer => String(get(answer, 'id'))) : Object.keys(fields(answers))
  return same(asked, ids.sort()) ? [] : [`asked was ${show(asked)}, answered ${show(ids)}`]
}

function decisionProblems({ payload }: LoggedEvent, resolved: LoggedEvent | undefined): string[] {
  const problems: string[] = []
  const { action, decidedBy } = payload
  if (action !== 'timeout' && (text(decidedBy) ?? '') === '') problems.push('nobody is named as the decider')
  if (resolved === undefined) return problems
  if ((action === 'timeout') !== isTimeout(resolved)) problems.push(`${show(action)} after an answer of another kind`)
  const answered = get(behindMask(resolved, 'resumeValue'), 'action')
  if (action !== 'timeout' && answered !== undefined && answered !== action)
    problems.push(`the decision is ${show(action)}, the answer ${show(answered)}`)
  return problems
}

/** Without the definition nobody knows whether the node has a limit of its own. */
function timeProblems(question: Question, resolved: LoggedEvent, defined: boolean): string[] {
  const { dueAt } = question
  if (!isTimeout(resolved))
    return dueAt !== undefined && resolved.at >= dueAt ? [`answered ${resolved.at - dueAt} ms too late`] : []
  const problems: string[] = []
  if (defined && dueAt === undefined) problems.push('time is over for a question without a limit')
  if (defined && dueAt !== undefined && resolved.at < dueAt)
    problems.push(`time is over ${dueAt - resolved.at} ms too early`)
  const { outcome } = resolved.payload
  const refused = outcome === 'rejected' && get(behindMask(resolved, 'resumeValue'), 'action') === 'reject'
  if (isApproval(question) && !refused) problems.push(`an approval that timed out is ${show(outcome)}`)
  if (!isApproval(question) && outcome === 'rejected') problems.push('time rejects what is no approval')
  return problems
}
