import { utf8Length } from '../json.js'
import { isNamed } from '../names.js'
import type { Space } from './place.js'
import { PATH_RULE } from './refusals.js'

/** What a write of a run is held to, whoever asks for it: a node, or a model that may say anything at all. */
export type EntryTerms = {
  readonly space: Space
  readonly scope: string
  readonly ref: string
  readonly id?: string
  readonly tags: readonly string[]
  readonly ttlSeconds?: number
  readonly contentType?: string
}

/** A hundred years. What is added to the time of a write must still be a time. */
export const LONGEST_TTL_SECONDS = 3_155_760_000

const MOST_TAGS = 32
/** Of an id, in UTF-8: as the protocol has it. */
const ID_BYTES = 1500
/** Of a whole key: what every store can have an index of. */
const KEY_BYTES = 2400

/** What is wrong, in words for whoever wanted it; undefined where it may be written. */
export function wrongWith(entry: EntryTerms): string | undefined {
  const { space, ref, id, tags, ttlSeconds, contentType } = entry
  if (space === 'workspace' && !isNamed('filePath', id ?? '')) return `the path must be ${PATH_RULE}`
  if (space === 'memory' && id !== undefined && !(isNamed('memoryId', id) && isSayable(id))) return ID_RULE
  if (space === 'memory' && !(isNamed('memoryRef', ref) && isSayable(ref))) return REF_RULE
  if (utf8Length(id ?? '') > ID_BYTES) return `the id has ${utf8Length(id ?? '')} bytes, and may have ${ID_BYTES}`
  const bytes = utf8Length(entry.scope) + utf8Length(ref) + utf8Length(id ?? '')
  if (bytes > KEY_BYTES) return `scope, reference and id have ${bytes} bytes together, and may have ${KEY_BYTES}`
  if (tags.length > MOST_TAGS) return `it has ${tags.length} tags, and may have ${MOST_TAGS}`
  if (!tags.every(tag => isNamed('tag', tag) && isSayable(tag))) return TAG_RULE
  // R-MEM-18
  if (ttlSeconds !== undefined && !(ttlSeconds > 0))
    return `ttlSeconds is ${ttlSeconds}, and what has expired already is not kept; give more than 0`
  if (ttlSeconds !== undefined && ttlSeconds > LONGEST_TTL_SECONDS)
    return `ttlSeconds is ${ttlSeconds}, and may be ${LONGEST_TTL_SECONDS}; leave it out to keep it for ever`
  if (contentType !== undefined && !isNamed('contentType', contentType)) return TYPE_RULE
  return undefined
}

/** What is kept of a type that somebody has sent a file under: it goes out again as a header, so no more than is understood. */
export function typeToKeep(sent: string): string {
  const [essence = ''] = sent.split(';')
  return [sent, essence.trim()].find(type => isNamed('contentType', type)) ?? 'application/octet-stream'
}

const ID_RULE = 'the id must be 1 to 1500 characters of text, without control characters'
const REF_RULE = 'the reference must be 1 to 256 characters of text, without control characters'
const TAG_RULE = 'each tag must be 1 to 256 characters of text, without control characters'
const TYPE_RULE = 'the contentType must be one such as text/markdown'

/** Whether anything could have been written under such a text: S11, and no half of a character. */
export const isSayable = (text: string): boolean => !UNSAYABLE.test(text)

const C0 = '\\u0000-\\u001f'
const UNSAYABLE = new RegExp(`[${C0}]|\\p{Surrogate}`, 'u')
