import { Replay } from '../../core/replay/decide.js'
import { digestIn } from '../../core/replay/definitions.js'
import type { Fork } from '../../core/replay/events.js'
import { inherited } from '../../core/replay/fork.js'
import type { Rules } from '../../core/run/decide.js'
import { MAX_EVENTS } from '../../core/run/decision-context.js'
import type { Recorded } from '../../core/run/events.js'
import type { RunState } from '../../core/run/state.js'
import { WORK_LIMITS } from '../../core/work-limits.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { StoredEvent } from '../ports/event-log.js'
import { decode } from '../log/encode.js'
import { logPages } from '../log/read-log.js'
import { keptState } from '../log/snapshot.js'
import type { EffectContext, PerformEffect } from './effect-context.js'
import { type AnswerToday, answersOfToday } from './replay-today.js'

/**
 * Goes on with a replay that its first commit did not finish. It is told again from its beginning, which gives the same
 * events, and what is not in its log yet is appended.
 */
export const replay: PerformEffect<'replay'> = async (context, { rules, runId, tenant, state }, { fork }, signal) => {
  const told = await openReplay(context, rules, fork, { runId, tenant })
  const known = state.phase === 'absent' ? 0 : state.next
  const diverged = state.phase !== 'absent' && state.diverged
  const answer = await answersOfToday(context, { runId, tenant, fork, known, diverged })
  const batch = () => told.next(known, answer)
  for (let events = await batch(); events !== undefined; events = await batch()) {
    if (signal.aborted) return undefined
    if (events.length > 0) await context.runs.submit(runId, { type: 'Retold', events }, { asHolder: true })
    await context.turns.next(tenant)
  }
  // Cannot be, by the rules; if it is, the run must not be told again for ever.
  if (told.state.phase === 'active') return { input: { type: 'CancelRun', by: 'host', reason: 'replay-has-no-end' } }
  return undefined
}

type ReplayDeps = Pick<EffectContext, 'store' | 'turns' | 'plans' | 'rules'>

/** A replay at the point where it parts from its source. Nothing of the source has been read but a state it has kept. */
export async function openReplay(
  deps: ReplayDeps,
  rules: Rules,
  fork: Fork,
  { runId, tenant }: { readonly runId: string; readonly tenant: string },
): Promise<Retelling> {
  const { sourceRunId, fromSeq, sourceLength } = fork
  const kept = (await keptState(deps.store, sourceRunId, fromSeq)) ?? { phase: 'absent' }
  const from = kept.phase === 'absent' ? 0 : kept.next
  const pages = logPages(deps, { runId: sourceRunId, tenant }, from, sourceLength)
  const earlier = new EarlierRules(deps, rules)
  if (kept.phase !== 'absent') await earlier.know(kept.started.workflowDigest)
  const replay = new Replay(rules, inherited(kept, runId, fork), fork, runId, [], earlier.known)
  return new Retelling(replay, fork, tenant, pages, earlier, deps.turns)
}

/** Most logs were told by one definition, which is the one that the replay is pinned to; a branch may have had others. */
class EarlierRules {
  readonly known = new Map<string, Rules>()

  constructor(
    private readonly deps: Pick<EffectContext, 'plans' | 'rules'>,
    private readonly latest: Rules,
  ) {}

  async know(digest: string): Promise<void> {
    if (digest === this.latest.plan.digest || this.known.has(digest)) return
    this.known.set(digest, this.deps.rules(await this.deps.plans.pinned(digest)))
  }
}

/** A replay and the log that it is told by: a page of that is read when the replay cannot be told further without it. */
class Retelling {
  constructor(
    private readonly replay: Replay,
    private readonly fork: Fork,
    private readonly tenant: string,
    private readonly pages: AsyncGenerator<readonly StoredEvent[], void, void>,
    private readonly earlier: EarlierRules,
    private readonly turns: TurnTaking,
  ) {}

  get state(): RunState {
    return this.replay.state
  }

  /**
   * A commit's worth of events from `known` on, and no more than may be decided in one go; none, if that was all of it.
   * Undefined when everything has been told.
   */
  async next(known: number, answer: AnswerToday): Promise<readonly Recorded[] | undefined> {
    const { replay, turns, tenant } = this
    const events: Recorded[] = []
    const before = replay.steps
    let isTold = false
    while (!isTold && events.length < MAX_EVENTS && replay.steps - before < WORK_LIMITS.decision) {
      if (replay.isShort) await this.#readOn()
      else {
        const told = await this.#tell(answer)
        isTold = told === undefined
        for (const event of told ?? []) if (event.sequence >= known) events.push(event)
      }
    }
    turns.spent(tenant, replay.steps - before)
    return isTold && events.length === 0 ? undefined : events
  }

  async #tell(answer: AnswerToday): Promise<readonly Recorded[] | undefined> {
    const { question, state } = this.replay
    // To look for the question may have shown that more has to be read.
    if (this.replay.isShort) return []
    return this.replay.next(question && state.phase === 'active' ? await answer(question, state.next) : undefined)
  }

  async #readOn(): Promise<void> {
    const { sourceRunId } = this.fork
    const { value: page } = await this.pages.next()
    if (!page) throw new Error(`the log of run ${sourceRunId} ends before event ${this.fork.sourceLength - 1}`)
    const log = page.map(row => decode(sourceRunId, row))
    // The replay may be told by them as soon as it has read of them.
    for (const digest of log.map(digestIn)) if (digest !== undefined) await this.earlier.know(digest)
    this.replay.read(log)
  }
}
