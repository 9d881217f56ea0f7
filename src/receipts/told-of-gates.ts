import { FAILURES } from '../core/problem.js'
import type { HandoffRecorded } from '../core/handoff/events.js'
import type { CapKind } from '../core/run/events.js'
import type {
  AgentVerified,
  VerdictRendered,
  VerificationStarted,
  VerificationSecret,
  VerifiedSecret,
  VerifierEnded,
  VerifierEndedSecret,
} from '../core/verification/events.js'
import type { BoundGate } from '../core/verification/gate.js'
import { taggedSha256OfJson } from '../digest.js'
import type { GatedPoint, StoredEvent } from '../engine/ports/event-log.js'
import type { MergeRow } from '../engine/ports/gate-rows.js'
import { GATE_EVENTS, gateRowsAfter, NO_GATE_ROWS } from '../store/gate-rules.js'
import { labelFrom, weakestOf } from './labels.js'
import type { ReceiptAttempt, ReceiptGate, ReceiptMerge, RunReceipt } from './receipt.js'

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] }

type Breached = RunReceipt['bounds']['breached'][number]

/** What the log of a run tells of its gates, event by event. Only content-free fields are taken up. */
export class ToldOfGates {
  readonly attempts: Mutable<ReceiptAttempt>[] = []
  readonly breached: Breached[] = []
  /** Results of workers that were merged where no gate stands that blocks. */
  ungated = 0
  #rows
  readonly #merging = new Map<number, StoredEvent>()
  readonly #open = new Map<string, Mutable<ReceiptAttempt>>()
  readonly #gates: ReadonlyMap<string, ReceiptGate>

  /** `runIds`: the run, and those whose beginning it shares; `gated`: where the store lets nothing be merged without a pass. */
  constructor(
    gates: readonly ReceiptGate[],
    gated: readonly GatedPoint[],
    private readonly runIds: readonly string[],
  ) {
    this.#gates = new Map(gates.map(gate => [gate.gateId, gate]))
    this.#rows = { ...NO_GATE_ROWS, gated }
  }

  /** Throws UnverifiedMerge at an event that no store may hold. */
  take(event: StoredEvent): void {
    const merged = this.#rows.merges.length
    if (GATE_EVENTS.has(event.type)) this.#rows = gateRowsAfter(this.#rows, null, event)
    if (this.#rows.merges.length > merged) this.#merging.set(event.sequence, event)
    switch (event.type) {
      case 'dws.verification.started':
        return this.#begin(event)
      case 'assay.verifier.ended':
        return this.#vote(event)
      case 'dws.verification.verdict_rendered':
        return this.#render(event)
      case 'agent.verified':
        return this.#settle(event)
      case 'core.workflowChain.event':
        if (payloadOf<HandoffRecorded>(event).phase === 'output.harvested' && this.#rows.merges.length === merged)
          this.ungated += 1
        return
      case 'cap.breached': {
        const { kind, limit, observed } = payloadOf<{ kind: CapKind; limit: number; observed: number }>(event)
        this.breached.push({ kind, limit, observed })
        return
      }
    }
  }

  /** What became part of something behind gates, in the order in which it did. */
  merges(): ReceiptMerge[] {
    const bySequence = new Map<number, MergeRow[]>()
    for (const row of this.#rows.merges) bySequence.set(row.sequence, [...(bySequence.get(row.sequence) ?? []), row])
    return [...bySequence].map(([sequence, rows]) => this.#merge(sequence, rows))
  }

  #merge(sequence: number, rows: readonly MergeRow[]): ReceiptMerge {
    const [first] = rows as [MergeRow]
    const attempt = this.attempts.find(one => one.sequence === first.staged) as ReceiptAttempt
    const event = this.#merging.get(sequence) as StoredEvent
    const { workerId, toolId } = payloadOf<{ workerId?: string; toolId?: string }>(event)
    const verdicts = new Map(this.attempts.flatMap(one => one.verdicts.map(verdict => [verdict.sequence, verdict])))
    return {
      sequence,
      at: iso(event.at),
      point: attempt.point as ReceiptMerge['point'],
      ...(event.nodeId !== null && { nodeId: event.nodeId }),
      ...(workerId !== undefined && { workerId }),
      ...(toolId !== undefined && { toolId }),
      target: first.target,
      resultHash: first.resultHash,
      over: attempt.over,
      passes: rows.map(({ gateId, judged }) => ({ gateId, verdict: judged })),
      label: weakestOf(rows.map(({ judged }) => verdicts.get(judged)?.label ?? 'unverified')),
    }
  }

  #begin(event: StoredEvent): void {
    const told = payloadOf<VerificationStarted>(event)
    const { subject } = secretOf<VerificationSecret>(event)
    const { gateId, attempt, workerId, point, targetRef, resultHash, contextHash, probes, probesFailed } = told
    const nodeId = event.nodeId ?? ''
    // What nobody may see is named and not hashed (docs/contract/readers.md).
    const isName = this.runIds.some(runId => taggedSha256OfJson({ runId, nodeId, since: subject ?? -1 }) === resultHash)
    const begun: Mutable<ReceiptAttempt> = {
      sequence: event.sequence,
      at: iso(event.at),
      gateId,
      attempt,
      nodeId,
      ...(workerId !== undefined && { workerId }),
      point,
      target: targetRef,
      resultHash,
      over: isName ? 'name' : 'value',
      ...(contextHash !== undefined && { contextHash }),
      probes: probes ?? 0,
      probesFailed: probesFailed ?? 0,
      votes: [],
      verdicts: [],
    }
    this.attempts.push(begun)
    this.#open.set(placeOf(event, gateId), begun)
  }

  #vote(event: StoredEvent): void {
    const { gateId, agentId, round, vote, fault, childRunId } = payloadOf<VerifierEnded>(event)
    const { vote: cast } = secretOf<VerifierEndedSecret>(event)
    this.#open.get(placeOf(event, gateId))?.votes.push({
      agentId,
      round,
      vote,
      ...(fault !== undefined && { fault: faultOf(fault) }),
      ...(childRunId !== undefined && { runId: childRunId }),
      ...(cast?.model !== undefined && { model: cast.model }),
    })
  }

  #render(event: StoredEvent): void {
    const { gateId, dwsVerdict, quorum } = payloadOf<VerdictRendered>(event)
    const attempt = this.#open.get(placeOf(event, gateId))
    if (attempt) attempt.judgement = { verdict: dwsVerdict, votes: quorum.votes, passVotes: quorum.passVotes }
  }

  #settle(event: StoredEvent): void {
    const { agentId, verdict, criteria = [], confidence } = payloadOf<AgentVerified>(event)
    const { gateId = '', by, label: said } = secretOf<VerifiedSecret>(event)
    const attempt = this.#open.get(placeOf(event, gateId))
    const gate = this.#gates.get(gateId)
    if (!attempt || !gate) return
    const told = { agentId, verdict, criteria: [...criteria] }
    // Engine versions before 3 told none; it follows from what they told.
    const label = said ?? labelFrom(gate, attempt, told)
    attempt.verdicts.push({
      sequence: event.sequence,
      at: iso(event.at),
      ...told,
      ...(label !== undefined && { label }),
      ...(confidence !== undefined && { confidence }),
      ...(by !== undefined && { person: by }),
    })
  }
}

/** Gates as a run has pinned them. */
export const gateTold = ({ gate, version, hash }: BoundGate): ReceiptGate => {
  const { phase_id: nodeId, placement, worker_id, tool_name } = gate.position
  return {
    gateId: gate.gate_id,
    version,
    hash,
    blocking: gate.gate_behaviour.blocking,
    placement,
    nodeId,
    ...(worker_id !== undefined && { workerId: worker_id }),
    ...(tool_name !== undefined && { toolId: tool_name }),
    criteria: gate.evaluation_criteria.map(({ dimension }) => dimension),
  }
}

export const iso = (at: number): string => new Date(at).toISOString()

/** A code of the host's own; an author may make a node fail with any, and that would be content. */
export const codeOf = (code: string): string => (Object.hasOwn(FAILURES, code) ? code : 'other')

/** Why a verifier gave no vote: a code of how runs fail, or one of how votes do. */
const faultOf = (code: string): string => (FAULT.test(code) ? code : 'other')
const FAULT = /^[a-z][a-z0-9_]{0,63}$/

/** One gate judges one result of a node at a time. */
const placeOf = ({ nodeId }: StoredEvent, gateId: string): string => JSON.stringify([nodeId, gateId])

const payloadOf = <Payload>({ payload }: StoredEvent): Payload => JSON.parse(payload) as Payload

const secretOf = <Secret>({ secret }: StoredEvent): Partial<Secret> => JSON.parse(secret ?? '{}') as Partial<Secret>
