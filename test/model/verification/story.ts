import { isDeepStrictEqual } from 'node:util'
import { fold } from '../../../src/core/decider.js'
import { openInterrupts } from '../../../src/core/interrupt/decide.js'
import { Replay } from '../../../src/core/replay/decide.js'
import type { Fork } from '../../../src/core/replay/events.js'
import { branchOff } from '../../../src/core/replay/fork.js'
import type { Rules } from '../../../src/core/run/decide.js'
import { nextTimer } from '../../../src/core/run/effects.js'
import { isTerminal, type Recorded } from '../../../src/core/run/events.js'
import type { RunInput } from '../../../src/core/run/input.js'
import { runDecider } from '../../../src/core/run/run-decider.js'
import { type RunState, statusOf } from '../../../src/core/run/state.js'
import { ENGINE_VERSION } from '../../../src/core/run/version.js'
import { outcomeOf } from '../../../src/testing/gate-world.js'
import { rulesFor } from '../../../src/testing/given-when-then.js'
import { answer } from '../../../src/testing/orchestration.js'
import type { Counts } from './counts.js'
import { ACTIONS, gatesOf, type Move, type Setup, SHAPES, type Shape, workflowOf } from './setup.js'

type Input = object & { readonly type: string }

const RULES = Object.fromEntries(SHAPES.map(shape => [shape, rulesFor(workflowOf(shape))])) as {
  readonly [Each in Shape]: Rules
}

/** A run to which things happen, until it has ended. */
export class Story {
  readonly rules: Rules
  readonly log: Recorded[]
  now = 1_000
  readonly #decider
  readonly #heard: Input[] = []
  #state: RunState

  constructor(
    readonly setup: Setup,
    private readonly seen: Counts,
    /** A branch goes on with what it shares. */
    branch?: { readonly state: RunState; readonly log: readonly Recorded[]; readonly now: number },
  ) {
    this.rules = RULES[setup.shape]
    this.#decider = runDecider(this.rules)
    this.#state = branch?.state ?? this.#decider.initial
    this.log = [...(branch?.log ?? [])]
    this.now = branch?.now ?? this.now
  }

  tell(moves: readonly Move[]): void {
    const { maxLoopIterations, shape } = this.setup
    this.seen[shape] += 1
    const started = {
      workflowId: this.rules.plan.definition.id,
      workflowDigest: 'digest',
      inputs: {},
      transport: 'rest' as const,
      engineVersion: ENGINE_VERSION,
      owner: { tenant: 't1' },
      ...(maxLoopIterations === undefined ? {} : { configurable: { maxLoopIterations } }),
    }
    this.#put({ type: 'StartRun', runId: 'run-1', started, gates: gatesOf(this.setup) } as Input)
    for (const move of moves) if (this.#state.phase === 'active') this.#make(move)
    this.end()
  }

  #make(move: Move): void {
    switch (move.do) {
      case 'work': {
        const owed = this.#decider.pending(this.#state)
        const effect = owed[move.pick % owed.length]
        const input = effect && outcomeOf(effect, this.#state, move.luck)
        if (input) this.#hear(input)
        else if (effect === undefined) this.#answer(ACTIONS[move.pick % ACTIONS.length]!)
        return
      }
      case 'answer':
        return this.#answer(move.action)
      case 'time':
        this.now += move.ms
        this.#put({ type: 'TimeCame' })
        return
      case 'pause':
        if (this.#put({ type: 'PauseRun', drainPolicy: move.drain ? 'drain-current-node' : 'immediate' } as Input))
          this.seen.pauses += 1
        return
      case 'resume':
        this.#put({ type: 'ResumeRun' })
        return
      case 'cancel':
        this.seen.cancels += 1
        this.#put({ type: 'CancelRun', by: 'ann' } as Input)
        return
      case 'crash':
        return this.#crash()
      case 'again': {
        const input = this.#heard[move.pick % this.#heard.length]
        // A child is born in the commit that tells of it, so nobody can tell of it twice.
        if (input === undefined || input.type === 'Continue' || input.type === 'ChildStarted') return
        this.seen['stale inputs'] += 1
        const before = this.log.length
        this.#put(input)
        if (this.log.length > before && input.type !== 'ResolveInterrupt')
          throw new Error(`${JSON.stringify(input)} was taken twice`)
      }
    }
  }

  #answer(action: (typeof ACTIONS)[number]): void {
    const [open] = openInterrupts(this.rules.plan, this.#state)
    if (!open) return
    const value = action === 'refine' ? { action, refineFeedback: { scope: 'whole' } } : { action }
    if (this.#hear(answer(open.nodeId, value))) this.seen[`answers: ${action}`] += 1
  }

  /** With a world that does what it owes, verifiers that vote and people who answer, every run ends. */
  end(): void {
    for (let step = 0; step < 300 && this.#state.phase === 'active'; step += 1) {
      const [open] = openInterrupts(this.rules.plan, this.#state)
      const effect = this.#decider.pending(this.#state).find(owed => !(owed.kind === 'watch-child' && owed.early))
      const input = effect && outcomeOf(effect, this.#state)
      if (statusOf(this.#state) === 'paused') this.#put({ type: 'ResumeRun' })
      else if (open && (open.dueAt === null || this.now < open.dueAt))
        this.#put(answer(open.nodeId, { action: 'accept' }))
      else if (input) this.#put(input)
      else {
        this.now = Math.max(this.now, nextTimer(this.rules, this.#state))
        this.#put({ type: 'TimeCame' })
      }
    }
    if (this.#state.phase !== 'ended') throw new Error(`the run does not end: ${statusOf(this.#state)}`)
  }

  /** Whether it was taken. The world says the same again as long as nobody has heard it. */
  #hear(input: Input): boolean {
    const before = this.log.length
    const taken = this.#put(input)
    if (this.log.length > before) this.#heard.push(input)
    return taken
  }

  #put(input: Input): boolean {
    const decision = this.#decider.decide(this.#state, { ...input, now: this.now } as unknown as RunInput)
    if (!decision.ok) return false
    this.log.push(...decision.events)
    this.#state = decision.state
    return true
  }

  #crash(): void {
    this.seen.crashes += 1
    const folded = fold(this.#decider.evolve, this.#decider.initial, this.log)
    if (!isDeepStrictEqual(plain(folded), plain(this.#state))) throw new Error('the log does not fold to its state')
    this.#state = plain(folded) as RunState
  }

  /** R-VERIFY-22: told again from there, it is the same, and nobody is asked; as far as it was not cancelled. */
  checkReplay(fromSeq: number): void {
    const fork = this.#fork(fromSeq, 'replay')
    const replay = new Replay(this.rules, { phase: 'absent', fork }, fork, 'run-2', this.log)
    const told: Recorded[] = this.log.slice(0, fromSeq)
    for (let more = replay.next(); more !== undefined && told.length < 2_000; more = replay.next()) told.push(...more)
    if (!isTerminal(told.at(-1)!.type)) throw new Error(`a replay from ${fromSeq} does not end`)
    const cancelled = this.log.find(({ sequence, input }) => sequence >= fromSeq && input?.type === 'CancelRun')
    const length = cancelled?.sequence ?? Math.max(told.length, this.log.length)
    for (let i = fromSeq; i < length; i += 1)
      if (said(told[i]) !== said(this.log[i]))
        throw new Error(`a replay from ${fromSeq} says ${said(told[i])} instead of ${said(this.log[i])}`)
    if (!cancelled) this.seen['replays equal'] += 1
  }

  /** A branch goes on by itself, with verifiers of its own, and ends. */
  branch(fromSeq: number): Story {
    const now = this.now + 5_000
    const shared = this.log.slice(0, fromSeq)
    const base = { phase: 'absent' as const, fork: this.#fork(fromSeq, 'branch') }
    const first = branchOff(this.rules, base, 'run-3', shared, {}, now)
    if (!first.ok) throw new Error(`no branch from ${fromSeq}: ${first.refusal.message}`)
    const branch = new Story(this.setup, this.seen, { state: first.state, log: [...shared, ...first.events], now })
    branch.end()
    if (branch.log.some(({ sequence }, i) => sequence !== i)) throw new Error(`a branch from ${fromSeq} has gaps`)
    this.seen.branches += 1
    return branch
  }

  #fork(fromSeq: number, mode: Fork['mode']): Fork {
    return { sourceRunId: 'run-1', fromSeq, mode, sourceLength: this.log.length }
  }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const said = (event: Recorded | undefined): string => {
  if (event === undefined) return 'nothing'
  const { sequence, type, nodeId, payload, secret, cause } = event
  return JSON.stringify([sequence, type, nodeId, payload, secret, cause], (key, value) =>
    key === 'runId' ? undefined : value,
  )
}
