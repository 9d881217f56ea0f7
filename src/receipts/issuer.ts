import { signStatement, statementText } from '../audit/statement.js'
import { publicJwk, type SigningKey, type TrustedKeys } from '../audit/signing-key.js'
import type { AuditVerifier } from '../audit/verify.js'
import { NOTHING_SPENT, type Spend, usdOf } from '../core/budget/budget.js'
import type { Json } from '../core/json.js'
import { type Refusal, refuse } from '../core/problem.js'
import { carriesSecret, MASK, secretsIn } from '../core/run/redaction.js'
import type { Ended } from '../core/run/state.js'
import { handsOver } from '../core/workflow/plan.js'
import { taggedSha256OfJson } from '../digest.js'
import type { InspectedRun, PublicJwk, ReceiptAdmin, RunEngine } from '../engine/api.js'
import type { Clock } from '../engine/ports/clock.js'
import { type StoredEvent, UnverifiedMerge } from '../engine/ports/event-log.js'
import { gatedPoints } from '../engine/runtime/gated-points.js'
import type { TurnTaking } from '../timing/turns.js'
import { subjectsOf } from './contradictions.js'
import { RECEIPT_KIND, type ReceiptSpent, type RunReceipt } from './receipt.js'
import { codeOf, gateTold, iso, ToldOfGates } from './told-of-gates.js'
import { verifyReceipt } from './verify-receipt.js'

type IssuerDeps = {
  readonly engine: Pick<RunEngine, 'inspect' | 'missing' | 'readEvents'>
  readonly verifier: Pick<AuditVerifier, 'verifyRuns'>
  readonly key: SigningKey
  /** Asked each time: a public half that is added counts at once. */
  readonly keys: () => Promise<TrustedKeys>
  readonly clock: Clock
  readonly turns: TurnTaking
  /** Who says so: the lasting id of the host, and the build that it runs. */
  readonly hostId: string
  readonly version: string
}

type Issued = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly refusal: Refusal }

const PAGE = 500
/** A fork of a fork of a fork …: beyond that, a name is taken for a value, and no value will ever have its hash. */
const MOST_SOURCES = 100

/**
 * Signs receipts of runs that have ended. What is signed was read from the log at that moment, which was first held to its
 * chain and its checkpoint: whoever may write to the database gets nothing signed that the log was made to say.
 */
export class ReceiptIssuer implements ReceiptAdmin {
  constructor(private readonly deps: IssuerDeps) {}

  async issue(tenant: string, runId: string): Promise<Issued> {
    const { engine, key, keys } = this.deps
    const view = await engine.inspect(tenant, runId)
    if (view === undefined) return { ok: false, refusal: await engine.missing(tenant, runId) }
    const { state } = view
    if (state.phase !== 'ended') return { ok: false, refusal: notEnded(view) }
    const kept = await this.#keptLog(view)
    if (!kept.ok) return kept
    const receipt = await this.#receiptOf(view, state, kept.unchained)
    if ('code' in receipt) return { ok: false, refusal: receipt }
    const said = { subject: subjectsOf(receipt), predicate: receipt as unknown as Json }
    const text = statementText(signStatement(RECEIPT_KIND, said, key))
    const verified = verifyReceipt(text, await keys(), { runId, tenant })
    if (verified.ok) return { ok: true, value: text }
    if (verified.why !== 'contradicts-itself' && verified.why !== 'too-large')
      throw new Error(`a receipt of run ${runId} would be ${verified.why}: ${verified.message}`)
    return { ok: false, refusal: unsigned(runId, verified.message) }
  }

  async publicKeys(): Promise<readonly PublicJwk[]> {
    return [...(await this.deps.keys())].map(([keyId, key]) => publicJwk(keyId, key))
  }

  /** Whether the log is as it was written, as far as this host can know. Another host's checkpoint may bear a key that is not known here. */
  async #keptLog({ runId, tenant }: InspectedRun) {
    const { older, purged, anomalies } = await this.deps.verifier.verifyRuns([runId])
    if (purged > 0) return { ok: false as const, refusal: await this.deps.engine.missing(tenant, runId) }
    const found = anomalies.find(({ kind }) => kind !== 'key-unknown')
    return found === undefined
      ? { ok: true as const, unchained: older }
      : { ok: false as const, refusal: unsigned(runId, found.message) }
  }

  async #receiptOf(view: InspectedRun, state: Ended, unchained: number): Promise<RunReceipt | Refusal> {
    const { hostId, version, clock } = this.deps
    const { runId, tenant, plan } = view
    const { started, outcome, fork, gated } = state
    const gates = gated?.gates ?? []
    const points = gatedPoints(nodeId => handsOver(plan, nodeId), gates, started)
    const told = new ToldOfGates(gates.map(gateTold), points, await this.#sharedBy(view))
    let last: StoredEvent | undefined
    let workflowDigest = started.workflowDigest
    try {
      for await (const event of this.#events(view)) {
        told.take(event)
        if (event.type === 'assay.run.forked')
          workflowDigest = JSON.parse(event.payload).workflowDigest ?? workflowDigest
        last = event
      }
    } catch (error) {
      if (error instanceof UnverifiedMerge) return unsigned(runId, error.message)
      throw error
    }
    if (last?.sequence !== state.next - 1) return this.deps.engine.missing(tenant, runId)
    const { maxLoopIterations } = started.configurable ?? {}
    const isChild = fork === undefined
    return {
      issuer: { hostId, assay: version, issuedAt: iso(clock.now()) },
      run: {
        runId,
        tenant,
        workflowId: started.workflowId,
        workflowDigest,
        engineVersion: started.engineVersion,
        startedAt: iso(state.startedAt),
        endedAt: iso(state.endedAt),
        status: outcome.status,
        ...(outcome.status === 'failed' && { errorCode: codeOf(outcome.error.code) }),
        // A fork is nobody's child, whatever its source was (agents §29 A12).
        ...(isChild && started.parentRunId !== undefined && { parentRunId: started.parentRunId }),
        ...(isChild && started.gatedBy !== undefined && { gatedBy: [...started.gatedBy] }),
        ...(fork && {
          fork: { runId: fork.sourceRunId, fromSeq: fork.fromSeq, mode: fork.mode, diverged: state.diverged },
        }),
      },
      log: { events: state.next, head: last.hash, unchained },
      ...(outcome.status === 'completed' && { outputs: outputsTold(outcome.outputs) }),
      goal: goalTold(outcome),
      gates: gates.map(gateTold),
      attempts: told.attempts,
      merges: told.merges(),
      ungated: told.ungated,
      bounds: {
        ...state.budget,
        ...(typeof maxLoopIterations === 'number' && { maxLoopIterations }),
        turns: state.orchestrator?.iteration ?? 0,
        reworks: gated?.reworks ?? 0,
        breached: told.breached,
      },
      cost: {
        spent: spentTold(state.spend),
        verification: spentTold(state.verification),
        unknown: spentTold(state.held),
      },
    }
  }

  /** The run, and those whose beginning it shares, as far as they are known. */
  async #sharedBy({ runId, tenant, state }: InspectedRun): Promise<string[]> {
    const known = [runId]
    for (let { fork } = state; fork !== undefined && known.length < MOST_SOURCES; ) {
      known.push(fork.sourceRunId)
      fork = (await this.deps.engine.inspect(tenant, fork.sourceRunId))?.state.fork
    }
    return known
  }

  /** Page by page, each in a turn of the tenant's, so that a long log keeps nobody waiting. */
  async *#events({ runId, tenant }: InspectedRun): AsyncGenerator<StoredEvent> {
    for (let next = 0; ; ) {
      await this.deps.turns.next(tenant)
      const page = (await this.deps.engine.readEvents(tenant, runId, next, PAGE)) ?? []
      yield* page
      const last = page.at(-1)
      if (last === undefined) return
      next = last.sequence + 1
    }
  }
}

const outputsTold = (outputs: Json): NonNullable<RunReceipt['outputs']> => ({
  hash: taggedSha256OfJson(outputs),
  withheld: carriesSecret(outputs, MASKED),
})

const MASKED = secretsIn([MASK])

const goalTold = (outcome: Ended['outcome']): RunReceipt['goal'] =>
  outcome.status === 'completed'
    ? {
        ...(outcome.goalSatisfied !== undefined && { satisfied: outcome.goalSatisfied }),
        against: [...(outcome.against ?? [])],
      }
    : { against: [] }

const spentTold = ({ tokens, costNano, toolCalls, retries }: Spend = NOTHING_SPENT): ReceiptSpent => ({
  tokens,
  costUsd: usdOf(costNano),
  toolCalls,
  retries,
})

const notEnded = ({ runId, status }: InspectedRun): Refusal =>
  refuse(
    'run_not_ended',
    `Run ${runId} is ${status}; a receipt says how a run has ended. Ask again when it has: follow it with GET /v1/runs/${runId}/events.`,
    { runId, status },
  )

const unsigned = (runId: string, why: string): Refusal =>
  refuse(
    'receipt_refused',
    `Nothing is signed of run ${runId}: ${why}. See what assay verify --integrity and assay verify say of it.`,
    { runId },
  )
