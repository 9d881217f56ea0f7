import { signStatement, statementText } from '../audit/statement.js'
import type { SigningKey, TrustedKeys } from '../audit/signing-key.js'
import type { AuditVerifier } from '../audit/verify.js'
import type { RecordedGoalEvent } from '../core/goal/events.js'
import { evolveGoal } from '../core/goal/evolve.js'
import { nanoOf } from '../core/goal/money.js'
import { deadlineOf, type Goal, type GoalState, goalStateOf, isFinal } from '../core/goal/state.js'
import type { Json } from '../core/json.js'
import { type Refusal, refuse } from '../core/problem.js'
import { RUN_BEGAN } from '../core/standing/stream.js'
import type { GoalAdmin } from '../engine/api.js'
import type { Clock } from '../engine/ports/clock.js'
import type { StoredEvent } from '../engine/ports/event-log.js'
import type { TurnTaking } from '../timing/turns.js'
import { CERTIFICATE_KIND, certificateSubjects, type GoalCertificate, possibleIn } from './goal-certificate.js'
import { iso } from './told-of-gates.js'
import { verifyCertificate } from './verify-certificate.js'

type CertificateDeps = {
  readonly goals: Pick<GoalAdmin, 'readEvents'>
  readonly verifier: Pick<AuditVerifier, 'verifyRuns'>
  readonly key: SigningKey
  readonly keys: () => Promise<TrustedKeys>
  readonly clock: Clock
  readonly turns: TurnTaking
  /** Who says so: the lasting id of the host, and the build that it runs. */
  readonly hostId: string
  readonly version: string
}

type Issued = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly refusal: Refusal }

const PAGE = 500

/**
 * Signs what is still possible for a goal at worst, and, once it is closed, what was used. It is read from the log, which
 * is first held to its chain; what would contradict itself is not signed.
 */
export class CertificateIssuer {
  constructor(private readonly deps: CertificateDeps) {}

  async issue(tenant: string, goalId: string): Promise<Issued | undefined> {
    const { verifier, key, keys } = this.deps
    const read = await this.#read(tenant, goalId)
    if (read === undefined) return undefined
    const { anomalies } = await verifier.verifyRuns([goalId])
    const found = anomalies.find(({ kind }) => kind !== 'key-unknown')
    if (found) return { ok: false, refusal: unsigned(goalId, found.message) }
    const certificate = this.#certificateOf(read)
    const said = { subject: certificateSubjects(certificate), predicate: certificate as unknown as Json }
    const text = statementText(signStatement(CERTIFICATE_KIND, said, key))
    const verified = verifyCertificate(text, await keys(), { goalId, tenant })
    return verified.ok ? { ok: true, value: text } : { ok: false, refusal: unsigned(goalId, verified.message) }
  }

  #certificateOf({ goal, head, lastBeganAt, closedAt }: ReadGoal): GoalCertificate {
    const { hostId, version, clock } = this.deps
    const { bounds, open, reserved, finished, judged, spentNano, heldNano, createdAt, lastAt } = goal
    const deadline = deadlineOf(goal)
    const told = {
      goal: {
        goalId: goal.goalId,
        tenant: goal.tenant,
        createdAt: iso(createdAt),
        state: goalStateOf(goal),
        ...(closedAt !== undefined && { closedAt: iso(closedAt) }),
      },
      bounds: {
        ...(bounds.maxLoopIterations !== undefined && { maxLoopIterations: bounds.maxLoopIterations }),
        ...(Number.isFinite(deadline) && { deadline: iso(deadline) }),
        ...(bounds.maxCostUsd !== undefined && { maxCostNanoUsd: nanoOf(bounds.maxCostUsd) }),
      },
      used: {
        runs: reserved,
        finished,
        judgeRuns: judged,
        costNanoUsd: spentNano + heldNano,
        ...(lastBeganAt !== undefined && { lastBeganAt: iso(lastBeganAt) }),
      },
      open: open.map(({ runId, role, grantNano }) => ({
        runId,
        role,
        ...(grantNano !== undefined && { grantNanoUsd: grantNano }),
      })),
    }
    const issuedAt = iso(Math.max(clock.now(), lastAt))
    return {
      issuer: { hostId, assay: version, issuedAt },
      log: { events: goal.next, head },
      ...told,
      possible: possibleIn(told),
    }
  }

  /** Folded from its log, and from nothing that was kept of it besides. */
  async #read(tenant: string, goalId: string): Promise<ReadGoal | undefined> {
    let state: GoalState = { phase: 'absent' }
    let [head, next] = ['', 0]
    let lastBeganAt: number | undefined
    let closedAt: number | undefined
    for (;;) {
      await this.deps.turns.next(tenant)
      const page = await this.deps.goals.readEvents(tenant, goalId, next, PAGE)
      for (const stored of page ?? []) {
        const event = decoded(stored)
        state = evolveGoal(state, event)
        if (event.type === RUN_BEGAN) lastBeganAt = event.at
        if (event.type === 'goal.closed' && isFinal(state as Goal)) closedAt = event.at
        head = stored.hash
        next = stored.sequence + 1
      }
      if ((page ?? []).length === 0) break
    }
    return state.phase === 'absent' ? undefined : { goal: state, head, lastBeganAt, closedAt }
  }
}

type ReadGoal = {
  readonly goal: Goal
  readonly head: string
  readonly lastBeganAt: number | undefined
  readonly closedAt: number | undefined
}

const decoded = ({ sequence, type, at, payload, secret }: StoredEvent): RecordedGoalEvent =>
  ({
    sequence,
    type,
    at,
    payload: JSON.parse(payload),
    ...(secret === null ? {} : { secret: JSON.parse(secret) }),
  }) as RecordedGoalEvent

const unsigned = (goalId: string, why: string): Refusal =>
  refuse(
    'receipt_refused',
    `Nothing is signed of goal ${goalId}: ${why}. See what assay verify --integrity says of it.`,
    {
      goalId,
    },
  )
