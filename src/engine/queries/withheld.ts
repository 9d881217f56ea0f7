import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { MASK, maskWithin, secretsOf } from '../../core/run/redaction.js'
import { isResultSensitive } from '../../core/verification/attempt.js'
import { JUDGE_WORKFLOW } from '../../core/workflow/nodes/judge.js'
import { VERIFIER_WORKFLOW } from '../../core/workflow/nodes/verify.js'
import type { InspectedRun, RunEngine } from '../api.js'
import type { StoredEvent } from '../ports/event-log.js'

/**
 * What the log of a run keeps from its readers, for those who may read it. What is before a gate, and what is said of it, is
 * there as it is; what a workflow declares `sensitive` stays masked, wherever it stands (docs/contract/readers.md).
 */
export type Withheld = {
  readonly sequence: number
  readonly type: string
  readonly nodeId: string | null
  readonly at: number
  readonly content: JsonObject
}

/** By type, the field of the payload that its readers do not see, or not all of. */
const FIELDS: { readonly [type: string]: string } = {
  'run.started': 'inputs',
  'agent.decided': 'decision',
  'variable.changed': 'next',
  'node.completed': 'outputs',
  'interrupt.requested': 'data',
  'interrupt.resolved': 'resumeValue',
}

/** What is withheld of these stands beside the field, not in its place. */
const BESIDE: readonly string[] = ['run.started', 'interrupt.requested']

/** Events that are looked through at once. */
const PAGE = 256

type Source = Pick<RunEngine, 'readEvents' | 'inspect'>

/** At most `limit` of them from `from` on, or undefined when the tenant has no such run. */
export async function withheldIn(
  engine: Source,
  tenant: string,
  runId: string,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<readonly Withheld[] | undefined> {
  const view = await engine.inspect(tenant, runId)
  if (view === undefined) return undefined
  const open = await openingOf(engine, view)
  const found: Withheld[] = []
  for await (const event of eventsFrom(engine, view, from)) {
    const content = open(event)
    if (content === undefined) continue
    const { sequence, type, nodeId, at } = event
    found.push({ sequence, type, nodeId, at, content: { [FIELDS[type] ?? '']: content } })
    if (found.length >= limit) break
  }
  return found
}

async function* eventsFrom(
  engine: Pick<RunEngine, 'readEvents'>,
  { tenant, runId }: InspectedRun,
  from: number,
): AsyncGenerator<StoredEvent> {
  for (let at = from; ; at += PAGE) {
    const events = (await engine.readEvents(tenant, runId, at, PAGE)) ?? []
    yield* events
    if (events.length < PAGE) return
  }
}

/** What of an event's field may be opened; undefined where nothing is. */
type Opening = (event: StoredEvent) => Json | undefined

async function openingOf(engine: Source, view: InspectedRun): Promise<Opening> {
  const { id } = view.plan.definition
  // The host's own workflows declare nothing, and what they are given has been masked before.
  if (id === VERIFIER_WORKFLOW || id === JUDGE_WORKFLOW) return event => fieldOf(event)?.value
  const { secrets, withheld } = await sensitiveIn(engine, view)
  return event => {
    const field = fieldOf(event)
    if (field === undefined) return undefined
    // In place of a field stands what is before a gate, or what is sensitive: of the first there are these.
    const isGates = event.type === 'agent.decided' || withheld.has(interruptOf(event))
    if (!field.isBeside && !isGates) return undefined
    const shown = field.isBeside ? field.value : isSensitive(view, event) ? MASK : field.value
    const masked = maskWithin(shown, secrets)
    return masked === MASK ? undefined : masked
  }
}

type Field = { readonly value: Json; readonly isBeside: boolean }

/** The field with what its readers do not see; undefined where they see all of it. */
function fieldOf({ type, secret, payload }: StoredEvent): Field | undefined {
  const name = FIELDS[type]
  if (name === undefined || secret === null) return undefined
  const hidden = JSON.parse(secret) as JsonObject
  if (BESIDE.includes(type) && isObject(hidden.withheld)) {
    const told = (JSON.parse(payload) as JsonObject)[name]
    return { value: { ...(isObject(told) ? told : {}), ...hidden.withheld }, isBeside: true }
  }
  const value = hidden[name]
  return value === undefined ? undefined : { value, isBeside: false }
}

const interruptOf = ({ type, payload }: StoredEvent): string =>
  type === 'interrupt.resolved' ? String((JSON.parse(payload) as JsonObject).interruptId) : ''

function isSensitive({ plan, state }: InspectedRun, { nodeId }: StoredEvent): boolean {
  const node = plan.nodes.find(({ node: { id } }) => id === nodeId)?.node
  return state.phase === 'absent' || (node !== undefined && isResultSensitive(state, node))
}

/** Where the values of variables and channels are kept that are not shown, by type. */
const KEPT: { readonly [type: string]: string } = {
  'run.started': 'inputs',
  'variable.changed': 'next',
  'channel.written': 'value',
}

/** Every value that was ever sensitive in this run, and the questions of which something is withheld. */
export async function sensitiveIn(engine: Pick<RunEngine, 'readEvents'>, view: InspectedRun) {
  const { state } = view
  const values: { [name: string]: Json } = {}
  const keep = (value: Json | undefined) => {
    if (value !== undefined) values[String(Object.keys(values).length)] = value
  }
  if (state.phase !== 'absent') {
    for (const name of state.hidden.variables) keep(state.variables[name])
    for (const name of state.hidden.channels) keep(state.channels[name])
  }
  const withheld = new Set<string>()
  for await (const { type, secret, payload } of eventsFrom(engine, view, 0)) {
    if (secret === null || (KEPT[type] === undefined && type !== 'interrupt.requested')) continue
    const hidden = JSON.parse(secret) as JsonObject
    const kept = hidden[KEPT[type] ?? '']
    if (type === 'run.started' && isObject(kept)) for (const value of Object.values(kept)) keep(value)
    else keep(kept)
    if (type === 'interrupt.requested' && isObject(hidden.withheld))
      withheld.add(String((JSON.parse(payload) as JsonObject).interruptId))
  }
  const hidden = { variables: Object.keys(values), channels: [] }
  return { secrets: secretsOf({ hidden, variables: values, channels: {} }), withheld }
}
