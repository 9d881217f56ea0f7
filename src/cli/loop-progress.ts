import type { Fields, RunEventDoc, WireError } from '../client/wire-shapes.js'
import { type AgentStep, agentStep, agentText, confidenceText } from './agent-progress.js'
import { gateMark, gateStep, gateText } from './gate-progress.js'

/**
 * The orchestrator's loop, agents at work and results at gates, as a person follows them: a line per decision, per
 * hand-off, per call of a model or tool, per attempt and verdict, per doubt and per breach.
 */

export type LoopLine = {
  readonly is: 'decided' | 'doubted' | 'open' | 'completed' | 'failed' | 'cancelled'
  readonly text: string
  /** The run of the worker, once there is one. */
  readonly childRunId?: string
  /** Events told in this line: the next step of a hand-off names one of them as its cause. */
  readonly events: readonly string[]
  /** The call that is open in this line, until it ends. */
  readonly call?: string
}

export type LoopProgress = {
  /** The latest ones. */
  readonly lines: readonly LoopLine[]
  /** How many there have been. */
  readonly count: number
}

export const noLoop: LoopProgress = { lines: [], count: 0 }

/** More than one decision can open at once, so that no open hand-off is forgotten. */
const KEPT = 200

type Payload = { readonly [name: string]: unknown }

export function advanceLoop(loop: LoopProgress, event: RunEventDoc): LoopProgress {
  const payload = (event.payload ?? {}) as Payload
  const isHandoff = event.type === 'core.workflowChain.event'
  if (isHandoff && payload.phase !== 'dispatch.began')
    return { ...loop, lines: loop.lines.map(line => stepped(line, event, payload)) }
  const step = agentStep(event) ?? gateStep(event)
  if (step !== undefined) return advanceCall(loop, step, event)
  const is = isHandoff ? 'open' : (LINES[event.type] ?? gateMark(event))
  if (is === undefined || isToldAgain(event, payload)) return loop
  return added(loop, { is, text: loopText(event) ?? event.type, events: [event.eventId] })
}

const added = ({ lines, count }: LoopProgress, line: LoopLine): LoopProgress => ({
  lines: [...lines, line].slice(-KEPT),
  count: count + 1,
})

function advanceCall(loop: LoopProgress, step: AgentStep, { eventId }: RunEventDoc): LoopProgress {
  if (step.is === 'begun') return added(loop, { is: 'open', text: step.text, events: [eventId], call: step.key })
  const ended = (line: LoopLine): LoopLine =>
    line.call === step.key
      ? { is: step.well ? 'completed' : 'failed', text: `${line.text} → ${step.text}`, events: line.events }
      : line
  return { ...loop, lines: loop.lines.map(ended) }
}

const LINES: { readonly [type: string]: LoopLine['is'] } = {
  'runOrchestrator.decided': 'decided',
  'core.workflowChain.confidence-escalated': 'doubted',
  'cap.breached': 'failed',
  'agent.decided': 'decided',
  'envelope.refusal': 'failed',
}

/** What a supervisor decided is the next thing that the run itself tells. */
const isToldAgain = ({ type }: RunEventDoc, { decision }: Payload): boolean =>
  type === 'agent.decided' && DECISIONS.includes(Object(decision).kind)

const DECISIONS = ['next-worker', 'terminate', 'clarify', 'escalate', 'ask-user']

function stepped(line: LoopLine, { eventId, causationId }: RunEventDoc, payload: Payload): LoopLine {
  if (causationId === undefined || !line.events.includes(causationId)) return line
  const { phase, childRunId = line.childRunId } = payload
  return {
    is: STATES[String(phase)] ?? line.is,
    text: `${line.text} → ${stepText(payload)}`,
    ...(typeof childRunId === 'string' && { childRunId }),
    events: [...line.events, eventId],
  }
}

const STATES: { readonly [phase: string]: LoopLine['is'] } = {
  'dispatch.succeeded': 'open',
  'dispatch.failed': 'failed',
  'child.completed': 'completed',
  'child.failed': 'failed',
  'child.cancelled': 'cancelled',
}

/** What an event of the loop, of an agent or of a gate says, in one line; undefined for all others. */
export function loopText(event: RunEventDoc): string | undefined {
  const payload = (event.payload ?? {}) as Payload
  switch (event.type) {
    case 'runOrchestrator.decided':
      return turnText(payload)
    case 'core.workflowChain.confidence-escalated':
      return doubtText(payload)
    case 'core.workflowChain.event':
      return `${payload.workerId} ${stepText(payload)}${payload.phase === 'dispatch.succeeded' ? ` as run ${payload.childRunId}` : ''}`
    case 'cap.breached':
      return breachText(payload)
    default:
      return agentText(event) ?? gateText(event)
  }
}

function stepText({ phase, harvestedKeys, error }: Payload): string {
  const why = error === undefined ? '' : `: ${(error as WireError).code}: ${(error as WireError).message}`
  switch (phase) {
    case 'dispatch.began':
      return 'began'
    case 'dispatch.succeeded':
      return 'started'
    case 'dispatch.failed':
      return `did not start${why}`
    case 'output.harvested':
      return `harvested ${(harvestedKeys as readonly string[] | undefined)?.join(', ') || 'nothing'}`
    default:
      return `${String(phase).replace('child.', '')}${why}`
  }
}

const turnText = ({ iteration, decision }: Payload): string => `turn ${iteration}: ${decisionText(Object(decision))}`

/** What was decided, in a few words. */
export function decisionText(decision: Fields): string {
  const { kind, nextWorkerIds, reason, title, prompt, questions } = decision
  const workers = Array.isArray(nextWorkerIds) ? nextWorkerIds.join(', ') : undefined
  const asked = Array.isArray(questions) ? questions.map(one => one?.question).join(' ') : undefined
  const said = workers ?? title ?? reason ?? prompt ?? asked
  return `${kind}${said === undefined ? '' : ` ${said}`}${confidenceText(decision)}`
}

const doubtText = ({ confidence, floor }: Payload): string =>
  `confidence ${confidence} is below ${floor}: a person decides first`

const breachText = ({ kind, limit, observed }: Payload): string => `${kind}: ${observed} is over the limit of ${limit}`
