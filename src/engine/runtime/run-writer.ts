import type { Failure, Refusal } from '../../core/problem.js'
import type { QuotasOf } from '../../core/quotas.js'
import { isReplay } from '../../core/replay/events.js'
import { inherited } from '../../core/replay/fork.js'
import { decide, type Rules } from '../../core/run/decide.js'
import { wakeAt } from '../../core/run/effects.js'
import type { FileConflict, RunInput } from '../../core/run/input.js'
import { type RunState, statusOf } from '../../core/run/state.js'
import { isStreamId } from '../../core/standing/stream.js'
import { handsOver, type Plan } from '../../core/workflow/plan.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Answer, InspectedRun, MakeResponse } from '../api.js'
import type { Announcer } from '../ports/announcer.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { NewDelivery } from '../ports/deliveries.js'
import { type NewRun, type StoredEvent, type StreamAppend, UnverifiedMerge } from '../ports/event-log.js'
import type { Log } from '../ports/log.js'
import type { RememberedResponse } from '../ports/remembered-responses.js'
import type { RunRow } from '../ports/run-index.js'
import type { Store } from '../ports/store.js'
import type { Standards } from '../ports/verification.js'
import type { Committer, CommitPart } from './committer.js'
import { afterOverQuota, quotasFor, type Room, retried, scopeActive } from './capacity.js'
import { CHAIN_START } from '../log/chain.js'
import { type ChildSpawner, commitWithChildren, parentToWake } from './children.js'
import { encodeAll } from '../log/encode.js'
import { gatedPoints } from './gated-points.js'
import type { HostLease } from './host-lease.js'
import { HOST_WORKFLOW_IDS } from '../../core/workflow/host-workflow-ids.js'
import type { Plans } from '../plans/plans.js'
import { conflictOf, PublishRefused } from './publish-conflict.js'
import { charactersOf, foldLog } from '../log/read-log.js'
import type { LoadedRun, RunCache, RunSlot } from './run-cache.js'
import { isTimeToKeep, keptState, snapshotOf } from '../log/snapshot.js'

type WithoutTime<T> = T extends unknown ? Omit<T, 'now'> : never
export type Input = WithoutTime<RunInput>

/** A stream that is about to be written: what it was, what it will be, and the events between. */
export type PendingWrite = {
  readonly slot: RunSlot
  readonly loaded: LoadedRun
  readonly append: StreamAppend
  readonly stored: readonly StoredEvent[]
  /** The parent, if it must look at what has become of this run. */
  readonly wakes: readonly string[]
  /** What it took to decide. */
  readonly steps: number
}

export type Written = Pick<PendingWrite, 'slot' | 'loaded' | 'stored' | 'wakes'>

export type SubmitOptions = {
  /** The run must be this tenant's. */
  readonly tenant?: string
  readonly response?: MakeResponse
  /** Only if this host holds the run: outcomes are the holder's to report. */
  readonly asHolder?: boolean
  /** Whoever puts it has waited for the turn in which it is decided. */
  readonly inTurn?: boolean
  /** Born in the same commit, if the run then knows of it; what to put to the run instead when there is no room for it. */
  readonly child?: { readonly born: PendingWrite; readonly refused: (error: Failure) => Input }
}

/** How long a run that this host holds may have been written to by another without being noticed here. */
const FRESH_MS = 1_000

/**
 * The only writer: decide, commit once, then believe it.
 *
 *  E1  the cached state is replaced only after the commit is durable; any doubt throws it away.
 *  E2  one writer at a time per run in this process; compare-and-set between processes.
 *  E3  one commit per step, and no read when the run is warm.
 */
export class RunWriter {
  readonly spawner: ChildSpawner

  constructor(
    private readonly deps: {
      store: Store
      clock: Clock
      ids: Ids
      plans: Plans
      cache: RunCache
      standards: Standards
      lease: HostLease
      committer: Committer
      rules: (plan: Plan) => Rules
      announcer: Announcer | undefined
      quotas: QuotasOf
      fullness: ChildSpawner['fullness']
      log: Log
      turns: TurnTaking
      /** Told of everything that has become durable, in commit order per run. */
      written: (written: Written) => void
    },
  ) {
    const { clock, ids, plans, cache, standards } = deps
    const createChild: ChildSpawner['createChild'] = (runId, input, plan, notBefore) =>
      this.createChild(cache.enter(runId), input, plan, notBefore)
    const maxDepth = (tenant: string) => deps.quotas(tenant).childDepth
    this.spawner = { clock, ids, plans, standards, createChild, fullness: deps.fullness, maxDepth }
  }

  /** Starts a run that nothing else knows of yet. */
  async create(
    runId: string,
    input: Extract<Input, { type: 'StartRun' }>,
    plan: Plan,
    exclusiveScope: boolean,
    response?: MakeResponse,
  ): Promise<Answer<InspectedRun>> {
    const slot = this.deps.cache.enter(runId)
    return slot.runExclusive(() =>
      retried<Answer<InspectedRun>>(runId, async room => {
        await this.deps.turns.room(input.started.owner.tenant)
        const fresh = this.#fresh(slot, input, plan, 0)
        if ('code' in fresh) return { ok: false, refusal: fresh }
        const create = newRun(input, plan, exclusiveScope)
        return this.#commitFamily(slot, fresh.before, fresh.decided, response, { create, room })
      }),
    )
  }

  /**
   * The first step of a new run, to be committed alone or together with its parent's. A child is never born before the
   * moment at which its parent asked for it, whatever the clock says.
   */
  createChild(
    slot: RunSlot,
    input: Extract<Input, { type: 'StartRun' }>,
    plan: Plan,
    notBefore: number,
  ): PendingWrite | Refusal {
    const fresh = this.#fresh(slot, input, plan, notBefore)
    return 'code' in fresh ? fresh : step(this.deps.ids, slot, fresh.before, fresh.decided, newRun(input, plan, false))
  }

  #fresh(
    { runId }: RunSlot,
    input: Extract<Input, { type: 'StartRun' }>,
    plan: Plan,
    notBefore: number,
  ): { readonly before: LoadedRun; readonly decided: DecidedStep } | Refusal {
    const rules = this.deps.rules(plan)
    const state: RunState = { phase: 'absent' }
    const decided = decide(rules, state, { ...input, now: Math.max(this.deps.clock.now(), notBefore) })
    if (!decided.ok) return decided.refusal
    const { tenant } = input.started.owner
    return { before: { runId, tenant, rules, state, head: CHAIN_START, kept: 0, characters: 0, epoch: 1 }, decided }
  }

  /** Writes the beginning of a fork: `decided` holds its first own events, if it has any yet. */
  fork(
    before: Omit<LoadedRun, 'epoch'>,
    decided: DecidedStep,
    create: NewRun,
    response?: MakeResponse,
  ): Promise<Answer<InspectedRun>> {
    const slot = this.deps.cache.enter(before.runId)
    return slot.runExclusive(() =>
      retried<Answer<InspectedRun>>(before.runId, async () => {
        const first = step(this.deps.ids, slot, { ...before, epoch: 1 }, decided, create)
        return this.#commit([first], response?.(inspectedRun(first.loaded)))
      }),
    )
  }

  /**
   * Puts one input to a run. Undefined when there is no such run, or not for this caller. `child` is born in the same
   * commit; it is not born when the input decides to nothing, or its family has no room for it.
   */
  submit(runId: string, input: Input, options: SubmitOptions = {}): Promise<Answer<InspectedRun> | undefined> {
    const slot = this.deps.cache.enter(runId)
    let conflict: FileConflict | undefined
    return slot.runExclusive(() =>
      retried<Answer<InspectedRun> | undefined>(runId, async room => {
        const loaded = await this.load(slot)
        if (!loaded || (options.tenant !== undefined && loaded.tenant !== options.tenant)) return undefined
        if (options.asHolder && loaded.epoch === null) return undefined
        if (options.inTurn !== true) await this.deps.turns.room(loaded.tenant)
        const { child: asked, response } = options
        const child = room?.children === 0 ? undefined : asked?.born
        const heard = asked && room && !child ? asked.refused(room.refused) : input
        const known = conflict && { conflict }
        const now = this.deps.clock.now()
        const decision = decide(loaded.rules, loaded.state, { ...heard, ...known, now } as RunInput)
        if (!decision.ok) return { ok: false, refusal: decision.refusal }
        if (decision.events.length === 0) return { ok: true, value: inspectedRun(loaded) }
        return this.#commitFamily(slot, loaded, decision, response, { child, room }).catch(error => {
          if (error instanceof UnverifiedMerge) return this.#quarantine(slot, error)
          if (!(error instanceof PublishRefused)) throw error
          // Decided again, the run knows of it, and a second refusal at the same place cannot come.
          conflict = error.conflict
          return 'again' as const
        })
      }),
    )
  }

  /**
   * The store has held S10 against a bug of this host. To decide again would come to the same for ever, so the run ends
   * here, unmerged; then whoever put the input to it is told what an ended run says.
   */
  async #quarantine(slot: RunSlot, error: UnverifiedMerge): Promise<'again'> {
    const { clock, log } = this.deps
    log.error({ runId: slot.runId, error: error.message }, 'run quarantined: it would have merged an unverified result')
    const loaded = await this.load(slot)
    if (!loaded) return 'again'
    const input = { type: 'Quarantine', attempts: 1, unverified: true, now: clock.now() } as const
    const decision = decide(loaded.rules, loaded.state, input)
    if (decision.ok && decision.events.length > 0)
      await this.#commit([step(this.deps.ids, slot, loaded, decision)], undefined)
    return 'again'
  }

  /** Commits what was decided, together with the children it leads to at once. */
  #commitFamily(
    slot: RunSlot,
    before: LoadedRun,
    first: DecidedStep,
    response: MakeResponse | undefined,
    { create, child, room }: { create?: NewRun; child?: PendingWrite | undefined; room: Room | undefined },
  ): Promise<Answer<InspectedRun> | Room | 'again'> {
    // Only who holds a run may start its children.
    const { decided, children } =
      before.epoch === null
        ? { decided: first, children: [] }
        : commitWithChildren(this.spawner, before, first, child, room)
    const own = step(this.deps.ids, slot, before, decided, create)
    const commit = () => this.#commit([own, ...children], response?.(inspectedRun(own.loaded)))
    return children.reduce((inner, born) => () => born.slot.runExclusive(inner), commit)()
  }

  /**
   * The run from memory, when it has ended or this host holds it. Another host may have written to it or purged it, and
   * its hint may be lost: what was not confirmed for a while is not relied on.
   */
  remembered({ loaded, seenAt }: RunSlot): LoadedRun | undefined {
    if (loaded === undefined) return undefined
    const isOurs = loaded.epoch !== null || loaded.state.phase === 'ended'
    return isOurs && this.deps.clock.monotonic() - seenAt < FRESH_MS ? loaded : undefined
  }

  /** The run as its log tells it, which is said to have that many events or more. */
  async load(slot: RunSlot, atLeast = 0): Promise<LoadedRun | undefined> {
    const { store, plans, lease, cache, clock } = this.deps
    const remembered = this.remembered(slot)
    if (remembered && lengthOf(remembered) >= atLeast) return remembered
    const known = slot.loaded
    const row = await store.readRun(null, slot.runId)
    if (!row || isStreamId(row.runId)) {
      cache.put(slot, undefined)
      return undefined
    }
    slot.seenAt = clock.monotonic()
    if (known && known.epoch === row.epoch && row.owner === lease.hostId && lengthOf(known) === row.length) return known
    const plan = known?.rules.plan ?? (await plans.pinned(row.workflowDigest))
    // What was folded before stays true: a log only grows.
    const before = known?.state ?? (await this.#kept(row))
    const { state, last, characters: read } = await foldLog(this.deps, row, plan, before)
    const epoch = row.owner === lease.hostId ? row.epoch : null
    const head = last?.hash ?? known?.head ?? row.head
    const kept = known?.kept ?? (before.phase === 'absent' ? 0 : before.next)
    const rules = this.deps.rules(plan)
    const characters = (known?.characters ?? 0) + read
    const loaded: LoadedRun = { runId: slot.runId, tenant: row.tenant, rules, state, head, kept, characters, epoch }
    cache.put(slot, loaded)
    return loaded
  }

  /** As much of a run as is kept folded. */
  async #kept({ runId, length, fork }: RunRow): Promise<RunState> {
    const state = await keptState(this.deps.store, runId, length)
    if (fork) return inherited(state ?? { phase: 'absent' }, runId, fork)
    return state ?? { phase: 'absent' }
  }

  async #commit(
    steps: readonly PendingWrite[],
    response: RememberedResponse | undefined,
  ): Promise<Answer<InspectedRun> | Room | 'again'> {
    const quotas = quotasFor(this.deps.quotas, steps)
    const appends = steps.map(({ append }) => append)
    const result = await this.deps.committer.commit(
      steps.map(one => this.partOf(one)),
      response,
      quotas,
    )
    switch (result.kind) {
      case 'committed':
        return { ok: true, value: inspectedRun(steps[0]!.loaded) }
      case 'response-exists':
        return { ok: false, replay: result.response }
      case 'scope-active':
        return { ok: false, refusal: scopeActive(result.runId) }
      case 'over-quota':
        return afterOverQuota(result)
      case 'workspace-conflict':
        throw new PublishRefused(conflictOf(result, appends))
      case 'conflict':
      case 'fenced':
        return 'again'
    }
  }

  /** A step of a run as part of a commit. */
  partOf(written: PendingWrite): CommitPart {
    const { slot, loaded, append, wakes, steps } = written
    const { cache, clock } = this.deps
    return {
      tenant: loaded.tenant,
      append,
      wakes,
      deliveries: this.#deliveriesOf(written),
      steps,
      believe: () => {
        slot.seenAt = clock.monotonic()
        cache.put(slot, loaded)
        this.deps.written(written)
      },
      doubt: () => cache.put(slot, undefined),
    }
  }

  /**
   * R-REPLAY-13, R-SEC-1: whether subscribers are told is a matter of the run, not of the event. A replay tells nobody,
   * and neither do runs of the host's own, which are no work of the tenant's.
   */
  #deliveriesOf({ loaded: { state, tenant, runId }, stored }: PendingWrite): readonly NewDelivery[] {
    const { announcer } = this.deps
    if (announcer === undefined || state.phase === 'absent' || isReplay(state)) return NOTHING
    if (HOST_WORKFLOW_IDS.includes(state.started.workflowId)) return NOTHING
    return announcer.deliveriesFor({ tenant, runId, tags: state.started.tags ?? [] }, stored)
  }
}

const NOTHING: readonly NewDelivery[] = []

const lengthOf = (loaded: LoadedRun | undefined): number =>
  loaded === undefined || loaded.state.phase === 'absent' ? 0 : loaded.state.next

const newRun = (
  { started, gates = [] }: Extract<Input, { type: 'StartRun' }>,
  plan: Plan,
  exclusiveScope: boolean,
): NewRun => ({
  tenant: started.owner.tenant,
  workflowId: started.workflowId,
  workflowDigest: started.workflowDigest,
  parentRunId: started.parentRunId ?? null,
  parentNodeId: started.parentNodeId ?? null,
  scopeId: started.scopeId ?? null,
  tags: started.tags ?? [],
  exclusiveScope,
  fork: null,
  gated: gatedPoints(nodeId => handsOver(plan, nodeId), gates, started),
})

export type DecidedStep = Extract<ReturnType<typeof decide>, { ok: true }>

/** Encoded, hashed and handed over; the rules count only what they tell. */
const STEPS_PER_CHARACTER = 2
function step(
  ids: Ids,
  slot: RunSlot,
  before: LoadedRun,
  { events, state, steps = 0 }: DecidedStep,
  create?: NewRun,
): PendingWrite {
  const { rules, runId, epoch } = before
  const stored = encodeAll(events, before.head, ids)
  const head = stored.at(-1)?.hash ?? before.head
  const keep = state.phase === 'active' && isTimeToKeep(state, before.kept)
  const snapshot = keep ? snapshotOf(state) : undefined
  const kept = keep ? state.next : before.kept
  const written = charactersOf(stored)
  const loaded = { ...before, state, head, kept, characters: snapshot?.length ?? before.characters + written }
  const append = {
    runId,
    expected: events[0]?.sequence ?? (state.phase === 'absent' ? 0 : state.next),
    epoch,
    events: stored,
    status: statusOf(state),
    wakeAt: wakeAt(rules, state),
    head,
    ...(snapshot === undefined ? {} : { snapshot }),
  }
  const wakes = parentToWake(before.state, state)
  const taken = steps + written * STEPS_PER_CHARACTER
  return { slot, loaded, stored, wakes, steps: taken, append: create ? { ...append, create } : append }
}

export const inspectedRun = ({ runId, tenant, state, rules }: LoadedRun): InspectedRun => ({
  runId,
  tenant,
  state,
  status: statusOf(state),
  plan: rules.plan,
})
