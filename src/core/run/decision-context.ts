import type { BudgetPolicy } from '../budget/budget.js'
import type { Evaluated, Expression, ExpressionScope } from '../expression.js'
import { Meter } from '../meter.js'
import { type Failure, failure } from '../problem.js'
import type { ReplayGuide } from '../replay/guide.js'
import type { ConfidencePolicy } from '../supervisor/decision.js'
import { STEPS_PER_BYTE, WORK_LIMITS, type WorkLimits } from '../work-limits.js'
import type { Plan } from '../workflow/plan.js'
import type { Recorded, RunEvent } from './events.js'
import { evolve } from './evolve.js'
import { dueToForeign, NAME_A_HOST } from '../handoff/foreign-cause.js'
import type { FileConflict, RecordedInput } from './input.js'
import type { Active, RunState } from './state.js'

/** Ceilings of the host; a run's own configuration can only lower them. */
export type RunLimits = {
  readonly maxNodeExecutions: number
  readonly maxRunDurationMs: number
  readonly maxDepth: number
  readonly maxLoopIterations: number
  /** Events that a turn of the orchestrator may look back on. */
  readonly transcriptWindow: number
  readonly confidence: ConfidencePolicy
  /** What any run may spend at most. */
  readonly budget: BudgetPolicy
  /** What a decision may take; where absent, `WORK_LIMITS`. */
  readonly work?: WorkLimits
}

/** Events one decision may carry; what is left is the next decision's (see `pending`). */
export const MAX_EVENTS = 512
const MAX_BURDEN = 4 * 1_048_576

/** What the rules of one decision share: the plan, and the state as it is after the events decided so far. */
export class DecisionContext {
  readonly events: Recorded[] = []
  /** The time of what is decided now. */
  at: number
  /** Bytes, about, that this decision hands to workers. */
  burden = 0
  /** What the step that is taken now has taken, and may. */
  meter: Meter
  /** What the steps before it have taken. */
  #worked = 0
  /** What led to this decision, also after its first event. */
  private readonly heardFirst: RecordedInput | undefined

  constructor(
    readonly plan: Plan,
    readonly limits: RunLimits,
    public state: RunState,
    readonly runId: string,
    now: number,
    /** What led to this decision: remembered with its first event. */
    private heard?: RecordedInput,
    /** For a fork: what the log it comes from has said already. */
    private readonly guide?: ReplayGuide,
  ) {
    this.heardFirst = heard
    this.at = state.phase === 'absent' ? now : Math.max(now, state.lastAt)
    this.meter = new Meter(this.#work.step)
  }

  get #work(): WorkLimits {
    return this.limits.work ?? WORK_LIMITS
  }

  /** Begins a step that has all that a step may take, and whose cost is the decision's. */
  beginStep(): Meter {
    this.#worked += this.meter.spent
    this.meter = new Meter(this.#work.step)
    return this.meter
  }

  /** Evaluates at the cost of the step. */
  readonly evaluate = (expression: Expression, scope: ExpressionScope): Evaluated => {
    const result = expression.evaluate(scope, this.meter.left)
    this.meter.charge(result.steps)
    return result
  }

  /** What is told must be written, hashed and stored. Its size has a bound of its own, so it is never refused here. */
  chargeBytes(bytes: number): void {
    this.#worked += bytes * STEPS_PER_BYTE
  }

  /** Steps that this decision has taken. */
  get worked(): number {
    return this.#worked + this.meter.spent
  }

  /** Whether this decision has taken as many steps as one may, whatever was decided. */
  get isSpent(): boolean {
    return this.worked >= this.#work.decision
  }

  /** Decides one event and returns its sequence. */
  emit(event: RunEvent): number {
    const told = this.#due(event)
    return this.guide === undefined ? this.#append(told) : this.#retell(this.guide, () => told)
  }

  /** The same for an event that names its own sequence. */
  emitNumbered(event: (sequence: number) => RunEvent): number {
    const told = (sequence: number) => this.#due(event(sequence))
    return this.guide === undefined ? this.#append(told(this.#next)) : this.#retell(this.guide, told)
  }

  /** P14: the first event that can name another host names the one that this run is due to. */
  #due(event: RunEvent): RunEvent {
    const origin = this.state.phase === 'active' ? this.state.origin : undefined
    return origin !== undefined && NAME_A_HOST.includes(event.type) ? dueToForeign(origin, event) : event
  }

  #retell(guide: ReplayGuide, event: (sequence: number) => RunEvent): number {
    const inherited = guide.inherit(this, event(this.#next))
    if (inherited !== undefined) return inherited
    const sequence = this.#append(guide.asRecorded(this, event(this.#next)))
    guide.remark(this)
    return sequence
  }

  /** Why nothing can be merged or written there: the store has refused it once. Nothing of it may be told (R-WS-2). */
  conflictAt(point: FileConflict['point'], place: Pick<FileConflict, 'nodeId' | 'childRunId'>): Failure | undefined {
    const { conflict } = this.heardFirst ?? {}
    if (conflict?.point !== point || conflict.nodeId !== place.nodeId || conflict.childRunId !== place.childRunId)
      return undefined
    const { path, currentVersion } = conflict
    const message = `file "${path}" was changed by somebody else meanwhile; its version is ${currentVersion} now: read it again, then write`
    return failure('workspace_conflict', message, { retryable: true, details: { path, currentVersion } })
  }

  get #next(): number {
    return this.state.phase === 'absent' ? 0 : this.state.next
  }

  /** Says something about the log that is not decided here: the input stays with the first event that it leads to. */
  note(event: RunEvent): void {
    const { heard } = this
    this.heard = undefined
    this.#append(event)
    this.heard = heard
  }

  #append(event: RunEvent): number {
    const sequence = this.#next
    const { type, nodeId, payload, secret, cause, foreignCause } = event
    const input = this.heard
    // Every event has the same shape, present or not: this is the hottest line of the host.
    const recorded = {
      runId: this.runId,
      sequence,
      at: this.at,
      type,
      nodeId,
      payload,
      secret,
      cause,
      input,
      foreignCause,
    } as Recorded
    this.heard = undefined
    this.events.push(recorded)
    this.state = evolve(this.plan, this.state, recorded)
    return sequence
  }

  /** Takes over an event that the log has already; it is not new, but what follows builds on it. */
  recall(recorded: Recorded): number {
    this.heard = undefined
    this.at = Math.max(this.at, recorded.at)
    const first = this.state.phase === 'absent'
    this.state = evolve(this.plan, this.state, first ? { ...recorded, runId: this.runId } : recorded)
    return recorded.sequence
  }

  /** Whether what is left to decide is left to the next decision. Told again, it is left where it was left then. */
  get isFull(): boolean {
    const recorded = this.guide?.isCut(this)
    return recorded ?? (this.length >= MAX_EVENTS || this.burden >= MAX_BURDEN || this.isSpent)
  }

  get isRetelling(): boolean {
    return this.guide !== undefined
  }

  /** How many events this decision stands for, old and new. */
  get length(): number {
    return this.events.length + (this.guide?.inherited ?? 0)
  }

  /** The state of a run that is known to be under way. */
  get active(): Active {
    if (this.state.phase !== 'active') throw new Error(`run ${this.runId} is ${this.state.phase}, not active`)
    return this.state
  }

  get isRunning(): boolean {
    return this.state.phase === 'active' && this.state.mode.kind === 'running'
  }
}
