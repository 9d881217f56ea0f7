import { AssayError } from './assay-error.js'
import { callBytes, callJson, type Connection, pause } from './http-call.js'
import type { GoalDetails, GoalEvents, GoalInfo, GoalList, NewGoalDocument, RunEventDoc } from './wire-shapes.js'

const GOALS = '/v1/goals'
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** Objectives that are worked on until a judge is satisfied, under `client.goals`. */
export class GoalClient {
  constructor(private readonly connection: Connection) {}

  /** Makes one. */
  create(goal: NewGoalDocument): Promise<GoalInfo> {
    return this.#write(GOALS, 'POST', goal) as Promise<GoalInfo>
  }

  /** One page of them: those of the project, then the newest first. */
  list(query: { state?: GoalInfo['state']; limit?: number; cursor?: string } = {}): Promise<GoalList> {
    return callJson(this.connection, { path: GOALS, query }) as Promise<GoalList>
  }

  /** All of them, page by page. */
  async *all(query: { state?: GoalInfo['state'] } = {}): AsyncGenerator<GoalInfo> {
    let cursor: string | null = null
    do {
      const page: GoalList = await this.list({ ...query, limit: 200, ...(cursor !== null && { cursor }) })
      yield* page.goals
      cursor = page.nextCursor
    } while (cursor !== null)
  }

  /** One, as the protocol shows it. */
  get(goalId: string): Promise<GoalInfo> {
    return callJson(this.connection, { path: one(goalId) }) as Promise<GoalInfo>
  }

  /** What is still possible for it at worst, and what was used, signed. Keep the text as it is: every byte of it counts. */
  async certificate(goalId: string): Promise<string> {
    const bytes = await callBytes(this.connection, { path: `${one(goalId)}/certificate` })
    return new TextDecoder().decode(bytes)
  }

  /** What else there is to know of it. */
  details(goalId: string): Promise<GoalDetails> {
    const path = `/v1/host/assay/goals/${encodeURIComponent(goalId)}`
    return callJson(this.connection, { path }) as Promise<GoalDetails>
  }

  /** Changes what it is after, who judges, or how it goes on; while it is active. */
  edit(goalId: string, changes: Partial<Omit<NewGoalDocument, 'bounds'>>): Promise<GoalInfo> {
    return this.#write(one(goalId), 'PATCH', changes) as Promise<GoalInfo>
  }

  /** It starts nothing until it is resumed. */
  pause(goalId: string): Promise<GoalInfo> {
    return this.#write(`${one(goalId)}/pause`, 'POST') as Promise<GoalInfo>
  }

  /** It goes on, also after it has escalated. */
  resume(goalId: string): Promise<GoalInfo> {
    return this.#write(`${one(goalId)}/resume`, 'POST') as Promise<GoalInfo>
  }

  /** Closes it for good. */
  abandon(goalId: string): Promise<GoalInfo> {
    return this.#write(`${one(goalId)}/abandon`, 'POST') as Promise<GoalInfo>
  }

  /** Starts one contributing run now. */
  run(goalId: string): Promise<GoalInfo> {
    return this.#write(`${one(goalId)}/run`, 'POST') as Promise<GoalInfo>
  }

  /** What is newer than `after` in its log; waits for up to so many seconds until there is something. */
  events(goalId: string, { after = -1, seconds = 1 }: { after?: number; seconds?: number } = {}): Promise<GoalEvents> {
    const query = { timeout: seconds, ...(after >= 0 && { lastSequence: after }) }
    return callJson(this.connection, { path: `${one(goalId)}/events/poll`, query }) as Promise<GoalEvents>
  }

  /** Its log as it grows, in order, until it ends; while nothing answers it tries again for so long. */
  async *follow(goalId: string, { after = -1, patienceMs = 60_000 } = {}): AsyncGenerator<RunEventDoc> {
    let seen = after
    for (let waited = 0, wait = FIRST_PAUSE_MS; ; ) {
      try {
        const { events, isComplete } = await this.events(goalId, { after: seen, seconds: 20 })
        for (const event of events) {
          seen = event.sequence
          yield event
        }
        if (isComplete) return
        ;[waited, wait] = [0, FIRST_PAUSE_MS]
      } catch (error) {
        if (!(error instanceof AssayError) || !error.isTemporary || waited >= patienceMs) throw error
        await pause(wait)
        waited += wait
        wait = Math.min(wait * 2, LONGEST_PAUSE_MS)
      }
    }
  }

  #write(path: string, method: 'POST' | 'PATCH', body: object = {}): Promise<unknown> {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    return callJson(this.connection, { method, path, headers, body })
  }
}

const one = (goalId: string): string => `${GOALS}/${encodeURIComponent(goalId)}`
