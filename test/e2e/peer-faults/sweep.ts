import type { CheckedRun } from '../../../src/log-check/checked.js'
import { findingsOf } from '../../support/stored-runs.js'
import { type PlannedFault, REQUEST_FAULTS, STREAM_FAULTS } from './fault-proxy.js'
import type { Death } from './mortal-side.js'
import { handedTo, plotOf } from './plot.js'
import type { TwoHosts } from './two-hosts.js'

/** One run on A that hands work to B, and what people do meanwhile. */
export type Story = {
  readonly workflowId: string
  readonly status: string
  /** How many runs B makes for it. */
  readonly runsOnB: number
  readonly play?: (two: TwoHosts, runId: string, point: number) => Promise<void>
}

export type Point =
  | { readonly on: 'way'; readonly faults: readonly PlannedFault[] }
  | { readonly on: 'a' | 'b'; readonly death: Death }

/** How a run ended on both hosts, and what it took. */
type Telling = {
  readonly plot: ReturnType<typeof plotOf>
  readonly status: string
  readonly problems: readonly string[]
  readonly requests: number
  readonly writes: { readonly a: number; readonly b: number }
}

/** Tells the same story again and again, each time with another fault, and holds each against the first, which had none. */
export class Sweep {
  #tellings = 0
  #known = new Set<string>()
  #clean: Telling | undefined
  /** Points at which something really went wrong. */
  happened = 0
  readonly failures: string[] = []

  constructor(
    private readonly two: TwoHosts,
    private readonly story: Story,
  ) {}

  /** Without any fault; what everything else is held against. */
  async learn(): Promise<Telling> {
    this.two.a.arm(NEVER)
    this.two.b.arm(NEVER)
    this.#clean = await this.#tell()
    if (this.#clean.problems.length > 0) throw new Error(this.#clean.problems.join('\n'))
    return this.#clean
  }

  async meet(point: Point): Promise<void> {
    const { two } = this
    const before = this.#injuries()
    two.proxy.plan(...(point.on === 'way' ? point.faults : []))
    for (const side of ['a', 'b'] as const) two[side].arm(point.on === side ? point.death : NEVER)
    const { plot, status, problems } = await this.#tell()
    if (this.#injuries() === before) return
    this.happened += 1
    const clean = this.#clean!
    const found = [...problems]
    if (status !== clean.status) found.push(`it is ${status}`)
    if (JSON.stringify(plot) !== JSON.stringify(clean.plot)) found.push(differenceOf(clean.plot, plot))
    this.failures.push(...found.map(problem => `${JSON.stringify(point)}: ${problem}`))
  }

  /** Every point that there is in this story. */
  points(): Point[] {
    const { requests, writes } = this.#clean!
    const way = indices(requests).flatMap(at =>
      REQUEST_FAULTS.map(fault => ({ on: 'way' as const, faults: [{ at, fault }] })),
    )
    const streams = indices(this.story.runsOnB).flatMap(at =>
      STREAM_FAULTS.flatMap(fault =>
        [0, 1, 3].map(after => ({ on: 'way' as const, faults: [{ at, fault, after, of: 'stream' as const }] })),
      ),
    )
    const deaths = (on: 'a' | 'b') =>
      indices(writes[on]).flatMap(i => (['before', 'after'] as const).map(when => ({ on, death: { at: i + 1, when } })))
    return [...way, ...streams, ...deaths('a'), ...deaths('b')]
  }

  async #tell(): Promise<Telling> {
    const { two, story } = this
    this.#tellings += 1
    const requests = two.proxy.passed.length
    const runId = await two.begin(story.workflowId, `${story.workflowId}-${this.#tellings}`)
    await story.play?.(two, runId, this.#tellings)
    const { status } = await two.ended(runId)
    const onA = (await two.stored('a')).filter(run => run.runId === runId || run.row?.parentRunId === runId)
    const onB = await this.#newOnB(onA)
    return {
      plot: plotOf([...onA, ...onB]),
      status,
      problems: this.#problems(onA, onB),
      requests: two.proxy.passed.length - requests,
      writes: { a: two.a.writes.length, b: two.b.writes.length },
    }
  }

  /** Runs on B that were not there before; those it has begun go on to their end. */
  async #newOnB(onA: readonly CheckedRun[]): Promise<CheckedRun[]> {
    for (const runId of handedTo(onA)) await this.two.ended(runId, 'b')
    const all = await this.two.stored('b')
    const found = all.filter(({ runId }) => !this.#known.has(runId))
    this.#known = new Set(all.map(({ runId }) => runId))
    return found
  }

  #problems(onA: readonly CheckedRun[], onB: readonly CheckedRun[]): string[] {
    const named = [...handedTo(onA)].sort()
    const there = onB.map(({ runId }) => runId).sort()
    const { runsOnB } = this.story
    return [
      ...(there.length === runsOnB ? [] : [`B has ${there.length} runs for ${runsOnB} hand-offs`]),
      ...(JSON.stringify(named) === JSON.stringify(there) ? [] : [`A names ${named.join()}, B has ${there.join()}`]),
      ...[onA, onB].flatMap(runs => findingsOf(runs).map(finding => JSON.stringify(finding))),
    ]
  }

  #injuries(): number {
    const { proxy, a, b } = this.two
    return proxy.faults + a.deaths + b.deaths
  }
}

const NEVER: Death = { at: Number.POSITIVE_INFINITY, when: 'before' }

const indices = (n: number): number[] => Array.from({ length: n }, (_, i) => i)

/** Where two plots part, in short. */
function differenceOf(clean: Telling['plot'], told: Telling['plot']): string {
  if (Object.keys(clean).join() !== Object.keys(told).join()) return `runs: ${Object.keys(told).join()}`
  for (const [name, beats] of Object.entries(clean)) {
    const others = told[name]!
    const at = beats.findIndex((beat, i) => JSON.stringify(beat) !== JSON.stringify(others[i]))
    if (at >= 0 || others.length !== beats.length) {
      const i = at < 0 ? beats.length : at
      const [was, is] = [beats[i], others[i]].map(beat => JSON.stringify(beat) ?? 'nothing')
      const from = Math.max(0, [...was!].findIndex((letter, k) => letter !== is![k]) - 40)
      return `${name}[${i}]: …${is!.slice(from, from + 160)} in place of …${was!.slice(from, from + 160)}`
    }
  }
  return 'none'
}
