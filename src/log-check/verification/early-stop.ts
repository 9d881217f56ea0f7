import { eachRun, type Fields, isBefore, type LoggedEvent, type Rule } from '../checked.js'
import { get, number, show } from '../json.js'
import { isSeatQuorum } from './quorum.js'
import { CONFIRMING, RESUMED, type VerificationAttempt, verificationAttemptsOf } from './verification-attempts.js'

/** How many verifiers are asked, and when. */
export const earlyStopRules: readonly Rule[] = [
  {
    id: 'L24s',
    title:
      'Verifiers are asked in their order: with early_stop one only while those in favour and at work would not be enough for a pass, or nobody is at work; without it all of them before any is started',
    source: 'agents R-DWS-24; docs/contract/licence.md',
    assayOnly: true,
    checks: eachRun((run, say) => {
      if (isBefore(run, 3)) return
      for (const verification of verificationAttemptsOf(run))
        for (const [problem, event] of askingProblems(verification)) say(problem, event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

/** What is known of a seat in its round; absent where nobody has asked there yet. */
type Seat = 'at work' | 'for' | 'against' | 'missing'

function askingProblems({ gate, started, events }: VerificationAttempt): Problem[] {
  // Not every reader sees how many a pass needs.
  if (gate === undefined) return []
  const problems: Problem[] = []
  const seats = new Map<number, Seat>()
  let size = number(started.payload.verifiers) ?? 0
  for (const event of events) {
    const { type, payload } = event
    const seat = number(payload.verifier) ?? -1
    if (type === 'assay.verifier.began') {
      for (const problem of begunProblems(gate, seats, size, seat)) problems.push([problem, event])
      seats.set(seat, 'at work')
    } else if (type === 'assay.verifier.started') {
      const idle = idleIn(seats, size)
      if (!stopsEarly(gate) && idle.length > 0) problems.push([`started before ${show(idle[0])} was asked`, event])
    } else if (type === 'assay.verifier.ended') {
      seats.set(seat, payload.vote === 'none' ? 'missing' : payload.vote === 'fail' ? 'against' : 'for')
    } else if (type === RESUMED) {
      for (const [other, is] of seats) if (is === 'missing') seats.delete(other)
    } else if (type === CONFIRMING) {
      seats.clear()
      size = number(payload.verifiers) ?? 0
    }
  }
  return problems
}

const stopsEarly = (gate: Fields): boolean => get(gate.multi_verifier, 'early_stop') === true

const idleIn = (seats: ReadonlyMap<number, Seat>, size: number): number[] =>
  Array.from({ length: size }, (_, seat) => seat).filter(seat => !seats.has(seat))

function begunProblems(gate: Fields, seats: ReadonlyMap<number, Seat>, size: number, seat: number): string[] {
  const before = idleIn(seats, size).filter(other => other < seat)
  const problems = before.length > 0 ? [`asked before ${show(before[0])}`] : []
  const isAnybodyAtWork = [...seats.values()].includes('at work')
  const hoped = [...seats].filter(([, is]) => is === 'for' || is === 'at work').map(([other]) => other)
  if (stopsEarly(gate) && isAnybodyAtWork && isSeatQuorum(gate, size, hoped))
    problems.push(`asked, and ${hoped.length} of ${size} would be enough`)
  return problems
}
