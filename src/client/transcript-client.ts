import { type Connection, callJson } from './http-call.js'
import type { AuditTrail, ToolServers, Transcript } from './wire-shapes.js'

/** What has happened: what agents were told and have said, and who has looked at it. */
export class TranscriptClient {
  constructor(private readonly connection: Connection) {}

  /** One page of it, in the order of the log; `next` of the answer is the `from` of the page after it. */
  read(runId: string, { nodeId, from = 0 }: { nodeId?: string | undefined; from?: number } = {}): Promise<Transcript> {
    const path = `/v1/runs/${encodeURIComponent(runId)}/transcript`
    const query = { from, ...(nodeId === undefined ? {} : { nodeId }) }
    return callJson(this.connection, { path, query }) as Promise<Transcript>
  }

  /** MCP servers: whether they can be used, and the end of what they wrote to stderr. */
  toolServers(): Promise<ToolServers> {
    return callJson(this.connection, { path: '/v1/host/assay/tool-servers' }) as Promise<ToolServers>
  }

  /** A page of the audit trail of the key's tenant, newest first; `next` of the answer is the `before` of the page after it. */
  auditTrail({ before, limit = 50 }: { before?: number | undefined; limit?: number } = {}): Promise<AuditTrail> {
    const query = { limit, ...(before === undefined ? {} : { before }) }
    return callJson(this.connection, { path: '/v1/host/assay/audit', query }) as Promise<AuditTrail>
  }
}
