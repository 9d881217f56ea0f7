import type { BoundGate } from '../../core/verification/gate.js'
import { present } from '../../core/present.js'
import { type Failure, failure } from '../../core/problem.js'
import { decide } from '../../core/run/decide.js'
import type { RunInput } from '../../core/run/input.js'
import { type Effect, pending } from '../../core/run/effects.js'
import type { Plan } from '../../core/workflow/plan.js'
import { MAX_EVENTS } from '../../core/run/decision-context.js'
import type { Loaded } from './run-cache.js'
import { hire, refused, started } from './child-start.js'
import type { EffectOf } from '../effects/effect-context.js'
import { childEnded } from '../effects/watch-child.js'
import type { Plans } from './plans.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { Decided, Input, Step } from './run-writer.js'
import type { Standards } from '../ports/verification.js'

/** Characters that one commit carries, over all its runs, before it is written. */
const MAX_CHARACTERS = 2 * 1_048_576

export type Nursery = {
  readonly clock: Clock
  readonly ids: Ids
  readonly plans: Plans
  readonly standards: Standards
  /** Whether the host can hold no more runs, with so many that it does not know of yet. */
  isFull(more: number): boolean
  /** The first step of a child; a refusal has a code. */
  birth(
    runId: string,
    input: Extract<Input, { type: 'StartRun' }>,
    plan: Plan,
    notBefore: number,
  ): Step | { message: string }
}

/** Starts a child, or says why not: what to tell its parent, and what is to be committed with that. */
export function bear(
  nursery: Nursery,
  parent: Pick<Loaded, 'runId' | 'state' | 'rules'>,
  effect: EffectOf<'start-child'>,
  plan: Plan | undefined,
  gates: readonly BoundGate[] | Failure,
  siblings = 0,
): { readonly input: Input; readonly child?: Step } {
  if (parent.state.phase !== 'active') throw new Error(`run ${parent.runId} has ended and starts no child`)
  if (nursery.isFull(siblings)) {
    const message = 'this host holds too many unfinished runs to start another; try again later'
    return { input: refused(effect, failure('too_many_runs', message)) }
  }
  const childRunId = nursery.ids.run()
  const start = hire(parent.runId, parent.state, parent.rules.limits, effect, plan, childRunId, gates)
  if ('code' in start) return { input: refused(effect, start) }
  const known = present(plan, 'plan of whoever was hired')
  const child = nursery.birth(childRunId, start, known, parent.state.lastAt)
  if ('append' in child) return { input: started(effect, known, childRunId), child }
  return { input: refused(effect, failure('child_refused', child.message, { retryable: false })) }
}

/**
 * Goes on with a run for as long as it only hands work over: its children are started, and heard of when they end at
 * once, in the commit of the decision that wants them. The log is the same as if each had been a commit of its own.
 */
export function grow(
  nursery: Nursery,
  before: Loaded,
  first: Decided,
  born?: Step,
): { readonly decided: Decided; readonly children: readonly Step[] } {
  const events = [...first.events]
  const children: Step[] = []
  let { state } = first
  let [total, characters] = [events.length, 0]
  const hear = (input: Input): void => {
    const decision = decide(before.rules, state, { ...input, now: nursery.clock.now() } as RunInput)
    if (!decision.ok) throw new Error(`a run refused to hear of its child: ${decision.refusal.message}`)
    events.push(...decision.events)
    total += decision.events.length
    state = decision.state
  }
  const adopt = (child: Step): void => {
    const watch = pending(before.rules, state).find(effect => isWatching(effect, child.append.runId))
    // The parent took another way, out of time for one: what it does not know of is not born.
    if (watch?.kind !== 'watch-child') return
    total += child.stored.length
    characters += child.stored.reduce((sum, { payload, secret }) => sum + payload.length + (secret?.length ?? 0), 0)
    const end = child.loaded.state
    if (end.phase !== 'ended') return void children.push(child)
    hear(childEnded(watch, end, child.loaded.rules.plan))
    // A parent that knows already need not be woken.
    children.push({ ...child, wakes: [] })
  }
  if (born) adopt(born)
  while (total < MAX_EVENTS && characters < MAX_CHARACTERS) {
    const effect = pending(before.rules, state).find(owed => owed.kind === 'start-child')
    if (effect?.kind !== 'start-child') break
    const plan = nursery.plans.known(before.tenant, effect.workflowId)
    if (plan === undefined) break
    const gates = effect.verifier ? [] : nursery.standards.knownFor(before.tenant, plan.definition.id)
    if (gates === undefined) break
    const { input, child } = bear(nursery, { ...before, state }, effect, plan, gates, children.length)
    hear(input)
    if (child) adopt(child)
  }
  return { decided: { ok: true, events, state }, children }
}

const isWatching = (effect: Effect, childRunId: string): boolean =>
  effect.kind === 'watch-child' && effect.childRunId === childRunId
