import { fold } from '../../core/decider.js'
import type { Recorded } from '../../core/run/events.js'
import { evolve } from '../../core/run/evolve.js'
import type { RunState } from '../../core/run/state.js'
import type { Plan } from '../../core/workflow/plan.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { StoredEvent } from '../ports/event-log.js'
import type { RunRow } from '../ports/run-index.js'
import type { Store } from '../ports/store.js'
import { decode } from './encode.js'

const PAGE = 500
/** A page is read, parsed and folded in one go: it must not be large, however large events are. */
const PAGE_BYTES = 256 * 1024

/** For what is read, parsed and folded, as against what is told (`core/work-limits.ts`). */
const STEPS_PER_BYTE_READ = 1

export type LogReader = { readonly store: Pick<Store, 'readEvents'>; readonly turns: TurnTaking }

/**
 * The log of a run from `from` on, page by page, each handed over in a turn of its tenant: however long it is, others have
 * theirs in between. It ends before `to`, or where the log does.
 */
export async function* logPages(
  { store, turns }: LogReader,
  { runId, tenant }: Pick<RunRow, 'runId' | 'tenant'>,
  from: number,
  to = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly StoredEvent[], void, void> {
  for (let next = from; next < to; ) {
    const page = await store.readEvents(runId, next, Math.min(PAGE, to - next), PAGE_BYTES)
    const last = page.at(-1)
    if (last === undefined) return
    // Waits only if it must, so that whoever else has just read a page finds this one charged.
    const turn = turns.room(tenant)
    if (turn !== undefined) await turn
    turns.spent(tenant, charactersOf(page) * STEPS_PER_BYTE_READ)
    next = last.sequence + 1
    yield page
  }
}

/** Of what events say. */
export const charactersOf = (events: readonly StoredEvent[]): number =>
  events.reduce(
    (sum, { payload, secret, input }) => sum + payload.length + (secret?.length ?? 0) + (input?.length ?? 0),
    0,
  )

/** What the log of a run goes on to after `before`: page by page, and others have their turns in between. */
export async function foldLog(
  reader: LogReader,
  run: Pick<RunRow, 'runId' | 'tenant' | 'length'>,
  plan: Plan,
  before: RunState,
): Promise<{ readonly state: RunState; readonly last: StoredEvent | undefined; readonly characters: number }> {
  const apply = (state: RunState, event: Recorded) => evolve(plan, state, event)
  let state = before
  let last: StoredEvent | undefined
  let characters = 0
  for await (const page of logPages(reader, run, nextOf(before))) {
    characters += charactersOf(page)
    state = fold(
      apply,
      state,
      page.map(event => decode(run.runId, event)),
    )
    last = page.at(-1) ?? last
    // It may have grown since; what has come to it by now is not missed by anybody who knows of this row.
    if (nextOf(state) >= run.length) break
  }
  return { state, last, characters }
}

const nextOf = (state: RunState): number => (state.phase === 'absent' ? 0 : state.next)
