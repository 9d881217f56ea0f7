import { expect } from 'vitest'
import type { Fork } from '../../../src/core/replay/events.js'
import type { Performer } from '../../../src/engine/ports/performer.js'
import type { RunRow } from '../../../src/engine/ports/run-index.js'
import type { Store } from '../../../src/engine/ports/store.js'
import type { Engine } from '../../../src/engine/runtime/engine.js'
import { engineRig, type Rig } from '../../../src/testing/engine-rig.js'
import { answerTo, asksOf, peopleFor } from '../../support/answers.js'
import { decider } from '../../support/decider.mjs'
import { expectEqualReplay, expectSharedPrefix, isFork } from '../../support/fork-checks.js'
import { until } from '../../support/host-process.js'
import { findingsOf, runsIn } from '../../support/stored-runs.js'

/** Each of these must have happened at least once on every store. */
export const forkCounts = () => ({
  workflows: 0,
  'replays of a run that goes on': 0,
  'branches of a run that goes on': 0,
  'replays of an ended run': 0,
  'branches of an ended run': 0,
  'sources that were appended to meanwhile': 0,
  'replays equal to their source': 0,
  'hand-offs that were told again': 0,
  'calls that were told again': 0,
})

export type ForkCounts = ReturnType<typeof forkCounts>

const MODES = { replay: 'replays', branch: 'branches' } as const
const DEADLINE_MS = 60_000

/** One run, held by one host and forked by another, at every sequence there is. */
export class ForkedEverywhere {
  readonly #rig: Rig
  #holder!: Engine
  #forker!: Engine
  /** Runs for which somebody was called. */
  readonly #callers = new Set<string>()

  constructor(
    private readonly store: Store,
    private readonly seen: ForkCounts,
    /** Only every so manieth sequence. */
    private readonly every: number,
  ) {
    this.#rig = engineRig(store)
  }

  async tell(definitions: readonly object[], workflowId: string): Promise<void> {
    // The clock of this test runs ahead of that of the database, so a lease must outlast all of it.
    const options = {
      store: this.#watched(),
      leaseMs: 30 * 24 * 3_600_000,
      maxActiveRuns: 100_000,
      performers: new Map<string, Performer>([
        ['conformance.side-effect', { perform: async () => ({ ok: true, output: 1 }) }],
        ['decider', decider],
      ]),
    }
    this.#holder = await this.#rig.host({ ...options, hostName: 'holder' })
    this.#forker = await this.#rig.host({ ...options, hostName: 'forker' })
    for (const definition of definitions) await this.#holder.putWorkflow('t1', definition)
    const request = { tenant: 't1', principal: 'p', workflowId, inputs: {}, transport: 'rest' } as const
    const created = await this.#holder.create(request)
    if (!created.ok) throw new Error(`${workflowId} was not started: ${JSON.stringify(created)}`)
    await this.#forkWhileItGrows(created.value.runId)
    await this.#forkWhatEnded(created.value.runId)
    await this.#endAll(workflowId)
    await this.#check()
    await this.#holder.stop(0)
    await this.#forker.stop(0)
    this.seen.workflows += 1
  }

  async #forkWhileItGrows(runId: string): Promise<void> {
    for (let from = 0; ; ) {
      const source = await this.#row(runId)
      if (source.endedAt !== null) return
      const before = await this.store.readEvents(runId, 0, source.length)
      await Promise.all([this.#forkAt(runId, from, source.length, 'run that goes on'), this.#goOn(source)])
      expect(await this.store.readEvents(runId, 0, source.length)).toEqual(before)
      this.seen['sources that were appended to meanwhile'] += 1
      from = source.length + 1
    }
  }

  /** The run, and the children it had. */
  async #forkWhatEnded(root: string): Promise<void> {
    const rows = await this.#rows()
    const familyOf = (id: string): RunRow[] => rows.filter(row => row.parentRunId === id).flatMap(withFamily)
    const withFamily = (row: RunRow): RunRow[] => [row, ...familyOf(row.runId)]
    for (const source of withFamily(await this.#row(root))) {
      expect(source.endedAt, source.runId).not.toBeNull()
      const { runId, length } = source
      const before = await this.store.readEvents(runId, 0)
      await this.#forkAt(runId, 0, length, 'ended run')
      expect(await this.store.readEvents(runId, 0)).toEqual(before)
      expect(await this.#row(runId)).toEqual(source)
    }
  }

  async #forkAt(runId: string, from: number, to: number, what: 'run that goes on' | 'ended run'): Promise<void> {
    for (let fromSeq = from; fromSeq <= to; fromSeq += 1) {
      if (fromSeq % this.every !== 0) continue
      for (const mode of ['replay', 'branch'] as const satisfies readonly Fork['mode'][]) {
        const answer = await this.#forker.fork({ tenant: 't1', runId, mode, fromSeq })
        expect(answer.ok, `${mode} of ${runId} from ${fromSeq}: ${JSON.stringify(answer)}`).toBe(true)
        this.seen[`${MODES[mode]} of ${what === 'ended run' ? 'an' : 'a'} ${what}` as keyof ForkCounts] += 1
      }
    }
  }

  /** Time passes and questions are answered until the run's log has grown. */
  async #goOn({ runId, length, workflowId }: RunRow): Promise<void> {
    await this.#passing(`run ${runId} of ${workflowId} to go on`, async () => {
      // A child that asks keeps its parent waiting.
      for (const row of await this.#rows()) if (!isFork(row)) await this.#answer(this.#holder, row.runId)
      return (await this.#row(runId)).length > length
    })
  }

  async #endAll(workflowId: string): Promise<void> {
    await this.#passing(`every fork of ${workflowId} to end`, async () => {
      const open = (await this.#rows()).filter(({ endedAt }) => endedAt === null)
      for (const { runId } of open) await this.#answer(this.#forker, runId)
      return open.length === 0
    })
  }

  async #answer(engine: Engine, runId: string): Promise<void> {
    for (const { nodeId, asked } of await asksOf(engine, 't1', runId)) {
      const resolve = { type: 'resolve', nodeId, value: answerTo(asked, 'accept'), via: 'key' } as const
      for (const by of peopleFor(asked)) await engine.command('t1', runId, { ...resolve, by })
    }
  }

  /** Waits for a condition while the manual clock goes on, faster and faster: some runs sleep for long. */
  async #passing(what: string, condition: () => Promise<boolean>): Promise<void> {
    let ms = 5
    const probe = async () => {
      if (await condition()) return true
      await this.#rig.clock.advance(ms)
      ms = Math.min(ms * 2, 20_000)
      return false
    }
    await until(what, probe, DEADLINE_MS)
  }

  #watched(): Store {
    return new Proxy(this.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'claimEffect') return value.bind(target)
        return (...parameters: Parameters<Store['claimEffect']>) => {
          this.#callers.add(parameters[0].runId)
          return value.apply(target, parameters)
        }
      },
    })
  }

  async #check(): Promise<void> {
    const rows = await this.#rows()
    const parents = new Set(rows.map(({ parentRunId }) => parentRunId))
    for (const row of rows.filter(isFork)) {
      await expectSharedPrefix(this.store, row)
      if (row.fork.mode === 'replay') {
        expect(this.#callers.has(row.runId), `${row.runId} called somebody`).toBe(false)
        expect(parents.has(row.runId), `${row.runId} has children`).toBe(false)
        if (this.#callers.has(row.fork.sourceRunId)) this.seen['calls that were told again'] += 1
        if (parents.has(row.fork.sourceRunId)) this.seen['hand-offs that were told again'] += 1
      }
      const verdict = await expectEqualReplay(this.store, row)
      if (verdict) expect(verdict, row.runId).toBe('equal')
      if (verdict) this.seen['replays equal to their source'] += 1
    }
    expect(findingsOf(await runsIn(this.store))).toEqual([])
  }

  #rows(): Promise<RunRow[]> {
    return this.store.listRuns({ tenant: 't1', limit: 100_000 })
  }

  async #row(runId: string): Promise<RunRow> {
    return (await this.store.readRun('t1', runId))!
  }
}
