import { withoutAnyCredential } from '../core/credentials.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import { MASK } from '../core/run/redaction.js'
import { isDecision } from '../core/supervisor/decision.js'
import type { RunSnapshot } from './run.js'

/**
 * A run without its content, for a bundle that leaves the house (contract core §2.1 debug-bundle). What is not known to
 * be harmless is masked: a field that is added to an event tomorrow is hidden until it is listed here.
 */

/** Payload fields that tell how a run went, not what it was about. */
const PLAIN: ReadonlySet<string> = new Set(
  [
    ['workflowId', 'workflowDigest', 'transport', 'engineVersion', 'owner', 'depth', 'parentRunId', 'parentNodeId'],
    ['runId', 'nodeId', 'typeId', 'attempt', 'attempts', 'delayMs', 'failedNodeId', 'status', 'kind', 'principalScope'],
    ['childRunId', 'childWorkflowId', 'childStatus', 'interruptId', 'key', 'timeoutMs', 'requestedAt', 'resolvedAt'],
    ['decidedAt', 'resolvedBy', 'decidedBy', 'answeredBy', 'cancelledBy', 'by', 'voter', 'action', 'actions'],
    ['shownHash', 'expiresAt', 'requiredApprovals', 'drainPolicy', 'level', 'name', 'channel', 'reducer', 'writtenAt'],
    ['schemaVersion', 'iterations', 'limit', 'observed', 'breach', 'sourceRunId', 'fromSeq', 'atSequence'],
    ['originalEventId', 'replayEventId', 'divergenceKind', 'divergencePoint', 'agentId', 'fromAgentId', 'toAgentId'],
    ['iteration', 'phase', 'workerId', 'harvestedKeys', 'confidence', 'floor', 'escalationKind', 'threshold'],
    ['toolName', 'toolId', 'callId', 'durationMs', 'sequence', 'verbosity', 'argsHash', 'principal'],
    ['invocationId', 'source', 'modelClass', 'resolvedModel', 'resolvedProvider', 'resolvedAgentVersion'],
    ['toolSurfaceCount', 'memoryBound', 'schemaValidated', 'call', 'maxOutputTokens', 'reservedTokens'],
    [
      'reservedCostUsd',
      'heldTokens',
      'heldCostUsd',
      'chargedTokens',
      'chargedCostUsd',
      'provider',
      'model',
      'inputTokens',
      'outputTokens',
    ],
    ['totalTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costEstimateUsd', 'currency', 'cacheHit'],
    ['totalAttempts', 'finalReason', 'stopReason', 'outputTokenCount', 'safetyCategory', 'path'],
    ['effectiveBudget', 'scope', 'dimension', 'consumed', 'remaining', 'percent'],
    ['chain', 'layer', 'resolved', 'refs', 'hash'],
    [
      'gateId',
      'gates',
      'gateVersion',
      'gateHash',
      'targetRef',
      'target',
      'placement',
      'point',
      'blocking',
      'resultHash',
    ],
    ['criteria', 'criteriaFailed', 'probes', 'probesFailed', 'verifiers', 'verifier', 'round', 'vote', 'fault'],
    ['votes', 'faults', 'retryInMs', 'findingId', 'classification', 'dwsVerdict', 'verdict', 'quorum', 'forced'],
    ['resultArtifactId', 'proceeds', 'goalSatisfied'],
  ].flat(),
)

/** How a run or an invocation ends. A tool's `outcome` is what it returned. */
const OUTCOMES: readonly Json[] = ['completed', 'failed', 'cancelled', 'handed-off', 'escalated', 'refused']

const FAILURES: ReadonlySet<string> = new Set(['error', 'lastError'])

/** Makes a text that somebody wrote fit to be shown. */
export type Scrub = (text: string) => string

/** Shorter texts are found in too many places to mean anything there. */
const SHORTEST_TEXT = 6
const MOST_TEXTS = 500

/** Takes out credentials, and everything in `given` that is long enough to be recognised where it is quoted. */
export function scrubber(given: readonly Json[]): Scrub {
  const texts = textsIn(given).sort((a, b) => b.length - a.length)
  // Too many to look for: then no text is shown.
  if (texts.length > MOST_TEXTS) return () => MASK
  return text => withoutAnyCredential(texts.reduce((rest, known) => rest.replaceAll(known, MASK), text))
}

function textsIn(given: readonly Json[]): string[] {
  const texts = new Set<string>()
  const queue = [...given]
  for (let value = queue.pop(); value !== undefined && texts.size <= MOST_TEXTS; value = queue.pop()) {
    if (typeof value === 'string' && value.length >= SHORTEST_TEXT) texts.add(value)
    else if (typeof value === 'object' && value !== null)
      for (const item of Array.isArray(value) ? value : Object.values(value)) queue.push(item)
  }
  return [...texts]
}

/** An event's payload without the run's content. */
export function redactPayload(payload: Json, scrub: Scrub): Json {
  if (!isObject(payload)) return payload === null ? null : MASK
  return mapped(payload, (value, name) => {
    if (PLAIN.has(name) || (name === 'outcome' && OUTCOMES.includes(value))) return plain(value)
    if ((name === 'decision' || name === 'originalDecision') && isDecision(value)) return redactDecision(value)
    if (name === 'reason' && typeof value === 'string') return scrub(value)
    return FAILURES.has(name) && isObject(value) ? redactFailure(value, scrub) : MASK
  })
}

/** What was decided and who is to do it; why, and what is asked, is the run's own. */
function redactDecision(decision: JsonObject): JsonObject {
  return mapped(decision, (value, name) => (DECISION.has(name) ? plain(value) : MASK))
}

const DECISION: ReadonlySet<string> = new Set(['kind', 'nextWorkerIds', 'confidence'])

/** The code says what happened; a message may quote what it happened to. */
function redactFailure({ code, message, retryable, details }: JsonObject, scrub: Scrub): JsonObject {
  return {
    code: code ?? null,
    message: typeof message === 'string' ? scrub(message) : '',
    ...(retryable === undefined ? {} : { retryable }),
    ...(details === undefined ? {} : { details: { [MASK]: MASK } }),
  }
}

const HIDDEN: ReadonlySet<string> = new Set(['inputs', 'variables', 'channels', 'outputs', 'metadata', 'configurable'])

const masked = (value: unknown): Json | undefined =>
  value === undefined ? undefined : isObject(value) ? mapped(value, () => MASK) : MASK

/** A snapshot without the run's content; the names of variables, inputs and channels stay. */
export function redactSnapshot(snapshot: RunSnapshot, scrub: Scrub): JsonObject {
  // What is hidden is not copied, however much it is.
  const shown = Object.entries(snapshot).map(([name, value]) => [name, HIDDEN.has(name) ? masked(value) : value])
  // What is undefined in a snapshot is not there in JSON.
  const json = JSON.parse(JSON.stringify(Object.fromEntries(shown))) as JsonObject
  return mapped(json, (value, name) => {
    if (HIDDEN.has(name)) return value
    if (name === 'tags' && Array.isArray(value)) return value.map(tag => scrub(String(tag)))
    if (name === 'interrupt') return redactPayload(value, scrub)
    if (name === 'error' && isObject(value)) return redactFailure(value, scrub)
    if (name === 'nodeStates' && isObject(value)) return mapped(value, node => redactNode(node, scrub))
    return plain(value)
  })
}

const redactNode = (node: Json, scrub: Scrub): Json =>
  isObject(node) && isObject(node.error) ? { ...node, error: redactFailure(node.error, scrub) } : plain(node)

function plain(value: Json): Json {
  if (typeof value === 'string') return withoutAnyCredential(value)
  if (Array.isArray(value)) return value.map(plain)
  return isObject(value) ? mapped(value, plain) : value
}

const mapped = (values: JsonObject, map: (value: Json, name: string) => Json): JsonObject =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [withoutAnyCredential(name), map(value, name)]))
