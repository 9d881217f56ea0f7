import { describe, expect, it } from 'vitest'
import { rulesFor, Scenario } from '../../testing/given-when-then.js'
import type { Sketch } from '../../testing/workflow.js'
import type { JsonObject } from '../json.js'
import { Replay } from '../replay/decide.js'
import { inherited } from '../replay/fork.js'
import { WORK_LIMITS, type WorkLimits } from '../work-limits.js'
import { decide } from './decide.js'
import { pending } from './effects.js'
import type { Recorded } from './events.js'
import type { RunInput } from './input.js'
import type { RunState } from './state.js'
import { ENGINE_VERSION } from './version.js'

const UNBOUNDED: WorkLimits = { step: Number.POSITIVE_INFINITY, decision: Number.POSITIVE_INFINITY }
const members = (n: number): JsonObject => Object.fromEntries(Array.from({ length: n }, (_, i) => [`key${i}`, `v${i}`]))

/** Condition and body compare two large objects: once, other tenants of a host that ran it got no answer for minutes. */
const COMPARING: Sketch = {
  nodes: {
    loop: { type: 'core.loop', config: { condition: 'inputs.a == inputs.b', maxIterations: 40 } },
    body: {
      type: 'core.setVariable',
      config: { name: 'same' },
      inputs: { value: { type: 'expression', expression: 'inputs.a == inputs.b' } },
    },
  },
  edges: ['loop.body > body', 'body > loop'],
}

type Driven = { readonly log: readonly Recorded[]; readonly steps: readonly number[]; readonly state: RunState }

/** Starts a run and lets it go on while that is owed; what it takes, decision by decision. */
function driven(workflow: Sketch, inputs: JsonObject, work: WorkLimits = WORK_LIMITS): Driven {
  const rules = rulesFor(workflow, [], { work })
  const started = {
    workflowId: 'w',
    workflowDigest: 'digest',
    inputs,
    transport: 'rest',
    engineVersion: ENGINE_VERSION,
    owner: { tenant: 't1' },
  }
  let input = { type: 'StartRun', runId: 'run-1', started, now: 1_000 } as unknown as RunInput
  let state: RunState = { phase: 'absent' }
  const log: Recorded[] = []
  const steps: number[] = []
  for (let owed = true; owed && steps.length < 100; ) {
    const decision = decide(rules, state, input)
    if (!decision.ok) throw new Error(decision.refusal.message)
    state = decision.state
    log.push(...decision.events)
    steps.push(decision.steps ?? 0)
    owed = pending(rules, state).some(({ kind }) => kind === 'continue')
    input = { type: 'Continue', now: 1_000 }
  }
  return { log, steps, state }
}

/** How it ended, in few words: what is compared is printed where it differs, and the data is large. */
const endOf = ({ state }: Driven): readonly string[] => {
  if (state.phase !== 'ended') return [state.phase]
  const { outcome } = state
  if (outcome.status !== 'failed') return [outcome.status]
  return [outcome.status, outcome.error.code, ...(outcome.failedNodeId === undefined ? [] : [outcome.failedNodeId])]
}

const said = ({ log }: Pick<Driven, 'log'>) => log.map(event => ({ ...event, input: undefined }))
const cuts = ({ log }: Pick<Driven, 'log'>) =>
  log.flatMap(({ input, sequence }) => (input?.type === 'Continue' ? [sequence] : []))

/** Told again by other rules, event by event. */
function retold({ log }: Driven, workflow: Sketch, work: WorkLimits): Recorded[] {
  const rules = rulesFor(workflow, [], { work })
  const fork = { sourceRunId: 'run-1', fromSeq: 0, sourceLength: log.length, mode: 'replay' } as const
  const replay = new Replay(rules, inherited({ phase: 'absent' }, 'run-2', fork), fork, 'run-2', log)
  const events: Recorded[] = []
  for (let told = replay.next(); told !== undefined; told = replay.next()) events.push(...told)
  return events
}

const shown = (events: readonly Recorded[]) =>
  events.map(event => ({ ...event, runId: '', cause: 0, payload: event.sequence === 0 ? {} : event.payload }))

describe('what a decision may take', () => {
  const inputs = { a: members(4_000), b: members(4_000) }
  const most = WORK_LIMITS.decision + WORK_LIMITS.step

  it('W2: is bounded, whatever there is to do: what is left is owed, and comes to the same', () => {
    const bounded = driven(COMPARING, inputs)
    const whole = driven(COMPARING, inputs, UNBOUNDED)
    expect(Math.max(...whole.steps)).toBeGreaterThan(10 * most)
    expect(Math.max(...bounded.steps)).toBeLessThanOrEqual(most)
    expect(bounded.steps.length).toBeGreaterThan(10)
    expect(JSON.stringify(said(bounded)) === JSON.stringify(said(whole))).toBe(true)
    expect(endOf(bounded)).toEqual(['failed', 'loop_limit_exceeded', 'loop'])
  })

  it('W2: what is small is decided in one go, as ever', () => {
    expect(driven(COMPARING, { a: members(40), b: members(40) }).steps).toHaveLength(1)
  })

  it('W2: what is written counts by its size', () => {
    const workflow: Sketch = {
      nodes: {
        loop: { type: 'core.loop', config: { maxIterations: 20 } },
        body: {
          type: 'core.setVariable',
          config: { name: 'copy' },
          inputs: { value: { type: 'variable', variableName: 'text' } },
        },
      },
      edges: ['loop.body > body', 'body > loop'],
    }
    const story = driven(workflow, { text: 'x'.repeat(500_000) })
    expect(story.steps).toHaveLength(21)
    expect(endOf(story)).toEqual(['completed'])
  })

  it.each([
    ['less', { step: 500_000, decision: 50_000 }],
    ['more', { step: 500_000, decision: 5_000_000 }],
    ['all', UNBOUNDED],
  ])('W2: told again by rules that may take %s: cut where the log was cut, and the same to the byte', (_what, work) => {
    const source = driven(COMPARING, inputs)
    const again = retold(source, COMPARING, work)
    expect(cuts({ log: again })).toEqual(cuts(source))
    expect(cuts(source).length).toBeGreaterThan(10)
    expect(JSON.stringify(shown(again)) === JSON.stringify(shown(source.log))).toBe(true)
  })

  it('W1: a node that would take more by itself fails, and says so', () => {
    const story = driven(COMPARING, { a: members(40_000), b: members(40_000) })
    expect(endOf(story)).toEqual(['failed', 'expression_budget_exceeded', 'loop'])
    expect(story.steps).toHaveLength(1)
    expect(story.steps[0]).toBeLessThanOrEqual(most)
    // What was refused is counted all the same.
    expect(story.steps[0]).toBeGreaterThanOrEqual(WORK_LIMITS.step)
  })

  it('W1: so does one whose inputs only together would', () => {
    const inputs = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [
        `p${i}`,
        { type: 'expression' as const, expression: 'inputs.a == inputs.b' },
      ]),
    )
    const story = driven({ nodes: { n: { type: 'core.identity', inputs } } }, { a: members(4_000), b: members(4_000) })
    expect(endOf(story)).toEqual(['failed', 'expression_budget_exceeded', 'n'])
    expect(Math.max(...story.steps)).toBeLessThanOrEqual(most)
  })

  it('W1: the look at whether a node may start and its start are steps of their own', () => {
    const same = 'inputs.a == inputs.b'
    const workflow: Sketch = {
      nodes: {
        s: { type: 'core.start' },
        n: { type: 'core.identity', inputs: { p: { type: 'expression', expression: same } } },
      },
      edges: [{ path: 's > n', condition: { type: 'expression', expression: same } }],
    }
    const story = driven(workflow, { a: members(11_000), b: members(11_000) })
    expect(story.steps.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(WORK_LIMITS.step)
    expect(endOf(story)).toEqual(['completed'])
  })

  /** Nodes that wait for another while the conditions of their edges are looked at. */
  const waiting = (n: number): Sketch => ({
    nodes: {
      s: { type: 'core.start' },
      w: { type: 'core.delay', config: { ms: 60_000 } },
      ...Object.fromEntries(Array.from({ length: n }, (_, i) => [`n${i}`, { type: 'core.noop' }])),
    },
    edges: Array.from({ length: n }, (_, i) => [
      { path: `s > n${i}`, condition: { type: 'expression' as const, expression: 'inputs.a == inputs.b' } },
      `w > n${i}`,
    ]).flat(),
  })

  it('W1 W3: a run whose conditions take more than a decision may fails, and is not looked at for ever', () => {
    const story = driven(waiting(40), inputs)
    expect(endOf(story).slice(0, 2)).toEqual(['failed', 'step_budget_exceeded'])
    expect(Math.max(...story.steps)).toBeLessThanOrEqual(most)
    expect(endOf(driven(waiting(2), inputs))).toEqual(['active'])
  })

  it('W3: conditions are looked at once for each state, however often what is owed is asked for', () => {
    const rules = rulesFor(waiting(2))
    let looks = 0
    for (const edge of rules.plan.nodes.flatMap(({ inbound }) => inbound)) {
      const { condition } = edge
      if (condition)
        Object.assign(edge, {
          condition: (...asked: Parameters<typeof condition>) => {
            looks += 1
            return condition(...asked)
          },
        })
    }
    const { state } = new Scenario(rules).start(inputs)
    looks = 0
    for (let i = 0; i < 10; i += 1) expect(pending(rules, state)).toEqual([])
    expect(looks).toBe(2)
  })
})

/** Each child is given both objects: what is handed over is told, hashed and stored for each of them. */
const HANDING: Sketch = {
  nodes: Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [
      `child${i}`,
      { type: 'core.subWorkflow', config: { workflowId: 'worker', inputMapping: { a: 'a', b: 'b' } } },
    ]),
  ),
}

describe('work that is handed over', () => {
  const inputs = { a: members(4_000), b: members(4_000) }
  const began = ({ log }: Pick<Driven, 'log'>) =>
    log.filter(({ payload }) => 'phase' in payload && payload.phase === 'dispatch.began').length

  it('W2: is charged by what it carries, so that a decision hands over a part, and the next ones the rest', () => {
    const run = driven(HANDING, inputs)
    expect(run.steps.length).toBeGreaterThan(5)
    expect(Math.max(...run.steps)).toBeLessThan(WORK_LIMITS.decision + WORK_LIMITS.step)
    expect(cuts(run)).toHaveLength(run.steps.length - 1)
    expect(said(run)).toEqual(said(driven(HANDING, inputs, UNBOUNDED)))
    expect(began(run)).toBe(40)
  })

  it('W2: what carries little is handed over at once', () => {
    expect(driven(HANDING, { a: {}, b: {} }).steps).toHaveLength(1)
  })
})
