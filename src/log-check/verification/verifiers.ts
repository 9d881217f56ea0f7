import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { list, number, show, text } from '../json.js'
import { causeOf, oncePerRun } from '../node/node-attempts.js'
import { withoutRemarks } from '../story.js'
import {
  CONFIRMING,
  HELD,
  RENDERED,
  RESUMED,
  type VerificationAttempt,
  verificationAttemptOf,
  verificationAttemptsOf,
} from './verification-attempts.js'

/** Verifiers: when each is started, and that each start has one end. */
export const verifierRules: readonly Rule[] = [
  {
    id: 'L24g',
    title:
      'A verifier begins, is started as a run of its own and ends, once each; it gives a vote or tells why not; who gave none is asked again in the next round only, and nobody is at work when the verdict comes',
    source: 'agents R-DWS-36, §23.2',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const verification of verificationAttemptsOf(run))
        for (const [problem, event] of panelProblems(run, verification)) say(problem, event)
      for (const event of run.events)
        if (event.type.startsWith('assay.verifier.') && verificationAttemptOf(run, event) === undefined)
          say('nothing is put to a gate here', event)
    }),
  },
  {
    id: 'L24m',
    title:
      'A verification that comes to nothing is held, and goes on as the next round when its time has come, not before; what proceeds instead does not block',
    source: 'agents R-DWS-36, §29 A32',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const held = new Map<string | undefined, LoggedEvent>()
      for (const event of withoutRemarks(run)) {
        if (event.type === HELD) {
          held.set(event.node, event)
          const verification = verificationAttemptOf(run, event)
          if (event.payload.proceeds === true && verification?.blocking !== false)
            say('a gate that blocks proceeds', event)
        } else if (event.type === RESUMED) {
          const before = held.get(event.node)
          held.delete(event.node)
          for (const problem of resumeProblems(before, event)) say(problem, event)
        }
      }
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

type Seat = {
  is: 'idle' | 'began' | 'started' | 'voted' | 'faulted'
  began?: LoggedEvent
  agentId?: unknown
  childRunId?: unknown
}

type Panel = {
  readonly seats: Map<unknown, Seat>
  round: number
  /** How many are to judge in this round. */
  verifiers: number
  readonly verification: VerificationAttempt
}

/** The verifiers that have answered, seat by seat. Refuses nothing, so that one break is one finding. */
function panelProblems(run: RunLog, verification: VerificationAttempt): Problem[] {
  const problems: Problem[] = []
  const verifiers = number(verification.started.payload.verifiers) ?? 0
  const panel: Panel = { seats: new Map(), round: 1, verifiers, verification }
  let from = verification.started.sequence
  for (const event of verification.events) {
    // A branch does not take over the verifiers of its source; it starts its own.
    if (cutsOf(run).some(cut => cut > from && cut < event.sequence))
      for (const seat of panel.seats.values()) if (seat.is === 'started') seat.is = 'began'
    from = event.sequence
    for (const problem of verifierProblems(panel, event)) problems.push([problem, event])
  }
  return problems
}

const cutsOf = oncePerRun((run: RunLog) =>
  run.events.filter(({ type }) => type === 'assay.run.forked').map(({ sequence }) => sequence),
)

function verifierProblems(panel: Panel, event: LoggedEvent): string[] {
  switch (event.type) {
    case 'assay.verifier.began':
      return [...roundProblems(panel, event), ...begins(panel, event)]
    case 'assay.verifier.started':
      return [...roundProblems(panel, event), ...starts(panel, event)]
    case 'assay.verifier.ended':
      return [...roundProblems(panel, event), ...ends(panel, event)]
    case HELD:
      return holds(panel, event)
    case RESUMED:
      panel.round = number(event.payload.round) ?? panel.round + 1
      for (const seat of panel.seats.values()) if (seat.is === 'faulted') seat.is = 'idle'
      return []
    case CONFIRMING:
      return confirms(panel, event)
    case RENDERED:
      return atWork(panel).length > 0 ? ['a verdict while verifiers are at work'] : []
    default:
      return []
  }
}

const atWork = ({ seats }: Panel): Seat[] => [...seats.values()].filter(({ is }) => is === 'began' || is === 'started')

const voted = ({ seats }: Panel): number => [...seats.values()].filter(({ is }) => is === 'voted').length

const seatOf = ({ seats }: Panel, { payload }: LoggedEvent): Seat => {
  const known: Seat = seats.get(payload.verifier) ?? { is: 'idle' }
  seats.set(payload.verifier, known)
  return known
}

function roundProblems(panel: Panel, event: LoggedEvent): string[] {
  const { payload } = event
  const { verification, round } = panel
  const problems: string[] = []
  if (payload.gateId !== verification.gateId || payload.attempt !== verification.attempt)
    problems.push(`asked for ${show(payload.gateId)}, attempt ${show(payload.attempt)}`)
  if (payload.round !== round) problems.push(`asked in round ${show(payload.round)}, this is ${round}`)
  if ((number(payload.verifier) ?? -1) >= panel.verifiers)
    problems.push(`there is no verifier ${show(payload.verifier)}`)
  const { agentId } = seatOf(panel, event)
  if (agentId !== undefined && agentId !== payload.agentId)
    problems.push(`${show(payload.agentId)} takes a seat of another`)
  if (verification.rendered !== undefined && verification.rendered.sequence < event.sequence)
    problems.push('asked after the verdict')
  return problems
}

function begins(panel: Panel, event: LoggedEvent): string[] {
  const seat = seatOf(panel, event)
  const problems = seat.is === 'idle' ? [] : [`asked, and has ${seat.is}`]
  if (causeOf(event) !== panel.verification.started.id) problems.push('not caused by what is judged')
  Object.assign(seat, { is: 'began', began: event, agentId: event.payload.agentId })
  return problems
}

function starts(panel: Panel, event: LoggedEvent): string[] {
  const seat = seatOf(panel, event)
  const problems = seat.is === 'began' ? [] : [`started, and was ${seat.is}`]
  if (causeOf(event) !== seat.began?.id) problems.push('not caused by its beginning')
  Object.assign(seat, { is: 'started', childRunId: event.payload.childRunId })
  return problems
}

/** A verifier that would judge its own work, where the gate forbids that, or without its sources, is not started. */
function ends(panel: Panel, event: LoggedEvent): string[] {
  const { vote, fault, childRunId, agentId } = event.payload
  const seat = seatOf(panel, event)
  const problems: string[] = []
  const isUnasked = seat.is === 'idle' && UNASKED.includes(String(fault))
  if (!isUnasked && !['began', 'started'].includes(seat.is)) problems.push(`ended, and was ${seat.is}`)
  if ((vote === 'none') !== (fault !== undefined)) problems.push(`vote ${show(vote)} with fault ${show(fault)}`)
  if (vote !== 'none' && seat.is !== 'started') problems.push('a vote of somebody who was not started')
  if (seat.is === 'started' ? childRunId !== seat.childRunId : childRunId !== undefined)
    problems.push(`the vote of ${show(childRunId)}, started was ${show(seat.childRunId)}`)
  if (causeOf(event) !== (isUnasked ? panel.verification.started.id : seat.began?.id))
    problems.push('not caused by its beginning')
  Object.assign(seat, { is: vote === 'none' ? 'faulted' : 'voted', agentId })
  return problems
}

const UNASKED: readonly string[] = [
  'self_verification',
  'context_missing',
  'context_hidden',
  'context_own_work',
  'context_too_large',
]

function holds(panel: Panel, { payload }: LoggedEvent): string[] {
  const problems: string[] = []
  const votes = voted(panel)
  const seats = panel.verifiers
  if (atWork(panel).length > 0) problems.push('held while verifiers are at work')
  if (payload.votes !== votes || payload.faults !== seats - votes)
    problems.push(
      `held with ${show(payload.votes)} votes and ${show(payload.faults)} faults; there are ${votes} of ${seats}`,
    )
  if (payload.round !== panel.round) problems.push(`held in round ${show(payload.round)}, this is ${panel.round}`)
  return problems
}

/** Others judge what the round before has left out, and nothing twice. */
function confirms(panel: Panel, { payload }: LoggedEvent): string[] {
  const { verification } = panel
  const problems = atWork(panel).length > 0 ? ['confirmed while verifiers are at work'] : []
  if (payload.round !== panel.round + 1) problems.push(`round ${show(payload.round)} after ${panel.round}`)
  const judged = list(verification.started.payload.criteria)
  const again = list(payload.criteria).filter(key => judged.includes(key))
  if (again.length > 0 || list(payload.criteria).length === 0) problems.push(`judges ${show(payload.criteria)} again`)
  panel.round = number(payload.round) ?? panel.round + 1
  panel.verifiers = number(payload.verifiers) ?? 0
  panel.seats.clear()
  return problems
}

function resumeProblems(held: LoggedEvent | undefined, event: LoggedEvent): string[] {
  if (held === undefined) return ['goes on, and was not held']
  const problems = ['gateId', 'attempt']
    .filter(name => held.payload[name] !== event.payload[name])
    .map(name => `${name} is ${show(event.payload[name])}, held was ${show(held.payload[name])}`)
  if (event.payload.round !== (number(held.payload.round) ?? 0) + 1)
    problems.push(`round ${show(event.payload.round)} after ${show(held.payload.round)}`)
  if (held.payload.proceeds === true) problems.push('goes on with what has proceeded')
  if (event.at < held.at + (number(held.payload.retryInMs) ?? 0)) problems.push('goes on too early')
  return problems
}

/** The votes of a round, the latest of each seat. */
export function votesIn({
  events,
}: Pick<VerificationAttempt, 'events'>): { readonly seat: unknown; readonly vote: string | undefined }[] {
  const votes = new Map<unknown, string | undefined>()
  for (const { type, payload } of events)
    if (type === 'assay.verifier.ended' && payload.vote !== 'none') votes.set(payload.verifier, text(payload.vote))
  return [...votes].map(([seat, vote]) => ({ seat, vote }))
}
