/**
 * A goal told a second time, from docs/design/goal.md alone: what it may start, and what becomes of it. Of the decider it
 * knows only the names of what is put to it.
 */

export type Bounds = {
  readonly maxLoopIterations?: number
  readonly runTimeoutMs?: number
  readonly maxCostUsd?: number
}

type Run = { readonly role: 'work' | 'judge'; readonly grant: number; readonly version: number }

const NANO = 1_000_000_000
const TRIES = 5

export class GoalModel {
  mode: 'active' | 'paused' | 'escalated' | 'satisfied' | 'abandoned' | 'bound-exceeded' = 'active'
  at: 'idle' | 'working' | 'unjudged' | 'judging' = 'idle'
  reserved = 0
  finished = 0
  taken = 0
  version = 1
  readonly open = new Map<string, Run>()
  /** Those of `open` that are told to stop. */
  readonly stopping = new Set<string>()
  closings: string[] = []
  evaluations: { runId: string; satisfied: boolean; iterations: number }[] = []
  #last = ''
  #judge = ''
  #judgeable = false
  #tries = 0
  #alike = { fingerprint: '', times: 0 }
  #dearest = 0

  constructor(
    readonly bounds: Bounds,
    readonly breaker: number,
    readonly born: number,
    readonly check: 'verifier' | 'host' = 'verifier',
  ) {
    this.#bounds(born)
  }

  get isFinal(): boolean {
    return ['satisfied', 'abandoned', 'bound-exceeded'].includes(this.mode)
  }

  get isOver(): boolean {
    return this.isFinal && this.open.size === 0
  }

  get deadline(): number {
    return this.bounds.runTimeoutMs === undefined ? Number.POSITIVE_INFINITY : this.born + this.bounds.runTimeoutMs
  }

  /** What is left of the money. */
  get left(): number {
    if (this.bounds.maxCostUsd === undefined) return Number.POSITIVE_INFINITY
    const granted = [...this.open.values()].reduce((sum, { grant }) => sum + grant, 0)
    return Math.max(0, Math.round(this.bounds.maxCostUsd * NANO) - this.taken - granted)
  }

  /** What a contributing run is granted: what is left, less the share of its judge. */
  get workGrant(): number | undefined {
    if (this.bounds.maxCostUsd === undefined) return undefined
    if (this.check === 'host') return this.left
    const share = Math.max(Math.ceil(Math.round(this.bounds.maxCostUsd * NANO) / 10), this.#dearest)
    return Math.max(0, this.left - share)
  }

  get judgeGrant(): number | undefined {
    return this.bounds.maxCostUsd === undefined ? undefined : this.left
  }

  /** Time is looked at before whatever comes with it. Each answers whether the goal takes what is put to it. */
  hear(now: number): void {
    if (!this.isFinal && now >= this.deadline) this.#close('bound-exceeded')
  }

  beginWork(now: number, runId: string): boolean {
    if (this.mode !== 'active' || this.at !== 'idle') return false
    this.reserved += 1
    this.open.set(runId, { role: 'work', grant: this.workGrant ?? 0, version: this.version })
    this.at = 'working'
    this.#last = runId
    return now < this.deadline
  }

  beginJudge(runId: string, of: string): void {
    const may = this.mode === 'active' || this.mode === 'paused'
    if (!may || this.at !== 'unjudged' || of !== this.#last || !this.#judgeable || this.check === 'host') return
    if (this.judgeGrant === 0) return this.#close('bound-exceeded')
    this.open.set(runId, { role: 'judge', grant: this.judgeGrant ?? 0, version: this.version })
    this.at = 'judging'
    this.#judge = runId
  }

  /** The host has judged by itself, what was to be judged when it began. */
  hostJudged(now: number, of: string, version: number, verdict: 'pass' | 'fail' | 'none'): void {
    const may = this.mode === 'active' || this.mode === 'paused'
    if (!may || this.at !== 'unjudged' || of !== this.#last || !this.#judgeable) return
    if (this.check !== 'host' || version !== this.version) return
    if (verdict === 'none') return this.unjudged(of)
    this.#evaluate(now, verdict === 'pass')
  }

  /** `took`: what it spent, and what nobody knows the cost of. */
  ended(
    now: number,
    runId: string,
    took: number,
    of: { judgeable: boolean; fingerprint: string; verdict: 'pass' | 'fail' | 'none' },
  ): void {
    const run = this.open.get(runId)
    if (run === undefined) return
    this.open.delete(runId)
    this.taken += took
    if (run.role === 'work') return this.#contributed(now, of)
    this.#dearest = Math.max(this.#dearest, took)
    if (runId !== this.#judge || this.at !== 'judging') return
    this.at = 'unjudged'
    if (this.mode !== 'active' && this.mode !== 'paused') return
    if (of.verdict === 'none') return this.unjudged(this.#last)
    this.#evaluate(now, of.verdict === 'pass')
  }

  #contributed(now: number, of: { judgeable: boolean; fingerprint: string }): void {
    this.finished += 1
    this.at = 'unjudged'
    this.#judgeable = of.judgeable
    this.#tries = 0
    const times = this.#alike.fingerprint === of.fingerprint ? this.#alike.times + 1 : 1
    this.#alike = { fingerprint: of.fingerprint, times }
    this.#goOn(now)
  }

  /** Escalation, then the judge, then bounds. */
  #goOn(now: number): void {
    if (this.mode === 'escalated' || this.isFinal) return
    if (this.at === 'unjudged') {
      if (this.breaker > 0 && this.#alike.times >= this.breaker && this.#tries === 0) return this.#escalate()
      if (!this.#judgeable) this.#evaluate(now, false)
      return
    }
    if (this.at === 'idle') this.#bounds(now)
  }

  #evaluate(now: number, satisfied: boolean): void {
    this.evaluations.push({ runId: this.#last, satisfied, iterations: this.finished })
    this.at = 'idle'
    if (satisfied) this.#close('satisfied')
    else this.#bounds(now)
  }

  unjudged(of: string): void {
    if (this.mode !== 'active' && this.mode !== 'paused') return
    if ((this.at !== 'unjudged' && this.at !== 'judging') || of !== this.#last) return
    if (this.at === 'judging') return
    this.#tries += 1
    if (this.#tries >= TRIES) this.#escalate()
  }

  escalates(of: string): void {
    if (this.isFinal || this.mode === 'escalated' || this.at !== 'working' || of !== this.#last) return
    this.#escalate()
  }

  poisoned(): void {
    if (!this.isFinal && this.mode !== 'escalated') this.#escalate()
  }

  pause(): boolean {
    if (this.mode !== 'active' && this.mode !== 'paused') return false
    this.mode = 'paused'
    return true
  }

  resume(now: number): boolean {
    if (this.isFinal) return false
    const wasEscalated = this.mode === 'escalated'
    if (this.mode === 'active') return true
    this.mode = 'active'
    if (wasEscalated) {
      this.#alike = { fingerprint: '', times: 0 }
      if (this.at === 'unjudged') this.#tries = 0
    }
    this.#goOn(now)
    return true
  }

  edit(now: number): boolean {
    if (this.mode !== 'active' && this.mode !== 'paused') return false
    this.version += 1
    this.#alike = { fingerprint: '', times: 0 }
    if (this.at === 'judging') {
      this.stopping.add(this.#judge)
      this.at = 'unjudged'
    }
    if (this.at === 'unjudged') this.#tries = 0
    this.#goOn(now)
    return true
  }

  abandon(): boolean {
    if (this.isFinal) return false
    this.#close('abandoned')
    return true
  }

  #bounds(now: number): void {
    const isOut = this.reserved >= (this.bounds.maxLoopIterations ?? 10_000) || this.workGrant === 0
    if (isOut || now >= this.deadline) this.#close('bound-exceeded')
  }

  #escalate(): void {
    this.mode = 'escalated'
    this.closings.push('escalated')
  }

  #close(final: 'satisfied' | 'abandoned' | 'bound-exceeded'): void {
    this.mode = final
    this.closings.push(final)
    for (const runId of this.open.keys()) this.stopping.add(runId)
  }
}
