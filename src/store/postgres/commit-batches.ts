import pg from 'pg'
import {
  type Commit,
  type CommitResult,
  MissingContent,
  StoreUnavailable,
  UnverifiedMerge,
} from '../../engine/ports/event-log.js'
import type { RememberedResponse } from '../../engine/ports/remembered-responses.js'
import { TenantErased } from '../../engine/ports/tenants.js'
import { responseKey } from '../response-rules.js'
import { type Connections, StatementFault } from './connections.js'
import { journaledIn } from './journaled.js'
import { SQL } from './statements.js'
import { isWithoutContent } from './trouble.js'

type Entry = {
  readonly commit: Commit
  /** What no other commit of the same batch may touch. */
  readonly own: readonly string[]
  readonly wakes: readonly string[]
  readonly characters: number
  /** Where it stands among those of all tenants: after as much as its tenant has asked for before it. */
  readonly turn: number
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

/** The functions of the database know remembered responses by the older name that their table has. */
type StoredRefusal =
  | Exclude<CommitResult, { kind: 'response-exists' }>
  | { readonly kind: 'receipt-exists'; readonly receipt: RememberedResponse }

type Reply = { readonly answers: readonly (StoredRefusal | null)[]; readonly peers: boolean }

type Conflict = Extract<CommitResult, { kind: 'workspace-conflict' }>

const MAX_BATCH = 128
/** What is longer by itself is a batch of its own. */
const MAX_CHARACTERS = 768 * 1_024
const COMMITTED = { kind: 'committed' } as const

/**
 * Group commit over the network: commits that arrive while calls are under way share the next call. A batch holds
 * commits that share nothing but the runs they wake, and no two calls under way touch the same run, response or scope,
 * so they do not wait for each other's row locks. What does not fit waits, and tenants take turns.
 */
export class CommitBatches {
  readonly #connections: Connections
  readonly #maxCalls: number
  readonly #onPeers: (commits: readonly Commit[]) => void
  readonly #busy = new Set<string>()
  /** By tenant: where its next commit stands, counted from when nothing was under way. */
  readonly #turns = new Map<string, number>()
  /** The turn that was taken last. */
  #now = 0
  #queue: Entry[] = []
  #calls = 0
  #idle: (() => void) | undefined
  #closed = false
  /** Calls made; fewer than commits under load. */
  calls = 0

  /** `onPeers` is told of what was committed while other hosts are alive. */
  constructor(connections: Connections, maxCalls: number, onPeers: (commits: readonly Commit[]) => void) {
    this.#connections = connections
    this.#maxCalls = maxCalls
    this.#onPeers = onPeers
  }

  run(commit: Commit): Promise<CommitResult> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((resolve, reject) => {
      const wakes = commit.wakes.map(runName)
      const characters = commit.streams.reduce((sum, stream) => sum + charactersIn(stream), 0)
      const turn = this.#turnOf(commit.tenant ?? '', characters)
      this.#queue.push({ commit, own: ownNames(commit), wakes, characters, turn, resolve, reject })
      this.#send()
    })
  }

  /** Takes no more, and resolves when what was asked for before has been answered. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#calls === 0) return
    await new Promise<void>(resolve => {
      this.#idle = resolve
    })
  }

  #send(): void {
    while (this.#calls < this.#maxCalls && this.#queue.length > 0) {
      const batch = this.#take()
      if (batch.length === 0) return
      this.#calls += 1
      void this.#call(batch).finally(() => {
        this.#calls -= 1
        for (const { own, wakes } of batch) for (const name of [...own, ...wakes]) this.#busy.delete(name)
        this.#send()
        if (this.#calls === 0) this.#idle?.()
      })
    }
  }

  #take(): Entry[] {
    const batch: Entry[] = []
    const [own, woken] = [new Set<string>(), new Set<string>()]
    let characters = 0
    const taken = (name: string) => this.#busy.has(name) || own.has(name)
    for (const entry of this.#queue.toSorted((a, b) => a.turn - b.turn)) {
      if (batch.length === MAX_BATCH || (batch.length > 0 && characters + entry.characters > MAX_CHARACTERS)) break
      if (entry.wakes.some(taken) || entry.own.some(name => taken(name) || woken.has(name))) continue
      for (const name of entry.own) own.add(name)
      for (const name of entry.wakes) woken.add(name)
      characters += entry.characters
      this.#now = Math.max(this.#now, entry.turn)
      batch.push(entry)
    }
    const sent = new Set(batch)
    this.#queue = this.#queue.filter(entry => !sent.has(entry))
    for (const name of [...own, ...woken]) this.#busy.add(name)
    return batch
  }

  /** Tenants have had about equally much, by size; what one has not asked for in time is not saved up. */
  #turnOf(tenant: string, characters: number): number {
    if (this.#queue.length === 0 && this.#calls === 0) this.#turns.clear()
    const turn = Math.max(this.#now, this.#turns.get(tenant) ?? 0)
    this.#turns.set(tenant, turn + 1 + characters)
    return turn
  }

  /** A fault is somebody's bug; alone, it is that one's only. */
  async #call(batch: readonly Entry[]): Promise<void> {
    try {
      const { answers, peers } = await this.#query(batch.map(entry => entry.commit))
      if (peers) this.#onPeers(batch.filter((_, i) => answers[i] === null).map(entry => entry.commit))
      for (const [i, entry] of batch.entries()) entry.resolve(asTold(answers[i] ?? COMMITTED))
    } catch (error) {
      const isSomebodys = error instanceof StatementFault || error instanceof TenantErased
      if (batch.length > 1 && isSomebodys) for (const entry of batch) await this.#call([entry])
      else for (const entry of batch) settle(entry, error)
    }
  }

  async #query(commits: readonly Commit[]): Promise<Reply> {
    this.calls += 1
    const writers = [...new Set(commits.map(commit => commit.hostId))]
    const names = commits.flatMap(newNames)
    const runIds = commits.flatMap(({ streams, wakes }) => [...streams.map(stream => stream.runId), ...wakes])
    const streams = commits.flatMap(commit => commit.streams)
    const webhooks = commits.flatMap(({ deliveries }) => deliveries?.map(({ webhookId }) => webhookId) ?? [])
    const rows = await this.#connections.query<{ reply: Reply }>(SQL.commit, [
      JSON.stringify(commits.map(asStored)),
      writers,
      names,
      runIds,
      streams.some(({ create }) => create?.fork),
      streams.some(({ create }) => create !== undefined && create.gated.length > 0),
      streams.some(({ snapshot }) => snapshot !== undefined),
      [...new Set(webhooks)],
      JSON.stringify(commits.flatMap(journaledIn)),
    ])
    return rows[0]!.reply
  }
}

const asStored = ({ response, ...commit }: Commit) => (response ? { ...commit, receipt: response } : commit)

const asTold = (answer: StoredRefusal): CommitResult =>
  answer.kind === 'receipt-exists' ? { kind: 'response-exists', response: answer.receipt } : answer

function settle({ resolve, reject }: Entry, error: unknown): void {
  const cause = error instanceof StatementFault ? error.cause : undefined
  if (!(cause instanceof pg.DatabaseError)) reject(error)
  else if (cause.code === 'AW409')
    resolve({ kind: 'workspace-conflict', ...(JSON.parse(cause.detail ?? '{}') as Omit<Conflict, 'kind'>) })
  else if (isWithoutContent(cause)) reject(new MissingContent(cause.message, { cause }))
  else reject(unverified(error) ?? error)
}

/** `merges` refuses what no gate has passed (S10). */
function unverified(error: unknown): UnverifiedMerge | undefined {
  const cause = error instanceof StatementFault ? error.cause : undefined
  if (!(cause instanceof pg.DatabaseError) || cause.table !== 'merges') return undefined
  return new UnverifiedMerge(`no gate has passed what was to be merged: ${cause.message}`, { cause })
}

const charactersIn = ({ events, snapshot = '' }: Commit['streams'][number]): number =>
  events.reduce(
    (sum, { payload, secret, input }) => sum + payload.length + (secret?.length ?? 0) + (input?.length ?? 0),
    snapshot.length,
  )

const runName = (runId: string): string => `run ${runId}`

/** Names of what may come into being, so that two who would create it meet at a lock, whichever build each of them is. */
const newNames = ({ streams, response }: Commit): string[] => {
  const names: string[] = response ? [`receipt ${responseKey(response)}`] : []
  for (const { runId, create } of streams) {
    if (create) names.push(runName(runId))
    if (create?.exclusiveScope && create.scopeId !== null) {
      names.push(`scope ${JSON.stringify([create.tenant, create.scopeId])}`)
    }
  }
  return names
}

const ownNames = (commit: Commit): string[] => [
  ...new Set([...commit.streams.map(stream => runName(stream.runId)), ...newNames(commit)]),
]
