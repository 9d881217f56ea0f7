import { hash } from 'node:crypto'
import type { Content } from '../engine/ports/journal.js'
import { wordsOf } from './journal-words.js'

/** Content as SQL stores keep it. Texts may hold control characters, which no column of texts takes (S11): they are bytes. */
export type PackedContent = Omit<Content, 'text'> & {
  readonly hash: string
  readonly textIsBody: boolean
  readonly text: Uint8Array | null
  readonly words: readonly string[] | null
}

/** What the event of a write must name (S15). */
export const hashOfBody = (body: Uint8Array): string => hash('sha256', body)

export function packContent({ text, body, ...content }: Content): PackedContent {
  const bytes = text === null ? null : new TextEncoder().encode(text)
  const textIsBody = bytes !== null && Buffer.compare(bytes, body) === 0
  const words = text === null ? null : wordsOf(text)
  return { ...content, hash: hashOfBody(body), textIsBody, text: textIsBody ? null : bytes, words, body }
}

/** What a row holds of it, besides its names. */
type StoredContent = Pick<PackedContent, 'body' | 'text' | 'textIsBody' | 'runId' | 'sealed' | 'pieces'>

export function unpackContent(tenant: string, contentId: string, stored: StoredContent): Content {
  const { body, text, textIsBody, runId, sealed, pieces } = stored
  const words = textIsBody ? body : text
  return { tenant, contentId, runId, body, text: words && new TextDecoder().decode(words), sealed, pieces }
}
