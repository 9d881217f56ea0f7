import { isPeerRun } from '../handoff/peer-names.js'
import { eachRun, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import type { GraphNode } from '../graph.js'
import { isGateQuestion } from '../interrupt/questions.js'
import { invocationOf } from '../invocation/invocations.js'
import { get, list, show } from '../json.js'
import { causeOf, eventsById } from '../node/node-attempts.js'
import { withoutRemarks } from '../story.js'
import { subjectsBefore } from './subjects.js'
import {
  eventsIn,
  judgedIn,
  OVERRIDE,
  RENDERED,
  STAGED,
  VERIFIED,
  type VerificationAttempt,
  verificationAttemptOf,
  verificationAttemptsOf,
} from './verification-attempts.js'

/** Verdicts, and the results they are about. */
export const verdictRules: readonly Rule[] = [
  {
    id: 'L24',
    title: 'A verdict is over a result that is there: a decision of an agent, a child of this run, or a call of a tool',
    source: 'agents §11.1',
    checks: eachRun((run, say, { input }) => {
      for (const event of run.events) {
        const { type, payload } = event
        if (type !== VERIFIED && type !== STAGED) continue
        // Elsewhere a result may be judged that another host has; what is judged here was brought here.
        if (input.dialect === 'openwop' && payload.causationHostId !== undefined) continue
        const target = type === VERIFIED ? payload.target : payload.targetRef
        if (subjectsBefore(run, event, target).length === 0) say(`there is no ${show(target)}`, event)
      }
    }),
  },
  {
    id: 'L24a',
    title:
      'A result is judged, and the verdict told, because of the event that brought it, or, of what a peer brought, of the end of the run there; a verdict over a decision is told before the invocation that made it ends',
    source: 'agents R-VERIFY-23, R-XHOST-2, §29 A14',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const { started, target, verdicts, point } of verificationAttemptsOf(run)) {
        for (const event of [started, ...verdicts]) {
          const problem = causeProblem(run, event, target)
          if (problem !== undefined) say(problem, event)
          if ((point === 'node' || point === 'tool') && invocationOf(run, event) === undefined)
            say('told outside of the invocation', event)
        }
      }
    }),
  },
  {
    id: 'L24e',
    title:
      'A verdict follows from what was found: a pass from a pass or a forced one, else revise or fail; a gate that does not block never says either; whose word it is and what it was held to is told',
    source: 'agents §23.2, R-VERIFY-6, R-VERIFY-8',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of run.events)
        if (event.type === VERIFIED && verificationAttemptOf(run, event) === undefined)
          say('a verdict without a verification', event)
      for (const verification of verificationAttemptsOf(run)) {
        for (const [problem, event] of translationProblems(verification)) say(problem, event)
        for (const event of verification.verdicts)
          for (const problem of wordProblems(run, verification, event)) say(problem, event)
        if (!isBefore(run, 3)) for (const [problem, event] of labelProblems(run, verification)) say(problem, event)
      }
      for (const [problem, event] of silenceProblems(run)) say(problem, event)
    }),
  },
  {
    id: 'L24f',
    title: 'That somebody judged their own work is told exactly when they did',
    source: 'agents R-VERIFY-7, R-VERIFY-8',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const verification of verificationAttemptsOf(run)) {
        const actors = actorsOf(run, verification)
        if (actors === undefined) continue
        const isSelf = votersOf(verification).some(({ payload }) => actors.includes(payload.agentId))
        for (const event of verification.verdicts)
          if (list(event.payload.criteria).includes(SELF) !== isSelf)
            say(isSelf ? 'somebody judged their own work' : 'nobody judged their own work', event)
      }
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

const SELF = 'self-verification'
const FORCED = 'gate.on-fail.conditional-pass'
const CONFIRMED = 'human-confirmed'
const OVERRIDDEN = 'human-override'
const UNANSWERED = 'no-answer'
const ACCEPTED = 'human-accepted'
const KEYS: readonly unknown[] = [SELF, FORCED, CONFIRMED, OVERRIDDEN, ACCEPTED, UNANSWERED]

/** Verdicts of the gate itself, not of a person who was asked or did not answer. */
const isOfGate = ({ payload }: LoggedEvent): boolean =>
  payload.agentId !== OVERRIDE && !list(payload.criteria).includes(UNANSWERED)

const isPassing = (dwsVerdict: unknown): boolean => dwsVerdict === 'pass' || dwsVerdict === 'conditional_pass'

function translationProblems({ rendered, blocking, point, verdicts }: VerificationAttempt): Problem[] {
  const problems: Problem[] = []
  const own = verdicts.filter(isOfGate)
  for (const extra of own.slice(1)) problems.push(['a second verdict of the gate', extra])
  const [verdict] = own
  if (verdict !== undefined && rendered === undefined) problems.push(['a verdict that was not rendered', verdict])
  if (rendered === undefined) return problems
  const { dwsVerdict, forced, proceeds } = rendered.payload
  const isFailed = !isPassing(dwsVerdict)
  // A goal is told whatever its judge says of it.
  const isSilent = point !== 'goal' && (point === 'none' || (!blocking && isFailed))
  if ((proceeds === true) !== isSilent)
    problems.push([`${show(dwsVerdict)}, and it ${isSilent ? 'waits' : 'proceeds'}`, rendered])
  if (isSilent && verdicts[0] !== undefined) problems.push(['a gate that does not block says what would', verdicts[0]])
  if (forced === true && !(blocking && isFailed)) problems.push([`${show(dwsVerdict)} is forced`, rendered])
  if (verdict === undefined) return problems
  const due = !isFailed || forced === true ? ['pass'] : ['revise', 'fail']
  if (!due.includes(String(verdict.payload.verdict)))
    problems.push([`${show(dwsVerdict)} becomes ${show(verdict.payload.verdict)}`, verdict])
  if (list(verdict.payload.criteria).includes(FORCED) !== (forced === true))
    problems.push([forced === true ? 'forced, and not told' : 'not forced, and told so', verdict])
  return problems
}

/** Who gave the verdict, and which criteria it names. */
function wordProblems(run: RunLog, verification: VerificationAttempt, { payload }: LoggedEvent): string[] {
  const { started, target, gateId } = verification
  const problems: string[] = []
  if (payload.target !== target) problems.push(`a verdict over ${show(payload.target)}, verified is ${show(target)}`)
  const judged = judgedIn(verification)
  const keys = list(payload.criteria)
  if (judged.some((key, place) => keys[place] !== key) || keys.slice(judged.length).some(key => !KEYS.includes(key)))
    problems.push(`held to ${show(keys)}, judged are ${show(judged)}`)
  if (payload.agentId === OVERRIDE) return problems
  const [voter] = votersOf(verification)
  // Nobody has passed what is forced: it is the word of the gate, and nobody's confidence.
  const isForced = !isBefore(run, 3) && keys.includes(FORCED)
  if (isForced && payload.confidence !== undefined) problems.push('forced, and somebody is sure of it')
  // One verifier that has voted is named; several, or none, judge in the name of the gate.
  const isOne = started.payload.verifiers === 1 && voter !== undefined && !keys.includes(UNANSWERED) && !isForced
  const due = isOne ? voter.payload.agentId : `host:gate:${gateId}`
  // A run that began under older rules may go on under these.
  const isOlds = isBefore(run, 3) && keys.includes(FORCED) && payload.agentId === `host:gate:${gateId}`
  if (payload.agentId !== due && !isOlds) problems.push(`the word of ${show(payload.agentId)}, not of ${show(due)}`)
  return problems
}

/** docs/contract/verification.md: what is said of a result that a blocking gate lets pass. */
function labelProblems(run: RunLog, verification: VerificationAttempt): Problem[] {
  const { rendered, blocking, point, gate, verdicts } = verification
  if (rendered === undefined) return []
  const { dwsVerdict, forced, label, judged } = rendered.payload
  const lets = blocking && point !== 'none' && (isPassing(dwsVerdict) || forced === true)
  const problems: Problem[] = []
  if (!lets && label !== undefined) problems.push([`called ${show(label)}, and does not pass`, rendered])
  if (!lets && judged !== undefined) problems.push([`judged in ${show(judged)}, and does not pass`, rendered])
  if (!lets) return problems
  const due = labelDue(verification)
  const isAsked = eventsIn(verification, 'interrupt.requested').some(isGateQuestion)
  // A person has the last word: until then nobody says what it is. Older runs did.
  const isOpen = isAsked && (label === undefined || !isBefore(run, 4))
  const said = isOpen ? saidIn(rendered) : label
  if (isOpen && label !== undefined)
    problems.push([`called ${show(label)}, and a person has yet to let it pass`, rendered])
  if (!isOpen && judged !== undefined) problems.push(['nobody is asked, and it has no label', rendered])
  // Without the gate nobody can see what it asks.
  if (said !== due && (gate !== undefined || said !== PART))
    problems.push([`called ${show(said)}, it is ${due}`, rendered])
  if (said === PART && gate && get(gate.gate_behaviour, 'confirm') !== 'none')
    problems.push(['what was left out is not judged', rendered])
  for (const event of verdicts) {
    const kept = get(event.raw.secret, 'label')
    const isPersons = list(event.payload.criteria).some(key => key === OVERRIDDEN || key === ACCEPTED)
    const now = event.payload.verdict !== 'pass' ? undefined : isPersons ? 'accepted' : said
    if (event.raw.secret !== undefined && kept !== now)
      problems.push([`kept as ${show(kept)}, not ${show(now)}`, event])
  }
  return problems
}

const PART = 'verified in part'

/** What a person who lets it pass makes of it. */
function saidIn({ payload: { dwsVerdict, judged } }: LoggedEvent): string | undefined {
  if (judged === 'part') return PART
  return judged === 'whole' ? (dwsVerdict === 'pass' ? 'verified' : 'conditional') : undefined
}

/** What may be said of a result that is let pass, by what the verdict and the gate say. */
function labelDue({ rendered, gate, ...verification }: VerificationAttempt): string {
  const { dwsVerdict, forced } = rendered?.payload ?? {}
  if (forced === true) return 'forced'
  const all = gate && list(gate.evaluation_criteria).map(criterion => get(criterion, 'dimension'))
  const judged = judgedIn({ rendered, gate, ...verification })
  if (all?.some(dimension => !judged.includes(dimension))) return PART
  return dwsVerdict === 'pass' ? 'verified' : 'conditional'
}

/** Whether it is due to what brought the result; with the first event that can, a run tells what has started it instead (L3c). */
function causeProblem(run: RunLog, event: LoggedEvent, target: unknown): string | undefined {
  const { causationHostId } = event.payload
  const subjects = subjectsBefore(run, event, target)
  if (event.type === VERIFIED && isPeerRun(target)) {
    const foreign = subjects.map(({ raw }) => get(raw.secret, 'foreign')).find(end => end !== undefined)
    const isDue = causeOf(event) === get(foreign, 'eventId') && causationHostId === get(foreign, 'hostId')
    return foreign === undefined || isDue ? undefined : `not caused by the end of ${show(target)}`
  }
  if (event.type === VERIFIED && causationHostId !== undefined) return undefined
  const cause = eventsById(run).get(causeOf(event) ?? '')
  if (cause !== undefined && subjects.includes(cause)) return undefined
  return `caused by ${cause?.type ?? 'nothing'}, not by what brought ${show(target)}`
}

/** A rendered verdict is followed by `agent.verified`, or by a question to a person. */
function silenceProblems(run: RunLog): Problem[] {
  const problems: Problem[] = []
  const story = withoutRemarks(run)
  story.forEach((event, place) => {
    const next = story[place + 1]
    if (event.type !== RENDERED || event.payload.proceeds === true || next === undefined) return
    if (next.node !== event.node || ![VERIFIED, 'interrupt.requested'].includes(next.type))
      problems.push([`followed by ${next.type}, not by a verdict`, event])
  })
  return problems
}

const votersOf = (verification: VerificationAttempt): LoggedEvent[] =>
  eventsIn(verification, 'assay.verifier.ended').filter(({ payload }) => payload.vote !== 'none')

/** Whose work is judged; undefined where the log does not show it. */
function actorsOf(run: RunLog, { point, started, target }: VerificationAttempt): unknown[] | undefined {
  if (point === 'node') return [invocationOf(run, started)?.agentId]
  // What a tool has brought is its own, and of no agent that asked for it.
  if (point === 'tool') return [invocationOf(run, started)?.agentId, toolOf(run, started, target)]
  // The result of the whole workflow is the work of every agent in it.
  if (point === 'run') return run.graph && [...run.graph.nodes.values()].flatMap(namesOf)
  const [ended] = subjectsBefore(run, started, target)
  if (ended?.raw.secret === undefined) return undefined
  return [started.payload.workerId, ...list(get(ended.raw.secret, 'agents'))]
}

const toolOf = (run: RunLog, started: LoggedEvent, target: unknown): unknown =>
  subjectsBefore(run, started, target)[0]?.payload.toolId

const namesOf = ({ agentId, config }: GraphNode): unknown[] =>
  [agentId, get(config, 'agentId'), get(config, 'workflowId')].filter(name => name !== undefined)
