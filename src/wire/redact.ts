import { isObject, type Json, type JsonObject } from '../core/json.js'
import { MASK } from '../core/run/masking.js'
import type { RunSnapshot } from './run.js'

/**
 * A run without its content, for a bundle that leaves the house (contract core §2.1 debug-bundle). What is not known to
 * be harmless is masked: a field that is added to an event tomorrow is hidden until it is listed here.
 */

/** Payload fields that tell how a run went, not what it was about. */
const PLAIN: ReadonlySet<string> = new Set([
  ...['workflowId', 'workflowDigest', 'transport', 'engineVersion', 'owner', 'depth', 'parentRunId', 'parentNodeId'],
  ...['runId', 'nodeId', 'typeId', 'attempt', 'attempts', 'delayMs', 'failedNodeId', 'outcome', 'status', 'kind'],
  ...['childRunId', 'childWorkflowId', 'childStatus', 'interruptId', 'key', 'timeoutMs', 'requestedAt', 'resolvedAt'],
  ...['decidedAt', 'resolvedBy', 'decidedBy', 'answeredBy', 'cancelledBy', 'by', 'voter', 'action', 'actions'],
  ...['shownHash', 'artifactId', 'artifactType', 'requiredApprovals', 'drainPolicy', 'reason', 'level', 'name'],
  ...['channel', 'reducer', 'writtenAt', 'schemaVersion', 'iterations', 'limit', 'observed', 'breach', 'sourceRunId'],
  ...['fromSeq', 'atSequence', 'originalEventId', 'replayEventId', 'divergenceKind', 'divergencePoint'],
])

const FAILURES: ReadonlySet<string> = new Set(['error', 'lastError'])

/** Texts that look like a credential, wherever they stand. */
const CREDENTIALS = new RegExp(
  [
    String.raw`\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`,
    String.raw`\b(?:ask|hk|sk|pk|rk|whsec|ghp|gho|ghs|ghu|github_pat|glpat|xox[abeprs]|npm|pypi|key|tok)[-_][A-Za-z0-9_-]{8,}`,
    String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{12,}`,
    String.raw`\bAIza[A-Za-z0-9_-]{20,}`,
    String.raw`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`,
    String.raw`-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)`,
    String.raw`(?<=://)[^\s/@]+:[^\s/@]+(?=@)`,
    String.raw`(?<=\b(?:api[-_ ]?key|access[-_ ]?key|token|secret|password|passwd|credential)s?["']?\s*[:=]\s*["']?)[^\s"',;}]{4,}`,
  ].join('|'),
  'gi',
)

export type Scrub = (text: string) => string

/** Shorter texts are found in too many places to mean anything there. */
const SHORTEST = 6
const MOST_TEXTS = 500

/** Takes credentials out of a text, and everything the run was given that is long enough to recognise. */
export function scrubber(given: readonly Json[]): Scrub {
  const texts = textsIn(given).sort((a, b) => b.length - a.length)
  const known = texts.length === 0 ? undefined : new RegExp(texts.map(RegExp.escape).join('|'), 'g')
  return text => (known === undefined ? text : text.replace(known, MASK)).replace(CREDENTIALS, MASK)
}

function textsIn(given: readonly Json[]): string[] {
  const texts = new Set<string>()
  const queue = [...given]
  for (let value = queue.pop(); value !== undefined && texts.size < MOST_TEXTS; value = queue.pop()) {
    if (typeof value === 'string' && value.length >= SHORTEST) texts.add(value)
    else if (Array.isArray(value)) queue.push(...value)
    else if (isObject(value)) queue.push(...Object.values(value))
  }
  return [...texts]
}

/** An event's payload without the run's content. */
export function redactPayload(payload: Json, scrub: Scrub): Json {
  if (!isObject(payload)) return payload === null ? null : MASK
  return mapped(payload, scrub, (value, name) => {
    if (PLAIN.has(name)) return scrubbed(value, scrub)
    return FAILURES.has(name) && isObject(value) ? redactFailure(value, scrub) : MASK
  })
}

/** The code says what happened; a message may quote what it happened to. */
function redactFailure({ code, message, retryable, details }: JsonObject, scrub: Scrub): JsonObject {
  return {
    code: code ?? null,
    message: typeof message === 'string' ? scrub(message) : '',
    ...(retryable === undefined ? {} : { retryable }),
    ...(details === undefined ? {} : { details: MASK }),
  }
}

/** A snapshot without the run's content; the names of variables, inputs and channels stay. */
export function redactSnapshot(snapshot: RunSnapshot, scrub: Scrub): JsonObject {
  // The wire's types say "optional" where JSON has no such thing.
  const { interrupt, error, nodeStates, tags, ...rest } = JSON.parse(JSON.stringify(snapshot)) as JsonObject
  const hidden = ['inputs', 'variables', 'channels', 'outputs', 'metadata', 'configurable']
  const shown = mapped(rest, scrub, (value, name) =>
    hidden.includes(name) && isObject(value) ? mapped(value, scrub, () => MASK) : value,
  )
  return {
    ...shown,
    ...(tags === undefined ? {} : { tags: scrubbed(tags, scrub) }),
    ...(isObject(error) ? { error: redactError(error, scrub) } : {}),
    ...(isObject(nodeStates) ? { nodeStates: mapped(nodeStates, scrub, node => redactNode(node, scrub)) } : {}),
    ...(interrupt === undefined ? {} : { interrupt: redactPayload(interrupt, scrub) }),
  }
}

const redactError = (error: JsonObject, scrub: Scrub): JsonObject => {
  const { details, ...rest } = redactFailure(error, scrub)
  return details === undefined ? rest : { ...rest, details: {} }
}

const redactNode = (node: Json, scrub: Scrub): Json =>
  isObject(node) && isObject(node.error) ? { ...node, error: redactFailure(node.error, scrub) } : node

const scrubbed = (value: Json, scrub: Scrub): Json => {
  if (typeof value === 'string') return scrub(value)
  if (Array.isArray(value)) return value.map(item => scrubbed(item, scrub))
  return isObject(value) ? mapped(value, scrub, item => scrubbed(item, scrub)) : value
}

const mapped = (values: JsonObject, scrub: Scrub, map: (value: Json, name: string) => Json): JsonObject =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [scrub(name), map(value, name)]))
