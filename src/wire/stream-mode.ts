/** Which events each stream mode carries (contract core §6). */

export const STREAM_MODES = ['values', 'updates', 'messages', 'debug'] as const

export type StreamMode = (typeof STREAM_MODES)[number]

/** Carried by `updates`, and followed by a snapshot in `values`. */
const UPDATES: ReadonlySet<string> = new Set([
  'run.started',
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.paused',
  'run.resumed',
  'node.completed',
  'node.failed',
  'node.skipped',
  'node.suspended',
  'node.cancelled',
  'node.dispatched',
  'runOrchestrator.decided',
  'core.workflowChain.event',
  'core.workflowChain.confidence-escalated',
  'approval.requested',
  'approval.received',
  'clarification.requested',
  'clarification.resolved',
  'interrupt.requested',
  'interrupt.resolved',
  'artifact.created',
])

/** The logged form of what `messages` sends as `ai.message.chunk`. */
export const CHUNK_EVENT = 'output.chunk'

const ADMITS: { readonly [Mode in StreamMode]: (type: string) => boolean } = {
  updates: type => UPDATES.has(type),
  values: type => UPDATES.has(type) || type === 'node.started',
  messages: type => type === CHUNK_EVENT,
  debug: () => true,
}

export const admits = (modes: readonly StreamMode[], type: string): boolean => modes.some(mode => ADMITS[mode](type))

/** A batch is sent at once when it holds one of these: somebody is waiting for it. */
export const FLUSHES: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled', 'node.suspended'])

/** Undefined when any item is unknown, repeated `values` aside: `values` stands alone. */
export function parseStreamMode(text: string | undefined): readonly StreamMode[] | undefined {
  if (text === undefined) return ['updates']
  const words = text.split(',')
  const modes = words.filter((word): word is StreamMode => (STREAM_MODES as readonly string[]).includes(word))
  if (modes.length !== words.length) return undefined
  if (modes.includes('values') && modes.length > 1) return undefined
  return modes
}
