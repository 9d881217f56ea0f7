import { eachRun, type Fields, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { chainsIn, phaseOf } from '../handoff/chains.js'
import { stepsOf } from '../invocation/invocation-order.js'
import { AGENT, type Invocation, invocationsOf } from '../invocation/invocations.js'
import { get, show, text } from '../json.js'
import {
  attemptsThatHandOut,
  eventsOfType,
  hasCompleted,
  type NodeAttempt,
  nodeAttemptOf,
  nodeAttemptsOfType,
  oncePerRun,
} from '../node/node-attempts.js'
import { subjectsBefore } from './subjects.js'
import {
  eventsIn,
  gatesOf,
  HELD,
  positionOf,
  STAGED,
  TOOL_DELIVERED,
  TOOL_WITHHELD,
  VERIFIED,
  type VerificationAttempt,
  verificationAttemptsOf,
} from './verification-attempts.js'

/** A result is merged only after its gates have passed it. */
export const gatedMergeRules: readonly Rule[] = [
  {
    id: 'L24b',
    title: 'After a verdict of fail or revise the result is not merged until a later pass over the same result',
    source: 'agents R-VERIFY-11, R-VERIFY-21',
    checks: eachRun((run, say) => {
      const verdicts = new Map<LoggedEvent, unknown>()
      for (const event of run.events) {
        if (event.type === VERIFIED)
          for (const subject of subjectsBefore(run, event, event.payload.target))
            verdicts.set(subject, event.payload.verdict)
        for (const subject of mergedBy(run, event)) {
          const verdict = verdicts.get(subject) ?? 'pass'
          if (verdict !== 'pass') say(`merged, and the verdict is ${show(verdict)}`, event)
        }
      }
    }),
  },
  {
    id: 'L24c',
    title:
      'A result is merged when every gate that stands before it has let this very result pass, after it was put to that gate for the last time',
    source: 'agents R-VERIFY-10, §11.2, §23.2',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const merge of mergesOf(run)) for (const problem of mergeProblems(run, merge)) say(problem, merge.event)
    }),
  },
  {
    id: 'L24t',
    title:
      'What a tool brings, where a gate stands before it, is put to the gate, and the agent goes on when it was given to it or withheld; words of a tool that failed are not given where the gate blocks',
    source: 'agents §11.2, R-VERIFY-10',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of returnProblems(run, invocation)) say(problem, event)
    }),
  },
]

/** A call that was denied, or that came back with nothing to judge, is not before any gate. */
function returnProblems(run: RunLog, invocation: Invocation): [string, LoggedEvent][] {
  const steps = stepsOf(invocation)
  return steps.flatMap((event, place): [string, LoggedEvent][] => {
    if (event.type === TOOL_DELIVERED || event.type === TOOL_WITHHELD)
      return steps[place - 1]?.payload.callId === event.payload.callId ? [] : [['it is of another call', event]]
    if (event.type !== 'agent.toolReturned') return []
    const gates = (gatesOf(run) ?? []).filter(
      gate =>
        positionOf(gate, 'tool_name') === event.payload.toolId &&
        positionOf(gate, 'phase_id') === invocation.nodeAttempt.node,
    )
    if (gates.length === 0) return []
    const { secret } = event.raw
    if (event.payload.status !== 'ok') {
      const isBlocking = gates.some(gate => get(gate.gate_behaviour, 'blocking') !== false)
      const isGiven = get(secret, 'contents') !== undefined && get(secret, 'withheld') === undefined
      return isBlocking && isGiven ? [['words of a tool that failed are given past its gate', event]] : []
    }
    const next = steps[place + 1]
    const isHeld = next === undefined || [TOOL_DELIVERED, TOOL_WITHHELD].includes(next.type)
    return isHeld && (secret === undefined || get(secret, 'gated') === true) ? [] : [['given past its gate', event]]
  })
}

/** What an event merges, by what brought it: the end of a child, or the latest decision of an agent at a node. */
function mergedBy(run: RunLog, event: LoggedEvent): LoggedEvent[] {
  if (phaseOf(event) === 'output.harvested') return subjectsBefore(run, event, event.payload.childRunId)
  if (event.type === TOOL_DELIVERED) return subjectsBefore(run, event, event.payload.callId)
  const nodeAttempt = event.type === 'node.completed' ? nodeAttemptOf(run, event) : undefined
  return nodeAttempt === undefined ? [] : eventsOfType(nodeAttempt, 'agent.decided').slice(-1)
}

type Merge = {
  readonly event: LoggedEvent
  /** Sequence at which the result appeared; verifications before it do not count. */
  readonly since: number
  readonly point: 'harvest' | 'node' | 'tool' | 'run'
  /** Undefined at the exit of a run. */
  readonly nodeAttempt?: NodeAttempt
  readonly workerId?: string | undefined
  readonly toolId?: unknown
  /** Undefined where only one result can be meant. */
  readonly target?: unknown
}

const mergesOf = (run: RunLog): Merge[] => [
  ...attemptsThatHandOut(run).flatMap(nodeAttempt => workersIn(run, nodeAttempt)),
  ...nodeAttemptsOfType(run, AGENT).filter(hasCompleted).map(byNode),
  ...run.events.filter(({ type }) => type === TOOL_DELIVERED).flatMap(event => byTool(run, event)),
  ...run.events.filter(({ type }) => type === 'run.completed').map(event => byRun(run, event)),
]

/** Where nothing is mapped, a worker brings nothing that could be judged. */
const workersIn = (run: RunLog, nodeAttempt: NodeAttempt): Merge[] =>
  chainsIn(run, nodeAttempt).flatMap(({ events, workerId }): Merge[] => {
    const harvested = events.find(event => phaseOf(event) === 'output.harvested')
    const brought = events.find(event => phaseOf(event) === 'child.completed')
    if (harvested === undefined || brought === undefined) return []
    const { childRunId: target } = brought.payload
    return [{ event: harvested, since: brought.sequence, point: 'harvest', nodeAttempt, workerId, target }]
  })

const byNode = (nodeAttempt: NodeAttempt): Merge => {
  const decided = eventsOfType(nodeAttempt, 'agent.decided').at(-1)
  return {
    event: nodeAttempt.end ?? nodeAttempt.start,
    since: decided?.sequence ?? -1,
    point: 'node',
    nodeAttempt,
  }
}

const byTool = (run: RunLog, event: LoggedEvent): Merge[] => {
  const { callId: target, toolId } = event.payload
  const [returned] = subjectsBefore(run, event, target)
  const nodeAttempt = nodeAttemptOf(run, event)
  if (returned === undefined || nodeAttempt === undefined) return []
  return [{ event, since: returned.sequence, point: 'tool', nodeAttempt, toolId, target }]
}

const byRun = (run: RunLog, event: LoggedEvent): Merge => ({
  event,
  since: run.events.findLast(({ type, payload }) => type === STAGED && payload.point === 'run')?.sequence ?? -1,
  point: 'run',
})

/** By node attempt; verifications at the exit of the run belong to no attempt, because no node works then. */
const verificationsIn = (run: RunLog, nodeAttempt: NodeAttempt | undefined): readonly VerificationAttempt[] =>
  byNodeAttempt(run).get(nodeAttempt) ?? []

const byNodeAttempt = oncePerRun((run: RunLog): Map<NodeAttempt | undefined, VerificationAttempt[]> => {
  const grouped = new Map<NodeAttempt | undefined, VerificationAttempt[]>()
  for (const verification of verificationAttemptsOf(run)) {
    const nodeAttempt = verification.point === 'run' ? undefined : nodeAttemptOf(run, verification.started)
    grouped.set(nodeAttempt, [...(grouped.get(nodeAttempt) ?? []), verification])
  }
  return grouped
})

function mergeProblems(run: RunLog, merge: Merge): string[] {
  const { event, since, point, nodeAttempt, target } = merge
  const verifications = verificationsIn(run, nodeAttempt).filter(
    verification =>
      verification.started.sequence > since &&
      verification.started.sequence < event.sequence &&
      verification.point === point &&
      (target === undefined || verification.target === target),
  )
  const wanted = wantedAt(run, merge)
  const asked = new Set(wanted ?? verifications.map(({ gateId }) => gateId))
  return [...asked].flatMap(gateId => {
    const latest = verifications.findLast(verification => verification.gateId === gateId)
    if (latest === undefined) return [`merged past gate ${show(gateId)}`]
    const problems = passProblems(latest, event)
    return problems.length === 0 && latest.blocking ? contentProblems(run, latest, event) : problems
  })
}

/** From version 3 of the rules on, a merge names what it merges, and a pass what of it was judged (docs/contract/store.md). */
function contentProblems(
  run: RunLog,
  { gateId, gate, started, verdicts }: VerificationAttempt,
  event: LoggedEvent,
): string[] {
  const [first] = run.events
  // Where the log does not show what is stored beside it, nothing can be said.
  if (gate === undefined || Number(first?.payload.engineVersion) < 3) return []
  const label = get(verdicts.findLast(({ sequence }) => sequence < event.sequence)?.raw.secret, 'label')
  const asksAll = get(gate.gate_behaviour, 'confirm') === 'full'
  return [
    ...(get(event.raw.secret, 'resultHash') === started.payload.resultHash
      ? []
      : [`the merge does not name the result that gate ${show(gateId)} has passed`]),
    ...(asksAll && label === 'verified in part' ? [`gate ${show(gateId)} asks more than was judged`] : []),
  ]
}

/** The gates that stand before a merge; undefined where the log does not show them. */
function wantedAt(run: RunLog, { point, nodeAttempt, workerId, toolId }: Merge): (string | undefined)[] | undefined {
  const stands = (gate: Fields): boolean => {
    const isExit = positionOf(gate, 'placement') === 'workflow_exit'
    if (point === 'run' || isExit) return point === 'run' && isExit
    const tool = positionOf(gate, 'tool_name')
    if (point === 'tool' || tool !== undefined)
      return point === 'tool' && tool === toolId && positionOf(gate, 'phase_id') === nodeAttempt?.node
    const worker = positionOf(gate, 'worker_id')
    return positionOf(gate, 'phase_id') === nodeAttempt?.node && (worker === undefined || worker === workerId)
  }
  return gatesOf(run)
    ?.filter(stands)
    .map(gate => text(gate.gate_id))
}

function passProblems(verification: VerificationAttempt, { sequence }: LoggedEvent): string[] {
  const { gateId, blocking, verdicts, rendered, started } = verification
  const verdict = verdicts.findLast(event => event.sequence < sequence)
  const isLet = rendered !== undefined || eventsIn(verification, HELD).some(({ payload }) => payload.proceeds === true)
  if (!blocking) return isLet ? [] : [`merged before gate ${show(gateId)} was done`]
  if (verdict?.payload.verdict !== 'pass') return [`merged, and gate ${show(gateId)} has not let it pass`]
  const judged = get(verdict.raw.secret, 'resultHash')
  return judged === undefined || judged === started.payload.resultHash ? [] : ['a pass over another result']
}
