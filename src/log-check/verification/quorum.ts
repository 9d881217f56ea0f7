import { eachRun, type Fields, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { behindMask, isGateQuestion } from '../interrupt/questions.js'
import { get, list, number, show, text } from '../json.js'
import { withoutRemarks } from '../story.js'
import { costProblems } from './costs.js'
import {
  eventsIn,
  FINDING,
  HELD,
  RENDERED,
  roundsIn,
  type VerificationAttempt,
  verificationAttemptOf,
  verificationAttemptsOf,
} from './verification-attempts.js'
import { votesIn } from './verifiers.js'

/** How votes and findings become a verdict. */
export const quorumRules: readonly Rule[] = [
  {
    id: 'L24d',
    title:
      'A result is put to a gate that the run was started with, and what was found is told once of it: each finding, then the record with all of them and with what the attempt has cost, then the verdict',
    source: 'agents R-DWS-13, R-DWS-27, R-DWS-31, R-DWS-35, §23.3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const [problem, event] of tellingProblems(run)) say(problem, event)
      for (const verification of verificationAttemptsOf(run)) {
        if (!isPinned(run, verification)) say('not the gate that the run was started with', verification.started)
        for (const extra of eventsIn(verification, RENDERED).slice(1))
          say('a second verdict in one verification', extra)
        for (const event of eventsIn(verification, RENDERED, FINDING))
          for (const problem of namingProblems(verification, event)) say(problem, event)
      }
    }),
  },
  {
    id: 'L24h',
    title:
      'A verdict has the votes that were given, and is one that the votes that are missing could not change; a warning makes a pass conditional',
    source: 'agents R-DWS-16, R-DWS-17, R-DWS-25, R-DWS-36, §23.2',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const verification of verificationAttemptsOf(run)) {
        const { rendered } = verification
        if (rendered !== undefined)
          for (const problem of countProblems(run, verification, rendered)) say(problem, rendered)
      }
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

/** Later changes of a gate do not touch a run. */
function isPinned({ started: { gates } }: RunLog, { gateId, started }: VerificationAttempt): boolean {
  const { gateVersion, gateHash } = started.payload
  const pinned = list(gates).find(gate => get(gate, 'gateId') === gateId)
  return gates === undefined || (get(pinned, 'version') === gateVersion && get(pinned, 'hash') === gateHash)
}

const RECORD = 'dws.verification-result'

function tellingProblems(run: RunLog): Problem[] {
  const problems: Problem[] = []
  const story = withoutRemarks(run)
  story.forEach((event, place) => {
    if (event.type === RENDERED || event.type === FINDING) {
      if (verificationAttemptOf(run, event) === undefined) problems.push(['nothing is put to a gate here', event])
    }
    const next = story[place + 1]
    if (event.type === FINDING && next !== undefined && next.type !== FINDING && !isRecord(next))
      problems.push([`a finding, and then ${next.type}`, event])
    const undecided = undecidedIn(event)
    if (undecided !== undefined && (story[place - 1]?.payload.artifactId ?? '') !== undecided)
      problems.push(['there is no record of what could not be checked', event])
    if (event.type !== RENDERED) return
    const record = story[place - 1]
    if (record === undefined || !isRecord(record) || record.payload.artifactId !== event.payload.resultArtifactId)
      problems.push(['there is no record of it', event])
    else problems.push(...recordProblems(run, verificationAttemptOf(run, event), record))
  })
  return problems
}

/** The record that is named where nobody could decide: by the gate that goes on, or in what a person is asked. */
function undecidedIn(event: LoggedEvent): unknown {
  if (event.type === HELD) return event.payload.resultArtifactId
  if (event.type !== 'interrupt.requested' || !isGateQuestion(event)) return undefined
  return get(behindMask(event, 'data'), 'resultArtifactId')
}

const isRecord = ({ type, payload }: LoggedEvent): boolean =>
  type === 'artifact.created' && payload.artifactType === RECORD

/** Undefined without the records that are kept beside the log. */
function recordProblems(run: RunLog, verification: VerificationAttempt | undefined, record: LoggedEvent): Problem[] {
  const content = get(record.raw.secret, 'content')
  if (verification === undefined || content === undefined) return []
  const told = eventsIn(verification, FINDING).map(({ payload }) => payload.findingId)
  const kept = list(get(content, 'findings')).map(finding => get(finding, 'finding_id'))
  const costs = costProblems(run, verification, content).map((problem): Problem => [problem, record])
  if (show(told) === show(kept)) return costs
  return [[`${told.length} findings are told, ${kept.length} are kept`, record], ...costs]
}

function namingProblems(
  { gateId, attempt, started, gate }: VerificationAttempt,
  { type, payload }: LoggedEvent,
): string[] {
  const problems: string[] = []
  if (payload.gateId !== gateId || payload.attempt !== attempt)
    problems.push(`of ${show(payload.gateId)}, attempt ${show(payload.attempt)}; verified is ${gateId}, ${attempt}`)
  if (type === RENDERED && payload.resultHash !== started.payload.resultHash)
    problems.push('a verdict over another result')
  const known = list(gate?.evaluation_criteria).map(criterion => get(criterion, 'dimension'))
  // R-DWS-32: what a model says never becomes a key.
  if (type === FINDING && gate !== undefined && !known.includes(payload.dimension))
    problems.push(`the gate knows no ${show(payload.dimension)}`)
  return problems
}

function countProblems(run: RunLog, verification: VerificationAttempt, { payload }: LoggedEvent): string[] {
  const rounds = roundsIn(verification).map(round => ({ ...round, votes: votesIn(round) }))
  const votes = rounds.flatMap(round => round.votes)
  const passing = votes.filter(({ vote }) => vote !== 'fail').length
  const { votes: told, passVotes } = {
    votes: get(payload.quorum, 'votes'),
    passVotes: get(payload.quorum, 'passVotes'),
  }
  const problems: string[] = []
  if (told !== votes.length || passVotes !== passing)
    problems.push(`${show(passVotes)} of ${show(told)} votes pass; given were ${passing} of ${votes.length}`)
  const isPass = payload.dwsVerdict !== 'fail'
  if (isPass) problems.push(...conditionProblems(run, verification, payload.dwsVerdict))
  rounds.forEach((round, k) => {
    // What one round has passed the next goes on with.
    problems.push(...roundProblems(verification, round, isPass || k < rounds.length - 1))
  })
  return problems
}

type Voted = ReturnType<typeof roundsIn>[number] & { readonly votes: ReturnType<typeof votesIn> }

function roundProblems({ gate, started }: VerificationAttempt, { verifiers, votes }: Voted, isPass: boolean): string[] {
  if (verifiers === 0) return []
  const seatsOf = (chosen: typeof votes) => chosen.map(({ seat }) => seat)
  const against = seatsOf(votes.filter(({ vote }) => vote === 'fail'))
  const passing = seatsOf(votes.filter(({ vote }) => vote !== 'fail'))
  if (isPass) return isSeatQuorum(gate, verifiers, passing) ? [] : ['a pass without a quorum']
  const others = Array.from({ length: verifiers }, (_, seat) => seat).filter(seat => !against.includes(seat))
  const mayPass = gate !== undefined && isSeatQuorum(gate, verifiers, others)
  // A probe of the host that failed counts, whatever the verifiers vote.
  return mayPass && started.payload.probesFailed === 0 ? ['a fail that the missing votes could have changed'] : []
}

/** R-DWS-16, R-DWS-17: a pass is conditional over warnings, over what was outvoted, and over a mean that is short. */
function conditionProblems(run: RunLog, verification: VerificationAttempt, dwsVerdict: unknown): string[] {
  const isNew = !isBefore(run, 3)
  // A run that began under older rules may go on under these, which call more passes conditional.
  if (!isNew && dwsVerdict === 'conditional_pass') return []
  const counts = isNew ? ['warning', 'blocking'] : ['warning']
  const found = eventsIn(verification, FINDING).some(({ payload }) => counts.includes(String(payload.classification)))
  const isShort = isNew ? hasShortMean(run, verification) : false
  // Scores are in the record, which not every reader sees.
  if (!found && isShort === undefined) return []
  const due = found || isShort === true
  if (due === (dwsVerdict === 'conditional_pass')) return []
  return [`${show(dwsVerdict)} ${due ? 'with' : 'without'} a warning`]
}

function hasShortMean(run: RunLog, { rendered }: VerificationAttempt): boolean | undefined {
  const record = run.events.find(
    ({ type, payload }) => type === 'artifact.created' && payload.artifactId === rendered?.payload.resultArtifactId,
  )
  const content = get(record?.raw.secret, 'content')
  if (content === undefined) return undefined
  return list(get(content, 'criteria')).some(criterion => {
    const score = number(get(criterion, 'score'))
    return score !== undefined && score < (number(get(criterion, 'pass_threshold')) ?? score)
  })
}

/** Differences within rounding error count as equal. */
const TIE = 1e-9

/** Whether these seats are enough; where the gate is not shown, one is, for a pass. */
export function isSeatQuorum(gate: Fields | undefined, seats: number, passing: readonly unknown[]): boolean {
  const policy = gate?.multi_verifier
  const least = number(get(policy, 'min_agree')) ?? 1
  const named = list(get(gate?.verifier_requirements, 'verifiers'))
  const weight = (seat: number): number => number(get(named[seat], 'weight')) ?? 1
  const all = Array.from({ length: seats }, (_, seat) => seat)
  const sum = (chosen: readonly number[]) => chosen.reduce((total, seat) => total + weight(seat), 0)
  switch (text(get(policy, 'quorum_strategy'))) {
    case 'majority':
      return passing.length >= Math.max(Math.floor(seats / 2) + 1, least)
    case 'unanimous':
      return passing.length === seats
    case 'weighted':
      return 2 * sum(all.filter(seat => passing.includes(seat))) - sum(all) > TIE * sum(all) && passing.length >= least
    default:
      return passing.length >= Math.max(1, least)
  }
}
