import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, list, same, show, text } from '../json.js'
import { DISPATCH, nodeAttemptOf, SUB_WORKFLOW } from '../node/node-attempts.js'
import { isRemark, withoutRemarks } from '../story.js'
import { letsPass } from '../verification/verification-attempts.js'
import { NODE_EVENTS } from '../walk.js'
import { isBudgetQuestion, isGateQuestion, type Question, walkQuestions } from './questions.js'

/** How a run asks someone outside, and that it waits for the answer. */
export const askingRules: readonly Rule[] = [
  {
    id: 'L28',
    title: 'Nothing is asked twice: a key and an interruptId each belong to one request',
    source: 'core §7.1',
    checks: eachRun((run, say) => {
      const seen = new Set<string>()
      for (const event of requestsOf(run)) {
        for (const field of ['key', 'interruptId']) {
          const name = `${field} ${show(event.payload[field])}`
          if (seen.has(name)) say(`${name} is used twice`, event)
          seen.add(name)
        }
      }
    }),
  },
  {
    id: 'L28a',
    title:
      'Keys count the questions of a node from 0; an interruptId names the place of its request; a request names its run',
    source: 'core §7.1, §7.3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const asked = new Map<string | undefined, number>()
      run.events.forEach((event, place) => {
        if (event.type !== 'interrupt.requested') return
        const count = asked.get(event.node) ?? 0
        asked.set(event.node, count + 1)
        for (const problem of nameProblems(run, place, count)) say(problem, event)
      })
    }),
  },
  {
    id: 'L28b',
    title:
      'A node that has just started, decided or learned of its worker’s end asks, tells it in the older spelling of its kind, and is suspended, one after the other',
    source: 'core §7.3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      // What a worker has cost may be told before anybody is asked about what it brought.
      const story = withoutRemarks(run).filter(({ type }) => !type.startsWith('budget.'))
      const expected = new Set<LoggedEvent>()
      const asked = new Map<unknown, LoggedEvent>()
      story.forEach((event, place) => {
        if (event.type === 'interrupt.requested') {
          const before = story[place - 1]
          // That it follows on the exhaustion of the budget is L26m.
          if (isBudgetQuestion(event)) asked.set(event.payload.interruptId, event)
          else if (!mayAskAfter(run, event, before)) say(`${event.node} asks after ${before?.type ?? 'nothing'}`, event)
          const spelling = OLDER.get(text(event.payload.kind) ?? '')
          const [older, suspended] = spelling === undefined ? [undefined, place + 1] : [story[place + 1], place + 2]
          for (const told of [older, story[suspended]]) if (told !== undefined) expected.add(told)
          for (const problem of requestProblems(event, spelling, older, story[suspended])) say(problem, event)
        } else if (FOLLOWERS.includes(event.type) && !expected.has(event)) {
          // Several nodes may wait with one question about the budget.
          const request = event.type === 'node.suspended' ? asked.get(event.payload.interruptId) : undefined
          const problems = request
            ? disagreements(request, event, ['kind', 'key'])
            : [`${event.type} without a request`]
          for (const problem of problems) say(problem, event)
        }
      })
    }),
  },
  {
    id: 'L28d',
    title: 'A node that waits for an answer makes no progress until it is answered or cancelled',
    source: 'core §7.1',
    checks: eachRun((run, say, log) => {
      walkQuestions(run, ({ event, open }) => {
        if (open === undefined || !PROGRESS.includes(event.type)) return
        if (event.type === 'node.dispatched' && isDispatch(run, open)) return
        // Other hosts may fail a node whose time is over directly; a replay fails what its source never saw answered.
        const givesUp = log.input.dialect === 'openwop' || get(event.payload.error, 'code') === 'replay_source_missing'
        if (event.type === 'node.failed' && givesUp) return
        say(`${event.type} of ${event.node}, which waits for the answer to ${open.key}`, event)
      })
    }),
  },
]

const requestsOf = (run: RunLog): LoggedEvent[] => run.events.filter(event => event.type === 'interrupt.requested')

const OLDER: ReadonlyMap<string, string> = new Map([
  ['approval', 'approval.requested'],
  ['clarification', 'clarification.requested'],
])

const ASKS_AFTER: readonly string[] = [
  'node.started',
  'runOrchestrator.decided',
  'core.workflowChain.confidence-escalated',
  'core.workflowChain.event',
  'agent.decided',
]

/**
 * A dispatch may ask about one worker as soon as it was answered about another; who hands work over asks about a worker
 * that ended while the run was about to pause when it goes on.
 */
function mayAskAfter(run: RunLog, event: LoggedEvent, before: LoggedEvent | undefined): boolean {
  if (isGateQuestion(event)) return before?.node === event.node && GATE_ASKS_AFTER.includes(before?.type ?? '')
  const typeId = nodeAttemptOf(run, event)?.typeId
  if (before?.type === 'run.resumed') return handsOut(typeId)
  if (before === undefined || before.node !== event.node) return false
  // What a gate has let pass may still need a person's consent.
  if (handsOut(typeId) && letsPass(before)) return true
  // A dispatch asks about its next worker when a person, or a gate, is done with the one before.
  const isNext = before.type === 'node.resumed' || before.type === 'assay.result.withheld'
  return ASKS_AFTER.includes(before.type) || (isNext && typeId === DISPATCH)
}

const handsOut = (typeId: string | undefined): boolean => typeId === DISPATCH || typeId === SUB_WORKFLOW

/** When nobody could judge, the attempts are used up, or a pass alone is not enough. */
const GATE_ASKS_AFTER: readonly string[] = [
  'dws.verification.started',
  'assay.verification.resumed',
  'assay.verifier.ended',
  'dws.verification.verdict_rendered',
  'agent.verified',
  // The record of what could not be checked.
  'artifact.created',
]

/** Starts other workers while a person looks at what one has brought. */
const isDispatch = (run: RunLog, { request }: Question): boolean => nodeAttemptOf(run, request)?.typeId === DISPATCH

const FOLLOWERS: readonly string[] = ['approval.requested', 'clarification.requested', 'node.suspended']

const PROGRESS: readonly string[] = [
  ...NODE_EVENTS.filter(type => type !== 'node.cancelled' && type !== 'node.suspended'),
  'interrupt.requested',
  'variable.changed',
  'channel.written',
  'artifact.created',
]

function nameProblems(run: RunLog, place: number, count: number): string[] {
  const event = run.events[place] as LoggedEvent
  const { key, interruptId, runId } = event.payload
  const problems: string[] = []
  if (key !== `${event.node}:${count}`) problems.push(`the key is ${show(key)}, not ${event.node}:${count}`)
  // The id is made before the remark that a replay may have to make first.
  const before = run.events[place - 1]
  const since = before !== undefined && isRemark(before) ? before.sequence : event.sequence
  if (interruptId !== `int-${event.sequence}` && interruptId !== `int-${since}`)
    problems.push(`the interruptId is ${show(interruptId)}`)
  if (event.sequence >= run.ownFrom && runId !== run.run.runId) problems.push(`the request names run ${show(runId)}`)
  return problems
}

function requestProblems(
  request: LoggedEvent,
  spelling: string | undefined,
  older: LoggedEvent | undefined,
  suspended: LoggedEvent | undefined,
): string[] {
  const problems: string[] = []
  if (suspended?.type !== 'node.suspended' || suspended.node !== request.node)
    problems.push(`the request is followed by ${suspended?.type ?? 'nothing'}, not node.suspended`)
  else problems.push(...disagreements(request, suspended, ['interruptId', 'kind', 'key']))
  if (spelling === undefined) return problems
  if (older?.type !== spelling || older.node !== request.node)
    return [...problems, `the request is followed by ${older?.type ?? 'nothing'}, not ${spelling}`]
  return [...problems, ...disagreements(request, older, ['interruptId']), ...olderProblems(request, older)]
}

const disagreements = (request: LoggedEvent, told: LoggedEvent, names: readonly string[]): string[] =>
  names
    .filter(name => !same(request.payload[name], told.payload[name]))
    .map(name => `${told.type} says ${name} ${show(told.payload[name])}, the request ${show(request.payload[name])}`)

/** What the older spelling repeats of the data; it says `edit` where we say `edit-accept`. */
function olderProblems(request: LoggedEvent, older: LoggedEvent): string[] {
  const asked = (name: string) => get(request.payload.data, name)
  const actions = list(asked('actions')).map(action => (action === 'edit-accept' ? 'edit' : action))
  const wanted: [string, unknown][] =
    older.type === 'clarification.requested'
      ? [['questions', asked('questions')]]
      : [
          ['actions', actions],
          ...['artifactId', 'artifactType', 'title'].map((name): [string, unknown] => [name, String(asked(name))]),
          ...['approversList', 'requiredApprovals'].map((name): [string, unknown] => [name, asked(name)]),
        ]
  return wanted
    .filter(([name, value]) => !same(older.payload[name], value))
    .map(([name, value]) => `${older.type} says ${name} ${show(older.payload[name])}, the request ${show(value)}`)
}
