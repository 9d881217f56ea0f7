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
 * | active stopping | assay.stop.requested           | the last child or peer has ended, and nothing else is owed     |
 * | ended           | run.completed, .failed,        | never                                                          |
 * |                 | .cancelled                     |                                                                |
 *
 * Stop: CancelRun, a bound, a failure that no edge tolerates, Quarantine. Quiet: no node is open, and none is ready.
 *  I1  The terminal event is the last, and no child that must not outlive the run is open then.
 *  I2  An outcome that nobody waits for under that `since` decides to nothing. A paused run hears no outcome.
 *  I3  Bounds are checked before the step they forbid; time is looked at before the outcome that comes with it.
 *  I4  A replay is told by its source alone: it takes `Retold`, a cancel and a quarantine, and refuses other commands.
 */

import { tellBudget, withPolicies } from '../budget/decide.js'
import type { Decision } from '../decider.js'
import { childEnded, childRefused, childStarted, childWaits } from '../handoff/decide.js'
import { peerHeard, peerLetGo, peerSilent } from '../handoff/peer.js'
import { isOfPeer, peerWhileStopping } from '../handoff/peer-stopping.js'
import { REPLAY_ASKS_NOBODY, resolve } from '../interrupt/decide.js'
import { loseCalls } from '../invocation/lifecycle.js'
import { workHeard } from '../invocation/work-heard.js'
import { hasPlace } from '../journal/effects.js'
import { failure, type Refusal, refuse } from '../problem.js'
import { isReplay } from '../replay/events.js'
import type { ReplayGuide } from '../replay/guide.js'
import { isoTime } from '../time.js'
import { misplaced } from '../verification/attempt.js'
import { inspected } from '../verification/decide.js'
import { verifierEnded, verifierRefused, verifierStarted } from '../verification/verifiers.js'
import { configurableProblems } from '../workflow/configurable.js'
import { type Plan, type PlanNode, planNodeAt, planNodeOf } from '../workflow/plan.js'
import { DecisionContext, type RunLimits } from './decision-context.js'
import type { Recorded, StopRequested } from './events.js'
import type { RecordedInput, RunInput } from './input.js'
import { inputProblems } from './inputs.js'
import { durationBreach } from './limits.js'
import { beginNode, failAttempt } from './node-lifecycle.js'
import { maskInputs } from './redaction.js'
import { advance } from './schedule.js'
import { type NodeState, nodeAt, type RunState, statusOf } from './state.js'
import { cancelStopped, childStopped, stop } from './stop.js'
import { timeCame } from './timers.js'

export type Rules = { readonly plan: Plan; readonly limits: RunLimits; readonly capabilities: ReadonlySet<string> }

/** Every rule of a run. Writes nothing; a refusal is a value; an outcome nobody waits for decides to nothing. */
export function decide(rules: Rules, state: RunState, input: RunInput): Decision<RunState, Recorded> {
  if (state.phase !== 'absent' && isReplay(state)) return decideReplay(rules, state, input)
  if (input.type === 'Retold') return { ok: true, events: [], state }
  return decideLive(rules, state, input)
}

type Live = Exclude<RunInput, { type: 'Retold' }>

/** The rules themselves; a replay gives a guide to go by. */
export function decideLive(
  rules: Rules,
  state: RunState,
  input: Live,
  guide?: ReplayGuide,
): Decision<RunState, Recorded> {
  if (input.type === 'StartRun') return start(rules, state, input, guide)
  if (state.phase === 'absent') return { ok: false, refusal: refuse('not_found', 'the run does not exist') }
  const { now, ...heard } = input
  const context = new DecisionContext(rules.plan, rules.limits, state, state.runId, now, heard as RecordedInput, guide)
  const refusal = take(rules, context, input)
  return refusal ? { ok: false, refusal } : decided(context)
}

/** A replay hears its source and nobody else; all a person can do is stop it. */
function decideReplay(
  rules: Rules,
  state: Exclude<RunState, { phase: 'absent' }>,
  input: RunInput,
): Decision<RunState, Recorded> {
  const context = new DecisionContext(rules.plan, rules.limits, state, state.runId, input.now)
  switch (input.type) {
    case 'Retold':
      for (const event of input.events)
        if (context.state.phase === 'active' && event.sequence === context.state.next) {
          context.recall(event)
          context.events.push(event)
        }
      break
    case 'CancelRun': {
      const refusal = cancel(context, input)
      if (refusal) return { ok: false, refusal }
      break
    }
    case 'PauseRun':
    case 'ResumeRun':
      return { ok: false, refusal: refuse('run_not_pausable', 'a replay tells what was; it cannot be paused') }
    case 'RetryNow':
      return { ok: false, refusal: refuse('nothing_to_retry', 'a replay tells what was; it tries nothing again') }
    case 'ResolveInterrupt':
      return { ok: false, refusal: REPLAY_ASKS_NOBODY }
    case 'Quarantine':
      if (context.state.phase === 'active') quarantine(context, input)
  }
  return { ok: true, events: context.events, state: context.state }
}

function start(
  rules: Rules,
  state: RunState,
  input: Extract<RunInput, { type: 'StartRun' }>,
  guide?: ReplayGuide,
): Decision<RunState, Recorded> {
  if (state.phase !== 'absent') return { ok: true, events: [], state }
  const { plan, limits } = rules
  const { started, runId, gates = [], withheld, journal } = input
  const problems = [
    ...inputProblems(plan, started.inputs),
    ...configurableProblems(started.configurable),
    ...gates.flatMap(bound => misplaced(plan, bound)),
  ]
  if (problems.length > 0) return { ok: false, refusal: refuse('validation_error', problems.join('; '), { problems }) }
  if ((started.depth ?? 0) > limits.maxDepth) {
    const message = `the run would be nested ${started.depth} deep; the limit is ${limits.maxDepth}`
    const details = { depth: started.depth ?? 0, limit: limits.maxDepth }
    return { ok: false, refusal: refuse('validation_error', message, details) }
  }
  const context = new DecisionContext(plan, limits, state, runId, input.now, undefined, guide)
  const { shown, secret } = maskInputs(plan, started.inputs, input.hiddenInputs ?? [])
  const recorded = guide === undefined ? withPolicies(started, plan, limits) : started
  const pinned = gates.map(({ gate, version, hash }) => ({ gateId: gate.gate_id, version, hash }))
  const unseen = {
    ...(secret ? { inputs: secret } : {}),
    ...(withheld ? { withheld } : {}),
    ...(gates.length > 0 ? { gates } : {}),
    ...(journal && hasPlace(journal) ? { journal } : {}),
  }
  context.emit({
    type: 'run.started',
    payload: {
      ...recorded,
      inputs: shown,
      ...(withheld ? { withheld: Object.keys(withheld) } : {}),
      ...(gates.length > 0 ? { gates: pinned } : {}),
      ...(journal?.memory ? { memoryScope: journal.memory.scope } : {}),
    },
    ...(Object.keys(unseen).length > 0 ? { secret: unseen } : {}),
  })
  tellBudget(context)
  advance(context, rules.capabilities)
  return decided(context)
}

const decided = ({ events, state, worked }: DecisionContext): Decision<RunState, Recorded> => ({
  ok: true,
  events,
  state,
  steps: worked,
})

function take(rules: Rules, context: DecisionContext, input: Exclude<Live, { type: 'StartRun' }>): Refusal | undefined {
  switch (input.type) {
    case 'ResolveInterrupt': {
      const refusal = resolve(context, input)
      if (!refusal && context.state.phase === 'active') advance(context, rules.capabilities)
      return refusal
    }
    case 'CancelRun':
      return cancel(context, input)
    case 'PauseRun':
      return pause(rules, context, input)
    case 'ResumeRun':
      return resume(rules, context, input)
    case 'RetryNow':
      return retryNow(rules, context, input)
    default:
      if (context.state.phase === 'active') applyOutcome(rules, context, input)
      return undefined
  }
}

type Asked<Type extends RunInput['type']> = Extract<RunInput, { type: Type }>

function cancel(context: DecisionContext, { reason, by, parentRunId }: Asked<'CancelRun'>): Refusal | undefined {
  // R-REST-9: of what has ended, or is about to, nothing is left to cancel, and that is no mistake.
  if (context.state.phase === 'ended' || context.active.mode.kind === 'stopping') return undefined
  const why = parentRunId === undefined ? reason : 'parent-cancelled'
  stop(context, {
    outcome: 'cancelled',
    ...(why === undefined ? {} : { reason: why }),
    cancelledBy: by,
    ...(parentRunId === undefined ? {} : { parentRunId }),
  })
  return undefined
}

function pause(
  rules: Rules,
  context: DecisionContext,
  { drainPolicy, reason }: Asked<'PauseRun'>,
): Refusal | undefined {
  const status = statusOf(context.state)
  if (context.state.phase === 'ended')
    return refuse('run_terminal', `the run has already ${status}`, { runStatus: status })
  const { mode } = context.active
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
    loseCalls(context)
    context.emit({ type: 'run.paused', payload })
  } else context.emit({ type: 'assay.pause.requested', payload })
  advance(context, rules.capabilities)
  return undefined
}

function resume(rules: Rules, context: DecisionContext, { reason }: Asked<'ResumeRun'>): Refusal | undefined {
  const status = statusOf(context.state)
  if (context.state.phase === 'ended' || context.active.mode.kind !== 'paused')
    return refuse('run_not_paused', `the run is ${status}, not paused`, { runStatus: status })
  const cause = context.emit({ type: 'run.resumed', payload: reason === undefined ? {} : { reason } })
  const breach = durationBreach(context.plan, context.active, context.limits, context.at)
  if (breach) stop(context, breach)
  else restartInterrupted(rules, context, cause)
  advance(context, rules.capabilities)
  return undefined
}

/** A node that backs off starts at once, as if its time had come; what it may try in all stays what it was. */
function retryNow(rules: Rules, context: DecisionContext, { nodeId }: Asked<'RetryNow'>): Refusal | undefined {
  const status = statusOf(context.state)
  const details = { runStatus: status }
  if (context.state.phase === 'ended') return refuse('run_terminal', `the run has already ${status}`, details)
  if (context.active.mode.kind !== 'running')
    return refuse('run_paused', `the run is ${context.active.mode.kind}; resume it first`, details)
  const waiting = context.active.open.filter(index => nodeAt(context.active, index).is === 'retrying')
  const wanted = waiting.filter(index => nodeId === undefined || planNodeAt(rules.plan, index).node.id === nodeId)
  if (wanted.length === 0) {
    const what = nodeId === undefined ? 'nothing in the run waits' : `node ${JSON.stringify(nodeId)} does not wait`
    return refuse('nothing_to_retry', `${what} to be tried again`, details)
  }
  const breach = durationBreach(context.plan, context.active, context.limits, context.at)
  if (breach) stop(context, breach)
  for (const index of wanted) {
    const node = context.isRunning ? nodeAt(context.active, index) : undefined
    if (node?.is === 'retrying')
      beginNode(context, planNodeAt(rules.plan, index), node.attempt, node.since, rules.capabilities)
  }
  advance(context, rules.capabilities)
  return undefined
}

/** Whatever can be done at once: also what a branch finds undone where its source was paused, or about to stop. */
export function goOn(rules: Rules, context: DecisionContext): void {
  const { mode } = context.active
  if (mode.kind === 'stopping') return stop(context, mode.stop)
  if (mode.kind === 'running') restartInterrupted(rules, context, context.active.next - 1)
  advance(context, rules.capabilities)
}

function restartInterrupted(rules: Rules, context: DecisionContext, cause: number): void {
  for (const index of context.active.open) {
    const node = nodeAt(context.active, index)
    if (node.is === 'interrupted')
      beginNode(context, planNodeAt(rules.plan, index), node.attempt + 1, cause, rules.capabilities)
    if (!context.isRunning) return
  }
}

/** An answer from the world, to a run that is under way. */
function applyOutcome(
  rules: Rules,
  context: DecisionContext,
  input: Exclude<Live, { type: 'StartRun' | 'CancelRun' | 'PauseRun' | 'ResumeRun' | 'RetryNow' | 'ResolveInterrupt' }>,
): void {
  const { mode } = context.active
  if (mode.kind === 'stopping') {
    if (input.type === 'Continue') goOn(rules, context)
    else applyWhileStopping(context, input, mode.stop)
    return
  }
  if (input.type === 'Quarantine') return quarantine(context, input)
  const breach = durationBreach(context.plan, context.active, context.limits, context.at)
  if (breach) return stop(context, breach)
  if (mode.kind === 'paused') return
  applyToNode(rules, context, input)
  advance(context, rules.capabilities)
}

function applyToNode(
  rules: Rules,
  context: DecisionContext,
  input: Exclude<Parameters<typeof applyOutcome>[2], { type: 'Quarantine' }>,
): void {
  switch (input.type) {
    case 'Continue':
      return goOn(rules, context)
    case 'TimeCame':
      return timeCame(rules, context)
    case 'ChildStarted': {
      if (input.verifier) return verifierStarted(context, input)
      const planNode = waiting(context, input.nodeId, input.since)
      if (planNode) childStarted(context, planNode, input)
      return
    }
    case 'ChildRefused': {
      if (input.verifier) return verifierRefused(context, input)
      const planNode = waiting(context, input.nodeId, input.since)
      if (planNode) childRefused(context, planNode, input)
      return
    }
    case 'ChildWaits':
      return childWaits(context, input)
    case 'PeerSilent':
      peerSilent(context, input)
      return
    case 'PeerHeard':
      return peerHeard(context, input)
    case 'PeerLetGo':
      return peerLetGo(context, input)
    case 'SourceMissing': {
      const planNode = waiting(context, input.nodeId, input.since)
      if (!planNode) return
      const message = 'the source of this replay recorded no outcome here; nothing is done a second time'
      const error = failure('replay_source_missing', message, { retryable: false })
      // What is missing is the end of the run, not of the node that its gate stands at: nobody goes on from there.
      if (isAtExit(nodeAt(context.active, planNode.index)))
        return stop(context, { outcome: 'failed', error, failedNodeId: input.nodeId })
      return failAttempt(context, planNode, error, input.since)
    }
    case 'ChildEnded':
      if (!verifierEnded(context, input)) childEnded(context, input)
      return
    case 'Inspected': {
      const planNode = planNodeOf(context.plan, input.nodeId)
      if (planNode) inspected(context, planNode, input)
      return
    }
    case 'AgentBriefed':
    case 'ModelReasoned':
    case 'ModelAnswered':
    case 'ModelLost':
    case 'ToolAnswered':
    case 'EffectAnswered':
    case 'JournalUsed':
    case 'RefusalDiverged': {
      const planNode = waiting(context, input.nodeId, input.since)
      if (planNode) workHeard(context, planNode, input)
      return
    }
  }
}

const isAtExit = (node: NodeState): boolean => node.is === 'waiting' && node.on === 'gate' && node.point === 'run'

/** A stopping run only waits for its children to end. */
function applyWhileStopping(
  context: DecisionContext,
  input: Parameters<typeof applyOutcome>[2],
  request: StopRequested,
): void {
  if (input.type === 'ChildEnded') {
    const planNode = verifierEnded(context, input) ?? childEnded(context, input)
    if (planNode) childStopped(context, planNode.index, request)
  } else if (isOfPeer(context, input)) {
    const planNode = peerWhileStopping(context, input)
    if (planNode) childStopped(context, planNode.index, request)
  } else if (input.type === 'SourceMissing') {
    const index = context.plan.indexOf.get(input.nodeId)
    if (index !== undefined && nodeAt(context.active, index).is === 'waiting') cancelStopped(context, index, request)
  }
}

function quarantine(context: DecisionContext, { attempts, unverified }: Asked<'Quarantine'>): void {
  const message = unverified
    ? 'the host was about to merge a result that no gate has passed, and its store did not let it: nothing of it is merged, the run will not be tried again, and the host has a bug to report'
    : `the host stopped ${attempts} times while working on this run without any progress; it will not be tried again`
  stop(context, {
    outcome: 'failed',
    error: failure('run_quarantined', message, { details: { attempts }, retryable: false }),
  })
}

/** The node, if it still waits under the start that this answer belongs to. */
function waiting(context: DecisionContext, nodeId: string, since: number): PlanNode | undefined {
  const planNode = planNodeOf(context.plan, nodeId)
  const node = planNode && nodeAt(context.active, planNode.index)
  return node?.is === 'waiting' && node.since === since ? planNode : undefined
}
