import { fold } from '../../core/decider.js'
import { type JournalView, type Space, viewAt } from '../../core/journal/place.js'
import { type Refusal, refuse } from '../../core/problem.js'
import type { Recorded } from '../../core/run/events.js'
import { evolve } from '../../core/run/evolve.js'
import type { RunState } from '../../core/run/state.js'
import { isStreamId } from '../../core/standing/stream.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { JournalKeeping } from '../ports/journal.js'
import type { RunRow } from '../ports/run-index.js'
import type { Store } from '../ports/store.js'
import { missingRun } from '../queries/missing-run.js'
import { decode } from '../log/encode.js'
import type { Plans } from '../plans/plans.js'
import { charactersOf, logPages } from '../log/read-log.js'
import { keptState } from '../log/snapshot.js'

/** A place in the log of a run: what a node saw that began there, or what one would see that began now. */
export type Moment = { readonly runId: string; readonly seq: number | 'end' }

export type MomentDeps = {
  readonly store: Store & Pick<JournalKeeping, 'horizonOf'>
  readonly plans: () => Pick<Plans, 'pinned'>
  readonly turns: TurnTaking
}

export type ViewFound =
  | { readonly ok: true; readonly view: JournalView; readonly scope: string }
  | { readonly ok: false; readonly refusal: Refusal }

/** What the run saw of its memory, or of its workspace, before its event `seq`. */
export async function viewOfRun(deps: MomentDeps, tenant: string, space: Space, moment: Moment): Promise<ViewFound> {
  try {
    return await seenAt(deps, tenant, space, moment)
  } catch (error) {
    // It may have been purged while it was read.
    const missing = await missingRun(deps.store, tenant, moment.runId)
    if (missing.code === 'run_expired') return refused(missing)
    throw error
  }
}

async function seenAt(deps: MomentDeps, tenant: string, space: Space, moment: Moment): Promise<ViewFound> {
  const { runId } = moment
  const row = isStreamId(runId) ? undefined : await deps.store.readRun(tenant, runId)
  if (!row) return refused(await missingRun(deps.store, tenant, runId))
  const seq = moment.seq === 'end' ? row.length : moment.seq
  if (seq < 1 || seq > row.length) return refused(outsideLog(row, seq))
  // What a fork shares is its source's, and so is all that a replay tells.
  if (row.fork && (seq <= row.fork.fromSeq || row.fork.mode === 'replay')) {
    const { sourceRunId, sourceLength } = row.fork
    return viewOfRun(deps, tenant, space, { runId: sourceRunId, seq: Math.min(seq, sourceLength) })
  }
  const { state, at } = await stateBefore(deps, row, seq)
  const place = state.phase === 'absent' ? undefined : state.journal?.[space]
  if (!place) return refused(refuse('not_found', `Run ${runId} has no ${space}: there is nothing it could have seen.`))
  const view = viewAt(place, runId, seq, at)
  const gone = await goneFrom(deps, tenant, space, view, { runId, seq })
  return gone ? refused(gone) : { ok: true, view, scope: place.scope }
}

const PAGE = 500
const PAGE_BYTES = 256 * 1024

async function stateBefore({ store, plans, turns }: MomentDeps, row: RunRow, seq: number) {
  const { runId, tenant } = row
  const plan = await plans().pinned(row.workflowDigest)
  const apply = (before: RunState, event: Recorded) => evolve(plan, before, event)
  let state: RunState = (await keptState(store, runId, seq)) ?? { phase: 'absent' }
  let next = state.phase === 'absent' ? 0 : state.next
  let at = next === 0 ? 0 : ((await store.readEvents(runId, next - 1, 1))[0]?.at ?? 0)
  while (next < seq) {
    await turns.room(tenant)
    const page = await store.readEvents(runId, next, Math.min(PAGE, seq - next), PAGE_BYTES)
    if (page.length === 0) throw new Error(`event ${next} of run ${runId} is missing`)
    turns.spent(tenant, charactersOf(page))
    state = fold(
      apply,
      state,
      page.map(event => decode(runId, event)),
    )
    next += page.length
    at = page.at(-1)?.at ?? at
  }
  return { state, at }
}

/** R-MEM-10: a view of which something was deleted is refused, never answered with what there is now. */
export async function goneFrom(
  { store, turns }: Pick<MomentDeps, 'store' | 'turns'>,
  tenant: string,
  space: Space,
  view: JournalView,
  { runId, seq }: { readonly runId: string; readonly seq: number },
): Promise<Refusal | undefined> {
  for (const [depth, { scope, upTo }] of view.entries()) {
    const horizon = await store.horizonOf(tenant, space, scope)
    if (upTo >= horizon) continue
    const oldest = depth > 0 ? undefined : await firstAnchor({ store, turns }, tenant, runId, space, horizon)
    const later =
      oldest === undefined ? 'No later event of it can be served either.' : `It can be served from event ${oldest} on.`
    const message = `What run ${runId} saw of its ${space} before event ${seq} is no longer kept (memory.retentionDays). ${later}`
    return refuse('replay_memory_snapshot_unavailable', message, {
      sourceRunId: runId,
      fromSeq: seq,
      reason: 'retention_expired',
      ...(oldest === undefined ? {} : { oldestAvailableIdx: oldest }),
    })
  }
  return undefined
}

/** The first event before which a turn of the run has read its scope as far as `horizon`. */
async function firstAnchor(
  reader: Pick<MomentDeps, 'store' | 'turns'>,
  tenant: string,
  runId: string,
  space: Space,
  horizon: number,
): Promise<number | undefined> {
  for await (const page of logPages(reader, { runId, tenant }, 0))
    for (const row of page) {
      if (row.type !== 'agent.invocation.started') continue
      const event = decode(runId, row)
      const anchors = event.type === 'agent.invocation.started' ? event.secret?.anchors : undefined
      if ((anchors?.[space] ?? -1) >= horizon) return event.sequence + 1
    }
  return undefined
}

const refused = (refusal: Refusal): ViewFound => ({ ok: false, refusal })

const outsideLog = ({ runId, length }: RunRow, seq: number): Refusal => {
  const why = seq < 1 ? 'which is before it began' : `and its log ends at ${length}`
  const message = `at names event ${seq} of run ${runId}, ${why}; give a number from 1 to ${length}.`
  return refuse('invalid_from_seq', message, { runId, seq, length })
}
