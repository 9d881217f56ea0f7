import type { RunEvent } from '../core/run/events.js'
import { NAME_A_HOST } from '../core/handoff/foreign-cause.js'

/**
 * What this host claims of the multi-agent execution model (contract agents §2.2). R-CAP-4: a version claims all before
 * it too. What is said of memory and workspaces binds together with their own claims only (R-MEM-1, R-STATE-6).
 */
export const EXECUTION_MODEL_VERSION = 6

/** What differs between hosts of one version. */
export type ModelTerms = {
  readonly hostId: string
  readonly ancestry: boolean
  readonly confidenceFloor: number
  readonly confidenceInterruptKind: string
  readonly transcriptWindow: number
  readonly memory: boolean
  readonly conformance: boolean
}

/** The block of discovery: each version has its own fields, and none of a later one (R-CAP-6, R-CAP-7, R-CAP-8). */
export const executionModel = (version: number, settings: ModelTerms) => ({
  supported: true,
  version,
  ...(version >= 2 && {
    confidenceEscalationFloor: settings.confidenceFloor,
    confidenceEscalationInterruptKind: settings.confidenceInterruptKind,
    // R-MEM-6: siblings write one after the other, and who reads them reads up to an anchor.
    ...(settings.memory && { crossChildMemoryConcurrency: 'strict' }),
  }),
  ...(version >= 3 && {
    crossHostCausation: {
      supported: true,
      hostId: settings.hostId,
      ...(settings.ancestry && { ancestryEndpointSupported: true }),
    },
  }),
  replayDeterminism: replayDeterminism(version, settings.conformance),
  ...(version >= 5 && { statefulResume: true, transcriptWindow: settings.transcriptWindow }),
  ...(version >= 6 && { verifier: { supported: true, gating: true } }),
})

/**
 * R-REPLAY-1, R-REPLAY-3: what is claimed of replays where models may answer otherwise. The recipe of cache keys is the
 * protocol's at every version; that a replay is deterministic is claimed with version 4 and not before. Refusals can differ
 * only where the provider `mock` is, before as after.
 */
export const replayDeterminism = (version: number, conformance: boolean) => ({
  supported: version >= 4,
  llmCacheKeyRecipe: 'spec-rfc-0041',
  ...(version >= 4 || conformance ? { refusalDivergenceEmission: true } : {}),
})

/** From which version on a host may send events of a type; 0 where the model has no say. R-STATE-1: none is of version 5. */
export const EVENTS_FROM: { readonly [Type in RunEvent['type']]: number } = {
  'agent.decided': 0,
  'agent.handoff': 0,
  'agent.invocation.completed': 0,
  'agent.invocation.started': 0,
  'agent.promptResolved': 0,
  'agent.reasoned': 0,
  'agent.reasoning.delta': 0,
  'agent.toolCalled': 0,
  'agent.toolReturned': 0,
  'agent.verified': 6,
  'approval.received': 0,
  'approval.requested': 0,
  'artifact.created': 0,
  'assay.child.status': 0,
  'assay.file.removed': 0,
  'assay.file.written': 0,
  'assay.interrupt.asked': 0,
  'assay.interrupt.voted': 0,
  'assay.journal.read': 0,
  'assay.memory.forgotten': 0,
  'assay.model.lost': 0,
  'assay.model.requested': 0,
  'assay.pause.requested': 0,
  'assay.peer.heard': 0,
  'assay.peer.lost': 0,
  'assay.peer.receipt': 0,
  'assay.peer.released': 0,
  'assay.peer.silent': 0,
  'assay.result.staged': 0,
  'assay.result.withheld': 0,
  'assay.rework.began': 0,
  'assay.run.forked': 0,
  'assay.stop.requested': 0,
  'assay.tool.delivered': 0,
  'assay.tool.withheld': 0,
  'assay.verification.confirming': 0,
  'assay.verification.held': 0,
  'assay.verification.resumed': 0,
  'assay.verifier.began': 0,
  'assay.verifier.ended': 0,
  'assay.verifier.started': 0,
  'budget.consumed': 0,
  'budget.exhausted': 0,
  'budget.reserved': 0,
  'budget.threshold.crossed': 0,
  'cap.breached': 0,
  'channel.written': 0,
  'clarification.requested': 0,
  'clarification.resolved': 0,
  'core.workflowChain.confidence-escalated': 2,
  'core.workflowChain.event': 1,
  'dws.verification.finding_issued': 0,
  'dws.verification.started': 0,
  'dws.verification.verdict_rendered': 0,
  'envelope.recovery.applied': 0,
  'envelope.refusal': 0,
  'envelope.retry.attempted': 0,
  'envelope.retry.exhausted': 0,
  'envelope.truncated': 0,
  'interrupt.requested': 0,
  'interrupt.resolved': 0,
  'log.appended': 0,
  'memory.written': 0,
  'model.capability.insufficient': 0,
  'model.capability.substituted': 0,
  'node.cancelled': 0,
  'node.completed': 0,
  'node.dispatched': 0,
  'node.failed': 0,
  'node.resumed': 0,
  'node.retried': 0,
  'node.skipped': 0,
  'node.started': 0,
  'node.suspended': 0,
  'prompt.composed': 0,
  'provider.usage': 0,
  'replay.diverged': 0,
  'replay.divergedAtRefusal': 4,
  'run.cancelled': 0,
  'run.completed': 0,
  'run.failed': 0,
  'run.paused': 0,
  'run.resumed': 0,
  'run.started': 0,
  'runOrchestrator.decided': 0,
  'variable.changed': 0,
  'workflow.loopback-limit': 0,
}

/** The same for fields of events that may be sent earlier without them. */
export const FIELDS_FROM: { readonly [field: string]: number } = {
  'runOrchestrator.decided.iteration': 5,
  ...Object.fromEntries(NAME_A_HOST.map(type => [`${type}.causationHostId`, 3])),
}
