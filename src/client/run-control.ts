import { type Connection, callJson } from './http-call.js'
import type { Fields, ForkedRun, ForkRequest, RetriedRun, RunStatus } from './wire-shapes.js'

/** What a run can be told to do. */
export class RunControl {
  constructor(readonly connection: Connection) {}

  /** Asks a run to end. It has ended when its log says so. */
  cancelRun(runId: string, reason?: string): Promise<{ runId: string; status: RunStatus }> {
    return this.#ask(runId, '/cancel', { ...(reason !== undefined && { reason }) })
  }

  /** Has a run take no further step until it is resumed. */
  pauseRun(runId: string, options: { reason?: string; drainPolicy?: string } = {}): Promise<Fields> {
    return this.#ask(runId, ':pause', options)
  }

  /** Lets a paused run go on. */
  resumeRun(runId: string, reason?: string): Promise<Fields> {
    return this.#ask(runId, ':resume', { ...(reason !== undefined && { reason }) })
  }

  /** A run that shares the beginning of another: told again from its log, or going on by itself. */
  forkRun(runId: string, request: ForkRequest): Promise<ForkedRun> {
    return this.#ask(runId, ':fork', request)
  }

  /**
   * Tries again what has failed. A run that is under way tries at once what it waits to try again; a failed one is gone on
   * with in a run of its own, from before the node that failed.
   */
  retryRun(runId: string, nodeId?: string): Promise<RetriedRun> {
    return this.#ask(runId, ':retry', nodeId === undefined ? {} : { nodeId })
  }

  #ask<T>(runId: string, verb: string, body: unknown): Promise<T> {
    const path = `/v1/runs/${encodeURIComponent(runId)}${verb}`
    const headers = { 'idempotency-key': crypto.randomUUID() }
    return callJson(this.connection, { method: 'POST', path, body, headers }) as Promise<T>
  }
}
