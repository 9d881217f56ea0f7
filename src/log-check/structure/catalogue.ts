import { BUDGET_SHAPES, INVOCATION_SHAPES } from './agent-shapes.js'
import { GATE_SHAPES } from './gate-shapes.js'
import { JOURNAL_SHAPES } from './journal-shapes.js'
import {
  amount,
  any,
  attestation,
  between,
  boolean,
  boundedText,
  count,
  failure,
  filled,
  id,
  name,
  object,
  oneOf,
  positive,
  sha256,
  type Shape,
  share,
  texts,
  time,
  trace,
  words,
} from './shape.js'

/** The protocol's list of event types (schemas/run-event). */
export const CATALOGUE: ReadonlySet<string> = new Set(
  `run.started run.completed run.failed run.cancelled run.resuming run.paused run.resumed run.restored-from-snapshot
  run.dead_lettered node.started node.completed node.failed node.suspended node.suspend-failed node.resumed node.retried
  node.skipped node.cancelled node.dispatched approval.requested approval.received approval.granted approval.rejected
  approval.overridden clarification.requested clarification.resolved interrupt.requested interrupt.resolved
  channel.written artifact.created output.chunk variable.changed log.appended version.pinned workflow.restored
  workflow.loopback-limit workflow.stalled cap.breached lease.acquired lease.renewed lease.lost lease.handed-off
  replay.diverged replay.divergedAtRefusal agent.reasoned agent.reasoning.delta provider.usage prompt.composed
  agent.promptResolved model.capability.substituted model.capability.insufficient envelope.retry.attempted
  envelope.retry.exhausted envelope.refusal envelope.truncated envelope.nlToFormat.engaged envelope.recovery.applied
  agent.toolCalled agent.toolReturned agent.handoff agent.decided agent.verified agent.invocation.started
  agent.invocation.completed eval.started eval.scored eval.completed deployment.promoted deployment.rolled-back
  deployment.canary.adjusted deployment.state.changed roster.run.initiated tool.session.opened tool.session.closed
  egress.decided trigger.subscription.state.changed trigger.delivery.attempted budget.reserved budget.consumed
  budget.threshold.crossed budget.exhausted runOrchestrator.decided conversation.opened conversation.exchanged
  conversation.closed memory.compacted memory.written agent.memory.consolidated commitment.fired workspace.updated
  core.workflowChain.event core.workflowChain.confidence-escalated connector.authorized connector.auth_expired
  authorization.decided proposal.created proposal.activated goal.evaluated goal.closed import.applied
  voice.speech_start voice.transcript voice.endpoint_candidate voice.turn_commit voice.synthesis_chunk voice.barge_in
  voice.cancelled`.split(/\s+/),
)

/** Sent to listeners, never stored. */
export const STREAM_ONLY: readonly string[] = ['state.snapshot', 'ai.message.chunk', 'run.annotated']

/** No type may be added under these without a change of the protocol. */
export const CLOSED_PREFIXES: readonly string[] = [
  'run.',
  'node.',
  'approval.',
  'clarification.',
  'cap.',
  'channel.',
  'replay.',
]

export const VENDOR_TYPE =
  /^(?!(?:openwop|core|community|vendor|private|local)\.)[a-z][a-zA-Z0-9_-]*(\.[a-zA-Z0-9_-]+)+$/

const transport = oneOf('rest', 'mcp', 'a2a', 'ui')
const envelope = oneOf('valid', 'refusal')
const drainPolicy = oneOf('immediate', 'drain-current-node')
const lease: Shape = { required: { leaseId: id, host: oneOf('browser', 'cloud') } }
const decision: Shape = { required: { gateId: id, principal: filled }, optional: { reason: words }, closed: true }

const agent = boundedText('a string of 3 to 256 characters', 3, 256)
const verbosity = oneOf('summary', 'full', 'off')
const toolTransport = oneOf('mcp', 'http', 'native')
const toolStatus = oneOf('ok', 'error', 'forbidden', 'rate_limited')
const floor = between(0.5, 1)
const ofPeer = { nodeId: id, workerId: name, peer: name }
const silence = oneOf('unreachable', 'timeout', 'refused', 'busy', 'unusable', 'too_large', 'unknown_outcome')
const handoffPhase = oneOf(
  'dispatch.began',
  'dispatch.succeeded',
  'dispatch.failed',
  'child.completed',
  'child.failed',
  'child.cancelled',
  'output.harvested',
)

/** core §5.4, agents §4, §6.1, §11.1, §13.2, §14.3, §16–§18, §23.3. A type without an entry may carry any payload that is an object. */
const SHAPES: { readonly [type: string]: Shape } = {
  'run.started': {
    required: { workflowId: id },
    optional: {
      inputs: object,
      transport,
      engineVersion: words,
      owner: object,
      tags: texts,
      metadata: object,
      configurable: object,
      parentRunId: id,
      parentNodeId: id,
      gatedBy: texts,
      withheld: texts,
      changed: texts,
      memoryAsOf: positive,
      scopeId: name,
      memoryScope: name,
      traceparent: trace,
      foreignParent: object,
      depth: count,
    },
    assay: ['workflowDigest', 'inputs', 'transport', 'engineVersion', 'owner'],
  },
  'run.completed': {
    optional: { outputs: object, durationMs: count, goalSatisfied: boolean, gatedBy: texts },
    assay: ['outputs'],
  },
  'run.failed': { required: { error: failure }, optional: { failedNodeId: id, durationMs: count } },
  'run.cancelled': { optional: { reason: words, cancelledBy: words, parentRunId: id, durationMs: count } },
  'run.resuming': { optional: { fromStatus: words } },
  'run.paused': { required: { drainPolicy }, optional: { reason: words } },
  'run.resumed': { optional: { reason: words } },
  'run.restored-from-snapshot': { optional: { snapshotSeq: count, engineVersion: words } },
  'run.dead_lettered': {
    required: { runId: id, reason: filled, attempts: positive },
    optional: { nodeId: id },
    closed: true,
  },
  'assay.pause.requested': { required: { drainPolicy }, optional: { reason: words } },
  'assay.stop.requested': {
    required: { outcome: oneOf('cancelled', 'failed') },
    optional: { error: failure, reason: words, cancelledBy: words, parentRunId: id, failedNodeId: id, breach: object },
  },
  'node.started': { required: { nodeId: id, typeId: filled }, optional: { attempt: count }, assay: ['attempt'] },
  'node.dispatched': {
    required: { childRunId: id, childWorkflowId: name },
    optional: { childStatus: words },
    notAssay: ['childStatus'],
    closed: true,
  },
  'runOrchestrator.decided': {
    required: { agentId: agent, decision: object },
    optional: { iteration: positive, causationHostId: filled },
    assay: ['iteration'],
    closed: true,
  },
  'core.workflowChain.event': {
    required: { phase: handoffPhase, workerId: name, parentRunId: id },
    optional: { childRunId: id, harvestedKeys: texts, attestation, error: failure, causationHostId: filled },
    closed: true,
  },
  'core.workflowChain.confidence-escalated': {
    required: { parentRunId: id, confidence: share, floor, escalationKind: oneOf('clarify', 'escalate') },
    optional: { workerId: name, originalDecision: object, causationHostId: filled },
    assay: ['originalDecision'],
    closed: true,
  },
  'agent.reasoned': {
    required: { agentId: agent, reasoning: words },
    optional: { verbosity, causationHostId: filled },
  },
  'agent.reasoning.delta': {
    required: { agentId: agent, delta: words, sequence: count },
    optional: { verbosity, causationHostId: filled },
  },
  'agent.toolCalled': {
    required: { agentId: agent, toolName: filled, callId: filled },
    optional: { inputs: any, argsHash: words, principal: words, transport: toolTransport, causationHostId: filled },
  },
  'agent.toolReturned': {
    required: { agentId: agent, toolName: filled, callId: filled },
    optional: { outcome: any, error: any, status: toolStatus, durationMs: count, causationHostId: filled },
  },
  'agent.handoff': {
    required: { fromAgentId: agent, toAgentId: agent },
    optional: { reason: words, causationHostId: filled },
  },
  'agent.decided': {
    required: { agentId: agent, decision: any },
    optional: { confidence: share, causationHostId: filled },
  },
  ...INVOCATION_SHAPES,
  ...BUDGET_SHAPES,
  ...GATE_SHAPES,
  'node.completed': { required: { nodeId: id }, optional: { outputs: object, durationMs: count }, assay: ['outputs'] },
  'node.failed': { required: { nodeId: id, error: failure }, optional: { attempts: positive }, assay: ['attempts'] },
  'node.retried': {
    required: { nodeId: id, attempt: positive },
    optional: { delayMs: count, lastError: failure },
    assay: ['delayMs', 'lastError'],
  },
  'node.skipped': { required: { nodeId: id }, optional: { reason: filled }, assay: ['reason'] },
  'node.cancelled': { required: { nodeId: id }, optional: { reason: words }, assay: ['reason'] },
  'assay.run.forked': {
    required: { sourceRunId: id, fromSeq: positive },
    optional: {
      configurable: object,
      tags: texts,
      metadata: object,
      principalScope: texts,
      changed: texts,
      workflowDigest: filled,
      memoryAsOf: positive,
      traceparent: trace,
    },
    closed: true,
  },
  'assay.child.status': {
    required: {
      nodeId: id,
      childRunId: id,
      status: oneOf('running', 'waiting-approval', 'waiting-input', 'waiting-external'),
    },
    closed: true,
  },
  'assay.peer.silent': { required: { ...ofPeer, reason: silence }, optional: { childRunId: id }, closed: true },
  'assay.peer.heard': { required: ofPeer, optional: { childRunId: id }, closed: true },
  'assay.peer.lost': { required: { ...ofPeer, reason: silence }, optional: { childRunId: id }, closed: true },
  'assay.peer.receipt': {
    required: { ...ofPeer, childRunId: id, evidence: boolean },
    optional: {
      why: oneOf(
        'not-offered',
        'not-heard',
        'too-large',
        'malformed',
        'other-kind',
        'key-unknown',
        'signature-invalid',
        'contradicts-itself',
        'other-run',
        'other-host',
        'other-end',
        'nothing-judged',
      ),
      keyId: filled,
      digest: sha256,
      attempts: positive,
      passes: count,
      label: oneOf('verified', 'conditional', 'accepted', 'verified in part', 'forced', 'unverified'),
    },
    closed: true,
  },
  'assay.peer.released': { required: ofPeer, optional: { childRunId: id }, closed: true },
  'node.suspended': {
    required: { nodeId: id, interruptId: id },
    optional: { kind: words, key: filled },
    assay: ['kind', 'key'],
  },
  'node.suspend-failed': { required: { nodeId: id, error: failure } },
  'node.resumed': { required: { nodeId: id }, optional: { interruptId: id }, assay: ['interruptId'] },
  'interrupt.requested': {
    required: { nodeId: id, interruptId: id, kind: filled, key: name, data: object },
    optional: { runId: id, resumeSchema: object, timeoutMs: count, requestedAt: time },
    assay: ['runId', 'requestedAt'],
  },
  'interrupt.resolved': {
    required: { nodeId: id, interruptId: id },
    optional: { kind: words, resolvedAt: time, resolvedBy: filled, outcome: words, reason: words, shownHash: filled },
    assay: ['kind', 'resumeValue', 'resolvedAt', 'resolvedBy'],
  },
  'assay.interrupt.voted': {
    required: { nodeId: id, interruptId: id, voter: filled, action: filled, by: filled },
    closed: true,
  },
  'assay.interrupt.asked': {
    required: { nodeId: id, interruptId: id, by: filled },
    optional: { question: any },
    closed: true,
  },
  'approval.requested': {
    required: { nodeId: id, artifactId: id, artifactType: filled, actions: texts },
    optional: { interruptId: id, title: words, requiredApprovals: positive },
    assay: ['interruptId', 'title'],
  },
  'approval.received': {
    required: { nodeId: id, action: oneOf('accept', 'reject', 'refine', 'edit-accept', 'timeout') },
    optional: { decidedBy: words, decidedAt: time },
    assay: ['decidedAt'],
  },
  'approval.granted': {
    required: { gateId: id, principal: filled },
    optional: { quorumProgress: object },
    closed: true,
  },
  'approval.rejected': decision,
  'approval.overridden': { required: { gateId: id, principal: filled, reason: words }, closed: true },
  'clarification.requested': {
    required: { nodeId: id, questions: any },
    optional: { interruptId: id },
    assay: ['interruptId'],
  },
  'clarification.resolved': {
    required: { nodeId: id, answers: object },
    optional: { answeredBy: filled },
    assay: ['answeredBy'],
  },
  'channel.written': {
    required: { channel: name, value: any, reducer: filled, writtenAt: time },
    optional: { nodeId: id, schemaVersion: positive, sourceEngineId: name, sourceRunId: id },
    closed: true,
  },
  'artifact.created': {
    required: { artifactId: id, artifactType: filled },
    optional: { nodeId: id, version: words, summary: words, registered: boolean },
  },
  'output.chunk': { required: { nodeId: id, runId: id, chunk: words, isLast: boolean } },
  'variable.changed': { required: { name: filled }, optional: { nodeId: id }, assay: ['next'] },
  'log.appended': {
    required: { level: oneOf('debug', 'info', 'warn', 'error'), message: words },
    optional: { nodeId: id, fields: object },
  },
  'version.pinned': { required: { changeId: id, version: any } },
  'workflow.loopback-limit': { required: { nodeId: id, iterations: positive }, optional: { limit: positive } },
  'cap.breached': { required: { kind: filled, limit: amount, observed: amount }, optional: { nodeId: id } },
  'replay.diverged': {
    required: { sourceRunId: id, atSequence: count },
    optional: {
      originalEventId: id,
      replayEventId: id,
      divergenceKind: oneOf('output', 'missing', 'extra', 'type-mismatch'),
      divergencePoint: filled,
    },
    assay: ['originalEventId', 'replayEventId', 'divergenceKind', 'divergencePoint'],
  },
  'replay.divergedAtRefusal': {
    required: { sourceRunId: id, atSequence: count, originalEnvelopeKind: envelope, replayEnvelopeKind: envelope },
    optional: { originalEventId: id, nodeId: id, refusalReason: words },
    assay: ['originalEventId', 'nodeId'],
    notAssay: ['refusalReason'],
    closed: true,
  },
  'lease.acquired': lease,
  'lease.renewed': lease,
  'lease.lost': lease,
  'lease.handed-off': { required: { leaseId: id, fromHost: words, toHost: words } },
  ...JOURNAL_SHAPES,
}

export const shapeOf = (type: string): Shape | undefined => (Object.hasOwn(SHAPES, type) ? SHAPES[type] : undefined)

/** Wall-clock durations would make a replay differ from its source (core §13 no. 7). */
export const UNREPEATABLE: readonly string[] = ['durationMs']
