import { createHash } from 'node:crypto'
import { fileTooLarge } from '../../core/journal/refusals.js'
import type { Refusal } from '../../core/problem.js'
import { overQuota, type QuotasOf } from '../../core/quotas.js'
import { sha256 } from '../../digest.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { PieceStore } from '../ports/pieces.js'
import type { RunIndex } from '../ports/run-index.js'
import { type ContentDeps, type KeptContent, pieceName } from './content.js'
import { type Found, got, refused } from './desk.js'
import { Masking, PIECE_BYTES } from './masking.js'

export type UploadDeps = ContentDeps & {
  readonly store: PieceStore
  readonly usage: Pick<RunIndex, 'usageOf'>
  readonly quotas: QuotasOf
  readonly turns: TurnTaking
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Pick<Ids, 'unique'>
}

/**
 * A file that has come: `whole` where it is short, else in pieces that are stored already, and go if nothing is made of them.
 * `sha256` is of what was sent.
 */
export type ReceivedFile = { readonly sha256: string; readonly sent: number } & FileBytes

export type FileBytes =
  | { readonly whole: Buffer; readonly pieces?: never }
  | { readonly pieces: FilePieces; readonly whole?: never }

/** What a content is made of whose pieces are stored. */
export type FilePieces = {
  readonly contentId: string
  readonly hashes: readonly string[]
  /** Of all of them, before they were sealed. */
  readonly bytes: number
  readonly isText: boolean
}

/** What it takes to redact and to seal a byte, in steps. */
const STEPS_PER_BYTE = 2

export type ReceiveLimits = {
  readonly maxFileBytes: number
  /** Up to how many bytes it is not taken apart; a piece, when absent. */
  readonly wholeUpTo?: number
  /** Why a longer one is not taken at all. */
  readonly notInPieces?: Refusal | undefined
}

/**
 * Takes in a file as it comes, and holds no more of it than a few pieces. What was stored of one that is refused, or breaks
 * off, is deleted; where the host dies, it is collected. The stream is left where it was refused.
 */
export async function receiveFile(
  deps: UploadDeps,
  tenant: string,
  bytes: AsyncIterable<Buffer>,
  { maxFileBytes, wholeUpTo = PIECE_BYTES, notInPieces }: ReceiveLimits,
): Promise<Found<ReceivedFile>> {
  const hash = createHash('sha256')
  const head: Buffer[] = []
  let sent = 0
  let upload: Upload | undefined
  let isTaken = false
  try {
    for await (const chunk of bytes) {
      sent += chunk.length
      if (sent > maxFileBytes) return refused(fileTooLarge(sent, maxFileBytes))
      hash.update(chunk)
      head.push(chunk)
      if (upload === undefined && sent <= wholeUpTo) continue
      if (notInPieces) return refused(notInPieces)
      upload ??= new Upload(deps, tenant)
      for (const part of head.splice(0)) {
        const refusal = await upload.take(part)
        if (refusal) return refused(refusal)
      }
    }
    const received = { sha256: hash.digest('hex'), sent }
    if (upload === undefined) return got({ ...received, whole: Buffer.concat(head, sent) })
    const refusal = await upload.end()
    if (refusal) return refused(refusal)
    isTaken = true
    return got({ ...received, pieces: upload.pieces })
  } finally {
    if (!isTaken) await upload?.drop()
  }
}

class Upload {
  readonly #contentId: string
  readonly #masking: Masking
  readonly #hashes: string[] = []
  #bytes = 0

  constructor(
    private readonly deps: UploadDeps,
    private readonly tenant: string,
  ) {
    this.#contentId = deps.ids.unique()
    this.#masking = new Masking(deps.redact)
  }

  get pieces(): FilePieces {
    const { isText } = this.#masking
    return { contentId: this.#contentId, hashes: this.#hashes, bytes: this.#bytes, isText }
  }

  take(bytes: Buffer): Promise<Refusal | undefined> {
    return this.#store(this.#masking.take(bytes))
  }

  end(): Promise<Refusal | undefined> {
    return this.#store(this.#masking.end())
  }

  drop(): Promise<void> {
    return this.deps.store.dropUpload(this.tenant, this.#contentId)
  }

  async #store(pieces: readonly Buffer[] | Refusal): Promise<Refusal | undefined> {
    if ('code' in pieces) return pieces
    for (const piece of pieces) {
      const refusal = await this.#storeOne(piece)
      if (refusal) return refusal
    }
    return undefined
  }

  async #storeOne(piece: Buffer): Promise<Refusal | undefined> {
    const { store, turns, usage, quotas, clock, vault } = this.deps
    const { storedBytes } = quotas(this.tenant)
    if ((await usage.usageOf(this.tenant)).storedBytes >= storedBytes) return overQuota('storedBytes', storedBytes)
    await turns.room(this.tenant)
    turns.spent(this.tenant, piece.length * STEPS_PER_BYTE)
    const index = this.#hashes.length
    const body = (await vault.of(this.tenant)).sealBytes(pieceName(this.#contentId, index), piece)
    this.#hashes.push(sha256(body))
    this.#bytes += piece.length
    await store.keepPiece({ tenant: this.tenant, contentId: this.#contentId, index, at: clock.now(), body })
    return undefined
  }
}

/** The content that the pieces make up, once it is stored. */
export function contentOfPieces(tenant: string, { contentId, hashes, bytes }: FilePieces): KeptContent {
  const body = Buffer.from(hashes.join('\n'))
  const content = { tenant, contentId, runId: null, body, pieces: hashes.length, text: null, sealed: true }
  return { content, hash: sha256(body), bytes }
}
