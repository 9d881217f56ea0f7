import type { Piece } from '../../../engine/ports/pieces.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

/** `hash`: of the body. */
export function keepPiece(db: Connection, { piece, hash }: { readonly piece: Piece; readonly hash: string }): void {
  const { tenant, contentId, index, at, body } = piece
  db.run(SQL.journal.keepPiece, tenant, contentId, index, hash, at, body)
}

export function dropUpload(db: Connection, { tenant, contentId }: Pick<Piece, 'tenant' | 'contentId'>): void {
  db.run(SQL.journal.dropUpload, tenant, contentId)
}

export const collectUploads = (
  db: Connection,
  { olderThan, limit }: { readonly olderThan: number; readonly limit: number },
): number => db.run(SQL.journal.collectUploads, olderThan, limit)
