import { definitionsIn, Replay } from '../../core/replay/decide.js'
import type { Fork } from '../../core/replay/events.js'
import { inherited } from '../../core/replay/fork.js'
import type { Rules } from '../../core/run/decide.js'
import { MAX_EVENTS } from '../../core/run/decision-context.js'
import type { Recorded } from '../../core/run/events.js'
import { WORK_LIMITS } from '../../core/work-limits.js'
import { decode } from '../runtime/encode.js'
import { keptState } from '../runtime/snapshot.js'
import type { EffectContext, PerformEffect } from './effect-context.js'

/**
 * Goes on with a replay that its first commit did not finish. It is told again from its beginning, which gives the same
 * events, and what is not in its log yet is appended.
 */
export const replay: PerformEffect<'replay'> = async (context, { rules, runId, tenant, state }, { fork }, signal) => {
  const replay = await openReplay(context, rules, fork, runId)
  const known = state.phase === 'absent' ? 0 : state.next
  for (let events = nextBatch(replay, known); events !== undefined; events = nextBatch(replay, known)) {
    if (signal.aborted) return undefined
    if (events.length > 0) await context.runs.submit(runId, { type: 'Retold', events }, { asHolder: true })
    await context.turns.next(tenant)
  }
  // Cannot be, by the rules; if it is, the run must not be told again for ever.
  if (replay.state.phase === 'active') return { input: { type: 'CancelRun', by: 'host', reason: 'replay-has-no-end' } }
  return undefined
}

/** A replay at the point where it parts from its source. */
export async function openReplay(
  { store, ...deps }: Pick<EffectContext, 'store' | 'plans' | 'rules'>,
  rules: Rules,
  fork: Fork,
  runId: string,
): Promise<Replay> {
  const { sourceRunId, fromSeq, sourceLength } = fork
  const kept = (await keptState(store, sourceRunId, fromSeq)) ?? { phase: 'absent' }
  const from = kept.phase === 'absent' ? 0 : kept.next
  const rows = await store.readEvents(sourceRunId, from, sourceLength - from)
  const log = rows.map(row => decode(sourceRunId, row))
  const earlier = await rulesOf(deps, definitionsIn(kept, log))
  return new Replay(rules, inherited(kept, runId, fork), fork, runId, log, earlier)
}

async function rulesOf(
  { plans, rules }: Pick<EffectContext, 'plans' | 'rules'>,
  definitions: readonly { readonly digest: string }[],
): Promise<ReadonlyMap<string, Rules>> {
  // Most logs were told by one definition, which is the one that the replay is pinned to.
  if (definitions.length < 2) return new Map()
  const known = definitions.map(async ({ digest }) => [digest, rules(await plans.pinned(digest))] as const)
  return new Map(await Promise.all(known))
}

/**
 * A commit's worth of events from `known` on, and no more than may be decided in one go; none, if that was all of it.
 * Undefined when everything has been told.
 */
export function nextBatch(replay: Replay, known: number): readonly Recorded[] | undefined {
  const events: Recorded[] = []
  const before = replay.steps
  while (events.length < MAX_EVENTS && replay.steps - before < WORK_LIMITS.decision) {
    const told = replay.next()
    if (told === undefined) return events.length > 0 ? events : undefined
    events.push(...told.filter(({ sequence }) => sequence >= known))
  }
  return events
}
