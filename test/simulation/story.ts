import { expect } from 'vitest'
import type { OpenInterrupt } from '../../src/core/interrupt/decide.js'
import type { StoredEvent } from '../../src/engine/ports/event-log.js'
import type { RunRow } from '../../src/engine/ports/run-index.js'
import type { CheckedRun } from '../../src/log-check/checked.js'
import { engineRig, type Rig, register } from '../../src/testing/engine-rig.js'
import { settled } from '../../src/testing/manual-clock.js'
import type { Sketch } from '../../src/testing/workflow.js'
import { answerTo, asksOf, peopleFor } from '../support/answers.js'
import { expectEqualReplay, expectSharedPrefix, isFork } from '../support/fork-checks.js'
import { runsIn } from '../support/stored-runs.js'
import type { Counts } from './counts.js'
import type { Answer, ForkAt, Happening } from './happenings.js'
import { Process, unlessUnavailable } from './process.js'
import { CHILDREN } from './random-workflow.js'

type Asking = { readonly runId: string; readonly open: OpenInterrupt }

const COMMANDS = {
  pause: { type: 'pause', drainPolicy: 'drain-current-node' },
  'pause-now': { type: 'pause', drainPolicy: 'immediate' },
  resume: { type: 'resume' },
  cancel: { type: 'cancel', by: 'p' },
} as const

/** An orchestrator may want one more. */
const MOST_TURNS = 3

/** What events say about hand-offs, by what they are counted as. */
const TOLD: { readonly [saying: string]: keyof Counts } = {
  'runOrchestrator.decided': 'decisions',
  'core.workflowChain.confidence-escalated': 'decisions in doubt',
  'cap.breached loop-iterations': 'loop bounds reached',
  'dispatch.succeeded': 'hand-offs',
  'dispatch.failed': 'hand-offs that failed',
  'child.failed': 'workers that failed',
  'child.cancelled': 'workers that were cancelled',
  'output.harvested': 'results merged',
  'approval.requested sub-run-output': 'merges that were asked for',
}

/** One workflow, what happens while it runs, and what must be true when all of it is over. */
export class Story {
  readonly #rig: Rig = engineRig()
  readonly #processes: Process[] = []
  /** Everything that was ever seen to be asked. */
  readonly #asked: Asking[] = []
  /** Logs as they were when somebody forked them. */
  readonly #kept: { readonly runId: string; readonly events: readonly StoredEvent[] }[] = []

  constructor(private readonly seen: Counts) {}

  /** All logs it leaves behind; fails when one of its promises is broken. */
  async tell(workflow: Sketch, happenings: readonly Happening[]): Promise<CheckedRun[]> {
    await this.#boot()
    await register(this.#engine, ...CHILDREN, workflow)
    const request = { tenant: 't1', principal: 'p', workflowId: 'random', inputs: {}, transport: 'rest' } as const
    const created = await this.#engine.create({ ...request, configurable: { maxLoopIterations: MOST_TURNS } })
    if (!created.ok) throw new Error('not created')
    for (const happening of happenings) {
      await this.#happen(happening)
      await settled()
    }
    await this.#end()
    await this.#checkForks()
    await this.#checkKept()
    this.#countRepeated()
    const runs = await runsIn(this.#rig.store)
    this.#countTold(runs)
    return runs
  }

  get #process(): Process {
    return this.#processes.at(-1)!
  }

  get #engine() {
    return this.#process.engine
  }

  async #boot(): Promise<void> {
    this.#processes.push(await new Process(this.#rig, this.seen).boot())
  }

  /** Oldest first. */
  async #rows(): Promise<RunRow[]> {
    return (await this.#rig.store.listRuns({ tenant: 't1', limit: 1_000 })).reverse()
  }

  async #happen(happening: Happening): Promise<void> {
    switch (happening.kind) {
      case 'time':
        this.seen['time passed'] += 1
        return this.#rig.clock.advance(happening.ms)
      case 'crash':
      case 'zombie':
        this.seen[happening.kind] += 1
        this.#process.dead = happening.kind === 'crash'
        return this.#boot()
      case 'refuse-commit':
      case 'lose-answer':
        this.#process.next = happening.kind
        return
      case 'answer':
        return this.#answer(happening)
      case 'fork':
        return this.#fork(happening)
      default: {
        this.seen[happening.kind] += 1
        const rows = await this.#rows()
        return this.#command(rows[happening.pick % rows.length]!.runId, happening.kind)
      }
    }
  }

  async #command(runId: string, what: keyof typeof COMMANDS): Promise<void> {
    await unlessUnavailable(this.#engine.command('t1', runId, COMMANDS[what]))
  }

  async #asks(): Promise<Asking[]> {
    const asks: Asking[] = []
    for (const { runId, endedAt } of await this.#rows())
      if (endedAt === null) for (const open of await asksOf(this.#engine, 't1', runId)) asks.push({ runId, open })
    return asks
  }

  async #answer({ word, by, pick, late, twice }: Answer): Promise<void> {
    const open = await this.#asks()
    this.#asked.push(...open)
    const among = late ? this.#asked : open
    const meant = among[pick % among.length]
    if (meant === undefined) return
    this.seen[`answer ${word}`] += 1
    if ((await this.#rig.store.readRun('t1', meant.runId))?.endedAt !== null) this.seen['answers after the end'] += 1
    await this.#say(meant, word, by)
    if (!twice) return
    this.seen['answers repeated'] += 1
    await this.#say(meant, word, by)
  }

  async #say({ runId, open: { nodeId, asked } }: Asking, word: Answer['word'], by: string): Promise<void> {
    const value = answerTo(asked, word)
    const resolve = { type: 'resolve', nodeId, value, by, via: 'key' } as const
    const answer = await unlessUnavailable(this.#engine.command('t1', runId, resolve))
    if (answer) this.seen[answer.ok ? 'answers taken' : 'answers refused'] += 1
  }

  async #fork({ mode, pick, at, ms }: ForkAt): Promise<void> {
    const rows = await this.#rows()
    const source = rows[pick % rows.length]!
    const { runId } = source
    this.#kept.push({ runId, events: await this.#rig.store.readEvents(runId, 0) })
    this.#process.slowReadMs = ms
    const forking = unlessUnavailable(
      this.#engine.fork({ tenant: 't1', runId, mode, fromSeq: at % (source.length + 1) }),
    )
    await this.#rig.clock.advance(ms)
    const answer = await forking
    this.#process.slowReadMs = 0
    if (answer === undefined) return
    expect(answer.ok, JSON.stringify(answer)).toBe(true)
    this.seen[`fork ${mode}`] += 1
    if (source.fork) this.seen['forks of a fork'] += 1
    const now = await this.#rig.store.readRun('t1', runId)
    if (now!.length > source.length) this.seen['forks of a run that went on meanwhile'] += 1
  }

  /** Liveness: with no more faults and someone who answers, everything ends in bounded time. */
  async #end(): Promise<void> {
    for (const process of this.#processes) process.next = undefined
    for (let step = 0; step < 300; step += 1) {
      const open = (await this.#rows()).filter(({ endedAt }) => endedAt === null)
      if (open.length === 0) return
      // A pause that was draining may still come to be, so this is asked again and again.
      for (const { runId, status } of open) if (status === 'paused') await this.#command(runId, 'resume')
      for (const asking of await this.#asks())
        for (const by of peopleFor(asking.open.asked)) await this.#say(asking, 'accept', by)
      await this.#rig.clock.advance(1_000)
    }
    throw new Error(`did not end: ${JSON.stringify((await this.#rows()).filter(({ endedAt }) => endedAt === null))}`)
  }

  async #checkForks(): Promise<void> {
    for (const row of (await this.#rows()).filter(isFork)) {
      await expectSharedPrefix(this.#rig.store, row)
      const verdict = await expectEqualReplay(this.#rig.store, row)
      if (verdict) this.seen['replays of an ended run'] += 1
      if (verdict === 'equal') this.seen['replays equal to their source'] += 1
      if (verdict === 'diverged') this.seen['replays that diverged from a cancelled source'] += 1
    }
  }

  /** Forking leaves its source alone: what was there is there, and only what came later is new. */
  async #checkKept(): Promise<void> {
    for (const { runId, events } of this.#kept) {
      expect(await this.#rig.store.readEvents(runId, 0, events.length), runId).toEqual(events)
      this.seen['kept prefixes'] += 1
    }
  }

  #countRepeated(): void {
    const performed = this.#processes.flatMap(one => one.performed)
    this.seen['effects repeated'] += performed.length - new Set(performed).size
  }

  #countTold(runs: readonly CheckedRun[]): void {
    this.seen.runs += runs.length
    for (const { type, payload } of runs.flatMap(({ events }) => events)) {
      const { reason, phase, kind, artifactType } = payload as { readonly [field: string]: string | undefined }
      if (type === 'interrupt.resolved' && reason === 'timeout') this.seen['answers that timed out'] += 1
      if (type === 'assay.child.status') this.seen['parents that mirrored a child'] += 1
      for (const saying of [type, phase, `${type} ${kind}`, `${type} ${artifactType}`]) {
        const what = TOLD[saying ?? '']
        if (what) this.seen[what] += 1
      }
    }
  }
}
