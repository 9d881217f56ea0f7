import type { StoredEvent } from '../../../src/engine/ports/event-log.js'

/** What the stories were made of. Each of these must have happened at least once in a suite. */
export const counts = () => ({
  crashes: 0,
  'foreign tools': 0,
  'said: answered': 0,
  'said: tools': 0,
  'said: unusable': 0,
  'said: truncated': 0,
  'said: refused': 0,
  'said: broken': 0,
  'tool: ok': 0,
  'tool: error': 0,
  'tool: rate_limited': 0,
  'tool: fails': 0,
  'tool: fails for now': 0,
  'model: none': 0,
  'model: crash during': 0,
  'model: crash before kept': 0,
  'model: crash before told': 0,
  'model: crash after told': 0,
  'model: pause at once': 0,
  'model: pause draining': 0,
  'model: cancel': 0,
  'tool: none': 0,
  'tool: crash during': 0,
  'tool: crash before kept': 0,
  'tool: crash before told': 0,
  'tool: crash after told': 0,
  'tool: pause at once': 0,
  'tool: pause draining': 0,
  'tool: cancel': 0,
  'held: accept': 0,
  'held: edit-accept': 0,
  'held: reject': 0,
  'held: nobody': 0,
  'calls lost': 0,
  'calls used again': 0,
  'tools forbidden': 0,
  'arguments refused': 0,
  'nodes tried again': 0,
  'thresholds crossed': 0,
  'exhausted: tokens': 0,
  'exhausted: cost': 0,
  'exhausted: toolCalls': 0,
  'exhausted: retries': 0,
  'more: given': 0,
  'more: refused': 0,
  'more: asked for when the host died': 0,
  'more: asked for once by several': 0,
  'outcomes unknown': 0,
  'models denied': 0,
  'tasks refused': 0,
  'rounds exceeded': 0,
  'answers given up': 0,
  'invocations completed': 0,
  'invocations failed': 0,
  'invocations refused': 0,
  'invocations escalated': 0,
  'runs completed': 0,
  'runs failed': 0,
  'runs cancelled': 0,
  'replays equal': 0,
  'agents side by side': 0,
  'agents that waited for room': 0,
  'workers granted': 0,
  'workers that spent': 0,
})

export type Counts = ReturnType<typeof counts>

const BY_TYPE: { readonly [type: string]: keyof Counts } = {
  'assay.model.lost': 'calls lost',
  'node.retried': 'nodes tried again',
  'budget.threshold.crossed': 'thresholds crossed',
  'envelope.retry.exhausted': 'answers given up',
  'run.completed': 'runs completed',
  'run.failed': 'runs failed',
  'run.cancelled': 'runs cancelled',
}

const BY_CODE: { readonly [code: string]: keyof Counts } = {
  effect_outcome_unknown: 'outcomes unknown',
  budget_model_denied: 'models denied',
  handoff_task_schema_violation: 'tasks refused',
  agent_rounds_exceeded: 'rounds exceeded',
}

type Told = {
  readonly dimension?: 'tokens' | 'cost' | 'toolCalls' | 'retries'
  readonly outcome?: 'completed' | 'failed' | 'refused' | 'escalated'
  readonly status?: string
  readonly cacheHit?: boolean
  readonly error?: { readonly code: string }
}

/** Counts what a log tells. */
export function countTold(seen: Counts, log: readonly StoredEvent[]): void {
  for (const { type, payload } of log) {
    const told = JSON.parse(payload) as Told
    const counted = BY_TYPE[type]
    if (counted) seen[counted] += 1
    if (type === 'budget.exhausted') seen[`exhausted: ${told.dimension!}`] += 1
    if (type === 'agent.invocation.completed') seen[`invocations ${told.outcome!}`] += 1
    if (type === 'provider.usage' && told.cacheHit) seen['calls used again'] += 1
    if (type === 'agent.toolReturned' && told.status === 'forbidden') seen['tools forbidden'] += 1
    if (type === 'agent.toolReturned' && told.error?.code === 'invalid_arguments') seen['arguments refused'] += 1
    const byCode = type === 'node.failed' ? BY_CODE[told.error?.code ?? ''] : undefined
    if (byCode) seen[byCode] += 1
  }
}

/** Counts what only several agents under one budget can bring about. */
export function countShared(seen: Counts, log: readonly StoredEvent[]): void {
  const thinking = new Set<string | null>()
  for (const [i, { type, nodeId, secret }] of log.entries()) {
    if (type === 'assay.model.requested') {
      if (thinking.size > 0) seen['agents side by side'] += 1
      thinking.add(nodeId)
    }
    if (type === 'provider.usage' || type === 'assay.model.lost') thinking.delete(nodeId)
    const isAsking = (event: StoredEvent | undefined) =>
      event?.type === 'assay.model.requested' && event.nodeId === nodeId
    if (type === 'prompt.composed' && !isAsking(log[i + 1]) && log.slice(i).some(isAsking))
      seen['agents that waited for room'] += 1
    const kept = (secret === null ? {} : JSON.parse(secret)) as { grant?: object; spent?: { tokens: number } }
    if (kept.grant) seen['workers granted'] += 1
    if (kept.spent && kept.spent.tokens > 0) seen['workers that spent'] += 1
  }
}
