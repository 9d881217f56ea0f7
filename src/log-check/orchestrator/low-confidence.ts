import { eachRun, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { behindMask } from '../interrupt/questions.js'
import { type Invocation, invocationsOf, isInvoked, sentBackBy, VERIFY } from '../invocation/invocations.js'
import { get, isFields, number, same, show, text } from '../json.js'
import {
  type Asked,
  answerTo,
  askedIn,
  eventsOfType,
  hasCompleted,
  type NodeAttempt,
  nodeAttemptsOf,
  SUPERVISOR,
} from '../node/node-attempts.js'
import { turnsOf } from './turns.js'

/** Decisions of an agent that are held until a person ratifies them. */
export const lowConfidenceRules: readonly Rule[] = [
  {
    id: 'L22e',
    title:
      'A node is suspended with low confidence after its agent decided, for that agent, with a confidence below the threshold',
    source: 'agents R-LOWC-1, R-LOWC-3',
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOf(run).filter(holdsDecisions)) {
        for (const event of eventsOfType(nodeAttempt, 'node.suspended')) {
          if (event.payload.reason === 'low-confidence')
            for (const problem of holdProblems(nodeAttempt, event)) say(problem, event)
        }
      }
    }),
  },
  {
    id: 'L22f',
    title: 'A decision of an agent below the threshold the run was started with is held, at or above it is not',
    source: 'agents R-LOWC-1, R-LOWC-3, R-LOWC-4',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOf(run)) {
        const threshold = thresholdAt(run, nodeAttempt.start)
        // A live agent may have a threshold of its own.
        if (threshold === undefined || isInvoked(run, nodeAttempt)) continue
        const held = eventsOfType(nodeAttempt, 'node.suspended').filter(
          event => event.payload.reason === 'low-confidence',
        )
        const decided = eventsOfType(nodeAttempt, 'agent.decided').at(-1)
        const confidence = number(decided?.payload.confidence)
        const below = confidence !== undefined && confidence < threshold
        if (below && held.length === 0 && hasCompleted(nodeAttempt))
          say(`confidence ${confidence} was not held`, decided)
        for (const event of held)
          if (event.payload.threshold !== threshold) say(`held below ${show(event.payload.threshold)}`, event)
      }
    }),
  },
  {
    id: 'L22g',
    title:
      'A held decision of a supervisor is told when it is ratified, as it was ratified, not before, and never when it is refused',
    source: 'agents R-LOWC-2',
    checks: eachRun((run, say) => {
      for (const { nodeAttempt, held } of turnsOf(run)) {
        if (held === undefined) continue
        for (const event of eventsOfType(nodeAttempt, 'runOrchestrator.decided')) {
          if (held.resolved === undefined || held.resolved.sequence > event.sequence)
            say('decided before it was ratified', event)
          else if (isRefused(held)) say('decided although it was refused', event)
          else if (isAnother(held, event)) say('decided otherwise than it was ratified', event)
        }
      }
    }),
  },
  {
    id: 'L22h',
    title:
      'What an agent decided is held by a question that asks about that decision; a question about confidence is asked of a decision',
    source: 'agents §1.5, R-LOWC-1',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOf(run).filter(holdsDecisions)) {
        for (const { request } of askedIn(nodeAttempt)) {
          if (request.payload.kind !== 'low-confidence') continue
          for (const problem of holdProblems(nodeAttempt, request, get(request.payload, 'data'))) say(problem, request)
          const suspended = nodeAttempt.events.find(
            event => event.type === 'node.suspended' && event.sequence > request.sequence,
          )
          if (suspended !== undefined && suspended.payload.reason !== 'low-confidence')
            say('suspended without saying why', suspended)
        }
      }
    }),
  },
  {
    id: 'L22i',
    title:
      'What a live agent is less sure of than it must be is held before its invocation ends, and nothing else is; a supervisor’s and a verifier’s never; what is held and not accepted ends escalated',
    source: 'agents R-LIVE-13, R-LIVE-14, R-LOWC-4',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of liveProblems(run, invocation)) say(problem, event)
    }),
  },
]

/** The threshold where neither run nor agent names one. */
const USUAL = 0.7

/** What the run was given, then what the agent's manifest says. Undefined where the log does not show it. */
function liveThreshold(run: RunLog, { brief, nodeAttempt }: Invocation): number | undefined {
  if (nodeAttempt.typeId === SUPERVISOR || nodeAttempt.typeId === VERIFY) return 0
  const ofRun = thresholdAt(run, nodeAttempt.start)
  const ofAgent = number(brief?.threshold)
  // Before version 3 the agent's went before the run's.
  if (ofRun !== undefined && (!isBefore(run, 3) || (brief !== undefined && ofAgent === undefined))) return ofRun
  if (brief === undefined || (ofRun !== undefined && ofAgent !== undefined)) return undefined
  return ofAgent ?? USUAL
}

function liveProblems(run: RunLog, invocation: Invocation): [string, LoggedEvent | undefined][] {
  const problems: [string, LoggedEvent | undefined][] = []
  const { nodeAttempt, events, completed, brief } = invocation
  const decided = events.findLast(({ type }) => type === 'agent.decided')
  const confidence = number(decided?.payload.confidence)
  const threshold = liveThreshold(run, invocation)
  const [held] = askedIn({ ...nodeAttempt, events }).filter(({ request }) => request.payload.kind === 'low-confidence')
  const { outcome, schemaValidated } = completed?.payload ?? {}
  if (threshold !== undefined && decided !== undefined) {
    const below = confidence !== undefined && confidence < threshold
    if (below && held === undefined && outcome === 'completed') problems.push([`${confidence} was not held`, decided])
    if (!below && held !== undefined) problems.push([`${show(confidence)} is held, below ${threshold}`, held.request])
    const told = get(held?.request.payload.data, 'threshold')
    if (below && held !== undefined && told !== threshold) problems.push([`held below ${show(told)}`, held.request])
  }
  if (completed === undefined) return problems
  const refused = held?.resolved !== undefined && isRefused(held)
  if (held !== undefined && outcome === 'completed' && (held.resolved === undefined || refused))
    problems.push(['completed although nobody accepted it', completed])
  if (outcome === 'escalated' && !refused) problems.push(['escalated although nobody refused it', completed])
  // A result that was sent back is not told of.
  if (sentBackBy(invocation) !== undefined) return problems
  if (outcome === 'completed' && completed.payload.confidence !== decided?.payload.confidence)
    problems.push([`confidence ${show(completed.payload.confidence)}, decided with ${show(confidence)}`, completed])
  if (outcome !== 'completed' && (schemaValidated ?? completed.payload.confidence) !== undefined)
    problems.push([`${show(outcome)}, and yet it tells of a result`, completed])
  const isChecked = brief?.checksResult === true && !isEdited(held?.resolved)
  if (brief !== undefined && outcome === 'completed' && (schemaValidated === true) !== isChecked)
    problems.push([`schemaValidated is ${show(schemaValidated)}`, completed])
  return problems
}

/** What a person wrote in place of a result was not held to a schema. */
const isEdited = (resolved: LoggedEvent | undefined): boolean =>
  get(get(resolved?.raw.secret, 'resumeValue') ?? resolved?.payload.resumeValue, 'action') === 'edit-accept'

/** Workflows may ask such a question without an agent. */
const holdsDecisions = ({ typeId }: NodeAttempt): boolean => typeId !== 'core.interrupt'

/** As the run was started with it, or as a branch was given it since. */
function thresholdAt(run: RunLog, { sequence }: LoggedEvent): number | undefined {
  const given = [run.started, ...run.events.filter(event => isFork(event) && event.sequence < sequence).map(fork)]
  return given.map(({ configurable }) => number(get(configurable, 'escalationThreshold'))).findLast(isGiven)
}

const isFork = ({ type }: LoggedEvent): boolean => type === 'assay.run.forked'
const fork = ({ payload }: LoggedEvent) => payload
const isGiven = (threshold: number | undefined): boolean => threshold !== undefined

function holdProblems(nodeAttempt: NodeAttempt, event: LoggedEvent, fields: unknown = event.payload): string[] {
  const decided = eventsOfType(nodeAttempt, 'agent.decided').findLast(earlier => earlier.sequence < event.sequence)
  if (decided === undefined) return ['no agent has decided']
  const problems: string[] = []
  const [agentId, threshold, observed] = ['agentId', 'threshold', 'observed'].map(name => get(fields, name))
  if (agentId !== decided.payload.agentId)
    problems.push(`${show(agentId)} is held, decided has ${show(decided.payload.agentId)}`)
  if (observed !== decided.payload.confidence)
    problems.push(`observed ${show(observed)}, decided with ${show(decided.payload.confidence)}`)
  if ((number(observed) ?? 1) >= (number(threshold) ?? 0))
    problems.push(`${show(observed)} is not below ${show(threshold)}`)
  return problems
}

/** The decision told is neither the one that was shown nor what a person wrote in its place. */
function isAnother(held: Asked, decided: LoggedEvent): boolean {
  const answer = answerTo(held)
  // Readers outside may see a mask in the place of the answer.
  if (!isFields(answer)) return false
  const shown = get(behindMask(held.request, 'data'), 'decision')
  const ratified = isEdited(held.resolved) ? answer.editedArtifactData : shown
  return (
    isFields(ratified) && !same(ratified, behindMask(decided, 'decision')) && !same(ratified, decided.payload.decision)
  )
}

function isRefused(held: Asked): boolean {
  const { outcome, reason } = held.resolved?.payload ?? {}
  return outcome === 'rejected' || reason === 'timeout' || text(get(answerTo(held), 'action')) === 'reject'
}
