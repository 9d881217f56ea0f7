import type { Brief, ModelSaid } from '../../../src/core/invocation/brief.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { RunCommand } from '../../../src/engine/api.js'
import type {
  AgentAnswer,
  AgentFailure,
  Agents,
  ModelCallRequest,
  ToolCallRequest,
} from '../../../src/engine/ports/agents.js'
import type { StoredEvent } from '../../../src/engine/ports/event-log.js'
import { agentsDouble, type Said } from '../../../src/testing/agents.js'
import { engineRig, type Rig, register, startRun } from '../../../src/testing/engine-rig.js'
import { AGENT, agentFlow, HASH } from '../../../src/testing/invocations.js'
import { settled } from '../../../src/testing/manual-clock.js'
import { MortalHost, never } from '../../../src/testing/mortal-host.js'
import type { Counts } from './counts.js'
import { CORRECTION, type Disturbance, FOREIGN, nthOf, type Setup, type Thought } from './setup.js'

/** A call as it really happened outside. */
export type Happened = {
  readonly id: string
  readonly kind: 'think' | 'use'
  readonly disturbance: Disturbance
  /** Its outcome was given back, so that it may be asked for again. */
  readonly isGivenBack: boolean
  readonly tokens: number
  readonly nano: number
}

const LIMIT_MS = 60_000

/** Plays a setup on real hosts, which die, pause and go on as it says. */
export class Story {
  readonly rig: Rig = engineRig()
  readonly happened: Happened[] = []
  runId = ''
  #host!: MortalHost
  readonly #agents: Agents
  #thoughts = 0
  #uses = 0
  #raises = 0

  constructor(
    private readonly setup: Setup,
    private readonly seen: Counts,
  ) {
    const { tools, inputTokens, maxOutputTokens, maxRounds, maxRetries, checksResult, threshold, price } = setup
    const brief: Partial<Brief> = {
      tools,
      inputTokens,
      maxOutputTokens,
      maxRounds,
      maxRetries,
      checksResult,
      ...(threshold === undefined ? {} : { threshold }),
      ...(price ? { price } : {}),
      ...(setup.taskProblem ? { taskProblem: 'no' } : {}),
    }
    const double = agentsDouble({ agents: { [AGENT]: brief }, think: ask => this.#think(ask) })
    this.#agents = { ...double, callTool: ask => this.#use(ask) }
  }

  get thoughts(): number {
    return this.#thoughts
  }

  get uses(): number {
    return this.#uses
  }

  async tell(): Promise<void> {
    await this.#boot()
    const { nodeRetries, budget, verbosity, runThreshold, scopes } = this.setup
    const settings = { maxRetries: nodeRetries, retryDelayMs: 10 }
    await register(this.#host.engine, agentFlow({ settings, config: { timeoutMs: LIMIT_MS } }, { id: 'w' }))
    const configurable: JsonObject = {
      budget: budget as JsonObject,
      reasoningVerbosity: verbosity,
      ...(runThreshold === undefined ? {} : { escalationThreshold: runThreshold }),
    }
    this.runId = await startRun(this.#host.engine, 'w', { configurable, scopes, inputs: { task: 't' } })
    for (let step = 0; step < 300; step += 1) if (await this.#isOver()) return
    throw new Error(`the run has not come to an end: ${(await this.log()).map(({ type }) => type).join(', ')}`)
  }

  log(): Promise<StoredEvent[]> {
    return this.rig.store.readEvents(this.runId, 0)
  }

  /** Does what there is to do from outside; true once the run has ended. */
  async #isOver(): Promise<boolean> {
    if (this.#host.isDead) {
      this.seen.crashes += 1
      await this.#boot()
      await settled()
    }
    const row = (await this.rig.store.readRun(null, this.runId))!
    if (row.endedAt !== null) return true
    const { engine } = this.#host
    if (row.status === 'paused') await engine.command('t1', this.runId, { type: 'resume' })
    else if (row.status === 'waiting-approval') await this.#judge()
    else await this.rig.clock.advance(1_000)
    await settled()
    return false
  }

  async #boot(): Promise<void> {
    this.#host = await new MortalHost(this.rig).boot(this.#agents, { maxPoisonAttempts: 1_000 })
  }

  async #judge(): Promise<void> {
    const asked = (await this.log()).findLast(({ type }) => type === 'interrupt.requested')!
    const { data } = JSON.parse(asked.payload) as { readonly data: JsonObject }
    if (data.artifactType === 'budget') return this.#raise(data)
    const verdict = this.setup.verdicts[0]!
    this.seen[`held: ${verdict}`] += 1
    if (verdict === 'nobody') return this.rig.clock.advance(LIMIT_MS)
    const value = { action: verdict, ...(verdict === 'edit-accept' ? { editedArtifactData: 'edited' } : {}) }
    await this.#host.engine.command('t1', this.runId, { type: 'resolve', nodeId: 'a', value, by: 'ann', via: 'key' })
  }

  async #raise(data: JsonObject): Promise<void> {
    // A host that died with its last write still answers from what it knew before.
    if (this.#host.isDead) return
    const { times, crash } = this.setup.raises[this.#raises] ?? { times: 0, crash: false }
    this.#raises += 1
    if (crash) {
      this.seen['more: asked for when the host died'] += 1
      this.#host.die()
      await this.#boot()
      await settled()
    }
    const more = { [String(data.setting)]: Number(data.leastDelta) * times }
    const value = times > 0 ? { action: 'accept', budgetDelta: more } : { action: 'reject' }
    this.seen[times > 0 ? 'more: given' : 'more: refused'] += 1
    const answer = { type: 'resolve', nodeId: 'a', value, by: 'ann', via: 'key' } as const
    const heard = await this.#host.engine.command('t1', this.runId, answer)
    if (!heard.ok) throw new Error(JSON.stringify(heard))
  }

  /** Returns when the call is to be answered; never when nobody is left to hear it. */
  async #disturb(disturbance: Disturbance, where: 'model' | 'tool'): Promise<void> {
    const host = this.#host
    const command = async (asked: RunCommand) => {
      // The first call may come before whoever started the run knows its id.
      const [row] = await this.rig.store.listRuns({ tenant: 't1', limit: 1 })
      await host.engine.command('t1', row!.runId, asked)
    }
    this.seen[`${where}: ${disturbance}`] += 1
    switch (disturbance) {
      case 'none':
        return
      case 'crash during':
        host.die()
        return never()
      case 'crash before kept':
        return host.dieAt(1, 'before')
      case 'crash before told':
        return host.dieAt(1, 'after')
      case 'crash after told':
        return host.dieAt(2, 'after')
      case 'pause at once':
        return command({ type: 'pause', drainPolicy: 'immediate' })
      case 'pause draining':
        return command({ type: 'pause', drainPolicy: 'drain-current-node' })
      case 'cancel':
        return command({ type: 'cancel', by: 'ann' })
    }
  }

  async #think({ id, maxOutputTokens }: ModelCallRequest): Promise<Said | AgentFailure> {
    const thought = nthOf(this.setup.thoughts, this.#thoughts)
    this.#thoughts += 1
    const { words, disturbance } = thought
    const inputTokens = Math.floor(this.setup.inputTokens * thought.inputPart)
    const outputTokens = Math.floor(maxOutputTokens * thought.outputPart)
    const isFree = words.kind === 'broken' && !words.billed
    const { input = 0, output = 0 } = this.setup.price ?? {}
    this.happened.push({
      id,
      kind: 'think',
      disturbance,
      isGivenBack: isFree && words.retryable,
      tokens: isFree ? 0 : inputTokens + outputTokens,
      nano: isFree ? 0 : inputTokens * Math.round(input * 1_000) + outputTokens * Math.round(output * 1_000),
    })
    this.seen[`said: ${words.kind}`] += 1
    await this.#disturb(disturbance, 'model')
    const usage = { inputTokens, outputTokens }
    if (words.kind === 'broken')
      return {
        ok: false,
        code: 'model_failed',
        message: 'it broke',
        retryable: words.retryable,
        ...(words.billed ? { usage } : {}),
      }
    const { turnedAway: retries } = thought
    return { said: this.#said(words), usage, retries, replyTokens: thought.replyTokens }
  }

  #said(words: Exclude<Thought['words'], { kind: 'broken' }>): ModelSaid {
    switch (words.kind) {
      case 'answered':
        return {
          kind: 'answered',
          result: 'r',
          ...(words.confidence === undefined ? {} : { confidence: words.confidence }),
        }
      case 'tools':
        return { kind: 'tools', calls: words.calls.map(call => this.#wanted(call)) }
      case 'unusable':
        return { kind: 'unusable', reason: words.reason, problem: CORRECTION }
      case 'truncated':
        return { kind: 'truncated', stopReason: 'length' }
      case 'refused':
        return { kind: 'refused' }
    }
  }

  #wanted({ tool, misfit }: { readonly tool: number; readonly misfit: boolean }) {
    const known = this.setup.tools[tool]?.toolId
    if (known === undefined) this.seen['foreign tools'] += 1
    const toolId = known ?? FOREIGN[Math.abs(tool) % FOREIGN.length]!
    return { toolId, argsHash: HASH, ...(misfit ? { problem: 'misfit' } : {}) }
  }

  async #use({ id }: ToolCallRequest): ReturnType<Agents['callTool']> {
    const use = nthOf(this.setup.uses, this.#uses)
    this.#uses += 1
    const { status, disturbance, resultTokens } = use
    this.happened.push({
      id,
      kind: 'use',
      disturbance,
      isGivenBack: status === 'fails for now',
      tokens: 0,
      nano: 0,
    })
    this.seen[`tool: ${status}`] += 1
    await this.#disturb(disturbance, 'tool')
    if (status === 'fails' || status === 'fails for now')
      return { ok: false, code: 'tool_failed', message: 'no', retryable: status !== 'fails' }
    const told = { status, durationMs: 1, resultTokens }
    const contents = { text: 't', isError: status !== 'ok' }
    return { ok: true, told, contents } satisfies AgentAnswer<typeof told, Json>
  }
}
