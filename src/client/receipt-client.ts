import { type Connection, callBytes, callJson } from './http-call.js'
import type { PublicKeys } from './wire-shapes.js'

/** What a host says of runs for others to keep. */
export class ReceiptClient {
  constructor(private readonly connection: Connection) {}

  /** How a run has ended and what its gates have said, signed. Keep the text as it is: every byte of it counts. */
  async get(runId: string): Promise<string> {
    const bytes = await callBytes(this.connection, { path: `/v1/runs/${encodeURIComponent(runId)}/receipt` })
    return new TextDecoder().decode(bytes)
  }

  /** What receipts and checkpoints are checked with: a JWK set. */
  publicKeys(): Promise<PublicKeys> {
    return callJson(this.connection, { path: '/v1/audit/keys' }) as Promise<PublicKeys>
  }
}
