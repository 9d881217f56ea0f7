import { isDeepStrictEqual } from 'node:util'
import { fold } from '../../../src/core/decider.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Rules } from '../../../src/core/run/decide.js'
import type { Effect } from '../../../src/core/run/effects.js'
import type { Recorded } from '../../../src/core/run/events.js'
import type { RunInput } from '../../../src/core/run/input.js'
import { runDecider } from '../../../src/core/run/run-decider.js'
import { type RunState, statusOf } from '../../../src/core/run/state.js'
import { ENGINE_VERSION } from '../../../src/core/run/version.js'
import { rulesFor } from '../../../src/testing/given-when-then.js'
import { answerValue } from './answers.js'
import type { Counts } from './counts.js'
import { Model } from './model.js'
import type { Answer, Move, Work } from './moves.js'
import { owedBy, toldBy } from './projection.js'
import type { Asked } from './questions.js'
import { RUN_ID, type Setup, workflowOf } from './setup.js'
import { childIdOf, type Input, outcomeOf, WORK } from './world.js'

/**
 * Puts the same inputs to the core and to the model, and compares after each of them what has been told, what is owed
 * and what the run has come to.
 */
export class Story {
  readonly rules: Rules
  readonly log: Recorded[] = []
  now = 1_000
  readonly #decider
  readonly #model: Model
  readonly #delivered: Input[] = []
  readonly #heard: Input[] = []
  /** What each child was given. */
  readonly #given = new Map<string, JsonObject>()
  #state: RunState
  #compared = 0

  constructor(
    private readonly setup: Setup,
    private readonly seen: Counts,
  ) {
    const { floor, escalation, ceiling } = setup
    this.rules = rulesFor(workflowOf(setup), [], {
      maxLoopIterations: ceiling,
      confidence: { floor, interruptKind: escalation },
    })
    this.#decider = runDecider(this.rules)
    this.#state = this.#decider.initial
    this.#model = new Model(setup)
  }

  tell(moves: readonly Move[]): void {
    const { inputs, configurable } = this.setup
    const started = {
      workflowId: this.rules.plan.definition.id,
      workflowDigest: 'digest',
      inputs,
      transport: 'rest' as const,
      engineVersion: ENGINE_VERSION,
      owner: { tenant: 't1' },
      configurable: configurable as JsonObject,
    }
    this.#put({ type: 'StartRun', runId: RUN_ID, started })
    for (const move of moves) this.#make(move)
    this.#end()
  }

  get #isOver(): boolean {
    return this.#state.phase === 'ended'
  }

  #make(move: Move): void {
    switch (move.do) {
      case 'work':
        return this.#work(move)
      case 'answer':
        if (this.#model.asked) this.#answer(this.#model.asked, move)
        return
      case 'time':
        this.now += move.ms
        return this.#put({ type: 'TimeCame' })
      case 'pause':
        return this.#put({ type: 'PauseRun', drainPolicy: move.drain ? 'drain-current-node' : 'immediate' })
      case 'resume':
        return this.#put({ type: 'ResumeRun' })
      case 'cancel':
        return this.#put({
          type: 'CancelRun',
          by: 'ann',
          ...(move.reason === undefined ? {} : { reason: move.reason }),
        })
      case 'crash':
        return this.#crash(move.kept)
      case 'continue':
        return this.#put({ type: 'Continue' })
      case 'give up':
        return this.#put({ type: 'Quarantine', attempts: 3 })
      case 'again': {
        const input = this.#delivered[move.pick % this.#delivered.length]
        if (input === undefined) return
        this.seen[this.#isOver ? 'late deliveries' : 'duplicate deliveries'] += 1
        if (statusOf(this.#state) === 'paused') this.seen['deliveries while paused'] += 1
        return this.#put(input)
      }
    }
  }

  #work(move: Work): void {
    const owed = this.#decider.pending(this.#state)
    const effect = owed[move.pick % owed.length]
    if (effect?.kind !== 'start-child' && effect?.kind !== 'watch-child') return
    if (effect.kind === 'start-child') this.#given.set(childIdOf(effect), effect.inputs)
    const given = effect.kind === 'watch-child' ? this.#given.get(effect.childRunId) : undefined
    const input = outcomeOf(effect, move, { setup: this.setup, ...(given ? { given } : {}) })
    if (input.type === 'ChildEnded' && effect.kind === 'watch-child' && effect.early)
      this.seen['ends before their turn'] += 1
    this.#delivered.push(input)
    this.#put(input)
    if (!move.twice) return
    this.seen['duplicate deliveries'] += 1
    this.#put(input)
  }

  #answer(asked: Asked, move: Answer): void {
    const named = move.named ? { interruptId: asked.interruptId } : {}
    const value = answerValue(asked, move)
    const input = {
      type: 'ResolveInterrupt',
      nodeId: asked.node,
      value,
      by: 'ann',
      via: 'key',
      shownHash: 'h',
      ...named,
    } as const
    const before = this.log.length
    this.#delivered.push(input)
    this.#put(input)
    if (this.log.length === before) this.seen['answers refused'] += 1
    else this.#countAnswer(asked, value)
  }

  #countAnswer({ about, kind }: Asked, value: Json): void {
    const { action } = value as JsonObject
    if (about === 'question') this.seen['questions answered'] += 1
    else if (about === 'plea') this.seen['pleas answered'] += 1
    else if (kind === 'clarification') this.seen['doubts answered'] += 1
    else {
      const what = ({ doubt: 'doubts', hold: 'held decisions', merge: 'merges' } as const)[about]
      const how = action === 'accept' ? 'accepted' : action === 'reject' ? 'rejected' : 'edited'
      this.seen[`${what} ${how}`] += 1
      if (kind === 'custom') this.seen['doubts of a vendor kind'] += 1
    }
  }

  #crash(kept: boolean): void {
    this.seen[kept ? 'crashes from a kept state' : 'crashes refolded'] += 1
    const folded = fold(this.#decider.evolve, this.#decider.initial, this.log)
    const copy = JSON.parse(JSON.stringify(this.#state)) as RunState
    if (!isDeepStrictEqual(JSON.parse(JSON.stringify(folded)), copy))
      this.#fail('the log does not fold to its state', copy, folded)
    this.#state = kept ? copy : folded
  }

  #put(input: Input): void {
    this.#heard.push(input)
    const asked = this.#model.asked
    const put = { ...input, now: this.now } as RunInput
    const decision = this.#decider.decide(this.#state, put)
    if (decision.ok) {
      this.log.push(...decision.events)
      this.#state = decision.state
    }
    const taken = this.#model.hear(put)
    if (taken !== decision.ok) this.#fail('taken or refused', taken, decision)
    if (input.type === 'TimeCame' && asked) this.#countTimeOut(asked)
    this.#compare()
  }

  #countTimeOut({ about }: Asked): void {
    const resolved = this.log.slice(this.#compared).some(({ type }) => type === 'interrupt.resolved')
    if (!resolved || about === 'merge') return
    const what = { question: 'questions', plea: 'pleas', doubt: 'doubts', hold: 'held decisions' } as const
    this.seen[`${what[about]} timed out`] += 1
  }

  #compare(): void {
    const from = this.#compared
    const told = this.log.slice(from).map(toldBy)
    const foreseen = plain(this.#model.log.slice(from))
    if (!isDeepStrictEqual(plain(told), foreseen)) this.#fail('events', foreseen, told)
    this.#compared = this.log.length
    const status = statusOf(this.#state)
    if (status !== this.#model.status) this.#fail('status', this.#model.status, status)
    const variables = this.#state.phase === 'absent' ? {} : this.#state.variables
    if (!isDeepStrictEqual(plain(variables), plain(this.#model.variables)))
      this.#fail('variables', this.#model.variables, variables)
    const owed = this.#decider.pending(this.#state).map(owedBy)
    if (!isDeepStrictEqual(plain(owed), plain(this.#model.owed))) this.#fail('what is owed', this.#model.owed, owed)
  }

  /** With someone who answers and workers that work, every run ends. */
  #end(): void {
    for (let step = 0; step < 200 && !this.#isOver; step += 1) {
      const { asked, status } = this.#model
      if (status === 'paused') this.#put({ type: 'ResumeRun' })
      else if (asked?.dueAt !== undefined && this.now >= asked.dueAt) this.#put({ type: 'TimeCame' })
      else if (asked) this.#answer(asked, ACCEPT)
      else this.#work({ ...WORK, pick: this.#decider.pending(this.#state).findLastIndex(isDue) })
    }
    if (!this.#isOver) this.#fail('an end', 'one', statusOf(this.#state))
  }

  #fail(what: string, foreseen: unknown, found: unknown): never {
    const heard = this.#heard.map(input => `  ${JSON.stringify(input)}`)
    const log = this.log.map(
      ({ sequence, ...event }) => `  ${sequence} ${JSON.stringify(toldBy({ sequence, ...event } as Recorded))}`,
    )
    throw new Error(
      [
        `the core and the model part over ${what}`,
        `workflow: ${JSON.stringify(workflowOf(this.setup))}`,
        'heard:',
        ...heard,
        'told:',
        ...log,
        `foreseen: ${JSON.stringify(foreseen, null, 1)}`,
        `found: ${JSON.stringify(found, null, 1)}`,
      ].join('\n'),
    )
  }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const ACCEPT: Answer = {
  do: 'answer',
  word: 'accept',
  decision: { kind: 'terminate' },
  value: 'alpha',
  asList: false,
  named: true,
}

/** What the world can do about it now. */
const isDue = (effect: Effect): boolean =>
  effect.kind === 'start-child' || (effect.kind === 'watch-child' && !effect.early)
