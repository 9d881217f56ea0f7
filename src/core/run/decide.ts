/**
 * The run: hears commands of people and outcomes of the world, starts every node that may start, and ends once. The
 * other machines work inside one of its nodes, whose states stand at the head of `node-lifecycle.ts`.
 *
 * | state           | entered by                     | left by, to                                                    |
 * |-----------------|--------------------------------|----------------------------------------------------------------|
 * | absent          | -                              | StartRun: running                                              |
 * | active running  | run.started, run.resumed       | PauseRun: pausing, paused; stop: stopping, ended; quiet: ended |
 * | active pausing  | assay.pause.requested          | the host has nothing in hand: paused; PauseRun immediate; stop |
 * | active paused   | run.paused                     | ResumeRun: running; stop                                       |
 * | active stopping | assay.stop.requested           | ChildEnded of the last child: ended                            |
 * | ended           | run.completed, .failed,        | never                                                          |
 * |                 | .cancelled                     |                                                                |
 *
 * Stop: CancelRun, a bound, a failure that no edge tolerates, Quarantine. Quiet: no node is open, and none is ready.
 *  I1  The terminal event is the last, and no child that must not outlive the run is open then.
 *  I2  An outcome that nobody waits for under that `since` decides to nothing. A paused run hears no outcome.
 *  I3  Bounds are checked before the step they forbid; time is looked at before the outcome that comes with it.
 *  I4  A replay is told by its source alone: it takes `Retold`, a cancel and a quarantine, and refuses other commands.
 */

import type { Decision } from '../decider.js'
import { failure, type Refusal, refuse } from '../problem.js'
import { isoTime } from '../time.js'
import { advance } from './schedule.js'
import { boundProblems, durationBreach, nodeDueAt } from './limits.js'
import { loseCalls } from '../invocation/lifecycle.js'
import type { Recorded, StopRequested } from './events.js'
import { failNode, settleNode, startNode } from './node-lifecycle.js'
import { childEnded, childRefused, childStarted, childWaits } from '../handoff/decide.js'
import type { RecordedInput, RunInput } from './input.js'
import { inputProblems } from './inputs.js'
import { modelAnswered, modelLost, modelReasoned } from '../invocation/model-call.js'
import { toolAnswered } from '../invocation/tool-call.js'
import { briefed } from '../invocation/decide.js'
import { verifierEnded, verifierRefused, verifierStarted } from '../verification/verifiers.js'
import { REPLAY_ASKS_NOBODY, resolve, timeOut } from '../interrupt/decide.js'
import { maskInputs } from './redaction.js'
import { type Plan, type PlanNode, planNodeAt, planNodeOf } from '../workflow/plan.js'
import type { Retelling } from '../replay/guide.js'
import { tellBudget, withPolicies } from '../budget/decide.js'
import { nodeAt, type NodeState, type RunState, statusOf } from './state.js'
import { cancelStopped, childStopped, stop } from './stop.js'
import { type Limits, DecisionContext } from './decision-context.js'
import { inspected, resumeGate } from '../verification/decide.js'
import { questionOf, type Waiting } from './waiting.js'
import { misplaced } from '../verification/attempt.js'

export type Rules = { readonly plan: Plan; readonly limits: Limits; readonly capabilities: ReadonlySet<string> }

/** Every rule of a run. Writes nothing; a refusal is a value; an outcome nobody waits for decides to nothing. */
export function decide(rules: Rules, state: RunState, input: RunInput): Decision<RunState, Recorded> {
  if (state.phase !== 'absent' && state.fork?.mode === 'replay') return decideReplay(rules, state, input)
  if (input.type === 'Retold') return { ok: true, events: [], state }
  return decideLive(rules, state, input)
}

type Live = Exclude<RunInput, { type: 'Retold' }>

/** The rules themselves; a fork gives a retelling to go by. */
export function decideLive(
  rules: Rules,
  state: RunState,
  input: Live,
  retelling?: Retelling,
): Decision<RunState, Recorded> {
  if (input.type === 'StartRun') return start(rules, state, input, retelling)
  if (state.phase === 'absent') return { ok: false, refusal: refuse('not_found', 'the run does not exist') }
  const { now, ...heard } = input
  const turn = new DecisionContext(rules.plan, rules.limits, state, state.runId, now, heard as RecordedInput, retelling)
  const refusal = take(rules, turn, input)
  return refusal ? { ok: false, refusal } : { ok: true, events: turn.events, state: turn.state }
}

/** A replay hears its source and nobody else; all a person can do is stop it. */
function decideReplay(
  rules: Rules,
  state: Exclude<RunState, { phase: 'absent' }>,
  input: RunInput,
): Decision<RunState, Recorded> {
  const turn = new DecisionContext(rules.plan, rules.limits, state, state.runId, input.now)
  switch (input.type) {
    case 'Retold':
      for (const event of input.events)
        if (turn.state.phase === 'active' && event.sequence === turn.state.next) {
          turn.recall(event)
          turn.events.push(event)
        }
      break
    case 'CancelRun': {
      const refusal = cancel(turn, input)
      if (refusal) return { ok: false, refusal }
      break
    }
    case 'PauseRun':
    case 'ResumeRun':
      return { ok: false, refusal: refuse('run_not_pausable', 'a replay tells what was; it cannot be paused') }
    case 'ResolveInterrupt':
      return { ok: false, refusal: REPLAY_ASKS_NOBODY }
    case 'Quarantine':
      if (turn.state.phase === 'active') quarantine(turn, input)
  }
  return { ok: true, events: turn.events, state: turn.state }
}

function start(
  rules: Rules,
  state: RunState,
  input: Extract<RunInput, { type: 'StartRun' }>,
  retelling?: Retelling,
): Decision<RunState, Recorded> {
  if (state.phase !== 'absent') return { ok: true, events: [], state }
  const { plan, limits } = rules
  const { started, runId } = input
  const { gates = [] } = input
  const problems = [
    ...inputProblems(plan, started.inputs),
    ...boundProblems(started.configurable ?? {}),
    ...gates.flatMap(bound => misplaced(plan, bound)),
  ]
  if (problems.length > 0) return { ok: false, refusal: refuse('validation_error', problems.join('; '), { problems }) }
  if ((started.depth ?? 0) > limits.maxDepth) {
    const message = `the run would be nested ${started.depth} deep; the limit is ${limits.maxDepth}`
    return {
      ok: false,
      refusal: refuse('validation_error', message, { depth: started.depth ?? 0, limit: limits.maxDepth }),
    }
  }
  const turn = new DecisionContext(plan, limits, state, runId, input.now, undefined, retelling)
  const { shown, secret } = maskInputs(plan, started.inputs, input.hiddenInputs ?? [])
  const recorded = retelling === undefined ? withPolicies(started, plan, limits) : started
  const pinned = gates.map(({ gate, version, hash }) => ({ gateId: gate.gate_id, version, hash }))
  const unseen = { ...(secret ? { inputs: secret } : {}), ...(gates.length > 0 ? { gates } : {}) }
  turn.emit({
    type: 'run.started',
    payload: { ...recorded, inputs: shown, ...(gates.length > 0 ? { gates: pinned } : {}) },
    ...(Object.keys(unseen).length > 0 ? { secret: unseen } : {}),
  })
  tellBudget(turn)
  advance(turn, rules.capabilities)
  return { ok: true, events: turn.events, state: turn.state }
}

function take(rules: Rules, turn: DecisionContext, input: Exclude<Live, { type: 'StartRun' }>): Refusal | undefined {
  switch (input.type) {
    case 'ResolveInterrupt': {
      const refusal = resolve(turn, input)
      if (!refusal && turn.state.phase === 'active') advance(turn, rules.capabilities)
      return refusal
    }
    case 'CancelRun':
      return cancel(turn, input)
    case 'PauseRun':
      return pause(rules, turn, input)
    case 'ResumeRun':
      return resume(rules, turn, input)
    default:
      if (turn.state.phase === 'active') hear(rules, turn, input)
      return undefined
  }
}

type Asked<Type extends RunInput['type']> = Extract<RunInput, { type: Type }>

function cancel(turn: DecisionContext, { reason, by, parentRunId }: Asked<'CancelRun'>): Refusal | undefined {
  const status = statusOf(turn.state)
  if (status === 'cancelled' || status === 'cancelling') return undefined
  if (turn.state.phase === 'ended')
    return refuse('run_terminal', `the run has already ${status}; nothing is left to cancel`, { runStatus: status })
  if (turn.active.mode.kind === 'stopping') return undefined
  const why = parentRunId === undefined ? reason : 'parent-cancelled'
  stop(turn, {
    outcome: 'cancelled',
    ...(why === undefined ? {} : { reason: why }),
    cancelledBy: by,
    ...(parentRunId === undefined ? {} : { parentRunId }),
  })
  return undefined
}

function pause(rules: Rules, turn: DecisionContext, { drainPolicy, reason }: Asked<'PauseRun'>): Refusal | undefined {
  const status = statusOf(turn.state)
  if (turn.state.phase === 'ended')
    return refuse('run_terminal', `the run has already ${status}`, { runStatus: status })
  const { mode } = turn.active
  if (mode.kind === 'paused') {
    const pausedAt = isoTime(mode.at)
    return refuse('run_paused', `the run is already paused since ${pausedAt}; resume it first`, {
      runStatus: status,
      pausedAt,
    })
  }
  if (mode.kind === 'stopping' || (mode.kind === 'pausing' && drainPolicy !== 'immediate'))
    return refuse('run_not_pausable', `the run is ${mode.kind}; wait for it to settle`, { runStatus: status })
  const payload = { drainPolicy, ...(reason === undefined ? {} : { reason }) }
  if (drainPolicy === 'immediate') {
    loseCalls(turn)
    turn.emit({ type: 'run.paused', payload })
  } else turn.emit({ type: 'assay.pause.requested', payload })
  advance(turn, rules.capabilities)
  return undefined
}

function resume(rules: Rules, turn: DecisionContext, { reason }: Asked<'ResumeRun'>): Refusal | undefined {
  const status = statusOf(turn.state)
  if (turn.state.phase === 'ended' || turn.active.mode.kind !== 'paused')
    return refuse('run_not_paused', `the run is ${status}, not paused`, { runStatus: status })
  const cause = turn.emit({ type: 'run.resumed', payload: reason === undefined ? {} : { reason } })
  const breach = durationBreach(turn.plan, turn.active, turn.limits, turn.at)
  if (breach) stop(turn, breach)
  else restartInterrupted(rules, turn, cause)
  advance(turn, rules.capabilities)
  return undefined
}

/** Whatever can be done at once: also what a branch finds undone where its source was paused, or about to stop. */
export function goOn(rules: Rules, turn: DecisionContext): void {
  const { mode } = turn.active
  if (mode.kind === 'stopping') return stop(turn, mode.stop)
  if (mode.kind === 'running') restartInterrupted(rules, turn, turn.active.next - 1)
  advance(turn, rules.capabilities)
}

function restartInterrupted(rules: Rules, turn: DecisionContext, cause: number): void {
  for (const index of turn.active.open) {
    const node = nodeAt(turn.active, index)
    if (node.is === 'interrupted')
      startNode(turn, planNodeAt(rules.plan, index), node.attempt + 1, cause, rules.capabilities)
    if (!turn.isRunning) return
  }
}

/** An answer from the world, to a run that is under way. */
function hear(
  rules: Rules,
  turn: DecisionContext,
  input: Exclude<Live, { type: 'StartRun' | 'CancelRun' | 'PauseRun' | 'ResumeRun' | 'ResolveInterrupt' }>,
): void {
  const { mode } = turn.active
  if (mode.kind === 'stopping') {
    if (input.type === 'Continue') goOn(rules, turn)
    else hearStopping(turn, input, mode.stop)
    return
  }
  if (input.type === 'Quarantine') return quarantine(turn, input)
  const breach = durationBreach(turn.plan, turn.active, turn.limits, turn.at)
  if (breach) return stop(turn, breach)
  if (mode.kind === 'paused') return
  settle(rules, turn, input)
  advance(turn, rules.capabilities)
}

function settle(rules: Rules, turn: DecisionContext, input: Exclude<Parameters<typeof hear>[2], { type: 'Quarantine' }>): void {
  switch (input.type) {
    case 'Continue':
      return goOn(rules, turn)
    case 'TimeCame':
      return timeCame(rules, turn)
    case 'ChildStarted': {
      if (input.verifier) return verifierStarted(turn, input)
      const planNode = waiting(turn, input.nodeId, input.since)
      if (planNode) childStarted(turn, planNode, input)
      return
    }
    case 'ChildRefused': {
      if (input.verifier) return verifierRefused(turn, input)
      const planNode = waiting(turn, input.nodeId, input.since)
      if (planNode) childRefused(turn, planNode, input)
      return
    }
    case 'ChildWaits':
      return childWaits(turn, input)
    case 'SourceMissing': {
      const planNode = waiting(turn, input.nodeId, input.since)
      if (!planNode) return
      const message = 'the source of this replay recorded no outcome here; nothing is done a second time'
      const error = failure('replay_source_missing', message, { retryable: false })
      // What is missing is the end of the run, not of the node that its gate stands at: nobody goes on from there.
      if (isAtExit(nodeAt(turn.active, planNode.index)))
        return stop(turn, { outcome: 'failed', error, failedNodeId: input.nodeId })
      return failNode(turn, planNode, error, input.since)
    }
    case 'ChildEnded':
      if (!verifierEnded(turn, input)) childEnded(turn, input)
      return
    case 'Inspected': {
      const planNode = planNodeOf(turn.plan, input.nodeId)
      if (planNode) inspected(turn, planNode, input)
      return
    }
    case 'AgentBriefed':
    case 'ModelReasoned':
    case 'ModelAnswered':
    case 'ModelLost':
    case 'ToolAnswered': {
      const planNode = waiting(turn, input.nodeId, input.since)
      if (planNode) hearAgent(turn, planNode, input)
      return
    }
    case 'EffectAnswered': {
      const planNode = waiting(turn, input.nodeId, input.since)
      const node = planNode && nodeAt(turn.active, planNode.index)
      if (!planNode || node?.is !== 'waiting' || node.on !== 'host') return
      if (input.answer.ok)
        settleNode(turn, planNode, node.wait, { kind: 'answer', output: input.answer.output }, input.since)
      else failNode(turn, planNode, input.answer.error, input.since)
    }
  }
}

const isAtExit = (node: NodeState): boolean => node.is === 'waiting' && node.on === 'gate' && node.point === 'run'

/** What an agent's work has brought. */
function hearAgent(
  turn: DecisionContext,
  planNode: PlanNode,
  input: Asked<'AgentBriefed' | 'ModelReasoned' | 'ModelAnswered' | 'ModelLost' | 'ToolAnswered'>,
): void {
  switch (input.type) {
    case 'AgentBriefed':
      return briefed(turn, planNode, input)
    case 'ModelReasoned':
      return modelReasoned(turn, planNode, input)
    case 'ModelAnswered':
      return modelAnswered(turn, planNode, input)
    case 'ModelLost':
      return modelLost(turn, planNode, input)
    case 'ToolAnswered':
      return toolAnswered(turn, planNode, input)
  }
}

/**
 * Timers, node timeouts and retries whose time has come, one by one in the order they fell due, each with what follows
 * from it: a host that was down for a while tells the same story as one that was not.
 */
function timeCame(rules: Rules, turn: DecisionContext): void {
  for (let due = firstDue(turn); due !== undefined && !turn.isFull; due = firstDue(turn)) {
    const planNode = planNodeAt(turn.plan, due)
    const node = nodeAt(turn.active, due)
    if (node.is === 'retrying') startNode(turn, planNode, node.attempt, node.since, rules.capabilities)
    else if (node.is === 'waiting') fallDue(turn, planNode, node)
    advance(turn, rules.capabilities)
  }
}

/** The time of a node that waits has come: to be answered, to be judged again, to go on, or to give up. */
function fallDue(turn: DecisionContext, planNode: PlanNode, node: Waiting): void {
  const asked = questionOf(node)
  if (asked) return timeOut(turn, planNode, asked)
  if (node.on === 'workers' || node.on === 'gate') return resumeGate(turn, planNode, node)
  if (node.wait.kind === 'timer' && !timesOut(planNode, node.wait.ms))
    return settleNode(turn, planNode, node.wait, { kind: 'timer' }, node.since)
  const message = `the node may take ${planNode.timeoutMs} ms; raise settings.timeoutMs if it needs longer`
  const details = { limitMs: planNode.timeoutMs }
  failNode(turn, planNode, failure('node_timeout', message, { details }), node.since)
}

/** Whether a wait of that length would be cut short, however late we look. */
const timesOut = ({ timeoutMs }: PlanNode, ms: number): boolean => timeoutMs > 0 && ms > timeoutMs

/** The open node that fell due first. */
function firstDue(turn: DecisionContext): number | undefined {
  if (turn.state.phase !== 'active' || turn.state.mode.kind === 'stopping') return undefined
  let first: { index: number; at: number } | undefined
  for (const index of turn.state.open) {
    const at = nodeDueAt(planNodeAt(turn.plan, index), nodeAt(turn.state, index), turn.isRunning)
    if (at <= turn.at && (first === undefined || at < first.at)) first = { index, at }
  }
  return first?.index
}

/** A stopping run only waits for its children to end. */
function hearStopping(turn: DecisionContext, input: Parameters<typeof hear>[2], request: StopRequested): void {
  if (input.type === 'ChildEnded') {
    const planNode = verifierEnded(turn, input) ?? childEnded(turn, input)
    if (planNode) childStopped(turn, planNode.index, request)
  } else if (input.type === 'SourceMissing') {
    const index = turn.plan.indexOf.get(input.nodeId)
    if (index !== undefined && nodeAt(turn.active, index).is === 'waiting') cancelStopped(turn, index, request)
  }
}

function quarantine(turn: DecisionContext, { attempts, unverified }: Asked<'Quarantine'>): void {
  const message = unverified
    ? 'the host was about to merge a result that no gate has passed, and its store did not let it: nothing of it is merged, the run will not be tried again, and the host has a bug to report'
    : `the host stopped ${attempts} times while working on this run without any progress; it will not be tried again`
  stop(turn, {
    outcome: 'failed',
    error: failure('run_quarantined', message, { details: { attempts }, retryable: false }),
  })
}

/** The node, if it still waits under the start that this answer belongs to. */
function waiting(turn: DecisionContext, nodeId: string, since: number): PlanNode | undefined {
  const planNode = planNodeOf(turn.plan, nodeId)
  const node = planNode && nodeAt(turn.active, planNode.index)
  return node?.is === 'waiting' && node.since === since ? planNode : undefined
}
