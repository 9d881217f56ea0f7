import { createHash } from 'node:crypto'
import type { CheckedEvent } from '../checked.js'

/** Chains a log, written down here a second time. The first `older` events are from before there was a chain. */
export function chained(events: readonly CheckedEvent[], older: number): CheckedEvent[] {
  const places = new Map(events.map(event => [event.eventId, event.sequence]))
  let previous = ''
  return events.map(event => {
    const payload = JSON.stringify(event.payload)
    const secret = event.secret === undefined ? null : JSON.stringify(event.secret)
    const cause = places.get(event.causationId ?? '') ?? null
    const input = event.type === 'interrupt.resolved' ? '{"type":"ResolveInterrupt"}' : null
    const { sequence, type, nodeId, at } = event
    const salt = `salt-${sequence}`
    const digest = (part: string, text: string | null) => (text === null ? '' : sha256(`${part}\0${salt}\0${text}`))
    const covered = [digest('payload', payload), digest('secret', secret), digest('input', input)]
    const place = nodeId === null || nodeId === undefined ? '' : `=${nodeId}`
    const text = ['2', previous, sequence, type, place, cause ?? '', at, ...covered].join('\0')
    previous = sequence < older ? '' : `2.${sha256(text)}`
    return { ...event, link: { payload, secret, cause, input, salt, hash: previous } }
  })
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')
