import type { Decision } from '../../core/decider.js'
import type { Refusal } from '../../core/problem.js'
import { overQuota, type QuotasOf } from '../../core/quotas.js'
import {
  RUN_BEGAN,
  type RecordedInStream,
  type StandingEvent,
  type StreamRunBegan,
  type StreamState,
  streamWorkflow,
} from '../../core/standing/stream.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Announcer } from '../ports/announcer.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { CommitResult, NewRun, StoredEvent } from '../ports/event-log.js'
import type { RememberedResponse } from '../ports/remembered-responses.js'
import type { Store } from '../ports/store.js'
import { quotasFor, retried, scopeActive } from '../runtime/capacity.js'
import { CHAIN_START } from '../log/chain.js'
import { encodeAll } from '../log/encode.js'
import type { HostLease } from '../runtime/host-lease.js'
import { charactersOf, logPages } from '../log/read-log.js'
import type { RunSlot } from '../runtime/run-cache.js'
import type { PendingWrite, RunWriter } from '../runtime/run-writer.js'
import type { Committer, CommitPart } from '../runtime/committer.js'
import { isTimeToKeepStream, keptStream, keptText } from './kept-state.js'
import type { LoadedStream, Put, StreamEffect, StreamInput, StreamKind, Submit } from './stream-kind.js'
import type { StreamSlots } from './stream-slots.js'

export type StreamWriterDeps = {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly lease: HostLease
  readonly committer: Committer
  readonly announcer: Announcer | undefined
  readonly turns: TurnTaking
  readonly runs: Pick<RunWriter, 'partOf'>
  readonly quotas: QuotasOf
}

/** What became of an input: the stream as it is now, why it was refused, or that an earlier answer stands. */
export type StandingAnswer<State extends StreamState> =
  | { readonly ok: true; readonly value: LoadedStream<State>; readonly born: readonly PendingWrite[] }
  | { readonly ok: false; readonly refusal: Refusal }
  | { readonly ok: false; readonly replay: RememberedResponse }

type Slot<State extends StreamState> = RunSlot<LoadedStream<State>>

/** How long a stream that this host holds may have been written to by another without being noticed here. */
const FRESH_MS = 1_000

/** Decides, commits once, then believes it: for all streams of one kind (`stream-kind.ts`, W1 and W2). */
export class StreamWriter<State extends StreamState, Input extends StreamInput, Effect extends StreamEffect> {
  constructor(
    readonly kind: StreamKind<State, Input, Effect>,
    private readonly slots: StreamSlots<LoadedStream<State>>,
    private readonly deps: StreamWriterDeps,
    /** Told of everything that has become durable, in commit order per stream. */
    private readonly written: (stream: LoadedStream<State>, stored: readonly StoredEvent[]) => void,
  ) {}

  /** Begins a stream; `response` is remembered in the same commit. */
  create(
    streamId: string,
    tenant: string,
    put: () => Put<Input>,
    response?: (stream: LoadedStream<State>) => RememberedResponse,
  ): Promise<StandingAnswer<State>> {
    const slot = this.slots.enter(streamId)
    return slot.runExclusive(() =>
      retried<StandingAnswer<State>>(streamId, async () => {
        const before = { streamId, tenant, state: this.kind.initial, head: CHAIN_START, kept: 0, epoch: 1 }
        return this.#step(slot, before, put(), response)
      }),
    )
  }

  /** Puts an input to a stream whose id says what it is of: whoever comes first begins it. */
  ensure(streamId: string, tenant: string, put: () => Put<Input>): Promise<StandingAnswer<State>> {
    const slot = this.slots.enter(streamId)
    return slot.runExclusive(() =>
      retried<StandingAnswer<State>>(streamId, async () => {
        const known = await this.load(slot)
        if (known && known.tenant !== tenant) throw new Error(`stream ${streamId} is another tenant's`)
        const fresh = { streamId, tenant, state: this.kind.initial, head: CHAIN_START, kept: 0, epoch: 1 }
        return this.#step(slot, known ?? fresh, put(), undefined)
      }),
    )
  }

  /** Puts one input to a stream. Undefined when there is none, not for this caller, or nothing to put. */
  submit(
    streamId: string,
    { put, tenant, asHolder }: Submit<State, Input>,
    response?: (stream: LoadedStream<State>) => RememberedResponse,
  ): Promise<StandingAnswer<State> | undefined> {
    const slot = this.slots.enter(streamId)
    return slot.runExclusive(() =>
      retried<StandingAnswer<State> | undefined>(streamId, async () => {
        const loaded = await this.load(slot)
        if (!loaded || (tenant !== undefined && loaded.tenant !== tenant)) return undefined
        if (asHolder && loaded.epoch === null) return undefined
        await this.deps.turns.room(loaded.tenant)
        const asked = await put(loaded)
        if (asked === undefined) return undefined
        if ('code' in asked) return { ok: false, refusal: asked }
        return this.#step(slot, loaded, asked, response)
      }),
    )
  }

  /** The stream, for whoever only looks. */
  async inspect(tenant: string, streamId: string): Promise<LoadedStream<State> | undefined> {
    const slot = this.slots.enter(streamId)
    const loaded = await slot.runExclusive(() => this.load(slot))
    return loaded?.tenant === tenant ? loaded : undefined
  }

  async #step(
    slot: Slot<State>,
    before: LoadedStream<State>,
    { input, born = [] }: Put<Input>,
    response: ((stream: LoadedStream<State>) => RememberedResponse) | undefined,
  ): Promise<StandingAnswer<State> | 'again'> {
    const decision = this.kind.decide(before.state, { ...input, now: this.deps.clock.now() })
    if (!decision.ok) return { ok: false, refusal: decision.refusal }
    if (decision.events.length === 0) return { ok: true, value: before, born: [] }
    const runs = born.filter(({ append }) => namesRun(decision.events, append.runId))
    const { part, after } = this.#partOf(slot, before, decision)
    // Runs first: the store looks for them when the stream tells of them (S16).
    const parts = [...runs.map(run => this.deps.runs.partOf(run)), part]
    const commit = () => this.deps.committer.commit(parts, response?.(after), quotasFor(this.deps.quotas, runs))
    const result = await runs.reduce(
      (inner, { slot }) =>
        () =>
          slot.runExclusive(inner),
      commit,
    )()
    return this.#answer(result, after, runs)
  }

  #answer(
    result: CommitResult,
    value: LoadedStream<State>,
    born: readonly PendingWrite[],
  ): StandingAnswer<State> | 'again' {
    switch (result.kind) {
      case 'committed':
        return { ok: true, value, born }
      case 'response-exists':
        return { ok: false, replay: result.response }
      case 'over-quota':
        return { ok: false, refusal: overQuota(result.quota, result.limit) }
      case 'scope-active':
        return { ok: false, refusal: scopeActive(result.runId) }
      case 'workspace-conflict':
        throw new Error(`stream ${value.streamId} publishes no file, and neither does the beginning of a run`)
      case 'conflict':
      case 'fenced':
        return 'again'
    }
  }

  #partOf(
    slot: Slot<State>,
    before: LoadedStream<State>,
    { events, state, steps = 0 }: Extract<Decision<State, RecordedInStream<StandingEvent>>, { ok: true }>,
  ): { part: CommitPart; after: LoadedStream<State> } {
    const { kind, deps } = this
    const { streamId, tenant, epoch } = before
    const stored = encodeAll(events, before.head, deps.ids)
    const head = stored.at(-1)?.hash ?? before.head
    const keep = isTimeToKeepStream(state, before.kept)
    const snapshot = keep ? keptText(kind.name, state) : undefined
    const after = { ...before, state, head, kept: keep ? streamLength(state) : before.kept }
    const create = before.state.phase === 'absent' ? { create: newStream(tenant, streamWorkflow(kind.name)) } : {}
    const append = {
      runId: streamId,
      expected: streamLength(before.state),
      epoch,
      events: stored,
      status: kind.status(state),
      wakeAt: kind.wakeAt(state),
      head,
      ...(snapshot === undefined ? {} : { snapshot }),
      ...create,
    }
    const part = {
      tenant,
      append,
      wakes: [],
      deliveries: deps.announcer?.deliveriesFor({ tenant, runId: streamId, tags: [] }, stored) ?? [],
      steps: steps + charactersOf(stored),
      believe: () => {
        slot.seenAt = deps.clock.monotonic()
        slot.loaded = after
        this.written(after, stored)
      },
      doubt: () => {
        slot.loaded = undefined
      },
    }
    return { part, after }
  }

  /** The stream as its log tells it; from memory, where this host holds it and has looked not long ago. */
  async load(slot: Slot<State>): Promise<LoadedStream<State> | undefined> {
    const { store, clock, lease } = this.deps
    const known = slot.loaded
    if (known && known.epoch !== null && clock.monotonic() - slot.seenAt < FRESH_MS) return known
    const row = await store.readRun(null, slot.runId)
    if (!row || row.workflowId !== streamWorkflow(this.kind.name)) {
      slot.loaded = undefined
      return undefined
    }
    slot.seenAt = clock.monotonic()
    const epoch = row.owner === lease.hostId ? row.epoch : null
    const kept = known ? undefined : await keptStream<State>(store, this.kind.name, slot.runId, row.length)
    let state = known?.state ?? kept ?? this.kind.initial
    let head = known?.head ?? row.head
    for await (const page of logPages(this.deps, row, streamLength(state))) {
      for (const event of page) state = this.kind.evolve(state, decoded(event))
      head = page.at(-1)?.hash ?? head
      if (streamLength(state) >= row.length) break
    }
    const loaded = {
      streamId: slot.runId,
      tenant: row.tenant,
      state,
      head,
      kept: known?.kept ?? streamLength(kept ?? this.kind.initial),
      epoch,
    }
    slot.loaded = loaded
    return loaded
  }
}

export const streamLength = (state: StreamState): number => (state.phase === 'absent' ? 0 : state.next)

const namesRun = (events: readonly RecordedInStream<StandingEvent>[], runId: string): boolean =>
  events.some(({ type, payload }) => type === RUN_BEGAN && (payload as StreamRunBegan).runId === runId)

const decoded = ({ sequence, type, payload, secret, at, input }: StoredEvent): RecordedInStream<StandingEvent> => ({
  sequence,
  type,
  payload: JSON.parse(payload),
  ...(secret === null ? {} : { secret: JSON.parse(secret) }),
  at,
  ...(input === null ? {} : { input: JSON.parse(input) }),
})

/** No definition stands behind a stream: its rules are the host's own. */
const newStream = (tenant: string, workflowId: string): NewRun => ({
  tenant,
  workflowId,
  workflowDigest: workflowId,
  parentRunId: null,
  parentNodeId: null,
  scopeId: null,
  tags: [],
  exclusiveScope: false,
  fork: null,
  gated: [],
})
