import { decideCommitment, type CommitmentInput } from '../../core/commitment/decide.js'
import {
  type CommitmentEffect,
  commitmentPending,
  commitmentStatus,
  commitmentTimer,
  commitmentWakeAt,
} from '../../core/commitment/effects.js'
import type { CommitmentRecorded } from '../../core/commitment/events.js'
import { evolveCommitment } from '../../core/commitment/evolve.js'
import type { Commitment, CommitmentState } from '../../core/commitment/state.js'
import type { GoalWork } from '../../core/goal/goal.js'
import { PROBLEMS } from '../../core/problem.js'
import type { CreateRun } from '../api.js'
import type { Clock } from '../ports/clock.js'
import type { Journal } from '../ports/journal.js'
import type { Predicates } from '../ports/verification.js'
import { entryIn } from '../queries/journal-view.js'
import { askPredicate } from '../standing/arm-effects.js'
import type { RunStarter } from '../standing/run-starter.js'
import type { Put, StreamKind } from '../standing/stream-kind.js'

export type CommitmentStream = StreamKind<CommitmentState, CommitmentInput, CommitmentEffect>

export type KindDeps = {
  readonly clock: Clock
  readonly store: Pick<Journal, 'heads' | 'entryAt'>
  readonly predicates: Predicates
  readonly starter: Pick<RunStarter, 'born'>
}

/** Commitments as a kind of standing stream (`core/commitment`). */
export const commitmentKind = (deps: KindDeps): CommitmentStream => ({
  name: 'commitment',
  initial: { phase: 'absent' },
  decide: decideCommitment,
  evolve: (state, event) => evolveCommitment(state, event as CommitmentRecorded),
  pending: commitmentPending,
  wakeAt: commitmentWakeAt,
  timer: commitmentTimer,
  status: commitmentStatus,
  poisoned: () => ({ type: 'Poisoned' }),
  timeCame: { type: 'TimeCame' },
  async perform({ state }, effect, signal) {
    if (state.phase !== 'open' || effect.notBefore > deps.clock.now()) return undefined
    const reason = await goneBy(deps, state)
    if (reason !== undefined) return { input: { type: 'EntryGone', reason } }
    if (effect.kind === 'fire') return fire(deps, state)
    const { tenant, commitmentId } = state
    const input = await askPredicate(deps, { tenant, stream: commitmentId }, effect, signal)
    return input && { input }
  },
})

/** K2: how its entry has come to be another one than it was made with. */
async function goneBy({ store, clock }: KindDeps, { tenant, entry }: Commitment) {
  const { scope, position, ...key } = entry
  const upTo = (await store.heads(tenant, scope)).memory
  const row = await entryIn(store, tenant, 'memory', [{ scope, upTo, runs: [], at: clock.now() }], key)
  if (row === undefined) return 'forgotten'
  return row.position === position ? undefined : 'superseded'
}

/** R-ARM-6: the run says what has started it. */
async function fire({ starter }: KindDeps, commitment: Commitment): Promise<Put<CommitmentInput>> {
  const born = await starter.born(commitmentRequest(commitment, commitment.work), commitment.lastAt)
  if (!('code' in born)) return { input: { type: 'RunReady', runId: born.append.runId }, born: [born] }
  const { code } = born
  return { input: { type: 'RunRefused', code, mayHelpLater: PROBLEMS[code].retryable } }
}

/** In the name of whoever made it, with no more than that credential may do. */
export function commitmentRequest(
  { tenant, principal, scopes, commitmentId }: Pick<Commitment, 'tenant' | 'principal' | 'scopes' | 'commitmentId'>,
  { inputs, ...runs }: GoalWork,
): CreateRun {
  const request = {
    tenant,
    principal,
    ...(scopes ? { scopes } : {}),
    inputs,
    tags: [commitmentId],
    metadata: { armRef: commitmentId },
    stream: { stream: commitmentId },
    transport: 'rest' as const,
  }
  return 'agentId' in runs ? { ...request, agentId: runs.agentId, source: 'run-api' } : { ...request, ...runs }
}
