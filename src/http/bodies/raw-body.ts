import type { Readable } from 'node:stream'
import type { ReceivedFile } from '../../engine/journal/upload.js'

/** A body that is no JSON, before it is read; a form where it comes with files. */
export class UnreadBody {
  constructor(
    readonly bytes: Readable,
    readonly contentType: string,
    readonly limit: number,
    readonly isForm: boolean,
  ) {}
}

/** The same when it is here: bytes of whatever type the sender says. */
export class RawBody {
  constructor(
    readonly file: ReceivedFile,
    readonly contentType: string,
  ) {}
}
