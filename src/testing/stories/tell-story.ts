import { type OpenInterrupt, openInterrupts } from '../../core/interrupt/decide.js'
import type { Json } from '../../core/json.js'
import type { RunCommand } from '../../engine/api.js'
import type { EffectClaim } from '../../engine/ports/effect-ledger.js'
import type { Performer } from '../../engine/ports/performer.js'
import type { RunRow } from '../../engine/ports/run-index.js'
import type { Store } from '../../engine/ports/store.js'
import type { Engine } from '../../engine/runtime/engine.js'
import type { CheckedRun, CheckInput } from '../../log-check/checked.js'
import { fromRows } from '../../log-check/read-log.js'
import { type Choose, chance, pick } from '../../log-check/testing/choice.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { engineRig, type Rig, register } from '../engine-rig.js'
import { LIMITS } from '../limits.js'
import { settled } from '../manual-clock.js'
import { MortalHost } from '../mortal-host.js'
import { scriptedAgents } from './model.js'
import { makeStory, type Story, type StoryKind } from './story.js'
import { CHILDREN, MAIN } from './workflows.js'

/** Everything the real engine's store holds after a story that is a function of its choices. */
export async function toldRuns(kind: StoryKind, choose: Choose): Promise<CheckInput> {
  const telling = new Telling(makeStory(kind, choose), choose)
  return { complete: true, runs: await telling.tell() }
}

const TENANT = 't1'
const VOTERS = ['ann', 'bob', 'cy', 'dan']

class Telling {
  readonly #claims: EffectClaim[] = []
  readonly #rig: Rig
  readonly #agents
  #host!: MortalHost

  constructor(
    private readonly story: Story,
    private readonly choose: Choose,
  ) {
    this.#rig = engineRig(this.#watched(new MemoryStore()))
    this.#agents = scriptedAgents(this.#rig.clock, choose)
  }

  async tell(): Promise<CheckedRun[]> {
    const { workflow, configurable, forks } = this.story
    await this.#boot()
    await register(this.#engine, ...CHILDREN, workflow)
    const request = { tenant: TENANT, principal: 'ann', scopes: [], transport: 'rest', configurable } as const
    const inputs = { count: 7, extra: [1, 2] }
    const created = await this.#engine.create({ ...request, workflowId: MAIN, inputs })
    if (!created.ok) throw new Error(JSON.stringify(created))
    await this.#goOn()
    for (const mode of forks) {
      await this.#fork(mode)
      await this.#goOn()
    }
    if (!this.story.isOpen) await this.#end()
    return this.#read()
  }

  get #engine(): Engine {
    return this.#host.engine
  }

  async #boot(): Promise<void> {
    const performer: Performer = {
      perform: async () => {
        await new Promise<void>(resolve => this.#rig.clock.after(pick(this.choose, [0, 30, 500]), resolve))
        if (chance(this.choose, 3)) return { ok: false, code: 'effect_failed', message: 'no', retryable: true }
        return { ok: true, output: 'done' }
      },
    }
    this.#host = await new MortalHost(this.#rig).boot(this.#agents, {
      performers: new Map([['conformance.side-effect', performer]]),
      limits: { ...LIMITS, maxDepth: 8, confidence: this.story.floor },
      reuseAnswers: true,
      spaces: ['memory', 'workspace'],
      maxPoisonAttempts: 1_000,
    })
    await settled()
  }

  async #goOn(): Promise<void> {
    for (let step = 0; step < this.story.steps; step += 1) {
      if (chance(this.choose, this.story.troubleOneIn)) await this.#trouble()
      else if (chance(this.choose, 2)) await this.#rig.clock.advance(pick(this.choose, [1, 40, 150, 400]))
      else await this.#answerOne()
      await settled()
    }
  }

  async #trouble(): Promise<void> {
    const { runId } = pick(this.choose, await this.#rows())
    const commands: readonly RunCommand[] = [
      { type: 'pause', drainPolicy: 'immediate' },
      { type: 'pause', drainPolicy: 'immediate' },
      { type: 'pause', drainPolicy: 'drain-current-node' },
      { type: 'resume' },
      { type: 'resume' },
      { type: 'cancel', by: 'ann', reason: 'no longer needed' },
    ]
    if (!chance(this.choose, 6)) {
      await this.#engine.command(TENANT, runId, pick(this.choose, commands))
      return
    }
    this.#host.die()
    await this.#boot()
  }

  async #answerOne(): Promise<void> {
    const asks = await this.#asks()
    if (asks.length > 0) await this.#answer(pick(this.choose, asks))
  }

  async #answer({ runId, open: { nodeId, asked } }: { readonly runId: string; readonly open: OpenInterrupt }) {
    const value = answerTo(asked, this.choose)
    const by = pick(this.choose, VOTERS)
    await this.#engine.command(TENANT, runId, { type: 'resolve', nodeId, value, by, via: 'key' })
  }

  async #fork(mode: Story['forks'][number]): Promise<void> {
    const { runId, length } = pick(
      this.choose,
      (await this.#rows()).filter(({ parentRunId }) => parentRunId === null),
    )
    await this.#engine.fork({ tenant: TENANT, runId, mode, fromSeq: this.choose(length + 1) })
  }

  /** With nobody to trouble them and someone who answers, all runs end. */
  async #end(): Promise<void> {
    for (let step = 0; step < 300; step += 1) {
      const open = (await this.#rows()).filter(({ endedAt }) => endedAt === null)
      if (open.length === 0) return
      for (const { runId, status } of open)
        if (status === 'paused') await this.#engine.command(TENANT, runId, { type: 'resume' })
      for (const asking of await this.#asks()) await this.#answer(asking)
      await this.#rig.clock.advance(200)
    }
    throw new Error('the runs of the story do not end')
  }

  /** Oldest first. */
  async #rows(): Promise<RunRow[]> {
    return (await this.#rig.store.listRuns({ tenant: TENANT, limit: 1_000 })).reverse()
  }

  async #asks() {
    const asks: { runId: string; open: OpenInterrupt }[] = []
    for (const { runId, endedAt } of await this.#rows()) {
      const view = endedAt === null ? await this.#engine.inspect(TENANT, runId) : undefined
      if (view) asks.push(...openInterrupts(view.plan, view.state).map(open => ({ runId, open })))
    }
    return asks
  }

  async #read(): Promise<CheckedRun[]> {
    const runs: CheckedRun[] = []
    for (const row of await this.#rows()) {
      const { runId, tenant } = row
      const state = (await this.#engine.inspect(tenant, runId))?.state
      if (state === undefined || state.phase === 'absent') throw new Error(`${runId} is nowhere`)
      const { variables, channels } = state
      const definition = JSON.parse((await this.#rig.store.getDefinition(row.workflowDigest)) ?? '') as unknown
      const events = fromRows(runId, await this.#rig.store.readEvents(runId, 0))
      const invocations = this.#claims.filter(claim => claim.runId === runId)
      const snapshot = { variables, channels }
      runs.push({ runId, tenant, row: rowOf(row), definition, events, invocations, snapshot })
    }
    return runs
  }

  #watched(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'claimEffect') return value.bind(target)
        return (claim: EffectClaim) => {
          if (!this.#claims.some(({ id }) => id === claim.id)) this.#claims.push(claim)
          return value.call(target, claim)
        }
      },
    })
  }
}

const rowOf = ({ status, length, parentRunId, parentNodeId, endedAt, wakeAt, fork, head }: RunRow) => ({
  status,
  length,
  parentRunId,
  parentNodeId,
  endedAt,
  wakeAt,
  fork,
  head,
})

const EDITS = [
  { kind: 'next-worker', nextWorkerIds: ['helper'] },
  { kind: 'next-worker', nextWorkerIds: ['child', 'helper'] },
  { kind: 'terminate', reason: 'enough' },
]

/** What someone may say; it need not fit. */
function answerTo({ kind, data }: OpenInterrupt['asked'], choose: Choose): Json {
  if (kind === 'clarification') {
    const word = pick(choose, ['so', 'confirm', 'confirm'])
    const questions = data.questions as readonly { readonly id: string }[]
    return { answers: Object.fromEntries(questions.map(({ id }) => [id, word])) }
  }
  if (kind === 'external-event') return { order: 7, amount: choose(9) }
  const offered = Array.isArray(data.actions) ? (data.actions as string[]) : ['accept', 'reject', 'edit-accept']
  const isBudget = data.artifactType === 'budget'
  const action = isBudget && chance(choose, 2) ? 'accept' : pick(choose, offered)
  const { setting, leastDelta } = data
  return {
    action,
    ...(isBudget ? { budgetDelta: { [String(setting)]: Number(leastDelta) * (1 + choose(3)) } } : {}),
    ...(action === 'refine' ? { refineFeedback: { scope: 'whole' } } : {}),
    ...(action === 'edit-accept' ? { editedArtifactData: pick<Json>(choose, EDITS) } : {}),
  }
}
