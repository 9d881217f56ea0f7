import type { Json } from '../../core/json.js'
import type { PeerReceipt, PeerReceiptTold } from '../../core/handoff/peer-receipt.js'
import type { ArtifactCreated, ArtifactSecret } from '../../core/run/events.js'
import type {
  AgentVerified,
  VerdictRendered,
  VerificationHeld,
  VerifiedSecret,
} from '../../core/verification/events.js'
import { isBetter } from '../../core/verification/feedback.js'
import { GATE_QUESTION, RESULT_ARTIFACT, type VerificationRecord } from '../../core/verification/record.js'
import type { RunEngine } from '../api.js'
import type { StoredEvent } from '../ports/event-log.js'

/** One attempt at a gate, as the log of the run tells it. */
export type Verification = {
  /** From 1, in the order in which the run's results were judged. */
  readonly n: number
  readonly artifactId: string
  readonly at: number
  readonly record: VerificationRecord
  /** What the run goes by. Absent where the gate found something and does not block. */
  readonly verified?: Pick<AgentVerified, 'agentId' | 'verdict' | 'criteria' | 'confidence'> &
    Pick<VerifiedSecret, 'label'> & { readonly at: number }
  /** The person whose word that is, in place of the verifiers' or after them. */
  readonly person?: { readonly by: string; readonly why?: Json }
  /** What the peer that brought the result has signed of its own verification of it; the verdict is due to none of that. */
  readonly receipt?: PeerReceipt
  /** No attempt at this work has passed, and this one came nearest. */
  readonly best?: true
}

/** Events that are looked through at once. */
const PAGE = 256

/** All attempts of a run, or undefined when the tenant has no such run. */
export async function verificationsIn(
  engine: Pick<RunEngine, 'readEvents'>,
  tenant: string,
  runId: string,
): Promise<readonly Verification[] | undefined> {
  const told: StoredEvent[] = []
  for (let from = 0; ; from += PAGE) {
    const events = await engine.readEvents(tenant, runId, from, PAGE)
    if (events === undefined) return undefined
    told.push(...events.filter(isOfGates))
    if (events.length < PAGE) return verificationsOf(told)
  }
}

/** Also says yes to some other artifacts; never no to a result. */
const isOfGates = ({ type, payload }: StoredEvent): boolean =>
  type === 'dws.verification.verdict_rendered' ||
  type === 'agent.verified' ||
  type === 'assay.verification.held' ||
  type === 'assay.peer.receipt' ||
  type === 'interrupt.requested' ||
  (type === 'artifact.created' && payload.includes(RESULT_ARTIFACT))

/** Events of other kinds may be left out of `events`. */
export function verificationsOf(events: Iterable<StoredEvent>): readonly Verification[] {
  const artifacts = new Map<string, StoredEvent>()
  const receipts = new Map<string, PeerReceipt>()
  const found: Verification[] = []
  for (const event of events) {
    if (event.type === 'artifact.created')
      artifacts.set((JSON.parse(event.payload) as ArtifactCreated).artifactId, event)
    // An agent may call what it keeps a verification result. Only the host says which ones are.
    if (event.type === 'dws.verification.verdict_rendered') {
      const artifactId = (JSON.parse(event.payload) as VerdictRendered).resultArtifactId
      const artifact = artifacts.get(artifactId)
      if (artifact !== undefined) found.push(rendered(found.length + 1, artifactId, artifact))
    }
    const undecided = undecidedIn(event)
    const kept = undecided === undefined ? undefined : artifacts.get(undecided)
    if (undecided !== undefined && kept !== undefined) found.push(rendered(found.length + 1, undecided, kept))
    if (event.type === 'agent.verified') settle(found, event)
    if (event.type === 'assay.peer.receipt') {
      const {
        nodeId: _,
        workerId: __,
        peer: ___,
        childRunId,
        ...receipt
      } = JSON.parse(event.payload) as PeerReceiptTold
      receipts.set(childRunId, receipt)
    }
  }
  return marked(found).map(one => {
    const receipt = receipts.get(one.record.target)
    return receipt ? { ...one, receipt } : one
  })
}

/** Where nobody could decide there is a record and no verdict: the work goes on without one, or a person is asked. */
function undecidedIn({ type, payload }: StoredEvent): string | undefined {
  if (type === 'assay.verification.held') return (JSON.parse(payload) as VerificationHeld).resultArtifactId
  if (type !== 'interrupt.requested') return undefined
  const { data } = JSON.parse(payload) as { data?: { artifactType?: unknown; resultArtifactId?: unknown } }
  const isGates = data?.artifactType === GATE_QUESTION && typeof data.resultArtifactId === 'string'
  return isGates ? String(data.resultArtifactId) : undefined
}

function rendered(n: number, artifactId: string, { secret, at }: StoredEvent): Verification {
  const { content, shown = content } = JSON.parse(secret ?? '{}') as ArtifactSecret
  return { n, artifactId, at, record: shown as unknown as VerificationRecord }
}

/** R-VERIFY-21: the latest verdict over a result is the one that holds. */
function settle(found: Verification[], event: StoredEvent): void {
  const { agentId, target, verdict, criteria, confidence } = JSON.parse(event.payload) as AgentVerified
  const { gateId, attempt, resultHash, label, by, why } = JSON.parse(event.secret ?? '{}') as Partial<VerifiedSecret>
  const index = found.findLastIndex(
    ({ record }) =>
      record.gateId === gateId &&
      record.attempt === attempt &&
      record.resultHash === resultHash &&
      record.target === target,
  )
  const one = found[index]
  if (one === undefined) return
  const { person: _earlier, ...kept } = one
  const said = {
    ...(label && { label }),
    ...(criteria && { criteria }),
    ...(confidence !== undefined && { confidence }),
  }
  found[index] = {
    ...kept,
    verified: { agentId, verdict, ...said, at: event.at },
    ...(by !== undefined && { person: { by, ...(why !== undefined && { why }) } }),
  }
}

/** Marks the best attempt at each piece of work that has not passed. */
function marked(found: readonly Verification[]): readonly Verification[] {
  const best = new Set(
    piecesOf(found).flatMap(attempts => {
      const judged = attempts.filter(({ record }) => record.verdict !== 'could_not_check')
      const [first, ...others] = judged
      return first === undefined || attempts.some(isPassed) ? [] : [others.reduce(better, first).n]
    }),
  )
  return found.map(one => (best.has(one.n) ? { ...one, best: true } : one))
}

const isPassed = ({ verified }: Verification): boolean => verified?.verdict === 'pass'

const better = (a: Verification, b: Verification): Verification =>
  isBetter(b.record.standing, a.record.standing) ? b : a

/** Attempts at the same work. A first attempt begins anew: the node, or the worker, has been given other work. */
function piecesOf(found: readonly Verification[]): readonly (readonly Verification[])[] {
  const pieces: Verification[][] = []
  const open = new Map<string, Verification[]>()
  for (const one of found) {
    const { gateId, nodeId, workerId, attempt } = one.record
    const place = JSON.stringify([gateId, nodeId, workerId])
    const piece = attempt === 1 ? undefined : open.get(place)
    if (piece !== undefined) piece.push(one)
    else {
      const begun = [one]
      pieces.push(begun)
      open.set(place, begun)
    }
  }
  return pieces
}
