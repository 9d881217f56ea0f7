import type { Fields, LoggedEvent, RunLog } from '../checked.js'
import { fields, get, isFields, list, number, same, text } from '../json.js'

/** What a run holds according to its log alone. Maps, because user-chosen names may be anything. */
export type Held = { readonly variables: Map<string, unknown>; readonly channels: Map<string, unknown> }

/**
 * Folds variables and channels. `seen` reads what readers of the log see; `real` prefers the values kept beside masked
 * payloads. A projection may show either, so callers compare with both.
 */
export function foldHeld(run: RunLog, view: 'seen' | 'real'): Held {
  const held: Held = { variables: new Map(), channels: new Map() }
  // Inputs mapped from nothing leave their variables without a value, defaults or not.
  const unset = new Set(list(run.started.unsetInputs))
  for (const variable of list(get(run.run.definition, 'variables'))) {
    const name = text(get(variable, 'name'))
    const value = get(variable, 'defaultValue')
    if (name !== undefined && value !== undefined && !unset.has(name)) held.variables.set(name, value)
  }
  for (const [name, declared] of Object.entries(fields(get(run.run.definition, 'channels')))) {
    const value = get(declared, 'default')
    if (value !== undefined) held.channels.set(name, structuredClone(value))
  }
  for (const event of run.events) {
    const secret = view === 'real' ? event.raw.secret : undefined
    if (event.type === 'run.started') {
      const inputs = { ...fields(event.payload.inputs), ...fields(get(secret, 'inputs')) }
      for (const [name, value] of Object.entries(inputs)) held.variables.set(name, value)
    } else if (event.type === 'variable.changed') {
      held.variables.set(String(event.payload.name), behind(secret, event.payload, 'next'))
    } else if (event.type === 'channel.written') {
      const channel = String(event.payload.channel)
      const value = behind(secret, event.payload, 'value')
      held.channels.set(channel, reduce(held.channels.get(channel), value, event, limitsOf(run, event)))
    }
  }
  return held
}

const behind = (secret: unknown, payload: Fields, key: string): unknown =>
  get(isFields(secret) && Object.hasOwn(secret, key) ? secret : payload, key)

type Limits = { readonly maxSize: number | undefined; readonly ttlMs: number | undefined }

function limitsOf(run: RunLog, event: LoggedEvent): Limits {
  const declared = get(get(run.run.definition, 'channels'), String(event.payload.channel))
  const writer = run.graph?.nodes.get(event.node ?? '')?.config
  return {
    maxSize: number(get(declared, 'maxSize')),
    ttlMs: number(get(declared, 'ttlMs')) ?? number(get(writer, 'ttlMs')),
  }
}

/** core §9.4: the reducer named on the event, not the one declared now. */
function reduce(before: unknown, value: unknown, event: LoggedEvent, limits: Limits): unknown {
  switch (event.payload.reducer) {
    case 'append':
    case 'feedback':
      return push(before, value, event.at, limits)
    case 'votes': {
      const voter = get(value, 'userId')
      const others = list(before).filter(
        entry => voter === undefined || !same(get(bare(entry, limits), 'userId'), voter),
      )
      return push(others, value, event.at, limits)
    }
    case 'message': {
      const id = get(value, 'messageId')
      const known = id !== undefined && list(before).some(entry => same(get(entry, 'messageId'), id))
      return known ? before : push(before, value, event.at, { ...limits, ttlMs: undefined })
    }
    case 'counter':
      return (number(before) ?? 0) + (number(value) ?? 0)
    case 'merge':
      return { ...fields(before), ...fields(value) }
    default:
      return value
  }
}

/**
 * With a time to live, entries are stored as `{value, _ts}`; the expired leave first, then the oldest. Lists belong to
 * this fold and are changed in place, so that a long log costs linear time.
 */
function push(before: unknown, value: unknown, at: number, { maxSize, ttlMs }: Limits): unknown[] {
  const entries = Array.isArray(before) ? (before as unknown[]) : []
  if (ttlMs !== undefined) {
    const fresh = entries.findIndex(entry => (number(get(entry, '_ts')) ?? 0) >= at - ttlMs)
    entries.splice(0, fresh === -1 ? entries.length : fresh)
  }
  entries.push(ttlMs === undefined ? value : { value, _ts: at })
  if (maxSize !== undefined && entries.length > maxSize) entries.splice(0, entries.length - maxSize)
  return entries
}

const bare = (entry: unknown, limits: Limits): unknown =>
  limits.ttlMs !== undefined && isFields(entry) ? get(entry, 'value') : entry
