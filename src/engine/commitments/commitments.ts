import type { CommitmentArm, CommitmentInput } from '../../core/commitment/decide.js'
import type { CommitmentEffect } from '../../core/commitment/effects.js'
import type { Commitment, CommitmentState } from '../../core/commitment/state.js'
import { LONGEST_TTL_SECONDS, wrongWith } from '../../core/journal/entry-rules.js'
import { entryTooLong } from '../../core/journal/refusals.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { overQuota, type QuotasOf } from '../../core/quotas.js'
import type { RunStatus } from '../../core/run/events.js'
import { kindOfId, streamId, streamWorkflow } from '../../core/standing/stream.js'
import { isoTime } from '../../core/time.js'
import type { Answer } from '../api.js'
import { type ContentDeps, holdsSecret, keepTags, keepText } from '../journal/content.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { Journal, JournalKeeping, OutsideWrite } from '../ports/journal.js'
import type { RememberedResponse } from '../ports/remembered-responses.js'
import type { Store } from '../ports/store.js'
import type { Predicates } from '../ports/verification.js'
import type { StreamGround } from '../standing/standing.js'
import type { StandingAnswer, StreamWriter } from '../standing/stream-writer.js'
import type { CommitmentAdmin, CommitmentQuery, NewCommitment } from './commitment-admin.js'
import { commitmentKind, commitmentRequest } from './commitment-kind.js'

export type CommitmentDeps = ContentDeps & {
  readonly store: Pick<Store, 'listRuns'> & Journal & Pick<JournalKeeping, 'writeOutside'>
  readonly clock: Clock
  readonly ids: Ids
  readonly predicates: Predicates
  readonly quotas: QuotasOf
  readonly settings: {
    /** How far away the time of one may be. */
    readonly horizonMs: number
    readonly maxEntryBytes: number
    /** Whether entries can be searched, and are stored in plain for that. */
    readonly fullText: boolean
  }
}

/** Of those that may still fire. */
const OPEN: readonly RunStatus[] = ['pending']

/** Makes room for commitments in an engine, before it is started. */
export const createCommitments = (ground: StreamGround, deps: CommitmentDeps): CommitmentAdmin =>
  new Commitments(ground, deps)

class Commitments implements CommitmentAdmin {
  readonly #writer: StreamWriter<CommitmentState, CommitmentInput, CommitmentEffect>

  constructor(
    private readonly ground: StreamGround,
    private readonly deps: CommitmentDeps,
  ) {
    this.#writer = ground.standing.open(commitmentKind({ ...deps, starter: ground.starter }))
  }

  /**
   * The entry first: what dies after that leaves an entry and nothing else, and whoever asked has no answer. So one that is
   * asked for again is made once, and never without its entry.
   */
  async make(wanted: NewCommitment, response?: (made: Commitment) => RememberedResponse): Promise<Answer<Commitment>> {
    const commitmentId = streamId('commitment', this.deps.ids.run())
    const refusal =
      this.#entryProblem(wanted) ?? this.#untimely(wanted.arm) ?? (await this.#unstartable(wanted, commitmentId))
    if (refusal) return { ok: false, refusal }
    const { tenant, principal, scopes, entry, arm, work } = wanted
    const id = entry.id ?? this.deps.ids.unique()
    const position = await this.#write(wanted, id)
    const input = {
      type: 'MakeCommitment' as const,
      commitmentId,
      arm,
      tenant,
      principal,
      ...(scopes ? { scopes } : {}),
      entry: { scope: entry.scope, ref: entry.ref, id, position },
      work,
    }
    const remembered = response && (({ state }: { readonly state: CommitmentState }) => response(state as Commitment))
    return madeIn(await this.#writer.create(commitmentId, tenant, () => ({ input }), remembered))
  }

  async find(tenant: string, commitmentId: string): Promise<Commitment | undefined> {
    if (kindOfId(commitmentId) !== 'commitment') return undefined
    const found = await this.#writer.inspect(tenant, commitmentId)
    return found?.state.phase === 'absent' ? undefined : found?.state
  }

  async list({ tenant, limit, before, open }: CommitmentQuery): Promise<readonly Commitment[]> {
    const rows = await this.deps.store.listRuns({
      tenant,
      workflowId: streamWorkflow('commitment'),
      limit,
      ...(open ? { status: OPEN } : {}),
      ...(before === undefined ? {} : { before }),
    })
    const found: Commitment[] = []
    for (const { runId } of rows) {
      const one = await this.find(tenant, runId)
      if (one) found.push(one)
    }
    return found
  }

  async cancel(tenant: string, commitmentId: string): Promise<Answer<Commitment> | undefined> {
    if (kindOfId(commitmentId) !== 'commitment') return undefined
    const input = { type: 'CancelCommitment' as const }
    const answer = await this.#writer.submit(commitmentId, { tenant, put: () => ({ input }) })
    return answer && madeIn(answer)
  }

  #entryProblem({ entry }: NewCommitment): Refusal | undefined {
    const { scope, ref, id, tags, content, ttlSeconds } = entry
    const most = this.deps.settings.maxEntryBytes
    const bytes = Buffer.byteLength(content)
    const wrong =
      wrongWith({ space: 'memory', ...entry }) ??
      (/^(run|fork):/.test(scope) ? 'the scope is that of a single run; name one that lasts' : undefined) ??
      (bytes > most ? entryTooLong(bytes, most) : undefined) ??
      (holdsSecret(this.deps, scope, ref, id)
        ? 'its name holds a secret that this host knows; give it another'
        : undefined) ??
      (ttlSeconds !== undefined && ttlSeconds > LONGEST_TTL_SECONDS ? 'ttlSeconds is too large' : undefined)
    return wrong === undefined
      ? undefined
      : refuse('validation_error', `Not written: ${wrong}`, { field: 'body', tags: tags.length })
  }

  #untimely(arm: CommitmentArm): Refusal | undefined {
    const { clock, predicates, settings } = this.deps
    if (arm.kind === 'predicate') {
      const wanted = { field: 'body.commitment.when', over: 'world', origin: 'api', home: NOWHERE } as const
      const read = predicates.complete(arm.predicate, wanted)
      return read.ok
        ? undefined
        : refuse('validation_error', read.problems[0]!, { field: 'body.commitment.when', problems: [...read.problems] })
    }
    const field = 'body.commitment.at'
    const last = clock.now() + settings.horizonMs
    if (arm.at <= last) return undefined
    const days = settings.horizonMs / 86_400_000
    const message = `${field} is ${isoTime(arm.at)}, and this host plans ${days} days ahead (scheduling.horizonDays); give a time until ${isoTime(last)}`
    return refuse('schedule_horizon_exceeded', message, { field, horizonDays: days })
  }

  /** What would be refused when its time has come is refused now; and nobody has more of them than of schedules (Q9). */
  async #unstartable({ tenant, ...wanted }: NewCommitment, commitmentId: string): Promise<Refusal | undefined> {
    const most = this.deps.quotas(tenant).schedules
    const limit = Math.min(most, Number.MAX_SAFE_INTEGER)
    const kept = await this.deps.store.listRuns({
      tenant,
      workflowId: streamWorkflow('commitment'),
      status: OPEN,
      limit,
    })
    if (kept.length >= most) return overQuota('schedules', most)
    const born = await this.ground.starter.born(commitmentRequest({ tenant, commitmentId, ...wanted }, wanted.work), 0)
    return 'code' in born ? born : undefined
  }

  /** The position that the entry has in its scope. */
  async #write({ tenant, entry }: NewCommitment, id: string): Promise<number> {
    const { clock, ids, settings, store } = this.deps
    const { scope, ref, tags, ttlSeconds } = entry
    const about = { tenant, contentId: ids.unique(), runId: null }
    const kept = await keepText(this.deps, { ...about, text: entry.content, plain: settings.fullText })
    const at = clock.now()
    const write: OutsideWrite = {
      space: 'memory',
      scope,
      ref,
      id,
      op: 'put',
      tags: keepTags(this.deps, tags),
      at,
      expiresAt: ttlSeconds === undefined ? null : at + ttlSeconds * 1_000,
      ...kept,
      contentType: null,
      ifMatch: null,
    }
    const result = await store.writeOutside(tenant, [write], null)
    const [row] = result.kind === 'written' ? result.rows : []
    if (row === undefined) throw new Error('an entry without a version to match was not written')
    return row.position
  }
}

const NOWHERE = { what: 'workflow with a heartbeat', folder: 'workflows/' }

function madeIn(answer: StandingAnswer<CommitmentState>): Answer<Commitment> {
  if (!answer.ok) return answer
  const { state } = answer.value
  if (state.phase === 'absent') throw new Error(`stream ${answer.value.streamId} holds no commitment`)
  return { ok: true, value: state }
}
