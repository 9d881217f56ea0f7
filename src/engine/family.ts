import { failure } from '../core/problem.js'
import { decide } from '../core/run/decide.js'
import type { RunInput } from '../core/run/input.js'
import { type Effect, pending } from '../core/run/pending.js'
import type { Plan } from '../core/run/plan.js'
import type { Loaded } from './cells.js'
import { hire, isHired, refused, started } from './hire.js'
import { childEnded } from './perform/watch-child.js'
import type { Plans } from './plans.js'
import type { Clock, Ids } from './ports.js'
import type { Decided, Input, Step } from './runs.js'

/** Events of the parent, and children, that one commit carries at most before it is written. */
const MAX_EVENTS = 512
const MAX_CHILDREN = 64

export type Nursery = {
  readonly clock: Clock
  readonly ids: Ids
  readonly plans: Plans
  /** The first step of a child; a refusal has a code. */
  birth(
    runId: string,
    input: Extract<Input, { type: 'StartRun' }>,
    plan: Plan,
    notBefore: number,
  ): Step | { message: string }
}

/**
 * Goes on with a run for as long as it only hands work over: its children are started, and heard of when they end at
 * once, in the commit of the decision that wants them. The log is the same as if each had been a commit of its own.
 */
export function grow(
  nursery: Nursery,
  before: Loaded,
  first: Decided,
  child?: Step,
): { readonly decided: Decided; readonly children: readonly Step[] } {
  const events = [...first.events]
  const children: Step[] = []
  let { state } = first
  const hear = (input: Input): boolean => {
    const decision = decide(before.rules, state, { ...input, now: nursery.clock.now() } as RunInput)
    if (!decision.ok) throw new Error(`a run refused to hear of its child: ${decision.refusal.message}`)
    events.push(...decision.events)
    state = decision.state
    return decision.events.length > 0
  }
  const adopt = (born: Step): void => {
    const watch = pending(before.rules, state).find(effect => isWatching(effect, born.append.runId))
    // The parent took another way, out of time for one: what it does not know of is not born.
    if (watch?.kind !== 'watch-child') return
    const end = born.loaded.state
    const told = end.phase === 'ended' && hear(childEnded(watch, end))
    // A parent that knows already need not be woken.
    children.push(told ? { ...born, wakes: [] } : born)
  }
  if (child) adopt(child)
  while (events.length < MAX_EVENTS && children.length < MAX_CHILDREN && state.phase === 'active') {
    const effect = pending(before.rules, state).find(owed => owed.kind === 'start-child')
    const plan = effect?.kind === 'start-child' ? nursery.plans.known(before.tenant, effect.workflowId) : undefined
    if (effect?.kind !== 'start-child' || plan === undefined) break
    const childRunId = nursery.ids.run()
    const start = hire({ ...before, state }, effect, plan, childRunId)
    const born = isHired(start) ? nursery.birth(childRunId, start, plan, state.lastAt) : undefined
    if (born !== undefined && 'append' in born) {
      hear(started(effect, plan, childRunId))
      adopt(born)
    } else if (isHired(start)) {
      hear(refused(effect, failure('child_refused', born?.message ?? '', { retryable: false })))
    } else hear(refused(effect, start))
  }
  return { decided: { ok: true, events, state }, children }
}

const isWatching = (effect: Effect, childRunId: string): boolean =>
  effect.kind === 'watch-child' && effect.childRunId === childRunId
