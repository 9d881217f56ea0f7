import { openInterrupts } from '../../../src/core/interrupt/decide.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Rules } from '../../../src/core/run/decide.js'
import { type Effect, nextTimer } from '../../../src/core/run/effects.js'
import type { Recorded } from '../../../src/core/run/events.js'
import type { RunInput } from '../../../src/core/run/input.js'
import { runDecider } from '../../../src/core/run/run-decider.js'
import type { RunState } from '../../../src/core/run/state.js'
import type { Bundle } from '../../../src/core/verification/bundle.js'
import { replyOf } from '../../../src/testing/agents.js'
import { blocker, gateAt, subFlow } from '../../../src/testing/gate-stories.js'
import { outcomeOf } from '../../../src/testing/gate-world.js'
import { rulesFor } from '../../../src/testing/given-when-then.js'
import { agentFlow, answered } from '../../../src/testing/invocations.js'
import { answer, next, scripted } from '../../../src/testing/orchestration.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import {
  type Claim,
  DIMENSIONS,
  type Dimension,
  type Place,
  type Said,
  votesIn,
  type Word,
  type Work,
  type World,
} from './worlds.js'

/** A run of the real core in a small world, told until somebody may say more than one thing. Never changed: only told on. */
export type Telling = {
  readonly world: World
  readonly rules: Rules
  readonly state: RunState
  readonly log: readonly Recorded[]
  readonly now: number
  /** By the run of the verifier: what it was shown and asked. */
  readonly asked: ReadonlyMap<string, Asked>
  /** What was said of which result, in order. */
  readonly heard: readonly { readonly result: number; readonly said: Said }[]
}

type Asked = { readonly result: number; readonly dimensions: readonly Dimension[] }

/** Who may speak now, and all that they may say; nobody when the run is over. */
export type Turn =
  | { readonly next: 'work' | 'answer'; readonly may: readonly Said[] }
  | { readonly next: 'vote'; readonly may: readonly Said[]; readonly asked: readonly Dimension[] }
  | { readonly next: 'nothing' }

const CRITERIA: { readonly [Each in Claim]: JsonObject } = {
  met: { successCriteria: [{ key: 'done', met: true }] },
  unmet: {
    successCriteria: [
      { key: 'done', met: true },
      { key: 'more', met: false },
    ],
  },
  empty: { successCriteria: [] },
  absent: {},
}

function workflowOf(place: Place, claim: Claim = 'absent'): Sketch {
  if (place === 'agent' || place === 'exit') return agentFlow({ config: { resultVariable: 'got' } })
  if (place !== 'dispatch') return subFlow(place === 'sub-workflow' ? {} : { onChildFailure: 'absorb' })
  const end = { kind: 'terminate', ...CRITERIA[claim] }
  return scripted([next('w'), end, end], { dispatch: { outputMapping: { got: 'x' } } })
}

const RULES = new Map<string, Rules>()

function rulesOf({ place, claim }: World): Rules {
  const key = `${place} ${claim}`
  const known = RULES.get(key) ?? rulesFor(workflowOf(place, claim))
  RULES.set(key, known)
  return known
}

/** The run has started, and goes on as far as nobody has a choice. */
export function begin(world: World): Telling {
  const rules = rulesOf(world)
  const { place, maxAttempts, onFail, reverification, confirm, blocking } = world
  const gate = gateAt(place === 'dispatch' ? 'dispatch' : 'a', place === 'exit' ? 'workflow_exit' : 'phase_exit', {
    criteria: DIMENSIONS.map(dimension => ({ dimension })),
    behaviour: { max_attempts: maxAttempts, on_fail: onFail, reverification, confirm, blocking, retries: 0 },
  })
  const started = {
    workflowId: rules.plan.definition.id,
    workflowDigest: 'digest',
    inputs: {},
    transport: 'rest' as const,
    engineVersion: '3',
    owner: { tenant: 't1' },
  }
  const absent: Telling = { world, rules, state: { phase: 'absent' }, log: [], now: 1_000, asked: new Map(), heard: [] }
  return goOn(put(absent, { type: 'StartRun', runId: 'run-1', started, gates: [gate] }))
}

type Input = RunInput extends infer Each ? (Each extends unknown ? Omit<Each, 'now'> : never) : never

function put(telling: Telling, input: Input): Telling {
  const { rules, state, log, now } = telling
  const decision = runDecider(rules).decide(state, { ...input, now } as RunInput)
  if (!decision.ok) throw new Error(`${input.type} was refused: ${decision.refusal.message}`)
  if (decision.events.length === 0 && input.type !== 'TimeCame') throw new Error(`${input.type} changes nothing`)
  return { ...telling, state: decision.state, log: [...log, ...decision.events] }
}

const owedIn = ({ rules, state }: Telling): readonly Effect[] => runDecider(rules).pending(state)

/** Everything that has one outcome only. */
function goOn(telling: Telling): Telling {
  let told = telling
  for (let step = 0; step < 100; step += 1) {
    if (told.state.phase === 'ended' || isAsking(told)) return told
    const [effect] = owedIn(told)
    if (effect?.kind === 'watch-child' || effect?.kind === 'call-model') return told
    told = effect === undefined ? waited(told) : done(told, effect)
  }
  throw new Error(`no end after ${told.log.at(-1)?.type}`)
}

const isAsking = ({ rules, state }: Telling): boolean => openInterrupts(rules.plan, state).length > 0

function waited(telling: Telling): Telling {
  const now = Math.max(telling.now, nextTimer(telling.rules, telling.state))
  return put({ ...telling, now }, { type: 'TimeCame' })
}

function done(telling: Telling, effect: Effect): Telling {
  const input = outcomeOf(effect, telling.state)
  if (input === undefined) throw new Error(`nothing comes of ${effect.kind}`)
  const told = put(telling, input)
  if (input.type !== 'ChildStarted' || effect.kind !== 'start-child' || !effect.verifier) return told
  const { criteria, output } = effect.withheld!.bundle as unknown as Bundle
  const dimensions = criteria.map(({ dimension }) => dimension as Dimension)
  return { ...told, asked: new Map(told.asked).set(input.childRunId, { result: resultIn(output), dimensions }) }
}

/** The n-th result of the work, wherever it is. */
const resultOf = (n: number): string => `result ${n}`
export const resultIn = (value: Json): number => Number(/"result (\d+)"/.exec(JSON.stringify(value))?.[1])

export function turnOf(telling: Telling): Turn {
  const { world, state, asked } = telling
  if (state.phase === 'ended') return { next: 'nothing' }
  if (isAsking(telling)) return { next: 'answer', may: [{ answer: 'accept' }, { answer: 'reject' }] }
  const [effect] = owedIn(telling)
  const judge = effect?.kind === 'watch-child' ? asked.get(effect.childRunId) : undefined
  if (judge === undefined) return { next: 'work', may: world.works.map(work => ({ work })) }
  return { next: 'vote', may: votesIn(world, judge.dimensions), asked: judge.dimensions }
}

/** The same run, told on with that. */
export function tell(telling: Telling, said: Said): Telling {
  const [effect] = owedIn(telling)
  const worked = telling.heard.filter(({ said }) => 'work' in said).length
  const heardOf = (result: number) => ({ ...telling, heard: [...telling.heard, { result, said }] })
  if ('answer' in said) {
    const { nodeId } = openInterrupts(telling.rules.plan, telling.state)[0]!
    return goOn(put(heardOf(worked), answer(nodeId, { action: said.answer })))
  }
  if (effect?.kind === 'call-model') {
    const { nodeId, since, call } = effect
    const reply = replyOf({ said: answered(resultOf(worked + 1)) })
    const told = {
      type: 'ModelAnswered' as const,
      nodeId,
      since,
      call,
      answer: { ok: true as const, reply, contents: 't' },
    }
    return goOn(put(heardOf(worked + 1), told))
  }
  if (effect?.kind !== 'watch-child') throw new Error(`${JSON.stringify(said)} to ${effect?.kind}`)
  const { nodeId, childRunId } = effect
  const ended = { type: 'ChildEnded' as const, nodeId, childRunId, hidden: [] }
  if ('work' in said) return goOn(put(heardOf(worked + 1), { ...ended, ...endOf(said.work, resultOf(worked + 1)) }))
  const variables = { verification: { result: opinionOf(said.vote) } as unknown as Json }
  return goOn(put(heardOf(telling.asked.get(childRunId)!.result), { ...ended, status: 'completed', variables }))
}

const failed = (code: string) => ({
  status: 'failed' as const,
  variables: {},
  error: { code, message: 'it failed', retryable: false },
})

function endOf(work: Work, x: string) {
  if (work === 'failed below') return failed('verification_failed')
  if (work === 'broken') return failed('model_failed')
  const unreached = work === 'given up' ? { goalSatisfied: false as const } : {}
  return { status: 'completed' as const, variables: { x }, ...unreached }
}

/** `one` fails by its score, `two` by a blocking finding; what is left out has no score. */
function opinionOf(vote: { readonly [Each in Dimension]?: Word }) {
  const words = Object.entries(vote)
  return {
    scores: Object.fromEntries(
      words
        .filter(([, word]) => word !== 'none')
        .map(([dimension, word]) => [dimension, word === 'fail' && dimension === 'one' ? 3 : 9]),
    ),
    findings: words.flatMap(([dimension, word]) => {
      if (word === 'warns') return [blocker(dimension, 'warning')]
      // Whoever scores below the threshold says what is there.
      return word === 'fail' ? [blocker(dimension, dimension === 'two' ? 'blocking' : 'advisory')] : []
    }),
  }
}
