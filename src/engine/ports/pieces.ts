/**
 * Files that are too long for one row. Their pieces come first, and are an upload until the content is stored that they make
 * up (`Content.pieces`), in the transaction of its write; from then on they are part of it, and go with it.
 */
export interface PieceStore {
  /** The same piece again changes nothing; nor does one of content that is whole. */
  keepPiece(piece: Piece): Promise<void>
  /** Undefined when it is gone, or another tenant's. */
  readPiece(tenant: string, contentId: string, index: number): Promise<Uint8Array | undefined>
  /** Deletes what came of an upload. What has become content stays. */
  dropUpload(tenant: string, contentId: string): Promise<void>
  /** Deletes up to `limit` uploads of which nothing has come since `olderThan`. Returns how many. */
  collectUploads(olderThan: number, limit: number): Promise<number>
}

/** Counted from 0. The body of the content is the list of the SHA-256 of each, in hex and in order, with line ends between. */
export type Piece = {
  readonly tenant: string
  readonly contentId: string
  readonly index: number
  readonly at: number
  readonly body: Uint8Array
}
