/**
 * A commitment: a run that an entry of memory asks for, at a time or when something comes to be (docs/design/arm.md).
 *
 * | commitment | entered by            | left by, to                                                                   |
 * |------------|-----------------------|-------------------------------------------------------------------------------|
 * | absent     | -                     | assay.commitment.made: waiting                                                |
 * | waiting    | assay.commitment.made | its tick has come: owed; assay.commitment.dropped: ended                      |
 * | owed       | assay.arm.ticked      | commitment.fired, with assay.stream.run.began: ended; .held: stays; .dropped  |
 * | ended      | assay.stream.ended    | never                                                                         |
 *
 *  K1  R-ARM-4: it fires at most once. The run, and that it has fired, are told in one commit, and nothing comes after it.
 *  K2  It fires only for the entry that it was made with: where that is forgotten, or says something else, it is dropped.
 *  K3  Payloads are free of content: what the entry says, what is run and what is looked at is in the secret part.
 */

import { armDisarms, armed, armHears, type ArmInput, type ArmTold } from '../arm/decide.js'
import { armOwes } from '../arm/effects.js'
import type { Arm } from '../arm/arm.js'
import { backoff } from '../backoff.js'
import type { Decision } from '../decider.js'
import { absent } from '../present.js'
import { type Refusal, refuse } from '../problem.js'
import { isoTime } from '../time.js'
import { RUN_BEGAN, STREAM_ENDED } from '../standing/stream.js'
import type { CommitmentEvent, CommitmentMade, CommitmentRecorded, DropReason } from './events.js'
import { evolveCommitment } from './evolve.js'
import type { Commitment, CommitmentState } from './state.js'

export type CommitmentInput =
  | ({ readonly type: 'MakeCommitment'; readonly commitmentId: string; readonly arm: CommitmentArm } & CommitmentMade)
  | { readonly type: 'CancelCommitment' }
  | Extract<ArmInput, { type: 'TimeCame' | 'PredicateAnswered' }>
  /** A run that is ready to begin, if one is still owed. */
  | { readonly type: 'RunReady'; readonly runId: string }
  | { readonly type: 'RunRefused'; readonly code: string; readonly mayHelpLater: boolean }
  /** Its entry is not the one any more that it was made with. */
  | { readonly type: 'EntryGone'; readonly reason: 'forgotten' | 'superseded' }
  | { readonly type: 'Poisoned' }

export type CommitmentArm = Extract<Arm, { kind: 'time' | 'predicate' }>

/** Between tries to start a run that is owed. */
const HOLD = { firstMs: 1_000, mostMs: 300_000 }

export function decideCommitment(
  state: CommitmentState,
  input: CommitmentInput & { readonly now: number },
): Decision<CommitmentState, CommitmentRecorded> {
  const draft = new Draft(state, input.now)
  const refusal = hear(draft, input)
  return refusal ? { ok: false, refusal } : { ok: true, events: draft.events, state: draft.state }
}

/** The events decided so far, and the state after them. */
class Draft {
  readonly events: CommitmentRecorded[] = []

  constructor(
    public state: CommitmentState,
    private readonly now: number,
  ) {}

  get commitment(): Commitment {
    return this.state.phase === 'absent' ? absent('commitment') : this.state
  }

  get told(): ArmTold {
    const { commitmentId, lastAt } = this.commitment
    return { stream: commitmentId, now: Math.max(this.now, lastAt), busy: false, freeSince: null }
  }

  tell(...facts: readonly CommitmentEvent[]): void {
    for (const fact of facts) {
      const [sequence, lastAt] = this.state.phase === 'absent' ? [0, 0] : [this.state.next, this.state.lastAt]
      const event = { ...fact, sequence, at: Math.max(this.now, lastAt) } as CommitmentRecorded
      this.events.push(event)
      this.state = evolveCommitment(this.state, event)
    }
  }
}

function hear(draft: Draft, input: CommitmentInput): Refusal | undefined {
  if (input.type === 'MakeCommitment') return make(draft, input)
  if (draft.state.phase !== 'open') return input.type === 'CancelCommitment' ? isOver(draft.commitment) : undefined
  switch (input.type) {
    case 'CancelCommitment':
      return drop(draft, 'cancelled')
    case 'EntryGone':
      return drop(draft, input.reason)
    case 'Poisoned':
      return drop(draft, 'poisoned')
    case 'RunReady':
      return fire(draft, input.runId)
    case 'RunRefused':
      return refused(draft, input)
    default:
      return draft.tell(...armHears(draft.commitment.arm, input, draft.told)) as undefined
  }
}

function make(
  draft: Draft,
  { commitmentId, arm, tenant, principal, scopes, entry, work }: Extract<CommitmentInput, { type: 'MakeCommitment' }>,
): undefined {
  const condition = arm.kind === 'time' ? ('time' as const) : ('predicate' as const)
  const secret = { tenant, principal, ...(scopes ? { scopes } : {}), entry, work }
  draft.tell({ type: 'assay.commitment.made', payload: { commitmentId, condition }, secret })
  draft.tell(...armed(draft.commitment.arm, arm, draft.told))
}

/** K1, K2: whoever brings the run has looked at the entry just before. */
function fire(draft: Draft, runId: string): undefined {
  const { arm, commitmentId, condition, entry } = draft.commitment
  const owed = armOwes(arm, false)
  if (owed === undefined || !('tick' in owed)) return
  const { ref: memoryRef, id: memoryId } = entry
  draft.tell(
    { type: RUN_BEGAN, payload: { role: 'work', ordinal: 1, runId, tick: isoTime(owed.tick) } },
    { type: 'commitment.fired', payload: { commitmentId, memoryRef, memoryId, condition, enqueuedRunId: runId } },
    ...armDisarms(draft.commitment.arm),
    { type: STREAM_ENDED, payload: {} },
  )
}

function refused(draft: Draft, { code, mayHelpLater }: Extract<CommitmentInput, { type: 'RunRefused' }>): undefined {
  const { arm, held } = draft.commitment
  if (armOwes(arm, false) === undefined) return
  if (!mayHelpLater) return drop(draft, 'refused')
  const failures = (held?.failures ?? 0) + 1
  const until = draft.told.now + backoff(HOLD, failures)
  draft.tell({ type: 'assay.commitment.held', payload: { code, failures, until } })
}

function drop(draft: Draft, reason: DropReason): undefined {
  draft.tell({ type: 'assay.commitment.dropped', payload: { reason } })
  draft.tell(...armDisarms(draft.commitment.arm), { type: STREAM_ENDED, payload: {} })
}

const isOver = ({ commitmentId, runId, dropped }: Commitment): Refusal =>
  refuse(
    'commitment_over',
    runId === null
      ? `the commitment was dropped (${dropped}) and will not fire; make another one`
      : `the commitment has fired, and run ${runId} has begun; cancel that`,
    { commitmentId, runId },
  )
