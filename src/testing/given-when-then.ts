import { fold } from '../core/decider.js'
import type { JsonObject } from '../core/json.js'
import type { Refusal } from '../core/problem.js'
import type { Rules } from '../core/run/decide.js'
import { type Effect, wakeAt } from '../core/run/effects.js'
import type { Recorded } from '../core/run/events.js'
import type { RunInput } from '../core/run/input.js'
import { runDecider } from '../core/run/run-decider.js'
import type { RunState } from '../core/run/state.js'
import { ENGINE_VERSION } from '../core/run/version.js'
import type { BoundGate } from '../core/verification/gate.js'
import { compile, isPlan } from '../core/workflow/compile.js'
import { coreNodeTypes } from '../core/workflow/nodes/registry.js'
import { LIMITS } from './limits.js'
import { type Sketch, sketch } from './workflow.js'

export const rulesFor = (
  workflow: Sketch,
  capabilities: readonly string[] = [],
  limits: Partial<Rules['limits']> = {},
): Rules => {
  const plan = compile(sketch(workflow), 'digest', {
    nodeTypes: new Map(coreNodeTypes.map(type => [type.typeId, type])),
    capabilities: new Set(capabilities),
  })
  if (!isPlan(plan)) throw new Error(plan.message)
  return { plan, limits: { ...LIMITS, ...limits }, capabilities: new Set(capabilities) }
}

type Happening = RunInput extends infer Each ? (Each extends unknown ? Omit<Each, 'now'> : never) : never

/** A run driven by hand: put inputs, look at the events, the state and what is owed. */
export class Scenario {
  readonly log: Recorded[] = []
  refusal: Refusal | undefined
  now = 1_000

  readonly #decider: ReturnType<typeof runDecider>

  constructor(readonly rules: Rules) {
    this.#decider = runDecider(rules)
  }

  start(inputs: JsonObject = {}, configurable?: JsonObject, gates?: readonly BoundGate[], principal?: string): this {
    const started = {
      workflowId: this.rules.plan.definition.id,
      workflowDigest: 'digest',
      inputs,
      transport: 'rest' as const,
      engineVersion: ENGINE_VERSION,
      owner: { tenant: 't1', ...(principal === undefined ? {} : { principal }) },
      ...(configurable ? { configurable } : {}),
    }
    return this.when({ type: 'StartRun', runId: 'run-1', started, ...(gates ? { gates } : {}) } as Happening)
  }

  when(input: Happening): this {
    const decision = this.#decider.decide(this.state, { ...input, now: this.now } as RunInput)
    this.refusal = decision.ok ? undefined : decision.refusal
    if (decision.ok) this.log.push(...decision.events)
    return this
  }

  /** Time goes by, and the run is told. */
  after(ms: number): this {
    this.now += ms
    return this.when({ type: 'TimeCame' } as Happening)
  }

  /** Always folded from the whole log, so every test also tests that the log is enough. */
  get state(): RunState {
    return fold(this.#decider.evolve, this.#decider.initial, this.log)
  }

  get owed(): readonly Effect[] {
    return this.#decider.pending(this.state)
  }

  get wakeAt(): number | null {
    return wakeAt(this.rules, this.state)
  }

  /** `type` or `type nodeId` of each event, from `from` on. */
  told(from = 0): string[] {
    return this.log.slice(from).map(({ type, nodeId }) => (nodeId === undefined ? type : `${type} ${nodeId}`))
  }

  /** Sequence of the latest event of that type and node. */
  sequence(type: string, nodeId?: string): number {
    return this.log.findLast(event => event.type === type && (nodeId === undefined || event.nodeId === nodeId))!
      .sequence
  }
}

export const given = (workflow: Sketch, capabilities?: readonly string[]): Scenario =>
  new Scenario(rulesFor(workflow, capabilities))
