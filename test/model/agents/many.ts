import fc from 'fast-check'
import type { BudgetPolicy } from '../../../src/core/budget/budget.js'
import { openInterrupts } from '../../../src/core/interrupt/decide.js'
import type { ModelSaid, Price } from '../../../src/core/invocation/brief.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { AgentFailure, ModelCallRequest } from '../../../src/engine/ports/agents.js'
import { type AgentsDouble, agentsDouble, type Said } from '../../../src/testing/agents.js'
import { engineRig, type Rig, register } from '../../../src/testing/engine-rig.js'
import { AGENT, agentFlow, agentNode, answered, tool, wants } from '../../../src/testing/invocations.js'
import { settled } from '../../../src/testing/manual-clock.js'
import { MortalHost, never } from '../../../src/testing/mortal-host.js'
import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import type { Counts } from './counts.js'
import { price, type Raise, raise } from './setup.js'
import type { Happened } from './story.js'

type Words = 'answered' | 'tools' | 'truncated' | 'unusable' | 'broken'

/** Several agents that share one budget: side by side, beside workers of the run, or as workers themselves. */
export type Many = {
  readonly shape: 'side by side' | 'beside a worker' | 'led one by one' | 'led all at once'
  readonly agents: number
  readonly budget: BudgetPolicy
  readonly price: Price | undefined
  readonly inputTokens: number
  readonly maxOutputTokens: number
  readonly raises: readonly Raise[]
  readonly thoughts: readonly {
    readonly words: Words
    readonly ms: number
    readonly part: number
    readonly crash: boolean
    readonly cancel: boolean
  }[]
}

const SAFE = tool('mcp:safe')
const WORKERS = ['one', 'two', 'three']
const USUAL = { words: 'answered', ms: 1, part: 0.5, crash: false, cancel: false } as const

const rarely = (weight: number) =>
  fc.oneof({ arbitrary: fc.constant(false), weight }, { arbitrary: fc.constant(true), weight: 1 })

export const many: fc.Arbitrary<Many> = fc.record({
  shape: fc.constantFrom('side by side', 'beside a worker', 'led one by one', 'led all at once'),
  agents: fc.integer({ min: 2, max: 3 }),
  budget: fc.record(
    {
      maxTokens: fc.integer({ min: 300, max: 4_000 }),
      maxCostUsd: fc.integer({ min: 2, max: 40 }).map(n => n / 1_000),
      maxToolCalls: fc.integer({ min: 1, max: 6 }),
      maxRetries: fc.nat({ max: 3 }),
      onExhaustion: fc.constantFrom('fail' as const, 'interrupt' as const),
    },
    { requiredKeys: ['maxTokens'] },
  ),
  price: price.filter(told => told !== undefined),
  inputTokens: fc.integer({ min: 50, max: 200 }),
  maxOutputTokens: fc.integer({ min: 50, max: 900 }),
  raises: fc.array(raise, { maxLength: 5 }),
  thoughts: fc.array(
    fc.record({
      words: fc.constantFrom<Words>(
        'answered',
        'answered',
        'answered',
        'tools',
        'tools',
        'truncated',
        'unusable',
        'broken',
      ),
      ms: fc.nat({ max: 40 }),
      part: fc.constantFrom(0, 0.1, 0.5, 1),
      crash: rarely(12),
      cancel: rarely(60),
    }),
    { minLength: 6, maxLength: 6 },
  ),
})

type Call = { -readonly [Field in keyof Happened]: Happened[Field] }

export class ManyStory {
  readonly rig: Rig = engineRig()
  readonly happened: Call[] = []
  #host!: MortalHost
  #raises = 0
  readonly #agents: AgentsDouble

  constructor(
    private readonly setup: Many,
    private readonly seen: Counts,
  ) {
    const { price: told, inputTokens, maxOutputTokens } = setup
    const brief = {
      tools: [SAFE],
      inputTokens,
      maxOutputTokens,
      maxRounds: 3,
      maxRetries: 1,
      ...(told && { price: told }),
    }
    this.#agents = agentsDouble({ agents: { [AGENT]: brief }, think: ask => this.#think(ask) })
  }

  async tell(): Promise<void> {
    await this.#boot()
    const { engine } = this.#host
    await register(engine, ...['child', ...WORKERS].map(id => agentFlow({}, { id })), { ...this.#workflow(), id: 'w' })
    const configurable: JsonObject = { budget: this.setup.budget as JsonObject }
    const request = { tenant: 't1', principal: 'p', inputs: { task: 't' }, transport: 'rest', configurable } as const
    await engine.create({ ...request, workflowId: 'w' })
    for (let step = 0; step < 300; step += 1) {
      if (this.#host.isDead) {
        this.seen.crashes += 1
        await this.#noteCut()
        await this.#boot()
      }
      await this.rig.clock.advance(200)
      await settled()
      const rows = await this.rig.store.listRuns({ tenant: 't1', limit: 100 })
      if (rows.every(({ endedAt }) => endedAt !== null)) return
      for (const { runId, endedAt } of rows) if (endedAt === null) await this.#answer(runId)
    }
    throw new Error('the runs have not come to an end')
  }

  /** Whoever is asked for more says what the setup says, and refuses in the end. */
  async #answer(runId: string): Promise<void> {
    if (this.#host.isDead) return
    const view = (await this.#host.engine.inspect('t1', runId))!
    const [open] = openInterrupts(view.plan, view.state)
    if (open === undefined) return
    const { times, crash } = this.setup.raises[this.#raises] ?? { times: 0, crash: false }
    this.#raises += 1
    if (crash) {
      this.#host.die()
      return
    }
    const { nodeId, asked } = open
    const waiting = view.state.phase === 'active' ? view.state.nodes.filter(node => node.is === 'waiting') : []
    if (waiting.filter(({ halted }) => halted !== undefined).length > 1)
      this.seen['more: asked for once by several'] += 1
    const more = { [String(asked.data.setting)]: Number(asked.data.leastDelta) * times }
    const value = times > 0 ? { action: 'accept', budgetDelta: more } : { action: 'reject' }
    await this.#host.engine.command('t1', runId, { type: 'resolve', nodeId, value, by: 'ann', via: 'key' })
  }

  #workflow(): Sketch {
    const { shape, agents } = this.setup
    const names = ['a', 'b', 'c'].slice(0, agents)
    const besides = shape === 'beside a worker' ? names.slice(1) : []
    const nodeOf = (name: string) =>
      besides.includes(name) ? { type: 'core.subWorkflow', config: { workflowId: 'child' } } : agentNode()
    if (shape === 'side by side' || shape === 'beside a worker')
      return {
        nodes: { f: 'core.parallel', ...Object.fromEntries(names.map(name => [name, nodeOf(name)])) },
        edges: names.map(name => `f > ${name}`),
      }
    const rules = [{ when: 'iteration == 1', decide: next(...WORKERS.slice(0, agents)) }, { decide: terminate }]
    const dispatch = { fanOutPolicy: shape === 'led all at once' ? 'parallel' : 'sequential' }
    return loopOf({ rules }, { dispatch })
  }

  async #boot(): Promise<void> {
    this.#host = await new MortalHost(this.rig).boot(this.#agents, { maxPoisonAttempts: 1_000 })
  }

  /** Whatever has no outcome when its host dies was cut off. */
  async #noteCut(): Promise<void> {
    for (const call of this.happened)
      if ((await this.rig.store.readEffect(call.id)) === undefined) call.disturbance = 'crash during'
  }

  async #think({ id, maxOutputTokens }: ModelCallRequest): Promise<Said | AgentFailure> {
    const { words, ms, part, crash, cancel } = this.setup.thoughts[this.happened.length] ?? USUAL
    const { price: told, inputTokens: most } = this.setup
    const inputTokens = Math.floor(most * part)
    const outputTokens = Math.floor(maxOutputTokens * part)
    const { input = 0, output = 0 } = told ?? {}
    this.happened.push({
      id,
      kind: 'think',
      disturbance: 'none',
      isGivenBack: false,
      tokens: inputTokens + outputTokens,
      nano: inputTokens * Math.round(input * 1_000) + outputTokens * Math.round(output * 1_000),
    })
    const host = this.#host
    await new Promise<void>(resolve => this.rig.clock.after(ms, resolve))
    if (crash) {
      host.die()
      return never()
    }
    if (cancel) {
      const rows = await this.rig.store.listRuns({ tenant: 't1', limit: 100 })
      await host.engine.command('t1', rows.at(-1)!.runId, { type: 'cancel', by: 'ann' })
    }
    const usage = { inputTokens, outputTokens }
    if (words === 'broken') return { ok: false, code: 'model_failed', message: 'it broke', retryable: true, usage }
    return { said: SAID[words], usage, replyTokens: 10 }
  }
}

const SAID: { readonly [Kind in Exclude<Words, 'broken'>]: ModelSaid } = {
  answered: answered('r', 0.9),
  tools: wants(SAFE.toolId, 'x:foreign'),
  truncated: { kind: 'truncated', stopReason: 'length' },
  unusable: { kind: 'unusable', reason: 'parse-error', problem: 'p' },
}
