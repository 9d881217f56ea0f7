import type { Commit, StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { OutsideWrite } from '../../../src/engine/ports/journal.js'

/**
 * The journal told a second time, from docs/design/journal.md and contract agents §7: a scope is a list, a view is a map
 * that is copied, and what a run could see is kept for each of its events. It shares no code with what it is held against.
 */

export type Space = 'memory' | 'workspace'

/** One write. `text: null` is a forget; `dies: null` is for ever, which is also how a fork keeps what its source saw. */
export type Entry = {
  readonly space: Space
  readonly scope: string
  readonly key: string
  readonly text: string | null
  readonly tags: readonly string[]
  readonly dies: number | null
}

/** What is seen, by key. */
export type Seen = ReadonlyMap<string, Entry>

type Place = {
  readonly scope: string
  readonly upTo: number
  /** What ancestors had of their own when they handed over, the nearest last. */
  readonly above: readonly Entry[]
  readonly beneath: Seen
}
type Places = { readonly [Of in Space]?: Place }

/** A run before one of its events. */
type Moment = { readonly places: Places; readonly layer: readonly Layered[]; readonly at: number }
type Layered = { readonly entry: Entry; readonly nodeId: string }
type Held = Layered & { readonly since: number; readonly sequence: number }

type Fork = { readonly sourceRunId: string; readonly fromSeq: number; readonly mode: 'replay' | 'branch' }

export type ModelRun = {
  readonly runId: string
  readonly tenant: string
  readonly workflowId: string
  readonly parent: { readonly runId: string; readonly nodeId: string } | undefined
  readonly fork: Fork | undefined
  /** Of its own events, by sequence. */
  readonly before: Map<number, Moment>
  readonly starts: Map<string, { readonly since: number; readonly at: number }>
  held: readonly Held[]
  now: Moment
  length: number
  completed: boolean
}

/** Where blocking gates stand, by workflow, and who is handed work without the memory of whoever hands it over. */
export type Arrangement = {
  readonly gates: { readonly [workflowId: string]: readonly GateSpot[] }
  readonly isolated: readonly string[]
}
export type GateSpot = { readonly point: 'node' | 'harvest' | 'run'; readonly nodeId: string }

const keyOf = (ref: string, id: string): string => `${ref}/${id}`

type Json = { readonly [name: string]: unknown }
const parsed = (text: string | null): Json => JSON.parse(text ?? '{}') as Json

const WRITES: { readonly [type: string]: { readonly space: Space; readonly put: boolean } } = {
  'memory.written': { space: 'memory', put: true },
  'assay.memory.forgotten': { space: 'memory', put: false },
  'assay.file.written': { space: 'workspace', put: true },
  'assay.file.removed': { space: 'workspace', put: false },
}

export class JournalModel {
  readonly runs = new Map<string, ModelRun>()
  readonly #scopes = new Map<string, Entry[]>()
  readonly #texts = new Map<string, string>()

  constructor(private readonly arrangement: Arrangement) {}

  keep(tenant: string, contentId: string, text: string): void {
    this.#texts.set(`${tenant} ${contentId}`, text)
  }

  /** How many writes a scope has. */
  head(tenant: string, space: Space, scope: string): number {
    return this.#scope(tenant, space, scope).length
  }

  hearOutside(tenant: string, writes: readonly OutsideWrite[]): void {
    for (const { space, scope, ref, id, op, content, tags, expiresAt } of writes) {
      const text = op === 'put' ? (this.#texts.get(`${tenant} ${content?.contentId}`) ?? null) : null
      this.#publish(tenant, { space, scope, key: keyOf(ref, id), text, tags, dies: expiresAt })
    }
  }

  hear({ streams }: Commit): void {
    for (const { runId, create, events, expected } of streams) {
      if (create) this.#begin(runId, create, expected)
      const run = this.#run(runId)
      for (const event of events) {
        if (run.fork?.mode !== 'replay') {
          run.before.set(event.sequence, run.now)
          this.#take(run, event)
        }
        run.now = { ...run.now, at: event.at }
        run.length = event.sequence + 1
      }
    }
  }

  /** What whoever looks from outside finds in a scope. */
  seenNow(tenant: string, space: Space, scope: string, at: number): Seen {
    const place = { ...fresh(scope), upTo: Number.POSITIVE_INFINITY }
    return this.#view(tenant, space, { places: { [space]: place }, layer: [], at }, [], at) ?? new Map()
  }

  /** What a run would have seen that looked before its event `seq`: what a fork from there begins with. */
  seenAt(runId: string, space: Space, seq: number): Seen | undefined {
    const run = this.#run(runId)
    if (run.fork && (seq <= run.fork.fromSeq || run.fork.mode === 'replay'))
      return this.seenAt(run.fork.sourceRunId, space, Math.min(seq, this.#run(run.fork.sourceRunId).length))
    const moment = run.before.get(seq) ?? run.now
    return this.#view(run.tenant, space, moment, moment.layer, moment.at)
  }

  /** How far a run that is no fork read its scope then. */
  anchorAt(runId: string, space: Space, seq: number): { readonly scope: string; readonly upTo: number } | undefined {
    const run = this.#run(runId)
    return (run.before.get(seq) ?? run.now).places[space]
  }

  /** What whoever works at a node sees, as of its start. */
  seenFrom(runId: string, space: Space, nodeId: string): Seen | undefined {
    const run = this.#run(runId)
    const { since, at } = run.starts.get(nodeId) ?? { since: -1, at: 0 }
    return this.#view(run.tenant, space, run.now, run.before.get(since)?.layer ?? [], at)
  }

  /** What a node that reads memory gives on: where its source had read already when it was cut, what that saw. */
  givenBy(runId: string, nodeId: string): Seen | undefined {
    const { fork, starts } = this.#run(runId)
    const { since = 0 } = starts.get(nodeId) ?? {}
    if (fork?.mode === 'replay') return this.givenBy(fork.sourceRunId, nodeId)
    const shared = fork && fork.fromSeq > 0 ? this.#tellings(this.#run(fork.sourceRunId), fork.fromSeq) : []
    const isRead = shared.some(
      one => one.type === 'assay.journal.read' && one.nodeId === nodeId && one.sequence > since,
    )
    return fork && isRead ? this.givenBy(fork.sourceRunId, nodeId) : this.seenFrom(runId, 'memory', nodeId)
  }

  #begin(runId: string, create: NonNullable<Commit['streams'][number]['create']>, expected: number): void {
    const { tenant, workflowId, parentRunId, parentNodeId, fork } = create
    const source = fork && this.#run(fork.sourceRunId)
    const isShared = fork !== null && fork.fromSeq > 0
    this.runs.set(runId, {
      runId,
      tenant,
      workflowId,
      parent: parentRunId === null ? undefined : { runId: parentRunId, nodeId: parentNodeId ?? '' },
      fork: fork ?? undefined,
      before: new Map(),
      starts: new Map(source && isShared ? this.#startsBefore(source, fork.fromSeq) : []),
      held: source && isShared ? this.#heldBefore(source, fork.fromSeq) : [],
      now: { places: {}, layer: [], at: 0 },
      length: expected,
      completed: false,
    })
  }

  #startsBefore(run: ModelRun, seq: number): [string, { since: number; at: number }][] {
    const told = this.#tellings(run, seq).filter(({ type }) => type === 'node.started')
    return told.map(({ nodeId, sequence, at }) => [nodeId ?? '', { since: sequence, at }])
  }

  #heldBefore(run: ModelRun, seq: number): readonly Held[] {
    const source = run.fork && run.fork.mode === 'replay' ? this.#run(run.fork.sourceRunId) : run
    return source.held.filter(({ sequence }) => sequence < seq)
  }

  readonly #logs = new Map<string, StoredEvent[]>()

  #tellings(run: ModelRun, seq: number): readonly StoredEvent[] {
    if (run.fork?.mode === 'replay') return this.#tellings(this.#run(run.fork.sourceRunId), seq)
    const from = run.fork?.fromSeq ?? 0
    const shared = run.fork && from > 0 ? this.#tellings(this.#run(run.fork.sourceRunId), Math.min(from, seq)) : []
    return [...shared, ...(this.#logs.get(run.runId) ?? []).filter(({ sequence }) => sequence < seq)]
  }

  #take(run: ModelRun, event: StoredEvent): void {
    this.#logs.set(run.runId, [...(this.#logs.get(run.runId) ?? []), event])
    const { type, nodeId, sequence, at } = event
    const secret = parsed(event.secret)
    const payload = parsed(event.payload)
    const node = nodeId ?? ''
    const write = WRITES[type]
    if (write) return this.#write(run, event, write)
    switch (type) {
      case 'run.started':
        run.now = { ...run.now, places: this.#firstPlaces(run, secret.journal as RecordedPlaces | undefined), at }
        return
      case 'assay.run.forked':
        if (secret.journal) run.now = { ...run.now, places: this.#branchPlaces(run) }
        return
      case 'node.started':
        run.starts.set(node, { since: sequence, at })
        return
      case 'agent.invocation.started':
        if (secret.anchors) run.now = { ...run.now, places: moved(run.now.places, secret.anchors as Anchors) }
        return
      case 'node.completed':
        if (!this.#isGated(run, 'node', node)) return
        for (const held of run.held) if (held.nodeId === node && held.since === secret.since) this.#enter(run, held)
        return
      case 'core.workflowChain.event':
        return this.#merge(run, node, String(payload.phase), String(payload.childRunId))
      case 'assay.rework.began':
        if (payload.point !== 'run') return
        run.now = { ...run.now, layer: run.now.layer.filter(one => one.nodeId !== node || this.#isOut(run, one.entry)) }
        return
      case 'run.completed':
        run.completed = true
        if (this.#isGated(run, 'run') && this.#isOpenAbove(run))
          for (const { entry } of run.now.layer) this.#publish(run.tenant, entry)
    }
  }

  #write(
    run: ModelRun,
    { sequence, nodeId, secret }: StoredEvent,
    { space, put }: { space: Space; put: boolean },
  ): void {
    const { ref, id, scope, tags, expiresAt, contentId, since } = parsed(secret)
    const entry: Entry = {
      space,
      scope: String(scope),
      key: keyOf(String(ref), String(id)),
      text: put ? (this.#texts.get(`${run.tenant} ${contentId}`) ?? null) : null,
      tags: tags as string[],
      dies: expiresAt as number | null,
    }
    const node = nodeId ?? ''
    if (!this.#isGated(run, 'node', node)) return this.#enter(run, { entry, nodeId: node })
    run.held = [...run.held, { entry, nodeId: node, since: Number(since), sequence }]
  }

  #enter(run: ModelRun, { entry, nodeId }: Layered): void {
    const own = run.fork && entry.scope !== run.now.places[entry.space]?.scope ? inFork(run, entry) : entry
    run.now = { ...run.now, layer: [...run.now.layer, { entry: own, nodeId }] }
    if (!this.#isGated(run, 'run') && this.#isOpenAbove(run)) this.#publish(run.tenant, own)
  }

  #merge(run: ModelRun, nodeId: string, phase: string, childRunId: string): void {
    const wanted = this.#isGated(run, 'harvest', nodeId) ? 'output.harvested' : 'child.completed'
    const child = this.runs.get(childRunId)
    if (phase !== wanted || child === undefined) return
    if (this.#isGated(child, 'run') && !child.completed) return
    const isOwn = child.parent?.runId === run.runId
    for (const { entry } of child.now.layer) {
      // What a worker wrote that has a memory of its own is nobody's above it, and no fork's.
      if (!isOwn && entry.scope !== this.#run(child.parent?.runId ?? '').now.places[entry.space]?.scope) continue
      const entered = isOwn ? entry : inFork(run, entry)
      run.now = { ...run.now, layer: [...run.now.layer, { entry: entered, nodeId }] }
      if (!this.#isGated(run, 'run') && this.#isOpenAbove(run)) this.#publish(run.tenant, entered)
    }
  }

  /** As a request, or whoever hands over, has it; recorded anchors say how far, and must be what is there. */
  #firstPlaces(run: ModelRun, recorded: RecordedPlaces | undefined): Places {
    if (recorded === undefined) return {}
    if (run.fork) return this.#branchPlaces(run)
    const { parent } = run
    if (parent === undefined) return rootPlaces(recorded)
    const before = recorded.workspace?.runs[0]?.before ?? Number.NaN
    const { places, layer } = this.#run(parent.runId).before.get(before) ?? this.#run(parent.runId).now
    const alone = this.arrangement.isolated.includes(run.workflowId)
    const handed = (space: Space): Place | undefined => {
      const place = places[space]
      const own = layer.flatMap(({ entry }) => (entry.space === space ? entry : []))
      return place && { ...place, above: [...place.above, ...own] }
    }
    const memory = alone ? fresh(`run:${run.runId}`) : handed('memory')
    const workspace = handed('workspace')
    return { ...(memory ? { memory } : {}), ...(workspace ? { workspace } : {}) }
  }

  /** R-MEM-8: what the source saw at the cut, as it was then, and a scope of its own above it. */
  #branchPlaces({ runId, fork }: ModelRun): Places {
    if (fork === undefined) throw new Error(`run ${runId} is no branch`)
    const { sourceRunId, fromSeq } = fork
    const source = (space: Space) => this.seenAt(sourceRunId, space, Math.max(fromSeq, 1))
    const place = (space: Space): Place | undefined => {
      const seen = source(space)
      if (seen === undefined) return undefined
      const kept = [...seen].map(([key, entry]) => [key, { ...entry, dies: null }] as const)
      return { ...fresh(`fork:${runId}`), beneath: new Map(kept) }
    }
    const [memory, workspace] = [place('memory'), place('workspace')]
    return { ...(memory ? { memory } : {}), ...(workspace ? { workspace } : {}) }
  }

  #view(tenant: string, space: Space, { places }: Moment, layer: readonly Layered[], at: number): Seen | undefined {
    const place = places[space]
    if (place === undefined) return undefined
    const published = this.#scope(tenant, space, place.scope).slice(0, place.upTo)
    const own = [...place.above, ...layer.map(({ entry }) => entry)].filter(
      entry => entry.space === space && entry.scope === place.scope && !published.includes(entry),
    )
    const found = new Map<string, Entry>(place.beneath)
    for (const entry of [...published, ...own]) found.set(entry.key, entry)
    return new Map([...found].filter(([, { text, dies }]) => text !== null && (dies === null || dies > at)))
  }

  #publish(tenant: string, entry: Entry): void {
    const scope = this.#scope(tenant, entry.space, entry.scope)
    if (!scope.includes(entry)) scope.push(entry)
  }

  #isOut = ({ tenant }: ModelRun, entry: Entry): boolean =>
    this.#scope(tenant, entry.space, entry.scope).includes(entry)

  #isGated = ({ workflowId }: ModelRun, point: GateSpot['point'], nodeId?: string): boolean =>
    (this.arrangement.gates[workflowId] ?? []).some(
      spot => spot.point === point && (nodeId === undefined || spot.nodeId === nodeId),
    )

  #isOpenAbove({ parent }: ModelRun): boolean {
    if (parent === undefined) return true
    const above = this.#run(parent.runId)
    return !this.#isGated(above, 'harvest', parent.nodeId) && !this.#isGated(above, 'run') && this.#isOpenAbove(above)
  }

  #scope(tenant: string, space: Space, scope: string): Entry[] {
    const name = JSON.stringify([tenant, space, scope])
    const found = this.#scopes.get(name) ?? []
    this.#scopes.set(name, found)
    return found
  }

  #run(runId: string): ModelRun {
    const run = this.runs.get(runId)
    if (run === undefined) throw new Error(`the model knows no run ${runId}`)
    return run
  }
}

type RecordedPlaces = {
  readonly [Of in Space]?: {
    readonly scope: string
    readonly upTo: number
    readonly runs: readonly { readonly before: number }[]
  }
}
type Anchors = { readonly [Of in Space]?: number }

const fresh = (scope: string): Place => ({ scope, upTo: 0, above: [], beneath: new Map() })

function rootPlaces({ memory, workspace }: RecordedPlaces): Places {
  const place = (recorded: { readonly scope: string; readonly upTo: number }): Place => ({
    ...fresh(recorded.scope),
    upTo: recorded.upTo,
  })
  return { ...(memory ? { memory: place(memory) } : {}), ...(workspace ? { workspace: place(workspace) } : {}) }
}

function moved(places: Places, anchors: Anchors): Places {
  const place = (space: Space) => {
    const before = places[space]
    return before && { ...before, upTo: Math.max(before.upTo, anchors[space] ?? 0) }
  }
  const [memory, workspace] = [place('memory'), place('workspace')]
  return { ...(memory ? { memory } : {}), ...(workspace ? { workspace } : {}) }
}

const inFork = ({ runId }: ModelRun, entry: Entry): Entry => ({ ...entry, scope: `fork:${runId}` })
