import { expect } from 'vitest'
import { noQuotas } from '../../../src/core/quotas.js'
import { sha256 } from '../../../src/digest.js'
import { createMemoryDesk, type MemoryAdmin } from '../../../src/engine/journal/memory-desk.js'
import { createRunDesk } from '../../../src/engine/journal/run-desk.js'
import { createWorkspaceDesk, type WorkspaceAdmin } from '../../../src/engine/journal/workspace-desk.js'
import type { Commit, CommitResult } from '../../../src/engine/ports/event-log.js'
import type { Content, OutsideResult, OutsideWrite } from '../../../src/engine/ports/journal.js'
import type { Store } from '../../../src/engine/ports/store.js'
import type { Engine } from '../../../src/engine/runtime/engine.js'
import { glassHostVault, glassVault } from '../../../src/testing/agents.js'
import { DESK_SETTINGS, engineRig, type Rig } from '../../../src/testing/engine-rig.js'
import { standardsDouble } from '../../../src/testing/verification.js'
import { sketch } from '../../../src/testing/workflow.js'
import { NO_TURNS } from '../../../src/timing/turns.js'
import { until } from '../../support/host-process.js'
import { cast } from './cast.js'
import type { Counts } from './counts.js'
import { type Arrangement, JournalModel, type Seen, type Space } from './model.js'
import { arrangementOf, gatesOf, OTHER_RUN, type Other, REF, type Story, workflowsOf } from './story.js'

const PLAIN = { text: (text: string) => text }
const DEADLINE_MS = 60_000

/** A host on a store whose every write the model hears of, in the order in which they are durable. */
export class World {
  readonly rig: Rig
  readonly model: JournalModel
  readonly problems: string[] = []
  engine!: Engine
  memory!: MemoryAdmin
  workspace!: WorkspaceAdmin
  readonly #arrangement: Arrangement
  /** Who publishes in the same scopes waits for each other, so that the model knows who was first. */
  readonly #lines = new Map<string, Promise<unknown>>()
  #others = 0
  #committing = 0

  constructor(
    store: Store,
    private readonly told: Story,
    readonly seen: Counts,
    readonly tenants: readonly string[] = ['t1'],
  ) {
    this.#arrangement = arrangementOf(told)
    this.model = new JournalModel(this.#arrangement)
    this.rig = engineRig(this.#heard(store))
  }

  async boot(): Promise<void> {
    const { store } = this.rig
    const desk = createRunDesk({ turns: NO_TURNS, store, vault: glassVault, redact: PLAIN, settings: DESK_SETTINGS })
    const agents = cast(this.told, desk, (runId, nodeId, space, looked) => this.#judge(runId, nodeId, space, looked))
    // The clock of this test runs ahead of that of the database, so a lease must outlast all of it.
    const options = { leaseMs: 365 * 24 * 3_600_000, maxActiveRuns: 100_000, cachedRuns: 2_000 }
    this.engine = await this.rig.host({ ...options, agents, standards: standardsDouble(gatesOf(this.#arrangement)) })
    for (const tenant of this.tenants)
      for (const workflow of workflowsOf(this.told, tenant)) {
        const answer = await this.engine.putWorkflow(tenant, sketch(workflow))
        if (!answer.ok) throw new Error(JSON.stringify(answer))
      }
    const deps = {
      store,
      clock: this.rig.clock,
      ids: this.rig.ids,
      turns: NO_TURNS,
      vault: glassVault,
      redact: PLAIN,
      plans: () => this.engine.plans,
    }
    this.memory = createMemoryDesk(deps, { fullText: true })
    this.workspace = createWorkspaceDesk(
      { ...deps, usage: store, quotas: noQuotas },
      { maxFileBytes: 1_000_000, maxFiles: 1_000 },
    )
  }

  async start(tenant: string, workflowId: string): Promise<string> {
    const { told } = this
    const answer = await this.engine.create({
      tenant,
      principal: 'p',
      workflowId,
      inputs: {},
      transport: 'rest',
      ...(told.scope === undefined ? {} : { scopeId: told.scope }),
    })
    if (!answer.ok) throw new Error(JSON.stringify(answer))
    return answer.value.runId
  }

  /** Time passes until every run has ended; `meanwhile` after each bit of it. */
  async ended(what: string, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
    let ms = 50
    await until(
      what,
      async () => {
        const open = (await this.rig.store.listRuns({ tenant: null, limit: 100_000 })).filter(
          ({ endedAt }) => endedAt === null,
        )
        // What is durable may be read before the model has heard of it.
        if (open.length === 0) return this.#committing === 0
        await this.rig.clock.advance(ms)
        ms = Math.min(ms * 2, 2_000)
        await meanwhile()
        return false
      },
      DEADLINE_MS,
    )
  }

  async act(tenant: string, other: Other, scope: string): Promise<void> {
    this.#others += 1
    const text = 'word' in other ? `${other.word} by other ${this.#others} of ${tenant}` : ''
    switch (other.by) {
      case 'key':
        return this.#remember(tenant, scope, other.key, text, other.ttl)
      case 'run':
        if (this.told.scope !== undefined) await this.start(tenant, OTHER_RUN(other.key))
        return
      case 'forget':
        await this.memory.forget(tenant, scope, { ref: REF, id: other.key }, false)
        return
      case 'file': {
        const file = {
          path: other.path,
          file: { whole: Buffer.from(text) },
          contentType: 'text/markdown',
          ifMatch: null,
        }
        expect((await this.workspace.write(tenant, file)).ok).toBe(true)
        return
      }
      case 'removal':
        await this.workspace.remove(tenant, other.path, null)
        return
      case 'consolidation':
        await this.memory.consolidate(tenant, scope, REF)
        return
      case 'time':
        return this.rig.clock.advance(6_000)
    }
  }

  async #remember(tenant: string, scope: string, id: string, text: string, ttl: number | undefined): Promise<void> {
    const body = Buffer.from(text)
    const content = { tenant, contentId: this.rig.ids.unique(), runId: null, body, text, sealed: false, pieces: 0 }
    const at = this.rig.clock.now()
    const write: OutsideWrite = {
      space: 'memory',
      scope,
      ref: REF,
      id,
      op: 'put',
      tags: [text.split(' ')[0] ?? ''],
      at,
      expiresAt: ttl === undefined ? null : at + ttl * 1_000,
      content,
      hash: sha256(body),
      contentType: null,
      ifMatch: null,
    }
    expect((await this.rig.store.writeOutside(tenant, [write], null)).kind).toBe('written')
  }

  /** What was read at a node is what the model says that is to be seen from there. */
  #judge(runId: string, nodeId: string, space: Space, looked: ReadonlyMap<string, string>): void {
    const run = this.model.runs.get(runId)
    const seen = this.model.seenFrom(runId, space, nodeId)
    const expected = textsOf(seen ?? new Map())
    const isFork = this.#isOfFork(runId)
    this.seen[isFork ? 'reads in forks' : 'reads in sources'] += 1
    if (isFork && expected.size > 0) this.seen['reads in forks that found something'] += 1
    if (!sameTexts(expected, looked))
      this.problems.push(
        `${runId} (${run?.workflowId}, ${JSON.stringify(run?.fork ?? null)}) read ${space} at ${nodeId}: ` +
          `${JSON.stringify([...looked])}, not ${JSON.stringify([...expected])}`,
      )
  }

  #isOfFork(runId: string): boolean {
    for (let run = this.model.runs.get(runId); run; run = this.model.runs.get(run.parent?.runId ?? ''))
      if (run.fork) return true
    return false
  }

  #heard(store: Store): Store {
    const heard: Partial<Store> = {
      keepContent: async content => {
        this.#keep(content)
        await store.keepContent(content)
      },
      commit: commit => this.#inLine(this.#lineOf(commit), () => this.#commit(store, commit)),
      writeOutside: (tenant, writes, event) =>
        this.#inLine('', async (): Promise<OutsideResult> => {
          for (const { content } of writes) if (content) this.#keep(content)
          const result = await store.writeOutside(tenant, writes, event)
          if (result.kind === 'written') this.model.hearOutside(tenant, writes)
          return result
        }),
    }
    return new Proxy(store, {
      get: (target, name) => {
        const own = Reflect.get(heard, name)
        if (own !== undefined) return own
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  #keep({ tenant, contentId, body, sealed }: Content): void {
    const bytes = sealed ? glassHostVault.openBytes(tenant, contentId, body) : Buffer.from(body)
    this.model.keep(tenant, contentId, bytes.toString('utf8'))
  }

  async #commit(store: Store, commit: Commit): Promise<CommitResult> {
    this.#committing += 1
    try {
      return await this.#committed(store, commit)
    } finally {
      this.#committing -= 1
    }
  }

  async #committed(store: Store, commit: Commit): Promise<CommitResult> {
    const result = await store.commit(commit)
    if (result.kind !== 'committed') return result
    this.model.hear(commit)
    for (const { runId, events } of commit.streams)
      for (const { type, nodeId, payload } of events)
        if (type === 'node.completed' && nodeId !== null) this.#judgeNode(runId, nodeId, payload)
    return result
  }

  /** What a node that reads memory gives on. */
  #judgeNode(runId: string, nodeId: string, payload: string): void {
    const run = this.model.runs.get(runId)
    if (run === undefined || run.fork?.mode === 'replay') return
    const step = this.stepOf(run.workflowId, nodeId)
    if (step?.is !== 'get') return
    const { outputs } = JSON.parse(payload) as {
      outputs: { entry?: Shown | null; entries?: readonly Shown[] }
    }
    const shown = outputs.entries ?? (outputs.entry ? [outputs.entry] : [])
    const seen = this.model.givenBy(runId, nodeId) ?? new Map()
    const meant = new Map(
      [...seen].filter(([key, { text }]) => {
        if (step.by === 'id') return key === `${REF}/${step.key}`
        return step.by === 'list' || (text ?? '').split(' ').includes(step.word)
      }),
    )
    const isFork = this.#isOfFork(runId)
    this.seen[isFork ? 'reads in forks' : 'reads in sources'] += 1
    if (isFork && meant.size > 0) this.seen['reads in forks that found something'] += 1
    const looked = new Map(shown.map(({ ref, id, content }) => [`${ref}/${id}`, content]))
    if (!sameTexts(textsOf(meant), looked))
      this.problems.push(
        `${runId} (${run.workflowId}, ${JSON.stringify(run.fork ?? null)}) was given ${JSON.stringify([...looked])} ` +
          `by ${nodeId} (${step.by}), not ${JSON.stringify([...textsOf(meant)])}`,
      )
  }

  stepOf(workflowId: string, nodeId: string) {
    const { root, children, shape } = this.told
    const flow = workflowId === 'w' ? (shape === 'loop' ? undefined : root) : children[Number(workflowId.slice(1))]
    return flow?.steps[Number(nodeId.slice(1))]
  }

  /** Families of forks have scopes of their own; all others share. */
  #lineOf({ streams }: Commit): string {
    let runId = streams[0]?.runId ?? ''
    for (;;) {
      const create = streams.find(stream => stream.runId === runId)?.create
      if (create?.fork) return runId
      const run = this.model.runs.get(runId)
      if (run?.fork) return runId
      const parent = create?.parentRunId ?? run?.parent?.runId
      if (parent === undefined || parent === null) return ''
      runId = parent
    }
  }

  #inLine<T>(line: string, work: () => Promise<T>): Promise<T> {
    const before = this.#lines.get(line) ?? Promise.resolve()
    const done = before.then(work, work)
    this.#lines.set(line, done)
    return done
  }
}

type Shown = { readonly ref: string; readonly id: string; readonly content: string }

export const textsOf = (seen: Seen): Map<string, string> =>
  new Map([...seen].map(([key, { text }]) => [key, text ?? '']))

export const sameTexts = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
  a.size === b.size && [...a].every(([key, text]) => b.get(key) === text)
