import type { AgentVerified, VerifiedSecret } from '../core/verification/events.js'
import type { VerificationRecord } from '../core/verification/record.js'
import { judgeOf } from '../core/verification/voting/licence.js'
import { opinionOfGate, opinionOfVote, type RecordedOpinion } from './opinion.js'

/** An attempt at a gate and a verdict on it; an attempt that a person overruled comes twice. */
export type Entry = {
  readonly runId: string
  readonly record: VerificationRecord
  readonly verified?: AgentVerified & VerifiedSecret & { readonly at: number }
}

export type Truth = 'good' | 'bad'

/** A result whose truth was known before it was judged. `defect`: what was done to it. */
export type Planted = Entry & { readonly truth: Truth; readonly defect?: string }

/** How it is known whether a result was good. */
export type Label = { readonly truth: Truth; readonly by: (typeof LABELLERS)[number] }

export const LABELLERS = ['planted', 'confirmation', 'human-override', 'human-reject', 're-verification'] as const

/** What is kept of an entry: who judged what and how. No words, so that hundreds can be held in memory. */
export type Digest = {
  readonly attemptKey: string
  /** Where in which run the gate stood: attempts at the same slot follow each other. */
  readonly slot: string
  readonly attempt: number
  /** The same gate asked about the same result, held against the same sources. Begins with the hash of the gate. */
  readonly question: string
  /** Widths of the scales, by dimension, where the record has them. */
  readonly ranges: ReadonlyMap<string, number>
  readonly gate: RecordedOpinion
  readonly votes: readonly RecordedOpinion[]
  /** A person's word on the result. */
  readonly person?: 'accepted' | 'refused'
  /** Why a person was asked about it. */
  readonly asked?: string
  /** When the verdict was told, in milliseconds since 1970. */
  readonly at: number
  /** By verifier that voted: which model judged, by which prompt. */
  readonly judges: ReadonlyMap<string, string>
}

export type LabelledCase = {
  readonly digest: Digest
  readonly label?: Label
  /** The next attempt, where it judged the very same result. */
  readonly again?: Digest
}

export function digestOf({ runId, record, verified }: Entry): Digest {
  const { gateId, gateHash, nodeId, workerId, target, attempt, resultHash, contextHash, criteria } = record
  const votes = record.votes.map(vote => opinionOfVote(vote, criteria))
  const slot = JSON.stringify([runId, gateId, nodeId, workerId ?? null])
  const person = personOf(verified)
  return {
    attemptKey: JSON.stringify([slot, target, attempt, resultHash]),
    slot,
    attempt,
    question: [gateHash, resultHash, ...(contextHash === undefined ? [] : [contextHash])].join(' '),
    ranges: new Map(
      criteria.flatMap(({ dimension, scale }) => (scale === undefined ? [] : [[dimension, scale.max - scale.min]])),
    ),
    gate: opinionOfGate(record, votes),
    votes,
    ...(person === undefined ? {} : { person }),
    ...askedOf(record, verified),
    at: verified?.at ?? 0,
    judges: new Map(record.votes.map(vote => [vote.agentId, judgeOf(vote)])),
  }
}

/** Where it is not told, as in older logs, it follows: of a failure a person is asked when there are no attempts left. */
function askedOf({ verdict }: VerificationRecord, verified: Entry['verified']): Pick<Digest, 'asked'> {
  if (verified?.asked !== undefined) return { asked: verified.asked }
  if (verified?.by === undefined) return {}
  return { asked: verdict === 'fail' ? 'exhausted' : 'unlicensed' }
}

/** Whoever lets the time run out has not looked, so that is nobody's word. */
function personOf(verified: Entry['verified']): Digest['person'] {
  if (verified?.by === undefined || verified.by === 'timeout') return undefined
  return verified.verdict === 'pass' ? 'accepted' : 'refused'
}

/**
 * One case per attempt, with its truth as far as it is known (contract agents §23.3):
 *
 *  L1  What was planted is what it was planted as.
 *  L2  What a person accepts is good, whatever the verifiers said; what a person refuses is bad.
 *  L3  A result that failed, and that the next attempt lets pass unchanged, was good. This alone rests on the judges'
 *      own word, so it only ever counts against them: the passing attempt gets no label by it.
 *
 * `judged` is in the order of time.
 */
export function casesOf(
  judged: readonly Digest[],
  planted: readonly { readonly digest: Digest; readonly truth: Truth }[] = [],
): LabelledCase[] {
  const attempts = new Map<string, Digest>()
  for (const digest of judged) {
    const known = attempts.get(digest.attemptKey)
    const [person, asked] = [digest.person ?? known?.person, digest.asked ?? known?.asked]
    attempts.set(digest.attemptKey, {
      ...digest,
      ...(person === undefined ? {} : { person }),
      ...(asked === undefined ? {} : { asked }),
    })
  }
  for (const { digest } of planted) attempts.delete(digest.attemptKey)
  return [
    ...withNext([...attempts.values()]).map(([digest, again]) => caseOf(digest, again)),
    ...planted.map(({ digest, truth }): LabelledCase => ({ digest, label: { truth, by: 'planted' } })),
  ]
}

function withNext(attempts: readonly Digest[]): (readonly [Digest, Digest | undefined])[] {
  const next = new Map<string, Digest>()
  return attempts
    .toReversed()
    .map(digest => {
      const later = next.get(digest.slot)
      next.set(digest.slot, digest)
      const isAgain = later?.attempt === digest.attempt + 1 && later.question === digest.question
      return [digest, isAgain ? later : undefined] as const
    })
    .toReversed()
}

function caseOf(digest: Digest, again: Digest | undefined): LabelledCase {
  const label = labelOf(digest, again)
  return { digest, ...(label === undefined ? {} : { label }), ...(again === undefined ? {} : { again }) }
}

function labelOf({ person, gate }: Digest, again: Digest | undefined): Label | undefined {
  // To accept what has passed is to confirm it; nobody is overruled.
  if (person === 'accepted') return { truth: 'good', by: gate.passes ? 'confirmation' : 'human-override' }
  if (person === 'refused') return { truth: 'bad', by: 'human-reject' }
  const overturned = !gate.passes && again?.gate.passes === true && again.person !== 'refused'
  return overturned ? { truth: 'good', by: 're-verification' } : undefined
}
