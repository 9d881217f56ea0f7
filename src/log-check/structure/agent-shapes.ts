import {
  amount,
  between,
  boolean,
  boundedText,
  count,
  either,
  filled,
  hashes,
  id,
  listOf,
  nothing,
  oneOf,
  positive,
  record,
  type Shape,
  sha256,
  share,
  short,
  texts,
  words,
} from './shape.js'

/** Payloads about an agent's invocation and its costs. None of them has a field for content. */

const agentId = boundedText('a string of 3 to 256 characters', 3, 256)
const invocationId = short
const promptKind = oneOf('system', 'user', 'few-shot', 'schema-hint')
const layer = oneOf(
  'run-configurable',
  'node',
  'agent-intrinsic',
  'agent-overrides',
  'agent-library-default',
  'workflow-defaults',
  'host-defaults',
)
const link = record('a layer', {
  required: { layer, applied: boolean },
  optional: { source: short, reason: short },
  closed: true,
})
const HOST_REASON = /^x-host-[a-z][a-z0-9-]*-[a-z][a-z0-9-]*$/
const reason = either(
  oneOf('schema-violation', 'truncation', 'type-drift', 'type-mismatch', 'refusal', 'parse-error', 'unknown'),
  { is: 'a reason of the host', holds: value => typeof value === 'string' && HOST_REASON.test(value) },
)
const attempt = {
  is: 'a whole number from 1 to 16',
  holds: (value: unknown) => positive.holds(value) && Number(value) <= 16,
}

/** agents §13.2, §14.3, §16, §17, §18 */
export const INVOCATION_SHAPES: { readonly [type: string]: Shape } = {
  'agent.invocation.started': {
    required: { invocationId, agentId, source: oneOf('workflow-node', 'run-api', 'chat-mention') },
    optional: {
      modelClass: short,
      resolvedModel: short,
      resolvedProvider: short,
      resolvedAgentVersion: short,
      resolvedChannel: short,
      toolSurfaceCount: count,
      memoryBound: boolean,
    },
    assay: ['modelClass', 'resolvedModel', 'resolvedProvider', 'toolSurfaceCount', 'memoryBound'],
    notAssay: ['resolvedChannel'],
    assayClosed: true,
  },
  'agent.invocation.completed': {
    required: { invocationId, agentId, outcome: oneOf('completed', 'handed-off', 'escalated', 'refused', 'failed') },
    optional: { schemaValidated: boolean, confidence: share, enqueuedRunId: id },
    assayClosed: true,
  },
  'agent.promptResolved': {
    required: {
      nodeId: id,
      kind: promptKind,
      chain: listOf('layers', 0, link.holds),
      resolved: either(filled, nothing),
    },
    optional: { agentId, causationHostId: filled },
    assay: ['agentId'],
    closed: true,
  },
  'prompt.composed': {
    required: {
      nodeId: id,
      refs: texts,
      kind: oneOf('system+user', 'system-only', 'user-only', 'agent-reasoning'),
      hash: sha256,
    },
    optional: {
      composed: words,
      systemPrompt: words,
      userPrompt: words,
      variableBindings: { is: 'an object', holds: value => typeof value === 'object' && value !== null },
      variableHashes: hashes,
      contentTrust: oneOf('trusted', 'untrusted'),
      causationHostId: filled,
    },
    assay: ['variableHashes'],
    notAssay: ['composed', 'systemPrompt', 'userPrompt', 'variableBindings'],
    closed: true,
  },
  'assay.model.requested': {
    required: {
      nodeId: id,
      invocationId,
      call: positive,
      attempt: positive,
      maxOutputTokens: positive,
      reservedTokens: positive,
    },
    optional: { reservedCostUsd: amount },
    closed: true,
  },
  'assay.model.lost': {
    required: { nodeId: id, invocationId, call: positive, attempt: positive },
    // Before version 4 of the engine it was said to be charged.
    optional: { heldTokens: positive, heldCostUsd: amount, chargedTokens: positive, chargedCostUsd: amount },
    closed: true,
  },
  'provider.usage': {
    required: { provider: short, model: short, inputTokens: count, outputTokens: count },
    optional: {
      totalTokens: count,
      costEstimateUsd: amount,
      currency: { is: 'a currency', holds: value => typeof value === 'string' && /^[A-Z]{3}$/.test(value) },
      cacheHit: boolean,
      cacheReadTokens: count,
      cacheWriteTokens: count,
      nodeId: id,
      traceId: words,
    },
    assay: ['totalTokens', 'nodeId'],
    notAssay: ['traceId'],
    closed: true,
  },
  'model.capability.substituted': {
    required: {
      nodeId: id,
      originalProvider: words,
      originalModel: words,
      fallbackProvider: words,
      fallbackModel: words,
      missingCapabilities: texts,
    },
    closed: true,
  },
  'model.capability.insufficient': {
    required: { nodeId: id, provider: words, model: words, missingCapabilities: texts },
    optional: { fallbackAttempted: boolean },
    assay: ['fallbackAttempted'],
    closed: true,
  },
  'envelope.retry.attempted': {
    required: { nodeId: id, attempt, reason },
    optional: { previousError: either(words, nothing) },
    notAssay: ['previousError'],
    closed: true,
  },
  'envelope.retry.exhausted': {
    required: { nodeId: id, totalAttempts: positive, finalReason: reason },
    optional: { finalError: either(words, nothing) },
    notAssay: ['finalError'],
    closed: true,
  },
  'envelope.refusal': {
    required: { nodeId: id, provider: words, model: words },
    optional: { refusalText: either(words, nothing), safetyCategory: either(words, nothing) },
    assay: ['refusalText'],
    closed: true,
  },
  'envelope.truncated': {
    required: {
      nodeId: id,
      provider: words,
      model: words,
      stopReason: oneOf('max_tokens', 'length', 'stop_sequence', 'unknown'),
    },
    optional: { partialPayloadAvailable: boolean, outputTokenCount: either(count, nothing) },
    assay: ['outputTokenCount'],
    closed: true,
  },
  'envelope.recovery.applied': {
    required: { nodeId: id, path: oneOf('direct', 'jsonrepair', 'markdown-fence', 'brace-walker', 'custom') },
    optional: { byteOffset: either(count, nothing) },
    closed: true,
  },
}

const dimension = oneOf('tokens', 'cost', 'toolCalls', 'retries')
const ceilings = record('ceilings', {
  optional: { maxTokens: count, maxCostUsd: amount, maxToolCalls: count, maxRetries: count },
  closed: true,
})

/** agents §18 */
export const BUDGET_SHAPES: { readonly [type: string]: Shape } = {
  'budget.reserved': {
    required: { effectiveBudget: ceilings, scope: oneOf('run', 'workflow', 'agent', 'project') },
    closed: true,
  },
  'budget.consumed': {
    required: { dimension, consumed: amount, limit: amount },
    optional: { remaining: { is: 'a number', holds: value => typeof value === 'number' } },
    assay: ['remaining'],
    closed: true,
  },
  'budget.threshold.crossed': {
    required: { dimension, consumed: amount, limit: amount, percent: between(0, 100) },
    closed: true,
  },
  'budget.exhausted': { required: { dimension, consumed: amount, limit: amount }, closed: true },
}
