import fc from 'fast-check'
import { expect } from 'vitest'
import { decideGoal } from '../../../src/core/goal/decide.js'
import type { RecordedGoalEvent } from '../../../src/core/goal/events.js'
import type { GoalInput } from '../../../src/core/goal/input.js'
import { judgeGrantNano, workGrantNano } from '../../../src/core/goal/money.js'
import { type Goal, type GoalState, goalStateOf } from '../../../src/core/goal/state.js'
import { type Bounds, GoalModel } from './goal-model.js'

const START = 1_700_000_000_000
export type Step = { readonly kind: string; readonly dice: readonly number[]; readonly passes: number }

const KINDS = [
  ...Array<string>(6).fill('work'),
  ...Array<string>(6).fill('judge'),
  ...Array<string>(8).fill('end'),
  'pause',
  'resume',
  'resume',
  'edit',
  'abandon',
  'escalates',
  ...Array<string>(4).fill('probed'),
  'unjudged',
  'unjudged',
  'poisoned',
  'time',
  'old end',
]

export const stepOf: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...KINDS),
  dice: fc.array(fc.nat(999), { minLength: 6, maxLength: 6 }),
  passes: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 500, 4_000),
})

export const boundsOf: fc.Arbitrary<Bounds> = fc.record(
  {
    maxLoopIterations: fc.constantFrom(1, 2, 3, 7),
    runTimeoutMs: fc.constantFrom(0, 1, 5_000, 60_000, 600_000),
    maxCostUsd: fc.constantFrom(0, 0.000001, 0.001, 0.01, 1),
  },
  { requiredKeys: [] },
)

/** The decider and the model side by side; what is put to one is put to the other. */
export class Pair {
  state: GoalState = { phase: 'absent' }
  readonly log: RecordedGoalEvent[] = []
  readonly model: GoalModel
  readonly counted = new Map<string, number>()
  #now = START
  #runs: string[] = []

  constructor(
    bounds: Bounds,
    breaker: number,
    private readonly decide: typeof decideGoal = decideGoal,
    check: 'verifier' | 'host' = 'verifier',
  ) {
    this.model = new GoalModel(bounds, breaker, START, check)
    const probes = [{ probe_id: 'tests', type: 'command', command: ['make'], exit_code: 0, timeout_ms: 1 }] as const
    this.put({
      type: 'CreateGoal',
      goalId: 'goal-1',
      check,
      mode: 'manual',
      bounds,
      breaker,
      owner: { tenant: 't1', principal: 'p' },
      objective: 'a secret objective',
      completion: check === 'host' ? { check, verifierRef: null, probes } : { check, verifierRef: 'done' },
      continuation: { mode: 'manual', armRef: null, arm: { kind: 'manual' } },
    })
  }

  get goal(): Goal {
    if (this.state.phase === 'absent') throw new Error('there is no goal')
    return this.state
  }

  /** Whether the decider took it. */
  put(input: GoalInput): boolean {
    const decision = this.decide(this.state, { ...input, now: this.#now })
    if (!decision.ok) return false
    this.log.push(...decision.events)
    this.state = decision.state
    return true
  }

  take({ kind, dice, passes }: Step): void {
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = dice
    this.#now += passes
    // What time has decided is decided by both before anything else is.
    this.put({ type: 'TimeCame' })
    this.model.hear(this.#now)
    const runId = `run-${this.#runs.length}`
    const last = this.goal.contributing.at(-1) ?? 'nobody'
    switch (kind) {
      case 'work': {
        this.#runs.push(runId)
        const before = this.model.reserved
        this.model.beginWork(this.#now, runId)
        this.put({
          type: 'BeginWork',
          runId,
          cause: { by: a % 2 ? 'hand' : 'name' },
          grantNano: workGrantNano(this.goal),
        })
        if (this.model.reserved > before) this.#count('begun')
        return
      }
      case 'judge':
        this.#runs.push(runId)
        this.model.beginJudge(runId, last)
        this.put({ type: 'BeginJudge', runId, of: last, grantNano: judgeGrantNano(this.goal) })
        return
      case 'probed': {
        const version = a % 5 > 0 ? this.goal.version : this.goal.version - 1
        const verdict = (['pass', 'pass', 'fail', 'fail', 'none'] as const)[d % 5]!
        this.model.hostJudged(this.#now, last, version, verdict)
        this.put({ type: 'HostJudged', of: last, version, said: { verdict } })
        if (verdict === 'none' && this.goal.completion.check === 'host') this.#count('could not be probed')
        return
      }
      case 'end':
      case 'old end': {
        const open = kind === 'end' ? this.goal.open.map(run => run.runId) : this.#runs
        const which = open[a % Math.max(1, open.length)]
        if (which === undefined) return
        const grant = this.goal.open.find(run => run.runId === which)?.grantNano ?? 1_000
        const [spentNano, heldNano] = [Math.floor((grant * (b % 10)) / 20), Math.floor((grant * (c % 10)) / 20)]
        const verdict = (['pass', 'pass', 'fail', 'fail', 'none'] as const)[d % 5]!
        const judgeable = e % 8 > 0
        const fingerprint = `f${f % 3}`
        this.model.ended(this.#now, which, spentNano + heldNano, { judgeable, fingerprint, verdict })
        const outcome = judgeable ? 'completed' : 'failed'
        this.put({
          type: 'RunEnded',
          runId: which,
          outcome,
          judgeable,
          spentNano,
          heldNano,
          fingerprint,
          said: { verdict },
        })
        return
      }
      case 'pause':
        return this.#agree(this.model.pause(), { type: 'PauseGoal' })
      case 'resume':
        return this.#agree(this.model.resume(this.#now), { type: 'ResumeGoal' })
      case 'edit':
        return this.#agree(this.model.edit(this.#now), {
          type: 'EditGoal',
          objective: `objective ${a}.${this.#runs.length}.${this.model.version}`,
        })
      case 'abandon':
        return this.#agree(
          a % 4 > 0 || this.model.abandon(),
          a % 4 > 0 ? { type: 'TimeCame' } : { type: 'AbandonGoal' },
        )
      case 'escalates':
        this.model.escalates(last)
        this.put({ type: 'RunEscalates', runId: last, reason: 'confidence', depth: a % 3 })
        return
      case 'unjudged':
        this.model.unjudged(last)
        this.put({ type: 'JudgeRefused', of: last })
        return
      case 'poisoned':
        this.model.poisoned()
        this.put({ type: 'Poisoned' })
        return
    }
  }

  #agree(taken: boolean, input: GoalInput): void {
    expect(this.put(input), input.type).toBe(taken)
  }

  #count(what: string): void {
    this.counted.set(what, (this.counted.get(what) ?? 0) + 1)
  }

  compare(): void {
    const { goal, model } = this
    const isPaused = goal.mode.is === 'paused'
    expect({
      state: isPaused ? 'paused' : goalStateOf(goal),
      ended: goal.phase === 'ended',
      reserved: goal.reserved,
      finished: goal.finished,
      taken: goal.spentNano + goal.heldNano,
      open: goal.open.map(({ runId }) => runId).sort(),
      stopping: goal.open
        .filter(({ isStopping }) => isStopping)
        .map(({ runId }) => runId)
        .sort(),
    }).toEqual({
      state: model.mode,
      ended: model.isOver,
      reserved: model.reserved,
      finished: model.finished,
      taken: model.taken,
      open: [...model.open.keys()].sort(),
      stopping: [...model.open.keys()].filter(runId => model.stopping.has(runId)).sort(),
    })
    const told = (type: string) =>
      this.log.filter(event => event.type === type).map(({ payload }) => payload as Record<string, unknown>)
    expect(told('goal.closed').map(({ finalState }) => finalState)).toEqual(model.closings)
    expect(
      told('goal.evaluated').map(({ runId, satisfied, iterations }) => ({ runId, satisfied, iterations })),
    ).toEqual(model.evaluations)
  }
}
