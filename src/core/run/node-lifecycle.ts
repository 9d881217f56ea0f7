/**
 * One node, from its start to its end. What it does is its type's (`workflow/nodes`); what becomes of that is here.
 *
 * | state       | entered by                              | left by, to                                               |
 * |-------------|-----------------------------------------|-----------------------------------------------------------|
 * | idle        | run.started, a loop's next pass,        | its edges: node.started, to waiting; node.skipped, to     |
 * |             | assay.rework.began at the run's exit    | skipped                                                   |
 * | waiting     | node.started; assay.result.staged at    | node.completed, node.failed, node.retried, node.cancelled |
 * |             | the run's exit                          | an immediate run.paused, where it waits on the host: to   |
 * |             |                                         | interrupted                                               |
 * | interrupted | run.paused                              | ResumeRun: node.started, attempt + 1; node.cancelled      |
 * | retrying    | node.retried                            | TimeCame at `dueAt`, RetryNow: node.started; node.cancelled |
 * | completed   | node.completed                          | a loop's next pass, assay.rework.began at the exit: to    |
 * |             |                                         | idle                                                      |
 * |             |                                         | a loop itself: node.started, to waiting                   |
 * | failed      | node.failed                             | as completed: to idle                                     |
 * | skipped     | node.skipped                            | as completed: to idle                                     |
 * | cancelled   | node.cancelled                          | never: the run is about to end                            |
 *
 * | waiting on | wait of its node.started         | left by, to                                                       |
 * |------------|----------------------------------|-------------------------------------------------------------------|
 * | host       | none, timer, check, effect       | at once; TimeCame; EffectAnswered: settled                        |
 * | person     | interrupt                        | ResolveInterrupt or its time limit: settled                       |
 * |            |                                  | (`interrupt/decide.ts`)                                           |
 * | workers    | handoff                          | the last worker is done: settled (`handoff/decide.ts`)            |
 * | brief      | agent                            | AgentBriefed: to agent (`invocation/decide.ts`)                   |
 * | agent      | agent                            | its result: settled, or staged: to gate                           |
 * | gate       | judge; agent; none at the exit   | every gate has passed it: settled (`verification/decide.ts`)      |
 *
 *  I1  A node that has nothing to wait for starts and settles in one decision.
 *  I2  `since` is the sequence of the node.started under which it waits. A retry and a resume have a new one, and so
 *      has an agent whose work is sent back: its assay.rework.began.
 *  I3  A failure is tried again only while its code allows it, retries are left, and the budget has room that no
 *      worker may need.
 *  I4  No value outgrows its bound, and a name that was hidden once stays hidden.
 */

import { backoff } from '../backoff.js'
import { plus } from '../budget/budget.js'
import { committedBy, roomFor } from '../budget/decide.js'
import { exhaust } from '../budget/exhaust.js'
import { ask } from '../interrupt/ask.js'
import { closeInvocation } from '../invocation/lifecycle.js'
import { type JsonObject, own } from '../json.js'
import { type Failure, failure } from '../problem.js'
import { recordAgentEvent, recordDecision, recordDoubt } from '../supervisor/decide.js'
import { isoTime } from '../time.js'
import { judgedHash } from '../verification/attempt.js'
import type { NodeContext, NodeStep, WaitOutcome, Write } from '../workflow/node-type.js'
import type { PlanNode } from '../workflow/plan.js'
import { tellArtifact } from './artifact.js'
import { refuseWrite } from './channels.js'
import type { DecisionContext } from './decision-context.js'
import type { Wait } from './events.js'
import { TOLERANT } from './graph.js'
import { resolveInputs } from './inputs.js'
import { executionBreach, loopBreach } from './limits.js'
import { NodeInRun } from './node-context.js'
import { carriesSecret, MASK, maskFailure, maskOutputs, secretsOf } from './redaction.js'
import { nodeAt } from './state.js'
import { stop } from './stop.js'
import { MAX_STEP_BYTES, MAX_VALUE_BYTES, sizeUpTo } from './value-size.js'

/** Starts a node, unless a bound forbids it; a node that waits for nothing settles in the same step. */
export function beginNode(
  context: DecisionContext,
  planNode: PlanNode,
  attempt: number,
  cause: number,
  capabilities: ReadonlySet<string>,
): void {
  const { node, type, index } = planNode
  const breach =
    executionBreach(context.active, context.limits, node.id) ?? loopBreach(context.active, context.limits, planNode)
  if (breach) return stop(context, breach)
  const before = nodeAt(context.active, index)
  const failures = before.is === 'retrying' || before.is === 'interrupted' ? before.failures : 0
  const lacking = type.requires?.find(capability => !capabilities.has(capability))
  const step: NodeStep = lacking
    ? { kind: 'failed', error: notProvided(lacking, node.typeId) }
    : withContext(context, planNode, attempt, failures, ctx => type.start(ctx))
  const payload = { nodeId: node.id, typeId: node.typeId, attempt }
  if (step.kind === 'waiting') {
    context.emit({ type: 'node.started', nodeId: node.id, payload, secret: { wait: step.wait }, cause })
    return
  }
  if (step.kind === 'asking') {
    const wait: Wait = { kind: 'interrupt' }
    const started = context.emit({ type: 'node.started', nodeId: node.id, payload, secret: { wait }, cause })
    return applyStep(context, planNode, step, started)
  }
  const started = context.emit({ type: 'node.started', nodeId: node.id, payload, cause })
  applyStep(context, planNode, step, started)
}

/** What a node was waiting for has come. */
export function settleNode(
  context: DecisionContext,
  planNode: PlanNode,
  wait: Wait,
  outcome: WaitOutcome,
  cause: number,
): void {
  const before = nodeAt(context.active, planNode.index)
  if (before.is !== 'waiting') throw new Error(`node ${planNode.node.id} is ${before.is}, not waiting`)
  const { type } = planNode
  if (!type.settle) throw new Error(`node type ${type.typeId} settles at once`)
  const settle = type.settle.bind(type)
  const step = withContext(context, planNode, before.attempt, before.failures, ctx => settle(ctx, wait, outcome))
  applyStep(context, planNode, step, cause)
}

/** An attempt failed: try again later while retries are left, else the node has failed. */
export function failAttempt(context: DecisionContext, planNode: PlanNode, told: Failure, cause: number): void {
  const error = maskFailure(context.active, told)
  // R-LIVE-16: whatever ends the node ends its agent's work first.
  const due = closeInvocation(context, planNode, 'failed', cause) ?? cause
  retryOrFail(context, planNode, error, due)
}

/** What becomes of a node whose attempt has failed. */
export function retryOrFail(context: DecisionContext, planNode: PlanNode, error: Failure, due: number): void {
  const { node, retry, index } = planNode
  const before = nodeAt(context.active, index)
  const failures = (before.is === 'waiting' ? before.failures : 0) + 1
  const attempt = before.is === 'waiting' ? before.attempt : 0
  if (error.retryable !== false && failures <= retry.max) {
    const room = roomFor(context.active, { retries: 1 })
    if (room === 'retries') {
      const wanted = plus(committedBy(context.active), { retries: 1 })
      return exhaust(context, planNode, { is: 'retry', error, cause: due }, 'retries', wanted, due)
    }
    // Workers may need all that is left: nothing is tried again at their cost.
    if (room === 'not-yet') return failForGood(context, planNode, error, failures, due)
    const { delayMs: firstMs, factor, maxDelayMs: mostMs } = retry
    const delayMs = backoff({ firstMs, factor, mostMs }, failures)
    context.emit({
      type: 'node.retried',
      nodeId: node.id,
      payload: { nodeId: node.id, attempt: attempt + 1, delayMs, lastError: error },
      cause: due,
    })
    return
  }
  failForGood(context, planNode, error, failures, due)
}

function failForGood(
  context: DecisionContext,
  { node, outbound }: PlanNode,
  error: Failure,
  attempts: number,
  cause: number,
): void {
  const payload = { nodeId: node.id, error, attempts }
  context.emit({ type: 'node.failed', nodeId: node.id, payload, cause })
  if (!outbound.some(edge => TOLERANT.has(edge.rule)))
    stop(context, { outcome: 'failed', error, failedNodeId: node.id })
}

function applyStep(context: DecisionContext, planNode: PlanNode, step: NodeStep, cause: number): void {
  if (step.kind === 'waiting') throw new Error(`node ${planNode.node.id} may not wait twice`)
  const oversized = oversizedPart(context, step)
  if (oversized) return failAttempt(context, planNode, oversized, cause)
  const conflict = step.kind === 'completed' ? context.conflictAt('node', { nodeId: planNode.node.id }) : undefined
  if (conflict) return failAttempt(context, planNode, conflict, cause)
  let latest = cause
  for (const write of step.writes ?? []) {
    const done = applyWrite(context, planNode, write, latest)
    if (typeof done !== 'number') return failAttempt(context, planNode, done, latest)
    // What follows a decision is due to it; other writes lead to nothing.
    if (write.kind === 'decided' || write.kind === 'escalated' || isDecision(write)) latest = done
  }
  if (step.kind === 'failed') return failAttempt(context, planNode, step.error, latest)
  if (step.kind === 'asking') return ask(context, planNode, step.interrupt, latest)
  completeNode(context, planNode, step.outputs, latest)
}

const isDecision = (write: Write): boolean => write.kind === 'agent' && write.event.type === 'agent.decided'

/** No value may outgrow its bound, nor what one step writes together, however the nodes of a run build on each other. */
function oversizedPart(context: DecisionContext, step: Exclude<NodeStep, { kind: 'waiting' }>): Failure | undefined {
  let together = 0
  for (const write of step.writes ?? []) {
    if (!('value' in write)) continue
    const bytes = sizeUpTo(write.value, MAX_VALUE_BYTES)
    const name = write.kind === 'variable' ? write.name : 'the channel'
    if (bytes > MAX_VALUE_BYTES) return valueTooLarge(`the value for ${name}`)
    // A change is told with what it replaces.
    together += write.kind === 'variable' ? 2 * bytes : bytes
  }
  const bytes = step.kind === 'completed' ? sizeUpTo(step.outputs, MAX_VALUE_BYTES) : 0
  if (bytes > MAX_VALUE_BYTES) return valueTooLarge('the output')
  context.chargeBytes(together + bytes)
  return together > MAX_STEP_BYTES ? valueTooLarge('what it writes together', MAX_STEP_BYTES) : undefined
}

export function valueTooLarge(what: string, limitBytes: number = MAX_VALUE_BYTES): Failure {
  const message = `${what} is larger than ${limitBytes} bytes as JSON; keep large data elsewhere and pass a reference`
  return failure('value_too_large', message, { retryable: false, details: { limitBytes } })
}

function completeNode(context: DecisionContext, planNode: PlanNode, outputs: JsonObject, cause: number): void {
  const { node, type } = planNode
  const { shown, hidden } = maskOutputs(context.active, node, outputs, type.hides?.(node.config))
  const payload = { nodeId: node.id, outputs: shown }
  const secret = { ...(hidden ? { outputs } : {}), ...passedBy(context, planNode) }
  const done = context.emit({
    type: 'node.completed',
    nodeId: node.id,
    payload,
    cause,
    ...(Object.keys(secret).length > 0 ? { secret } : {}),
  })
  if (node.artifactType === undefined) return
  tellArtifact(context, node.id, { artifactType: node.artifactType, content: outputs, shown }, done)
}

/** What its gates have let pass, where the node's result waited for them. */
function passedBy({ active }: DecisionContext, { node, index }: PlanNode): { resultHash?: string; since?: number } {
  const before = nodeAt(active, index)
  if (before.is !== 'waiting' || before.on !== 'gate' || before.point !== 'node') return {}
  const resultHash = judgedHash(active, node.id, { point: 'node' })
  return resultHash === undefined ? {} : { resultHash, since: before.since }
}

/** Writes one event and returns its sequence, or says why it must not be written. */
function applyWrite(context: DecisionContext, planNode: PlanNode, write: Write, cause: number): Failure | number {
  const nodeId = planNode.node.id
  switch (write.kind) {
    case 'variable':
      return changeVariable(context, nodeId, write, cause)
    case 'channel':
      return writeChannel(context, planNode, write, cause)
    case 'agent':
      return recordAgentEvent(context, nodeId, write.event, cause)
    case 'decided':
      return recordDecision(context, nodeId, write, cause)
    case 'escalated':
      return recordDoubt(context, nodeId, write, cause)
    case 'loopback-limit': {
      const { iterations, limit } = write
      return context.emit({ type: 'workflow.loopback-limit', nodeId, payload: { nodeId, iterations, limit }, cause })
    }
  }
}

function writeChannel(
  context: DecisionContext,
  { node }: PlanNode,
  write: Extract<Write, { kind: 'channel' }>,
  cause: number,
): Failure | number {
  const { plan } = context
  const declared = plan.channels.get(write.channel)
  const reducer = declared?.reducer ?? write.reducer ?? 'append'
  const hide = declared?.sensitive === true || carriesSecret(write.value, secretsOf(context.active))
  const refused = refuseWrite(write.channel, declared, write.value, reducer, { nodeId: node.id, typeId: node.typeId })
  if (refused) return { ...refused, retryable: false }
  const secret = {
    ...(hide ? { value: write.value } : {}),
    ...(declared === undefined && write.ttlMs !== undefined ? { ttlMs: write.ttlMs } : {}),
  }
  return context.emit({
    type: 'channel.written',
    nodeId: node.id,
    payload: {
      channel: write.channel,
      value: hide ? MASK : write.value,
      reducer,
      writtenAt: isoTime(context.at),
      nodeId: node.id,
      schemaVersion: declared?.schemaVersion ?? 1,
    },
    cause,
    ...(Object.keys(secret).length > 0 ? { secret } : {}),
  })
}

export function changeVariable(
  context: DecisionContext,
  nodeId: string,
  { name, value, sensitive: told }: Extract<Write, { kind: 'variable' }>,
  cause: number,
): Failure | number {
  if (context.plan.channels.has(name)) {
    const message = `"${name}" is a channel; write it with core.channelWrite instead of setting it as a variable`
    return failure('validation_error', message, { retryable: false })
  }
  const previous = own(context.active.variables, name)
  const { variables } = context.active.hidden
  // Once hidden, a name stays hidden: its earlier value would show as `previous`.
  const sensitive = told === true || variables.includes(name) || carriesSecret(value, secretsOf(context.active))
  const payload = sensitive
    ? { name, next: MASK, nodeId }
    : { name, ...(previous === undefined ? {} : { previous }), next: value, nodeId }
  return context.emit({
    type: 'variable.changed',
    nodeId,
    payload,
    cause,
    ...(sensitive ? { secret: { next: value } } : {}),
  })
}

function withContext(
  context: DecisionContext,
  planNode: PlanNode,
  attempt: number,
  failures: number,
  use: (ctx: NodeContext) => NodeStep,
): NodeStep {
  const resolved = resolveInputs(planNode, context.plan, context.active, context.evaluate)
  if (!resolved.ok) return { kind: 'failed', error: resolved.error }
  return use(new NodeInRun(context, planNode, resolved.inputs, attempt, failures))
}

const notProvided = (capability: string, typeId: string): Failure =>
  failure('capability_not_provided', `${typeId} needs the capability ${capability}, which this host does not provide`, {
    retryable: false,
  })
