import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { RunEngine } from '../api.js'
import type { StoredEvent } from '../ports/event-log.js'

/** What the log of a run keeps from its readers, for those who may read it: the fields as they are. */
export type Withheld = {
  readonly sequence: number
  readonly type: string
  readonly nodeId: string | null
  readonly at: number
  readonly content: JsonObject
}

/** By type, the fields of the hidden part that stand for what readers of the log would see, were they to see it. */
const FIELDS: { readonly [type: string]: readonly string[] } = {
  'run.started': ['inputs'],
  'agent.decided': ['decision'],
  'runOrchestrator.decided': ['decision'],
  'variable.changed': ['next'],
  'channel.written': ['value'],
  'node.completed': ['outputs'],
  'interrupt.requested': ['data'],
  'interrupt.resolved': ['resumeValue'],
}

/** What stands beside the payload and would be in one of its fields. */
const BESIDE: { readonly [type: string]: string } = { 'run.started': 'inputs', 'interrupt.requested': 'data' }

/** Events that are looked through at once. */
const PAGE = 256

/** At most `limit` of them from `from` on, or undefined when the tenant has no such run. */
export async function withheldIn(
  engine: Pick<RunEngine, 'readEvents'>,
  tenant: string,
  runId: string,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<readonly Withheld[] | undefined> {
  const found: Withheld[] = []
  for (let at = from; ; at += PAGE) {
    const events = await engine.readEvents(tenant, runId, at, PAGE)
    if (events === undefined) return undefined
    found.push(...events.flatMap(event => withheldOf(event) ?? []))
    if (events.length < PAGE || found.length >= limit) return found.slice(0, limit)
  }
}

export function withheldOf({ sequence, type, nodeId, at, secret, payload }: StoredEvent): Withheld | undefined {
  const fields = FIELDS[type]
  if (fields === undefined || secret === null) return undefined
  const hidden = JSON.parse(secret) as JsonObject
  const content = Object.fromEntries(fields.flatMap(name => (hidden[name] === undefined ? [] : [[name, hidden[name]]])))
  const beside = BESIDE[type]
  const whole = beside !== undefined && isObject(hidden.withheld) ? beside : undefined
  const filled = whole === undefined ? content : { [whole]: filledIn(JSON.parse(payload) as JsonObject, whole, hidden) }
  return Object.keys(filled).length === 0 ? undefined : { sequence, type, nodeId, at, content: filled as JsonObject }
}

/** The field as readers see it, with what they do not. */
function filledIn(payload: JsonObject, field: string, hidden: JsonObject): Json {
  const part = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
  return { ...part(payload[field]), ...part(hidden[field]), ...part(hidden.withheld) }
}
