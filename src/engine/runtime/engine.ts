import type { Json } from '../../core/json.js'
import type { Refusal } from '../../core/problem.js'
import type { Rules } from '../../core/run/decide.js'
import { isStreamId, STREAM_WORKFLOWS } from '../../core/standing/stream.js'
import { HOST_WORKFLOW_IDS } from '../../core/workflow/host-workflow-ids.js'
import type { Plan } from '../../core/workflow/plan.js'
import { Lru } from '../../lru.js'
import { sleep } from '../../timing/sleep.js'
import { Turns } from '../../timing/turns.js'
import type {
  Answer,
  CreateRun,
  ForkRun,
  Health,
  InspectedRun,
  MakeResponse,
  ResolveInterruptCommand,
  RunCommand,
  RunEngine,
} from '../api.js'
import { forgetRepetitions } from '../effects/once.js'
import { PeerTries } from '../effects/peer-tries.js'
import type { StoredEvent } from '../ports/event-log.js'
import { NO_PEERS } from '../ports/peers.js'
import type { RunQuery, RunRow } from '../ports/run-index.js'
import { NOTHING_TODAY } from '../ports/today.js'
import { missingRun } from '../queries/missing-run.js'
import { Schedules } from '../schedules/schedules.js'
import { RunStarter } from '../standing/run-starter.js'
import { StandingStreams, type StreamGround } from '../standing/standing.js'
import { answerFor } from './answer-interrupt.js'
import { childFullness, effectPlaces, type Phase, troubles, unavailable } from './capacity.js'
import { inputOf } from './command-input.js'
import { Committer } from './committer.js'
import { acceptWorkflow, examineWorkflow } from '../plans/doubts.js'
import { Driver } from './effect-driver.js'
import type { EngineDeps, EngineOptions } from './engine-deps.js'
import { Followers, nothingToFollow } from './followers.js'
import { type ForkDeps, forkRun } from './fork.js'
import { HostLease } from './host-lease.js'
import { Plans } from '../plans/plans.js'
import { RunCache } from './run-cache.js'
import { type Input, inspectedRun, RunWriter, type Written } from './run-writer.js'
import { beginningOf, type StartDeps } from './start-run.js'

/** At most so many briefs, answers and tool results are kept at hand; the longest is a megabyte, most are far shorter. */
const RECENT_CONTENTS = 200
const PURGE_EVERY_MS = 3_600_000

/** The shell around the run decider: create, command, follow, inspect. Knows ports, never technologies. */
export class Engine implements RunEngine {
  readonly #plans: Plans
  readonly #cache: RunCache
  readonly #lease: HostLease
  readonly #runs: RunWriter
  readonly #driver: Driver
  readonly #followers: Followers
  readonly #standing: StandingStreams
  readonly #starting: StartDeps
  readonly #starter: RunStarter
  readonly schedules: Schedules
  readonly #registering: Parameters<typeof acceptWorkflow>[0]
  readonly #forks: ForkDeps
  #phase: Phase = 'new'
  #sweptAt = Number.NEGATIVE_INFINITY
  #purgedAt = Number.NEGATIVE_INFINITY
  #disarm: () => void = () => undefined
  #unhint: () => void = () => undefined

  constructor(
    private readonly deps: EngineDeps,
    private readonly options: EngineOptions,
  ) {
    const { store, clock, ids, schemas, nodeTypes, capabilities, performers, definitionShape } = deps
    const rulesByPlan = new WeakMap<Plan, Rules>()
    const rules = (plan: Plan): Rules => {
      const known = rulesByPlan.get(plan) ?? { plan, limits: options.limits, capabilities }
      rulesByPlan.set(plan, known)
      return known
    }
    const workshop = { nodeTypes, capabilities, providers: new Set(performers.keys()), offFor: deps.offFor }
    this.#plans = new Plans(store, clock, schemas, workshop, definitionShape, id => deps.agents.knows(id))
    this.#cache = new RunCache(options.cachedRuns)
    const recent = new Lru<Json>(RECENT_CONTENTS)
    this.#lease = new HostLease(deps, options, () => {
      this.#cache.clear()
      this.#standing.clear()
      recent.clear()
    })
    this.#followers = new Followers(store, clock)
    const { today = NOTHING_TODAY, peers = NO_PEERS, turns = new Turns() } = deps
    const committer = new Committer({ store, lease: this.#lease, turns, announcer: deps.announcer })
    this.#runs = new RunWriter({
      store,
      clock,
      ids,
      plans: this.#plans,
      standards: deps.standards,
      cache: this.#cache,
      lease: this.#lease,
      committer,
      rules,
      announcer: deps.announcer,
      quotas: options.quotas,
      fullness: childFullness(this.#cache, options),
      log: deps.log,
      turns,
      written: written => this.#written(written),
    })
    this.#starting = { ...deps, plans: this.#plans, spaces: options.spaces }
    this.#starter = new RunStarter({ ...this.#starting, ids, cache: this.#cache, runs: this.#runs })
    const places = effectPlaces(options)
    // A host that is leaving lets what is under way come to its end, and begins nothing.
    const mayWork = () => this.#lease.isFirm && this.#phase === 'running'
    this.#standing = new StandingStreams(
      {
        ...deps,
        lease: this.#lease,
        committer,
        announcer: deps.announcer,
        turns,
        runs: this.#runs,
        quotas: options.quotas,
        places,
        published: (streamId, stored) => this.#followers.publish(streamId, stored),
      },
      { ...options, mayWork },
    )
    const scheduling = { ...deps, plans: this.#plans, quotas: options.quotas }
    this.schedules = new Schedules(scheduling, options.scheduling, this.ground)
    this.#registering = { plans: this.#plans, schedules: this.schedules, agents: deps.agents, peers }
    this.#forks = { ...deps, plans: this.#plans, runs: this.#runs, rules, turns, today }
    this.#driver = new Driver(
      {
        ...deps,
        plans: this.#plans,
        cache: this.#cache,
        runs: this.#runs,
        rules,
        hostId: () => this.#lease.hostId,
        unstored: new Map(),
        peers,
        tries: new PeerTries(clock),
        wake: runId => this.#driver.wake(runId),
        today,
        recent,
        reuseAnswers: options.reuseAnswers,
        turns,
      },
      { ...options, mayWork, standing: this.#standing, places },
    )
  }

  /** This host's present incarnation. */
  get hostId(): string {
    return this.#lease.hostId
  }

  async start(): Promise<void> {
    await this.#lease.start()
    this.#unhint = this.deps.store.onHint(runId => this.#hinted(runId))
    this.#phase = 'running'
    await this.#sweep()
  }

  /** Takes no new work, lets commits under way finish, stops effects, and gives the claims back. */
  async stop(drainMs: number): Promise<void> {
    if (this.#phase === 'stopped' || this.#phase === 'new') return
    this.#phase = 'draining'
    this.#disarm()
    this.#unhint()
    const { clock } = this.deps
    const deadline = clock.monotonic() + drainMs
    const busy = () => [...this.#cache.busy, ...this.#standing.busy]
    while (busy().length > 0 && clock.monotonic() < deadline) await sleep(clock, 10)
    this.#driver.stop()
    await Promise.all(busy().map(slot => slot.runExclusive(async () => undefined)))
    this.#cache.clear()
    this.#standing.clear()
    this.#phase = 'stopped'
    await this.#lease.stop()
  }

  /** What kinds of standing streams are made of. */
  get ground(): StreamGround {
    const followers = this.#followers
    return { standing: this.#standing, starter: this.#starter, runs: this.#runs, cache: this.#cache, followers }
  }

  /** What a new run of a workflow, or agent, would be made of. */
  get plans(): Pick<Plans, 'named' | 'known' | 'pinned'> {
    return this.#plans
  }

  async create(request: CreateRun, response?: MakeResponse): Promise<Answer<InspectedRun>> {
    const busy = this.#refuseWork()
    if (busy) return { ok: false, refusal: busy }
    const runId = this.deps.ids.run()
    const start = await beginningOf(this.#starting, request, runId)
    if ('code' in start) return { ok: false, refusal: start }
    return this.#runs.create(runId, start.input, start.plan, request.exclusiveScope ?? false, response)
  }

  async command(
    tenant: string,
    runId: string,
    command: RunCommand,
    response?: MakeResponse,
  ): Promise<Answer<InspectedRun>> {
    if (this.#phase !== 'running') return { ok: false, refusal: unavailable('the host is starting or draining') }
    const input = command.type === 'resolve' ? await this.#answerFor(tenant, runId, command) : inputOf(command)
    if (input === undefined) return { ok: false, refusal: await this.missing(tenant, runId) }
    if ('code' in input) return { ok: false, refusal: input }
    const answer = await this.#runs.submit(runId, input, response ? { tenant, response } : { tenant })
    return answer ?? { ok: false, refusal: await this.missing(tenant, runId) }
  }

  async fork(request: ForkRun, response?: MakeResponse): Promise<Answer<InspectedRun>> {
    const busy = this.#refuseWork()
    if (busy) return { ok: false, refusal: busy }
    return forkRun(this.#forks, request, response)
  }

  async tenantOf(runId: string): Promise<string | undefined> {
    return this.#cache.get(runId)?.loaded?.tenant ?? (await this.#rowOf(null, runId))?.tenant
  }

  /** Undefined when there is no run. */
  async #answerFor(
    tenant: string,
    runId: string,
    command: ResolveInterruptCommand,
  ): Promise<Input | Refusal | undefined> {
    const view = await this.inspect(tenant, runId)
    return view && answerFor(this.deps, this.#forks.rules(view.plan), view, command)
  }

  async inspect(tenant: string, runId: string): Promise<InspectedRun | undefined> {
    const known = this.#cache.get(runId)
    const loaded = known && this.#runs.remembered(known)
    if (loaded) return loaded.tenant === tenant ? inspectedRun(loaded) : undefined
    if (!(await this.#rowOf(tenant, runId))) return undefined
    const slot = this.#cache.enter(runId)
    const read = await slot.runExclusive(() => this.#runs.load(slot))
    return read && inspectedRun(read)
  }

  missing: RunEngine['missing'] = (tenant, runId) => missingRun(this.deps.store, tenant, runId)

  list(query: RunQuery): Promise<RunRow[]> {
    return this.deps.store.listRuns({ ...query, except: [...(query.except ?? []), ...STREAM_WORKFLOWS] })
  }

  childrenOf: RunEngine['childrenOf'] = (runId, limit) => this.deps.store.childrenOf(runId, limit, HOST_WORKFLOW_IDS)

  readEvents: RunEngine['readEvents'] = async (tenant, runId, ...range) => {
    return (await this.#isVisible(tenant, runId)) ? this.deps.store.readEvents(runId, ...range) : undefined
  }

  async follow(
    tenant: string,
    runId: string,
    from: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<readonly StoredEvent[]> | undefined> {
    const row = await this.#rowOf(tenant, runId)
    if (!row) return undefined
    if (row.endedAt !== null && from >= row.length) return nothingToFollow()
    return this.#followers.follow(runId, from, signal)
  }

  putWorkflow: RunEngine['putWorkflow'] = (...asked) => acceptWorkflow(this.#registering, ...asked)

  checkWorkflow: RunEngine['checkWorkflow'] = (...asked) => examineWorkflow(this.#registering, ...asked)

  getWorkflow: RunEngine['getWorkflow'] = (...asked) => this.deps.store.getWorkflow(...asked)

  listWorkflows: RunEngine['listWorkflows'] = tenant => this.#plans.list(tenant)

  /** What is in use of it, counted where it is given out and taken back. */
  get load() {
    return { runs: this.#cache.load, followers: this.#followers.size, effects: this.#driver.load }
  }

  health(): Health {
    const sinceSweep = this.deps.clock.monotonic() - this.#sweptAt
    const reasons = troubles(this.#phase, this.#lease.isFirm, sinceSweep, this.options.sweepMs)
    return { ok: reasons.length === 0, reasons, activeRuns: this.#cache.active }
  }

  #written(written: Written): void {
    this.#followers.publish(written.loaded.runId, written.stored)
    this.#driver.written(written)
  }

  #hinted(runId: string): void {
    this.#followers.hint(runId)
    const slot = this.#cache.get(runId)
    if (isStreamId(runId) ? false : !slot || slot.loaded?.state.phase === 'ended') return
    const looked = slot
      ? slot.runExclusive(async () => this.#cache.put(slot, undefined)).then(() => this.#driver.look(runId))
      : this.#standing.hinted(runId)
    looked.catch(error => this.deps.log.warn({ runId, error: String(error) }, 'a hint could not be followed'))
  }

  async #sweep(): Promise<void> {
    try {
      await this.#driver.sweep()
      this.#sweptAt = this.deps.clock.monotonic()
      if (this.#sweptAt - this.#purgedAt > PURGE_EVERY_MS) {
        this.#purgedAt = this.#sweptAt
        await forgetRepetitions(this.deps.store, this.deps.clock.now())
      }
    } catch (error) {
      this.deps.log.error({ error: String(error) }, 'the sweep for due runs failed; it will be tried again')
    }
    if (this.#phase === 'running') this.#disarm = this.deps.clock.after(this.options.sweepMs, () => void this.#sweep())
  }

  #refuseWork(): Refusal | undefined {
    if (this.#phase !== 'running') return unavailable('the host is starting or draining')
    if (this.#cache.active >= this.options.maxActiveRuns)
      return unavailable(`${this.options.maxActiveRuns} runs are active, which is the limit of this host`)
    return undefined
  }

  /** The row of a run; a standing stream is none, whoever asks for it by its id. */
  async #rowOf(tenant: string | null, runId: string): Promise<RunRow | undefined> {
    return isStreamId(runId) ? undefined : this.deps.store.readRun(tenant, runId)
  }

  async #isVisible(tenant: string, runId: string): Promise<boolean> {
    const slot = this.#cache.get(runId)
    const known = slot && this.#runs.remembered(slot)
    return known ? known.tenant === tenant : (await this.#rowOf(tenant, runId)) !== undefined
  }
}
