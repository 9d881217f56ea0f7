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
/** A page is read and folded in one go: it must not be large, however large events are. */
const PAGE_BYTES = 256 * 1024

/** For what is read, parsed and folded, as against what is told (`core/work-limits.ts`). */
const STEPS_PER_BYTE_READ = 1

/** What the log of a run goes on to after `before`: page by page, and others have their turns in between. */
export async function foldLog(
  { store, turns }: { readonly store: Pick<Store, 'readEvents'>; readonly turns: TurnTaking },
  { runId, tenant, length }: Pick<RunRow, 'runId' | 'tenant' | 'length'>,
  plan: Plan,
  before: RunState,
): Promise<{ readonly state: RunState; readonly last: StoredEvent | undefined; readonly characters: number }> {
  const apply = (state: RunState, event: Recorded) => evolve(plan, state, event)
  let state = before
  let last: StoredEvent | undefined
  let characters = 0
  for (let next = nextOf(before); ; next = nextOf(state)) {
    await turns.room(tenant)
    const page = await store.readEvents(runId, next, PAGE, PAGE_BYTES)
    const read = charactersOf(page)
    turns.spent(tenant, read * STEPS_PER_BYTE_READ)
    characters += read
    state = fold(
      apply,
      state,
      page.map(event => decode(runId, event)),
    )
    last = page.at(-1) ?? last
    // It may have grown since; what has come to it by now is not missed by anybody who knows of this row.
    if (page.length === 0 || nextOf(state) >= length) return { state, last, characters }
  }
}

const nextOf = (state: RunState): number => (state.phase === 'absent' ? 0 : state.next)

/** Of what events say. */
export const charactersOf = (events: readonly StoredEvent[]): number =>
  events.reduce(
    (sum, { payload, secret, input }) => sum + payload.length + (secret?.length ?? 0) + (input?.length ?? 0),
    0,
  )
