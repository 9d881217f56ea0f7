import { hash } from 'node:crypto'
import type { StoredEvent } from '../ports/event-log.js'

/**
 * The chain of a log: each event has a hash that covers the hash before it, so nothing can be changed, put in or taken
 * out without breaking the chain behind it. The run's id is not covered, so that a fork's log goes on where the shared
 * beginning ends.
 *
 *  1. A link covers the fixed fields of its event, and a digest of each part of its content (payload, secret, input). It
 *     covers nothing else: a field that is stored later changes no hash that exists. A cause on another host, which has no
 *     sequence here, stands in the place of the cause, behind a mark that no sequence has.
 *  2. A digest is salted with the event's own salt. Content and salt can be erased together; the digests that are kept
 *     in their place go on proving the chain, and nobody can guess from them what was erased.
 *  3. A hash names the form of its link. The older form, without salt, has no name.
 *  4. What is hashed is separated by NUL, which no stored text holds (S11): nothing can move from one field to the next.
 */
export const CHAIN_START = ''

const FORM = '2'

/** What the link of an event covers besides its content. */
export type FixedFields = Pick<StoredEvent, 'sequence' | 'type' | 'nodeId' | 'cause' | 'foreignCause' | 'at'>

export type EventContent = Pick<StoredEvent, 'payload' | 'secret' | 'input'>

export type ContentDigests = {
  readonly payload: string
  readonly secret: string | null
  readonly input: string | null
}

/** The hash of an event in the form that its salt calls for. */
export const chainHash = (previous: string, event: Omit<StoredEvent, 'hash' | 'erased'>): string =>
  event.salt === null ? unsaltedHash(previous, event) : linkHash(previous, event, contentDigests(event, event.salt))

/** Needs no content: what is left of an event whose content was erased is enough. */
export const linkHash = (previous: string, fixed: FixedFields, digests: ContentDigests): string => {
  const { sequence, type, nodeId, cause, foreignCause, at } = fixed
  const { payload, secret, input } = digests
  const because = cause ?? (foreignCause === null ? '' : `=${foreignCause}`)
  const about = `${sequence}\0${type}\0${nodeId === null ? '' : `=${nodeId}`}\0${because}\0${at}`
  return `${FORM}.${sha256(`${FORM}\0${previous}\0${about}\0${payload}\0${secret ?? ''}\0${input ?? ''}`)}`
}

export const contentDigests = ({ payload, secret, input }: EventContent, salt: string): ContentDigests => ({
  payload: digest('payload', salt, payload),
  secret: secret === null ? null : digest('secret', salt, secret),
  input: input === null ? null : digest('input', salt, input),
})

/**
 * What is kept of an event whose content is erased, as `StoredEvent.erased` holds it. The older form covers the content
 * itself: nothing of it can be kept, and the event is only known by the links that follow it.
 */
export const erasedContent = (event: EventContent & Pick<StoredEvent, 'salt'>): string =>
  event.salt === null ? NOTHING_KEPT : JSON.stringify(contentDigests(event, event.salt))

/** What stands in the place of erased content. */
export const ERASED = { payload: '{}', secret: null, input: null, salt: null } as const

/**
 * The hash that an event must have by what is stored of it. Undefined where that cannot be told: its content was erased,
 * and its hash has the older form, which covers the content itself.
 */
export function storedHash(previous: string, event: StoredEvent): string | undefined {
  if (event.erased === null) return chainHash(previous, event)
  if (!isBlank(event)) return IMPOSSIBLE
  if (event.erased === NOTHING_KEPT && !event.hash.startsWith(`${FORM}.`)) return undefined
  const digests = digestsIn(event.erased)
  return digests === undefined ? IMPOSSIBLE : linkHash(previous, event, digests)
}

const NOTHING_KEPT = '{}'
const IMPOSSIBLE = 'no event has this hash'

/** Nothing was put where content was erased. */
const isBlank = ({ payload, secret, input, salt }: StoredEvent): boolean =>
  payload === ERASED.payload && secret === null && input === null && salt === null

/** Digests, and nothing else, as they were written down. */
function digestsIn(erased: string): ContentDigests | undefined {
  const [, payload, secret, input] = KEPT.exec(erased) ?? []
  const unquoted = (text = 'null') => (text === 'null' ? null : text.slice(1, -1))
  return payload === undefined ? undefined : { payload, secret: unquoted(secret), input: unquoted(input) }
}

const KEPT = /^\{"payload":"([\w-]{43})","secret":(null|"[\w-]{43}"),"input":(null|"[\w-]{43}")\}$/

/** The name keeps equal parts of one event apart. */
const digest = (part: keyof EventContent, salt: string, text: string): string => sha256(`${part}\0${salt}\0${text}`)

const unsaltedHash = (previous: string, event: FixedFields & EventContent): string =>
  sha256(
    JSON.stringify([
      previous,
      event.sequence,
      event.type,
      event.nodeId,
      event.payload,
      event.secret,
      event.cause,
      event.at,
      event.input,
    ]),
  )

const sha256 = (text: string): string => hash('sha256', text, 'base64url')
