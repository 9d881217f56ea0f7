import { isObject, type Json, type JsonObject } from '../json.js'
import type { ChannelDeclaration } from '../workflow/definition.js'

/** Channel state is a fold of `channel.written` through the reducer recorded on each event (contract core §9.4). */
export type ChannelWrite = {
  readonly value: Json
  readonly reducer: string
  readonly at: number
  readonly maxSize?: number
  readonly ttlMs?: number
}

const LISTS = new Set(['append', 'votes', 'feedback', 'message'])
const AGES = new Set(['append', 'votes', 'feedback'])

export function reduce(previous: Json | undefined, write: ChannelWrite): Json {
  const { value, reducer } = write
  if (reducer === 'merge') return { ...(isObject(previous) ? previous : {}), ...(isObject(value) ? value : {}) }
  if (reducer === 'counter') return Number(previous ?? 0) + Number(value)
  if (!LISTS.has(reducer)) return value
  const age = AGES.has(reducer) ? write.ttlMs : undefined
  const ages = age !== undefined
  const fresh = ages ? listOf(previous).filter(entry => timeOf(entry) >= write.at - age) : listOf(previous)
  const kept = fresh.filter(entry => !replaces(reducer, value, bare(entry, ages)))
  if (reducer === 'message' && fresh.some(entry => sameMessage(entry, value))) return fresh
  const all = [...kept, ages ? { value, _ts: write.at } : value]
  return write.maxSize !== undefined && all.length > write.maxSize ? all.slice(all.length - write.maxSize) : all
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
const timeOf = (entry: Json): number => (isObject(entry) && typeof entry._ts === 'number' ? entry._ts : 0)
const bare = (entry: Json, ages: boolean): Json => (ages && isObject(entry) ? (entry.value ?? null) : entry)

const replaces = (reducer: string, value: Json, entry: Json): boolean =>
  reducer === 'votes' &&
  isObject(value) &&
  isObject(entry) &&
  value.userId !== undefined &&
  value.userId === entry.userId

const sameMessage = (entry: Json, value: Json): boolean =>
  isObject(entry) && isObject(value) && value.messageId !== undefined && entry.messageId === value.messageId

/** What forbids this write, or undefined. */
export function refuseWrite(
  channel: string,
  declaration: ChannelDeclaration | undefined,
  value: Json,
  reducer: string,
  writer: { readonly nodeId: string; readonly typeId: string },
):
  | {
      readonly code: 'channel_access_denied' | 'validation_error'
      readonly message: string
      readonly details?: JsonObject
    }
  | undefined {
  if (declaration && !admits(declaration, writer)) {
    return {
      code: 'channel_access_denied',
      message: `channel "${channel}" does not admit writes by node "${writer.nodeId}"`,
      details: {
        channel,
        requestedBy: { nodeId: writer.nodeId, typeId: writer.typeId },
        allowed: writersOf(declaration),
      },
    }
  }
  const invalid = (message: string) => ({
    code: 'validation_error' as const,
    message: `channel "${channel}": ${message}`,
  })
  if (reducer === 'merge' && !isObject(value)) return invalid('the merge reducer takes an object')
  if (reducer === 'counter' && typeof value !== 'number') return invalid('the counter reducer takes a number')
  const { maxSize } = declaration ?? {}
  if (maxSize !== undefined && !LISTS.has(reducer) && sizeOf(value) > maxSize)
    return invalid(`the value's size is ${sizeOf(value)}; maxSize is ${maxSize}`)
  return undefined
}

const sizeOf = (value: Json): number => {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return isObject(value) ? Object.keys(value).length : 1
}

function writersOf({ access }: ChannelDeclaration): string[] {
  if (access === 'private') return []
  return typeof access === 'object' && access.writers ? [...access.writers] : ['*']
}

const admits = (
  declaration: ChannelDeclaration,
  writer: { readonly nodeId: string; readonly typeId: string },
): boolean =>
  writersOf(declaration).some(entry =>
    entry.endsWith('*')
      ? writer.typeId.startsWith(entry.slice(0, -1))
      : entry === writer.nodeId || entry === writer.typeId,
  )
