import { childRefusedInput, childStartCommand, childStartedInput } from '../../core/handoff/child-start.js'
import { present } from '../../core/present.js'
import { type Failure, failure } from '../../core/problem.js'
import { decide } from '../../core/run/decide.js'
import { MAX_EVENTS } from '../../core/run/decision-context.js'
import { type Effect, pending } from '../../core/run/effects.js'
import type { RunInput } from '../../core/run/input.js'
import { isWaiting, type RunState, statusOf } from '../../core/run/state.js'
import type { BoundGate } from '../../core/verification/gate.js'
import { WORK_LIMITS } from '../../core/work-limits.js'
import type { Plan } from '../../core/workflow/plan.js'
import type { EffectOf } from '../effects/effect-context.js'
import { childEndedInput } from '../effects/watch-child.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { Standards } from '../ports/verification.js'
import type { Room } from './capacity.js'
import type { Plans } from '../plans/plans.js'
import type { LoadedRun } from './run-cache.js'
import type { DecidedStep, Input, PendingWrite } from './run-writer.js'

/** Characters that one commit carries, over all its runs, before it is written. */
const MAX_CHARACTERS = 2 * 1_048_576

export type ChildSpawner = {
  readonly clock: Clock
  readonly ids: Ids
  readonly plans: Plans
  readonly standards: Standards
  /** Why no more runs of the tenant can be held, with so many that are not known of yet. */
  fullness(tenant: string, more: number): Failure | undefined
  /** How deep runs of the tenant may nest. */
  maxDepth(tenant: string): number
  /** The first step of a child; a refusal has a code. */
  createChild(
    runId: string,
    input: Extract<Input, { type: 'StartRun' }>,
    plan: Plan,
    notBefore: number,
  ): PendingWrite | { message: string }
}

/** Starts a child, or says why not: what to tell its parent, and what is to be committed with that. */
export function startChild(
  spawner: ChildSpawner,
  parent: Pick<LoadedRun, 'runId' | 'tenant' | 'state' | 'rules'>,
  effect: EffectOf<'start-child'>,
  plan: Plan | undefined,
  gates: readonly BoundGate[] | Failure,
  siblings = 0,
): { readonly input: Input; readonly child?: PendingWrite } {
  if (parent.state.phase !== 'active') throw new Error(`run ${parent.runId} has ended and starts no child`)
  const full = spawner.fullness(parent.tenant, siblings)
  if (full) return { input: childRefusedInput(effect, full) }
  const childRunId = spawner.ids.run()
  const maxDepth = Math.min(parent.rules.limits.maxDepth, spawner.maxDepth(parent.tenant))
  const start = childStartCommand(parent.runId, parent.state, maxDepth, effect, plan, childRunId, gates)
  if ('code' in start) return { input: childRefusedInput(effect, start) }
  const known = present(plan, 'plan of whoever was hired')
  const child = spawner.createChild(childRunId, start, known, parent.state.lastAt)
  if ('append' in child) return { input: childStartedInput(effect, known, childRunId), child }
  return { input: childRefusedInput(effect, failure('child_refused', child.message, { retryable: false })) }
}

/**
 * Goes on with a run for as long as it only hands work over: its children are started, and heard of when they end at
 * once, in the commit of the decision that wants them, until they have taken what one decision may. The log is the same as if each had been a commit of its own.
 */
export function commitWithChildren(
  spawner: ChildSpawner,
  before: LoadedRun,
  first: DecidedStep,
  born?: PendingWrite,
  room?: Room,
): { readonly decided: DecidedStep; readonly children: readonly PendingWrite[] } {
  const { decision: maxSteps } = before.rules.limits.work ?? WORK_LIMITS
  const events = [...first.events]
  const children = new Map<string, PendingWrite>()
  let { state } = first
  let [total, characters, steps] = [events.length, 0, first.steps ?? 0]
  const hear = (input: Input): void => {
    const decision = decide(before.rules, state, { ...input, now: spawner.clock.now() } as RunInput)
    if (!decision.ok) throw new Error(`a run refused to hear of its child: ${decision.refusal.message}`)
    events.push(...decision.events)
    total += decision.events.length
    state = decision.state
    steps += decision.steps ?? 0
  }
  const adopt = (child: PendingWrite): void => {
    const watch = pending(before.rules, state).find(effect => isWatching(effect, child.append.runId))
    // The parent took another way, out of time for one: what it does not know of is not born.
    if (watch?.kind !== 'watch-child') return
    total += child.stored.length
    characters += child.stored.reduce((sum, { payload, secret }) => sum + payload.length + (secret?.length ?? 0), 0)
    children.set(child.append.runId, child)
    hearEnds()
  }
  /** Of those that have ended at once, in their turn. */
  const hearEnds = (): void => {
    for (let heard = true; heard; ) {
      heard = false
      for (const watch of pending(before.rules, state)) {
        const child = watch.kind === 'watch-child' && !watch.early ? children.get(watch.childRunId) : undefined
        const end = child?.loaded.state
        if (watch.kind !== 'watch-child' || !child || end?.phase !== 'ended') continue
        hear(childEndedInput(watch, end, child.loaded.rules.plan))
        // A parent that knows already need not be woken.
        children.set(watch.childRunId, { ...child, wakes: [] })
        heard = true
        break
      }
    }
  }
  if (born) adopt(born)
  while (total < MAX_EVENTS && characters < MAX_CHARACTERS && steps < maxSteps) {
    const effect = pending(before.rules, state).find(owed => owed.kind === 'start-child')
    if (effect?.kind !== 'start-child') break
    const plan = spawner.plans.known(before.tenant, effect.workflowId)
    if (plan === undefined) break
    const gates = effect.verifier ? [] : spawner.standards.knownFor(before.tenant, plan.definition.id)
    if (gates === undefined) break
    const { input, child } =
      room && children.size >= room.children
        ? { input: childRefusedInput(effect, room.refused) }
        : startChild(spawner, { ...before, state }, effect, plan, gates, children.size)
    steps += child?.steps ?? 0
    hear(input)
    if (child) adopt(child)
    else hearEnds()
  }
  return { decided: { ok: true, events, state, steps }, children: [...children.values()] }
}

const isWatching = (effect: Effect, childRunId: string): boolean =>
  effect.kind === 'watch-child' && effect.childRunId === childRunId

/**
 * A parent looks when its child ends, begins to wait for someone, or no longer does, and so does the stream that has
 * started the run. Nobody is a fork's parent.
 */
export function parentToWake(before: RunState, after: RunState): string[] {
  if (after.phase === 'absent' || after.fork !== undefined) return []
  const above = after.started.parentRunId ?? after.started.stream
  if (above === undefined) return []
  const [old, now] = [statusOf(before), statusOf(after)]
  const told = after.phase === 'ended' || (old !== now && (isWaiting(old) || isWaiting(now)))
  return told ? [above] : []
}
