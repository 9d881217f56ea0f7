import { type Connection, callJson } from './http-call.js'
import type { ScheduleInfo, ScheduleList } from './wire-shapes.js'

const SCHEDULES = '/v1/host/assay/schedules'

/** The schedules of workflows, under `client.schedules`. */
export class ScheduleClient {
  constructor(private readonly connection: Connection) {}

  /** One page of them. */
  list(query: { limit?: number; cursor?: string } = {}): Promise<ScheduleList> {
    return callJson(this.connection, { path: SCHEDULES, query }) as Promise<ScheduleList>
  }

  /** All of them, page by page. */
  async *all(): AsyncGenerator<ScheduleInfo> {
    let cursor: string | null = null
    do {
      const page: ScheduleList = await this.list({ limit: 200, ...(cursor !== null && { cursor }) })
      yield* page.schedules
      cursor = page.nextCursor
    } while (cursor !== null)
  }

  /** One of them. */
  get(scheduleId: string): Promise<ScheduleInfo> {
    return callJson(this.connection, { path: one(scheduleId) }) as Promise<ScheduleInfo>
  }

  /** It starts nothing until it is resumed. */
  pause(scheduleId: string): Promise<ScheduleInfo> {
    return this.#command(scheduleId, 'pause')
  }

  /** It goes on with the first time from now on. */
  resume(scheduleId: string): Promise<ScheduleInfo> {
    return this.#command(scheduleId, 'resume')
  }

  /** Starts a run now, unless one is under way. */
  run(scheduleId: string): Promise<ScheduleInfo> {
    return this.#command(scheduleId, 'run')
  }

  #command(scheduleId: string, name: string): Promise<ScheduleInfo> {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const call = { method: 'POST', path: `${one(scheduleId)}:${name}`, headers } as const
    return callJson(this.connection, call) as Promise<ScheduleInfo>
  }
}

const one = (scheduleId: string): string => `${SCHEDULES}/${encodeURIComponent(scheduleId)}`
