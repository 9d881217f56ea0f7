import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { chainsIn } from '../handoff/chains.js'
import { get, number, show } from '../json.js'
import { hasCompleted, nodeAttemptOf } from '../node/node-attempts.js'
import { withoutRemarks } from '../story.js'
import {
  eventsIn,
  HELD,
  placeOf,
  positionOf,
  RENDERED,
  REWORK,
  TOOL_WITHHELD,
  VERIFIED,
  type VerificationAttempt,
  verificationAttemptOf,
  verificationAttemptsOf,
  WITHHELD,
} from './verification-attempts.js'

/** Rework: work that a gate has sent back. */
export const reworkRules: readonly Rule[] = [
  {
    id: 'L24i',
    title:
      'Attempts at a gate count 1, 2, 3 … for one piece of work, which a node begins anew unless it was sent back; a gate sends no work back after the last that it allows',
    source: 'agents R-DWS-22, R-DWS-35',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const works = new Map<string, Work>()
      for (const verification of verificationAttemptsOf(run)) {
        if (verification.point === 'none') continue
        const key = `${placeOf(run, verification)}/${verification.gateId}`
        const work = workAt(run, verification, works.get(key))
        works.set(key, work)
        if (verification.attempt !== work.made + 1)
          say(`attempt ${verification.attempt}; ${work.made + 1} is due`, verification.started)
        if (isAttempt(verification)) work.made = verification.attempt
        work.verdict = verification.verdicts.at(-1)?.payload.verdict ?? work.verdict
        const returned = verification.verdicts.find(({ payload }) => payload.verdict === 'revise')
        if (returned === undefined) continue
        // Work that another gate has sent back does not count as an attempt at this gate.
        work.sentBack += 1
        const most = number(get(verification.gate?.gate_behaviour, 'max_attempts')) ?? Number.POSITIVE_INFINITY
        if (work.sentBack >= most) say(`sent back ${work.sentBack} times; ${most} attempts are allowed`, returned)
      }
    }),
  },
  {
    id: 'L24j',
    title:
      'Work is done again exactly when the verdict is revise, as the next attempt at the same gate, by whoever did it; otherwise it is withheld, or the run stops',
    source: 'agents R-VERIFY-14, R-DWS-20, R-DWS-34',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const [problem, event] of consequenceProblems(run)) say(problem, event)
      for (const verification of verificationAttemptsOf(run)) {
        for (const event of eventsIn(verification, REWORK))
          for (const problem of returnProblems(run, verification, event)) say(problem, event)
        for (const event of eventsIn(verification, WITHHELD, TOOL_WITHHELD))
          for (const problem of withheldProblems(verification, event)) say(problem, event)
      }
      for (const event of run.events)
        if ([REWORK, WITHHELD, TOOL_WITHHELD].includes(event.type) && verificationAttemptOf(run, event) === undefined)
          say('nothing is put to a gate here', event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

/** One piece of work at one gate; its attempts are counted together. */
type Work = { readonly began: number; made: number; sentBack: number; verdict: unknown }

/** A new start of the node is new work, unless the work was sent back to the supervisor that handed it out. */
function workAt(run: RunLog, { point, node, started }: VerificationAttempt, before: Work | undefined): Work {
  const isFirst = ({ type, node: id, payload, sequence }: LoggedEvent) =>
    type === 'node.started' && id === node && sequence < started.sequence && (number(payload.attempt) ?? 0) === 0
  const began = point === 'run' ? 0 : (run.events.findLast(isFirst)?.sequence ?? 0)
  if (before !== undefined && (before.began === began || before.verdict === 'revise')) return { ...before, began }
  return { began, made: 0, sentBack: 0, verdict: undefined }
}

/** A result that proceeded without a verdict counts as an attempt, too. */
const isAttempt = (verification: VerificationAttempt): boolean =>
  eventsIn(verification, RENDERED, VERIFIED).length > 0 ||
  eventsIn(verification, HELD).some(({ payload }) => payload.proceeds === true)

const STOPS: readonly string[] = ['assay.stop.requested', 'node.cancelled']

/** What comes next after a verdict that is not a pass, by where the result was to be merged. */
const AFTER: { readonly [verdict: string]: { readonly [point: string]: readonly string[] } } = {
  revise: {
    harvest: [REWORK, WITHHELD, 'cap.breached', ...STOPS],
    node: ['agent.invocation.completed', 'cap.breached', ...STOPS],
    run: [REWORK, 'cap.breached', ...STOPS],
    // A tool is not asked to do better.
    tool: [],
  },
  fail: {
    harvest: [WITHHELD, 'interrupt.requested', ...STOPS],
    tool: [TOOL_WITHHELD, 'interrupt.requested', ...STOPS],
    node: ['interrupt.requested', 'agent.invocation.completed', ...STOPS],
    run: ['interrupt.requested', 'run.failed', ...STOPS],
  },
}

function consequenceProblems(run: RunLog): Problem[] {
  const problems: Problem[] = []
  const story = withoutRemarks(run)
  story.forEach((event, place) => {
    const { verdict } = event.payload
    const next = story[place + 1]
    const allowed = AFTER[String(verdict)]?.[verificationAttemptOf(run, event)?.point ?? '']
    if (event.type === VERIFIED && next !== undefined && allowed?.includes(next.type) === false)
      problems.push([`${show(verdict)}, and then ${next.type}`, event])
    if (event.type !== REWORK) return
    const last = story[place - 1]
    const before = last?.type === 'agent.invocation.completed' ? story[place - 2] : last
    if (before?.type !== VERIFIED || before.payload.verdict !== 'revise')
      problems.push([`done again after ${before?.type ?? 'nothing'}`, event])
  })
  return problems
}

function returnProblems(run: RunLog, verification: VerificationAttempt, event: LoggedEvent): string[] {
  const { payload, node, sequence } = event
  const { attempt, gateId, point, started, gate } = verification
  const problems: string[] = []
  if (payload.attempt !== attempt + 1) problems.push(`attempt ${show(payload.attempt)} after ${attempt}`)
  if (payload.gateId !== gateId || payload.point !== point)
    problems.push(`sent back by ${show(payload.gateId)} at ${show(payload.point)}, verified was ${gateId} at ${point}`)
  if (payload.workerId !== started.payload.workerId) problems.push(`sent back to ${show(payload.workerId)}`)
  if (point === 'run' && gate !== undefined && positionOf(gate, 'phase_id') !== node)
    problems.push(`the work goes back to ${show(node)}`)
  if (point === 'run') {
    const next = run.events.find(({ type, sequence: at }) => type === 'node.started' && at > sequence)
    if (next !== undefined && next.node !== node) problems.push(`${show(next.node)} begins, not ${show(node)}`)
  }
  const nodeAttempt = point === 'harvest' ? nodeAttemptOf(run, event) : undefined
  if (nodeAttempt === undefined || !hasCompleted(nodeAttempt)) return problems
  const isDone = chainsIn(run, nodeAttempt).some(
    ({ again, events }) => again !== undefined && (events[0]?.sequence ?? 0) > sequence,
  )
  return isDone ? problems : [...problems, 'nobody has done it again']
}

function withheldProblems(
  { gateId, attempt, target, verdicts, started }: VerificationAttempt,
  event: LoggedEvent,
): string[] {
  const { payload, sequence } = event
  const verdict = verdicts.findLast(earlier => earlier.sequence < sequence)?.payload.verdict
  const problems: string[] = []
  const isTools = event.type === TOOL_WITHHELD
  const [told, what] = isTools ? ['fail', payload.callId] : [payload.verdict, payload.targetRef]
  if (verdict !== told || verdict === 'pass')
    problems.push(`withheld as ${show(told)}, the verdict is ${show(verdict)}`)
  if (payload.gateId !== gateId || payload.attempt !== attempt || what !== target)
    problems.push(`withheld is ${show(what)}, verified was ${show(target)}`)
  if (payload.workerId !== started.payload.workerId) problems.push(`withheld from ${show(payload.workerId)}`)
  return problems
}
