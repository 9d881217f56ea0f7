import type { Refusal } from '../../core/problem.js'
import { sha256 } from '../../digest.js'
import type { Vault } from '../ports/agents.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Content } from '../ports/journal.js'
import type { PieceStore } from '../ports/pieces.js'
import { isSafeAsBytes, SECRET_INSIDE } from './masking.js'

/**
 * How words get into the journal and out of it. Whoever writes there, an agent, a node or a key, comes through here: what
 * the host knows to be secret is taken out first (SR-1, WSR-1), and only then is anything sealed, hashed or stored.
 */
export type ContentDeps = {
  readonly vault: Vault
  readonly redact: { text(text: string): string }
}

/** What is to be kept. `contentId` is new, or that of the same words stored before. */
export type NewContent = {
  readonly tenant: string
  readonly contentId: string
  /** The run it is made for; null outside of runs. */
  readonly runId: string | null
}

/** What a write tells of: the content to be stored first, the hash of its body as it is stored, and its size before sealing. */
export type KeptContent = { readonly content: Content; readonly hash: string; readonly bytes: number }

/** R-MEM-15: text without secrets, plain where it is to be found by its words, else sealed for its tenant. */
export async function keepText(
  deps: ContentDeps,
  { text, plain, ...about }: NewContent & { readonly text: string; readonly plain: boolean },
): Promise<KeptContent> {
  const redacted = deps.redact.text(text)
  const body = Buffer.from(redacted)
  if (!plain) return told(await sealed(deps, about, body), body.length)
  return told({ ...about, body, text: searchable(redacted), sealed: false, pieces: 0 }, body.length)
}

/** R-MEM-15: tags are stored as they are told, so they are redacted like content. */
export const keepTags = ({ redact }: Pick<ContentDeps, 'redact'>, tags: readonly string[]): string[] =>
  tags.map(tag => redact.text(tag))

/** Names are told and looked up as they are, so one that holds a secret is no name. */
export const holdsSecret = (
  { redact }: Pick<ContentDeps, 'redact'>,
  ...names: readonly (string | undefined)[]
): boolean => names.some(name => name !== undefined && redact.text(name) !== name)

/** R-WS-4: a file is always sealed. What is no text cannot have a secret taken out, and is refused if it holds one. */
export async function keepFile(
  deps: ContentDeps,
  { body, ...about }: NewContent & { readonly body: Uint8Array },
): Promise<KeptContent | Refusal> {
  const text = textOfBytes(body)
  if (text !== undefined) return keepText(deps, { ...about, text, plain: false })
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  if (!isSafeAsBytes(deps.redact, bytes)) return SECRET_INSIDE
  return told(await sealed(deps, about, bytes), body.length)
}

const told = (content: Content, bytes: number): KeptContent => ({ content, hash: sha256(content.body), bytes })

/** The bytes as they were before they were sealed. */
export async function openContent({ vault }: Pick<ContentDeps, 'vault'>, content: Content): Promise<Buffer> {
  const { body, tenant, contentId } = content
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  if (!content.sealed) return bytes
  return (await vault.of(tenant)).openBytes(contentId, bytes)
}

export type PieceDeps = Pick<ContentDeps, 'vault'> & { readonly store: PieceStore; readonly turns: TurnTaking }

/**
 * The same of content in pieces, one after the other, each in a turn of the tenant. It breaks off where they were destroyed
 * meanwhile.
 */
export async function* openPieces(deps: PieceDeps, { tenant, contentId, pieces }: Content): AsyncGenerator<Buffer> {
  for (let index = 0; index < pieces; index += 1) {
    await deps.turns.room(tenant)
    const body = await deps.store.readPiece(tenant, contentId, index)
    if (body === undefined) throw new PieceGone(`piece ${index} of ${contentId} was destroyed while it was read`)
    deps.turns.spent(tenant, body.length)
    const sealedPiece = Buffer.from(body.buffer, body.byteOffset, body.length)
    yield (await deps.vault.of(tenant)).openBytes(pieceName(contentId, index), sealedPiece)
  }
}

/** Whoever reads a file has the beginning of it already, and is not told that this is all. */
class PieceGone extends Error {
  override readonly name = 'PieceGone'
}

/** What a piece is sealed under: it opens nowhere else, nor in another place of the same file. */
export const pieceName = (contentId: string, index: number): string => `${contentId}#${index}`

/** Undefined where the bytes are no text. */
export function textOfBytes(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return UTF8.decode(bytes)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const sealed = async ({ vault }: ContentDeps, about: NewContent, body: Uint8Array): Promise<Content> => ({
  ...about,
  body: (await vault.of(about.tenant)).sealBytes(about.contentId, body),
  text: null,
  sealed: true,
  pieces: 0,
})

/** S11: no control character is stored as text; to a search each is the end of a word. */
const searchable = (text: string): string => text.replace(/\p{Cc}/gu, ' ')
