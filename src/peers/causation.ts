import type { ForeignParent } from '../core/handoff/foreign-cause.js'
import { isObject, type Json } from '../core/json.js'
import { isNamed } from '../core/names.js'

/**
 * The carrier of a cause on another host, for requests that start runs: base64url of a small JSON. It says where the
 * request comes from and nothing of what it may do; whether it is heard depends on the key it comes with.
 */
export const CAUSATION_HEADER = 'x-host-assay-causation'

export type Causation = Pick<ForeignParent, 'hostId' | 'runId' | 'eventId' | 'cause'> & {
  /** How deep the calling run is nested. */
  readonly depth: number
}

const MAX_CHARACTERS = 1024
const MAX_DEPTH = 1000

export const causationText = (causation: Causation): string =>
  Buffer.from(JSON.stringify(causation)).toString('base64url')

/** Undefined for everything that is not exactly one. */
export function causationIn(text: unknown): Causation | undefined {
  if (typeof text !== 'string' || text.length > MAX_CHARACTERS || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined
  const said = parsedJson(Buffer.from(text, 'base64url').toString('utf8'))
  if (!isObject(said)) return undefined
  const { hostId, runId, eventId, cause = 'core.dispatch', depth = 0 } = said
  if (typeof hostId !== 'string' || !isNamed('hostId', hostId)) return undefined
  if (typeof runId !== 'string' || !isNamed('runId', runId)) return undefined
  if (typeof eventId !== 'string' || !isNamed('foreignEventId', eventId)) return undefined
  if (cause !== 'core.dispatch' && cause !== 'core.subWorkflow') return undefined
  if (typeof depth !== 'number' || !Number.isInteger(depth) || depth < 0 || depth > MAX_DEPTH) return undefined
  return { hostId, runId, eventId, cause, depth }
}

function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
