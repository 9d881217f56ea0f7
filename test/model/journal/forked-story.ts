import { expect } from 'vitest'
import type { StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { findingsOf, runsIn } from '../../support/stored-runs.js'
import type { Counts } from './counts.js'
import type { ModelRun, Space } from './model.js'
import { arrangementOf, ROOT, type Story } from './story.js'
import { sameTexts, textsOf, World } from './world.js'

const TENANT = 't1'

/** A run and its family, forked everywhere once others have changed what they saw. */
export class ForkedStory {
  readonly world: World

  constructor(
    private readonly store: Store,
    private readonly told: Story,
    private readonly seen: Counts,
    /** Of each run at most so many events are cut at, evenly spread; those of a run that is no longer than that, all. */
    private readonly cuts: number,
  ) {
    this.world = new World(store, told, seen)
  }

  async tell(): Promise<void> {
    const { world } = this
    await world.boot()
    const root = await this.#source()
    for (const other of this.told.after) await world.act(other, this.#scopeOf(root))
    await world.ended('others to end')
    const family = [...world.model.runs.values()].filter(run => this.#isWork(run) && this.#rootOf(run) === root)
    await this.#forkAll(family, this.cuts)
    await world.ended('every fork to end')
    const forks = [...world.model.runs.values()].filter(({ fork }) => fork !== undefined)
    // Those that share the most, the least, and what is between.
    const some = spread(forks.length - 1, 3).flatMap(i => forks[i] ?? [])
    await this.#forkAll(some, 5)
    await world.ended('every fork of a fork to end')
    expect(world.problems).toEqual([])
    for (const run of family) await this.#lookBack(run, 4 * this.cuts)
    for (const run of world.model.runs.values()) if (run.fork) await this.#lookBack(run, 3)
    await this.#checkTold()
    expect(findingsOf(await runsIn(this.store))).toEqual([])
    this.seen.stories += 1
    await world.engine.stop(0)
  }

  async #source(): Promise<string> {
    const { world, told } = this
    for (const other of told.before) await world.act(other, told.scope ?? 'nowhere')
    await world.ended('others to end')
    const heads = {
      memory: world.model.head(TENANT, 'memory', told.scope ?? ''),
      workspace: world.model.head(TENANT, 'workspace', ''),
    }
    const root = await world.start(ROOT)
    const [first] = await this.store.readEvents(root, 0, 1)
    const { journal } = JSON.parse(first?.secret ?? '{}') as { journal?: { [Of in Space]: { upTo: number } } }
    if (journal) expect({ memory: journal.memory.upTo, workspace: journal.workspace.upTo }).toEqual(heads)
    const during = [...told.during]
    await world.ended(`run ${root} to end`, async () => {
      const other = during.shift()
      if (other) await world.act(other, this.#scopeOf(root))
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
          // What its source's source held at a gate there is nobody's to take over.
          if (mode === 'branch' && fork?.mode === 'replay' && this.#isGated(workflowId)) continue
          const answer = await this.world.engine.fork({ tenant: TENANT, runId, mode, fromSeq })
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
        ? await world.memory.list(TENANT, { at }, { limit: 100 })
        : await world.workspace.list(TENANT, { at, limit: 100 })
    if (meant === undefined) return expect(found.ok, `${runId}:${seq} ${space}`).toBe(false)
    if (!found.ok) throw new Error(`${runId}:${seq} ${space}: ${found.refusal.message}`)
    const texts = new Map<string, string>()
    for (const one of found.value) {
      if ('row' in one) texts.set(`${one.row.ref}/${one.row.id}`, one.content ?? '')
      else {
        const file = await world.workspace.read(TENANT, one.id, { at })
        if (file.ok) texts.set(`${one.ref}/${one.id}`, file.value.body.toString('utf8'))
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
    for (const { runId, fork } of this.world.model.runs.values()) {
      const log = await this.store.readEvents(runId, 0)
      for (const { type, payload } of log)
        if (type === 'agent.verified')
          this.seen[
            (JSON.parse(payload) as { verdict?: string }).verdict === 'pass'
              ? 'gates that passed'
              : 'gates that did not'
          ] += 1
      if (fork?.mode === 'replay') {
        const source = await this.store.readEvents(fork.sourceRunId, 0)
        const ids = (events: typeof log) =>
          events.flatMap(({ type, payload }) => (type === 'memory.written' ? payload : []))
        expect(ids(log)).toEqual(ids(source))
        if (ids(log).length > 0) this.seen['replays that told the same ids'] += 1
      }
      if (fork?.mode === 'branch') {
        const source = new Set(unnamedIn(await this.store.readEvents(fork.sourceRunId, 0)))
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
