import type { InspectedRun, RunEngine } from '../../engine/api.js'
import type { StoredEvent } from '../../engine/ports/event-log.js'
import type { Edge } from '../deps.js'

const PAGE = 500

type LogReading = Pick<Edge, 'turns' | 'config'> & { readonly engine: Pick<RunEngine, 'readEvents'> }

/**
 * What there is of a log now, from a sequence on: read page by page, each in a turn of the reader's, so that a long log
 * keeps nobody waiting.
 */
export async function* pagedLog(
  { engine, turns, config }: LogReading,
  { tenant, runId }: Pick<InspectedRun, 'tenant' | 'runId'>,
  from: number,
): AsyncGenerator<StoredEvent> {
  let next = from
  for (;;) {
    const page = (await engine.readEvents(tenant, runId, next, PAGE, config.limits.maxTurnBytes)) ?? []
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    next = last.sequence + 1
    await turns.next(tenant)
  }
}
