import type { EventDiff, RunDiff, RunEventDoc } from '../../client/wire-shapes.js'
import { isObject, type Json, sameJson } from '../../core/json.js'
import { ENVELOPE } from '../../core/replay/compare.js'
import { printable } from '../terminal/terminal.js'

/** Where two values first part, as a path such as `outputs.items[2]`; undefined when they do not. */
export function firstDifference(a: Json | undefined, b: Json | undefined, path = ''): string | undefined {
  if (sameJson(a, b)) return undefined
  if (isObject(a) && isObject(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      if (path === '' && ENVELOPE.has(name)) continue
      const found = firstDifference(a[name], b[name], path === '' ? name : `${path}.${name}`)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    const index = Array.from({ length: Math.max(a.length, b.length) }).findIndex((_, i) => !sameJson(a[i], b[i]))
    return firstDifference(a[index], b[index], `${path}[${index}]`)
  }
  return path
}

type Said = Pick<RunEventDoc, 'type' | 'nodeId' | 'payload'>

/** Two events of the same place, one above the other, and the first field in which they part. */
export function eventPair(a: Said | undefined, b: Said | undefined, names: readonly [string, string]): string[] {
  const width = Math.max(...names.map(name => name.length))
  const line = (name: string, event: Said | undefined) =>
    `  ${name.padEnd(width)}  ${event === undefined ? '(no event)' : printable(eventText(event))}`
  return [line(names[0], a), line(names[1], b), ...fieldLines(a, b)]
}

const eventText = ({ type, nodeId, payload }: Said): string =>
  `${type}${nodeId === undefined ? '' : ` ${nodeId}`}  ${JSON.stringify(payload)}`

function fieldLines(a: Said | undefined, b: Said | undefined): string[] {
  if (a === undefined || b === undefined) return []
  if (a.type !== b.type) return [`  first difference: type, ${printable(`${a.type} and ${b.type}`)}`]
  if (a.nodeId !== b.nodeId) return [`  first difference: nodeId, ${printable(`${a.nodeId} and ${b.nodeId}`)}`]
  const path = firstDifference(a.payload as Json, b.payload as Json)
  if (path === undefined) return []
  const value = (event: Said) => JSON.stringify(valueAt(event.payload as Json, path)) ?? 'nothing'
  return [`  first difference: payload.${printable(path)}, ${printable(`${value(a)} and ${value(b)}`)}`]
}

function valueAt(value: Json | undefined, path: string): Json | undefined {
  let current = value
  for (const step of path.split(/\.|\[|\]/).filter(part => part !== '')) {
    current = Array.isArray(current) ? current[Number(step)] : isObject(current) ? current[step] : undefined
  }
  return current
}

const SHOWN = 20

/** A whole comparison for people: the first difference in full, the others by name, then how the states differ. */
export function diffLines(diff: RunDiff): string[] {
  const { a, b, divergedAtSeq, eventDiffs, stateDiff } = diff
  const [first, ...others] = eventDiffs
  return [
    ...(first === undefined
      ? ['the events are equal']
      : [
          `first difference at event ${divergedAtSeq ?? first.seq}:`,
          ...eventPair(first.aEvent, first.bEvent, ['a', 'b']),
        ]),
    ...others.slice(0, SHOWN).map(diffLine),
    ...(others.length > SHOWN ? [`… ${others.length - SHOWN} more differences; --json shows all`] : []),
    ...stateLines(stateDiff),
    ...(diff.truncated ? ['compared in part: a run still goes on, or there are too many differences'] : []),
    `a is ${a}, b is ${b}`,
  ]
}

/** `status` itself differs, or variables and channels by name. */
function stateLines({ status, ...parts }: RunDiff['stateDiff']): string[] {
  const line = (name: string, change: unknown) => {
    const { a, b } = Object(change) as { a?: unknown; b?: unknown }
    return printable(`${name}: ${JSON.stringify(a) ?? 'nothing'} and ${JSON.stringify(b) ?? 'nothing'}`)
  }
  return [
    ...(status === undefined ? [] : [line('status', status)]),
    ...Object.entries(parts).flatMap(([part, changes]) =>
      Object.entries(Object(changes)).map(([name, change]) => line(`${part}.${name}`, change)),
    ),
  ]
}

const MARKS = { added: 'only b', removed: 'only a', changed: 'differ' } as const

function diffLine({ seq, op, aEvent, bEvent }: EventDiff): string {
  const names = [...new Set([aEvent, bEvent].flatMap(event => (event ? [eventName(event)] : [])))]
  return printable(`${String(seq).padStart(6)} ${MARKS[op]}  ${names.join(' | ')}`)
}

const eventName = ({ type, nodeId }: Said): string => (nodeId === undefined ? type : `${type} ${nodeId}`)

export const isEqual = (diff: RunDiff): boolean => isSameStory(diff) && Object.keys(diff.stateDiff).length === 0

/** No event differs. While a run goes on, its state says nothing yet. */
export const isSameStory = ({ divergedAtSeq, eventDiffs }: RunDiff): boolean =>
  divergedAtSeq === null && eventDiffs.length === 0

/** A person stopped the source here. A replay repeats no stop, so it parts from its source by design. */
export function isPersonsStop({ type, payload }: Said): boolean {
  if (type === 'run.cancelled' || type === 'node.cancelled') return true
  return type === 'assay.stop.requested' && isObject(payload) && payload.outcome === 'cancelled'
}
