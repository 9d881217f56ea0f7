import { expect } from 'vitest'
import type { StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Counts } from './counts.js'
import type { ModelRun, Space } from './model.js'
import { arrangementOf, ROOT, type Story } from './story.js'
import { sameTexts, textsOf, type World } from './world.js'

/** A run and its family, forked everywhere once others have changed what they saw. */
export class ForkedStory {
  root = ''

  constructor(
    private readonly world: World,
    private readonly told: Story,
    private readonly seen: Counts,
    /** Of each run at most so many events are cut at, evenly spread; those of a run that is no longer than that, all. */
    private readonly cuts: number,
    private readonly tenant = 't1',
  ) {}

  async tell(): Promise<void> {
    await this.happen()
    await this.fork()
    await this.check()
    this.seen.stories += 1
  }

  /** The run, and what others do before, meanwhile and afterwards. */
  async happen(): Promise<void> {
    const { world } = this
    this.root = await this.#source()
    for (const other of this.told.after) await world.act(this.tenant, other, this.#scopeOf(this.root))
    await world.ended('others to end')
  }

  async fork(): Promise<void> {
    const { world } = this
    await this.#forkAll(this.family, this.cuts)
    await world.ended('every fork to end')
    // Those that share the most, the least, and what is between.
    const some = spread(this.forks.length - 1, 3).flatMap(i => this.forks[i] ?? [])
    await this.#forkAll(some, 5)
    await world.ended('every fork of a fork to end')
  }

  async check(): Promise<void> {
    expect(this.world.problems).toEqual([])
    await this.lookBack()
    await this.#checkTold()
  }

  /** The run and those that worked for it. */
  get family(): readonly ModelRun[] {
    return this.#runs().filter(run => this.#isWork(run) && this.#rootOf(run) === this.root)
  }

  get forks(): readonly ModelRun[] {
    return this.#runs().filter(({ fork }) => fork !== undefined)
  }

  /** What every run could see is shown today as it was, however often it is asked for. */
  async lookBack(): Promise<void> {
    for (const run of this.family) await this.#lookBack(run, 2 * this.cuts)
    for (const [i, run] of this.forks.entries())
      if (run.fork?.mode === 'branch' || i % 4 === 0) await this.#lookBack(run, 1)
  }

  #runs = (): readonly ModelRun[] => [...this.world.model.runs.values()].filter(({ tenant }) => tenant === this.tenant)

  async #source(): Promise<string> {
    const { world, told } = this
    for (const other of told.before) await world.act(this.tenant, other, told.scope ?? 'nowhere')
    await world.ended('others to end')
    const heads = {
      memory: world.model.head(this.tenant, 'memory', told.scope ?? ''),
      workspace: world.model.head(this.tenant, 'workspace', ''),
    }
    const root = await world.start(this.tenant, ROOT)
    const [first] = await this.world.rig.store.readEvents(root, 0, 1)
    const { journal } = JSON.parse(first?.secret ?? '{}') as { journal?: { [Of in Space]: { upTo: number } } }
    if (journal) expect({ memory: journal.memory.upTo, workspace: journal.workspace.upTo }).toEqual(heads)
    const during = [...told.during]
    await world.ended(`run ${root} to end`, async () => {
      const other = during.shift()
      if (other) await world.act(this.tenant, other, this.#scopeOf(root))
    })
    return root
  }

  #isGated = (workflowId: string): boolean => (arrangementOf(this.told).gates[workflowId] ?? []).length > 0

  #scopeOf = (root: string): string => this.told.scope ?? `run:${root}`

  #isWork = ({ workflowId }: ModelRun): boolean => workflowId === ROOT || /^c\d$/.test(workflowId)

  #rootOf({ runId, parent, fork }: ModelRun): string | undefined {
    if (fork) return undefined
    const above = parent && this.world.model.runs.get(parent.runId)
    return above ? this.#rootOf(above) : runId
  }

  async #forkAll(sources: readonly ModelRun[], cuts: number): Promise<void> {
    for (const { runId, workflowId, length, parent, fork } of sources) {
      for (const fromSeq of spread(length, cuts)) {
        for (const mode of ['branch', 'replay'] as const) {
          const answer = await this.world.engine.fork({ tenant: this.tenant, runId, mode, fromSeq })
          // What its source's source held at a gate there is nobody's to take over.
          const mayHold = mode === 'branch' && fork?.mode === 'replay' && this.#isGated(workflowId)
          if (!answer.ok && mayHold && 'refusal' in answer && answer.refusal.details?.sourceRunId !== undefined) {
            expect(answer.refusal.message).toContain('branch off run')
            this.seen['branches of a replay that were sent to its source'] += 1
            continue
          }
          if (!answer.ok) throw new Error(`no ${mode} of ${runId} from ${fromSeq}: ${JSON.stringify(answer)}`)
          this.seen[mode === 'branch' ? 'branches' : 'replays'] += 1
          if (fork) this.seen[`forks of a ${fork.mode}`] += 1
        }
      }
      if (parent) this.seen['children that were forked'] += 1
      if (parent && this.told.children[Number(workflowId.slice(1))]?.isolated) this.seen['isolated children'] += 1
    }
  }

  /** Each moment of a run, or some, as the desks show it today. */
  async #lookBack(run: ModelRun, most: number): Promise<void> {
    for (const seq of spread(run.length, most)) {
      if (seq === 0) continue
      await this.#lookAt(run, 'memory', seq)
      await this.#lookAt(run, 'workspace', seq)
    }
  }

  async #lookAt({ runId }: ModelRun, space: Space, seq: number): Promise<void> {
    const { world, seen } = this
    const at = { runId, seq }
    const meant = world.model.seenAt(runId, space, seq)
    const found =
      space === 'memory'
        ? await world.memory.list(this.tenant, { at }, { limit: 100 })
        : await world.workspace.list(this.tenant, { at, limit: 100 })
    if (meant === undefined) return expect(found.ok, `${runId}:${seq} ${space}`).toBe(false)
    if (!found.ok) throw new Error(`${runId}:${seq} ${space}: ${found.refusal.message}`)
    const texts = new Map<string, string>()
    for (const one of found.value) {
      if ('row' in one) texts.set(`${one.row.ref}/${one.row.id}`, one.content ?? '')
      else {
        const file = await world.workspace.read(this.tenant, one.id, { at })
        if (file.ok) texts.set(`${one.ref}/${one.id}`, String(file.value.whole))
        seen['files at moments'] += 1
      }
    }
    seen['reads of moments'] += 1
    const expected = textsOf(meant)
    if (expected.size > 0) seen['moments at which something was there'] += 1
    if (!sameTexts(expected, textsOf(world.model.seenAt(runId, space, Number.MAX_SAFE_INTEGER) ?? new Map())))
      seen['moments that others have changed since'] += 1
    expect(texts, `${space} at ${runId}:${seq}`).toEqual(expected)
  }

  /** R-MEM-21: what a replay tells of writes is what its source told; a branch names its writes after itself. */
  async #checkTold(): Promise<void> {
    for (const { runId, fork } of this.#runs()) {
      const log = await this.world.rig.store.readEvents(runId, 0)
      for (const { type, payload } of log)
        if (type === 'agent.verified')
          this.seen[
            (JSON.parse(payload) as { verdict?: string }).verdict === 'pass'
              ? 'gates that passed'
              : 'gates that did not'
          ] += 1
      if (fork?.mode === 'replay') {
        const source = await this.world.rig.store.readEvents(fork.sourceRunId, 0)
        const ids = (events: typeof log) =>
          events.flatMap(({ type, payload }) => (type === 'memory.written' ? payload : []))
        expect(ids(log)).toEqual(ids(source))
        if (ids(log).length > 0) this.seen['replays that told the same ids'] += 1
      }
      if (fork?.mode === 'branch') {
        const source = new Set(unnamedIn(await this.world.rig.store.readEvents(fork.sourceRunId, 0)))
        const own = unnamedIn(log.filter(({ sequence }) => sequence >= fork.fromSeq))
        expect(own.filter(id => source.has(id))).toEqual([])
        this.seen['ids that branches made'] += own.length
      }
    }
  }
}

/** Names of entries for which the workflow had none. */
const unnamedIn = (events: readonly StoredEvent[]): string[] =>
  events.flatMap(({ type, payload }) => {
    const { memoryId } = JSON.parse(payload) as { memoryId?: string }
    return type === 'memory.written' && memoryId !== undefined && memoryId.length > 1 ? memoryId : []
  })

/** At most so many of the numbers up to `last`, which is always one of them. */
const spread = (last: number, most: number): number[] => {
  const step = Math.max(1, last / most)
  const count = Math.floor(last / step)
  return [...new Set(Array.from({ length: count + 1 }, (_, i) => Math.round(last - i * step)))].reverse()
}
