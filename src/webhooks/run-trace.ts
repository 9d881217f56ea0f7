import { isObject, type Json } from '../core/json.js'
import type { EventLog, StoredEvent } from '../engine/ports/event-log.js'
import type { RunIndex } from '../engine/ports/run-index.js'
import { Lru } from '../lru.js'

const KEPT = 1_000
/** An old run has recorded none. */
const NONE = ''

/** Under which trace runs work, as their logs say it. It never changes, so it is looked up once. */
export class RunTraces {
  readonly #known = new Lru<string>(KEPT)

  constructor(private readonly store: Pick<EventLog, 'readEvents'> & Pick<RunIndex, 'readRun'>) {}

  async of(runId: string): Promise<string | undefined> {
    const known = this.#known.get(runId) ?? (await this.#read(runId))
    this.#known.set(runId, known)
    return known === NONE ? undefined : known
  }

  /** A branch says it in its own first event, all others in the first there is. */
  async #read(runId: string): Promise<string> {
    const own = (await this.store.readRun(null, runId))?.fork?.fromSeq ?? 0
    for (const sequence of own === 0 ? [0] : [own, 0]) {
      const [event] = await this.store.readEvents(runId, sequence, 1)
      const traceparent = event && traceIn(event)
      if (traceparent !== undefined) return traceparent
    }
    return NONE
  }
}

function traceIn({ type, payload }: StoredEvent): string | undefined {
  if (type !== 'run.started' && type !== 'assay.run.forked') return undefined
  const told = JSON.parse(payload) as Json
  return isObject(told) && typeof told.traceparent === 'string' ? told.traceparent : undefined
}
