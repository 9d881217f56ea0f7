import { WRITE_EVENTS } from '../../core/journal/events.js'
import type { Commit, StoredEvent } from '../../engine/ports/event-log.js'

/**
 * What says which scopes a commit may publish in, for `lock_scopes`: a scope that a write names, a run whose layer may be let
 * in, or an attempt of a node.
 */
type Journaled =
  | { readonly runId: string; readonly tenant?: string; readonly space: string; readonly scope: string }
  | { readonly runId: string; readonly layer: string }
  | { readonly runId: string; readonly nodeId: string; readonly since: number }

const WRITES: ReadonlySet<string> = new Set(WRITE_EVENTS)

/** Nearly nothing to look at for events that are none of these. */
export function journaledIn({ streams }: Commit): Journaled[] {
  const found: Journaled[] = []
  for (const { runId, events, create } of streams)
    for (const event of events) {
      const one = journaled(runId, create?.tenant, event)
      if (one) found.push(one)
    }
  return found
}

function journaled(runId: string, tenant: string | undefined, event: StoredEvent): Journaled | undefined {
  const { type, nodeId, payload, secret } = event
  if (WRITES.has(type)) {
    const { scope } = JSON.parse(secret ?? '{}') as { scope?: string }
    const space = type.includes('memory') ? 'memory' : 'workspace'
    return scope === undefined ? undefined : { runId, space, scope, ...(tenant === undefined ? {} : { tenant }) }
  }
  if (type === 'run.completed') return { runId, layer: runId }
  if (type === 'core.workflowChain.event') {
    const { phase, childRunId } = JSON.parse(payload) as { phase?: string; childRunId?: string }
    const isMerging = phase === 'child.completed' || phase === 'output.harvested'
    return isMerging && childRunId !== undefined ? { runId, layer: childRunId } : undefined
  }
  // Without a start nothing is let in, and only what a gate has judged has one.
  if (type !== 'node.completed' || nodeId === null || secret === null || !secret.includes('"since"')) return undefined
  const { since } = JSON.parse(secret) as { since?: unknown }
  return typeof since === 'number' ? { runId, nodeId, since } : undefined
}
