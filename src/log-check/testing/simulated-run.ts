import type { CheckedInvocation } from '../checked.js'
import { identityOf } from '../effects.js'
import { actAsAgent } from './agents-at-work.js'
import { ask, type Heard, hear } from './asking-nodes.js'
import { crossing, isBounded, makeBudget, nothing, spend } from './budgeting.js'
import { writeChannel } from './channels.js'
import { chance, pick } from './choice.js'
import { adopt } from './forking.js'
import { advanceWork, handOut, mergeAnswered } from './handing-out.js'
import { closeLive, isLive, liveAnswered, mustWait, workLive } from './live-agents.js'
import { LogWriter } from './log-writer.js'
import { ASKING, waitingFor } from './questions.js'
import { verdictOn } from './readiness.js'
import {
  type Fate,
  HANDS_OUT,
  type Loops,
  type Moment,
  type NodeState,
  type Origin,
  type Parent,
  type Standing,
  type World,
  withoutChildren,
} from './simulated-state.js'
import { breach, cancel, exceedExecutions, exceedTurns, pause, stop, timeOut } from './stopping.js'
import { goalOf, takeTurn, turnAnswered } from './supervising.js'
import { bodyOf, type Node, SUPERVISOR, type Workflow } from './workflows.js'

/** Node types that can spend, themselves or by whom they hand work to. */
const SPENDS: readonly string[] = ['core.agent', SUPERVISOR, 'core.dispatch', 'core.subWorkflow']

const ERROR = { code: 'effect_failed', message: 'it did not work' }

/**
 * A toy host that writes legal logs: a scheduler that makes every choice by `choose`. It shares nothing with the
 * engine and nothing with the rules but the identity of effects.
 */
export class SimulatedRun extends LogWriter {
  readonly invocations: CheckedInvocation[] = []
  readonly nodes = new Map<string, NodeState>()
  standing: Standing
  readonly moments: Moment[] = []
  pauseLeft: boolean
  private steps = 0
  /** Below which an agent's decision is held, where the run says so. */
  readonly threshold: number | undefined
  /** How much of agents' reasoning is told. */
  readonly verbosity: 'summary' | 'off'

  constructor(
    readonly world: World,
    readonly workflow: Workflow,
    readonly fate: Fate,
    readonly childWorkflow: Workflow | undefined,
    readonly parent?: Parent,
    readonly origin?: Origin,
  ) {
    super(`run_${world.ids++}`, world.choose)
    world.runs.push(this)
    this.at = parent?.at ?? this.at
    this.pauseLeft = fate.pause !== 'none'
    const threshold = origin?.source.threshold ?? pick(world.choose, [undefined, 0.8])
    this.threshold = origin === undefined ? threshold : origin.source.threshold
    const tells = workflow.nodes.some(isLive) ? pick(world.choose, ['summary', 'summary', 'off'] as const) : 'summary'
    this.verbosity = origin?.source.verbosity ?? tells
    this.standing = {
      mode: 'running',
      status: 'running',
      variables: { greeting: 'hello', count: 7 },
      channels: { total: 10 },
      executions: 0,
      loops: { rounds: 0, turns: 0, dispatches: 0 },
      limit: fate.end === 'executions' ? 1 + world.choose(workflow.nodes.length) : 100,
      turnLimit: fate.end === 'turns' ? 1 + world.choose(3) : 100,
      purse: { budget: {}, told: false, spent: nothing(), warned: [] },
    }
    for (const { id, typeId } of workflow.nodes) {
      this.nodes.set(id, { typeId, phase: 'idle', attempt: -1, retries: 0, asks: 0, startedAt: 0 })
    }
    if (origin?.told === undefined) this.start()
    else adopt(this, origin.source, origin.fork, origin.told)
  }

  get loops(): Loops {
    return this.standing.loops
  }

  /** Keeps where things stand, for forks. */
  remember(): void {
    // Nobody forks a child.
    if (!this.world.forks || this.parent !== undefined) return
    const nodes = new Map([...this.nodes].map(([id, state]) => [id, withoutChildren(state)]))
    this.moments.push({ length: this.events.length, ...structuredClone({ standing: this.standing, nodes }) })
  }

  private start(): void {
    const lineage = this.parent && { parentRunId: this.parent.runId, parentNodeId: this.parent.nodeId }
    const { limit, turnLimit } = this.standing
    const { budgets, choose } = this.world
    const grant = this.parent?.grant
    const asked = budgets === 'none' || this.parent !== undefined ? undefined : makeBudget(choose, budgets === 'tight')
    const budget = { ...asked?.budget, ...grant }
    const told = isBounded(budget) && this.workflow.nodes.some(({ typeId }) => SPENDS.includes(typeId))
    const percent = asked?.thresholdPercent
    Object.assign(this.standing.purse, { budget, told, ...(percent === undefined ? {} : { percent }) })
    const payload = {
      workflowId: this.workflow.id,
      workflowDigest: 'd'.repeat(64),
      inputs: { count: 7, extra: [1, 2] },
      transport: 'rest',
      engineVersion: '1',
      owner: { tenant: this.world.tenant },
      configurable: {
        recursionLimit: limit,
        maxLoopIterations: turnLimit,
        ...(this.threshold === undefined ? {} : { escalationThreshold: this.threshold }),
        ...(this.verbosity === 'off' ? { reasoningVerbosity: 'off' } : {}),
        ...(asked === undefined ? {} : { budget: { ...asked.budget, ...(percent && { thresholdPercent: percent }) } }),
      },
      ...lineage,
      ...(grant === undefined ? {} : { grant }),
    }
    const cause = this.emit('run.started', undefined, payload, { cause: this.parent?.event })
    if (told) this.emit('budget.reserved', undefined, { effectiveBudget: budget, scope: 'run' }, { pass: 0, cause })
  }

  /** Lets the run go on until it ends, or is cut off in flight. */
  finish(): void {
    let goesOn = true
    while (goesOn && !this.hasEnded()) goesOn = this.step()
  }

  /** Goes on until it waits for someone, or ends: true. */
  work(): boolean {
    let goesOn = true
    while (goesOn && !this.hasEnded()) goesOn = this.step() && this.waiting() === undefined
    return this.hasEnded()
  }

  hasEnded(): boolean {
    return this.standing.mode === 'ended'
  }

  /** False when the run was left in flight. */
  private step(): boolean {
    const { choose } = this.world
    const step = this.steps++
    this.remember()
    if (this.fate.end === 'cut' && step > 2 && chance(choose, 6)) return false
    if (this.fate.end === 'cancelled' && (step > 8 || chance(choose, 6))) this.cancel('no longer needed')
    else if (this.fate.end === 'duration' && (step > 8 || chance(choose, 6))) timeOut(this)
    else this.act()
    return true
  }

  /** What the run waits for, if it waits for someone: its own question first, else what a child asks. */
  waiting(): string | undefined {
    const states = this.workflow.nodes.map(node => this.state(node.id))
    const asked = states.find(state => state.phase === 'suspended')?.asked
    if (asked !== undefined) return waitingFor(asked)
    return states
      .filter(state => state.phase === 'running')
      .flatMap(state => state.handoff?.workers ?? [])
      .find(worker => worker.mirrored !== undefined)?.mirrored
  }

  private act(): void {
    const { choose } = this.world
    if (chance(choose, 12)) this.epoch += 1
    if (this.pauseLeft && chance(choose, 4)) return pause(this)
    const actions = [...this.advances(), ...this.begins()]
    if (actions.length === 0) this.end('completed', { outputs: { ok: true }, ...goalOf(this) })
    else pick(choose, actions)()
  }

  /** One action per node that is at work. */
  private advances(): (() => void)[] {
    const actions: (() => void)[] = []
    for (const node of this.workflow.nodes) {
      const state = this.state(node.id)
      const { asked, handoff } = state
      if (state.phase === 'running' && !mustWait(this, state)) actions.push(() => this.advance(node, state))
      if (state.phase === 'suspended' && asked !== undefined) actions.push(() => hear(this, node, state, asked))
      if (state.phase === 'suspended' && handoff?.workers.some(isBusy))
        actions.push(() => advanceWork(this, node, state, { ...handoff, workers: handoff.workers.filter(isBusy) }))
      if (state.phase === 'retrying' || state.phase === 'interrupted') {
        actions.push(() => this.startNode(node, state, state.attempt + 1))
      }
    }
    return actions
  }

  /** One action per node whose inbound edges have decided. */
  private begins(): (() => void)[] {
    const actions: (() => void)[] = []
    for (const node of this.workflow.nodes) {
      const state = this.state(node.id)
      const verdict = state.phase === 'idle' ? verdictOn(this, node.id) : 'wait'
      if (verdict === 'start') actions.push(() => this.startNode(node, state, 0))
      if (verdict === 'skip') actions.push(() => this.skip(node.id, 'an inbound edge did not hold'))
    }
    return actions
  }

  private startNode(node: Node, state: NodeState, attempt: number): void {
    const { standing, loops } = this
    const { id: nodeId, typeId } = node
    const steered = typeId === SUPERVISOR || typeId === 'core.dispatch'
    const cap = (node.config.iterationCap as number | undefined) ?? Number.POSITIVE_INFINITY
    if (standing.executions >= standing.limit) return exceedExecutions(this, nodeId)
    if (typeId === SUPERVISOR && loops.turns >= standing.turnLimit)
      return exceedTurns(this, nodeId, standing.turnLimit, loops.turns)
    if (typeId === 'core.dispatch' && attempt === 0 && loops.dispatches++ >= cap)
      return exceedTurns(this, nodeId, cap, loops.dispatches - 1)
    if (attempt === 0 && !steered && chance(this.world.choose, 10)) return this.skip(nodeId, 'a condition was false')
    standing.executions += 1
    if (attempt === 0) state.retries = 0
    state.phase = 'running'
    state.attempt = attempt
    delete state.handoff
    delete state.live
    if (attempt === 0) delete state.spoiled
    state.startedAt = this.emit('node.started', nodeId, { nodeId, typeId, attempt })
    if (ASKING.includes(typeId)) ask(this, node, state)
    if (HANDS_OUT.includes(typeId)) handOut(this, node, state)
  }

  advance(node: Node, state: NodeState): void {
    const { choose } = this.world
    if (state.handoff !== undefined) return advanceWork(this, node, state, state.handoff)
    if (isLive(node)) return workLive(this, node, state)
    if (node.typeId === SUPERVISOR) return takeTurn(this, node, state)
    if (node.typeId === 'core.conformance.mock-agent') return actAsAgent(this, node, state)
    this.tell(node)
    const affordable = crossing(this, { retries: 1 }) === undefined
    if (this.mayRetry(node, state) && affordable && chance(choose, 2)) return this.retry(node.id, state, ERROR)
    const tolerated = this.isTolerated(node.id)
    if (chance(choose, tolerated ? 3 : 15)) return this.fail(node.id, state, ERROR, tolerated)
    this.complete(node, { ok: true })
  }

  /** A node that has asked someone is answered. */
  goOn(node: Node, state: NodeState, heard: Heard): void {
    const { choose } = this.world
    const { late, rejected, value } = heard
    if (state.handoff !== undefined) return mergeAnswered(this, node, state, heard)
    if (state.live !== undefined) return liveAnswered(this, node, state, heard)
    if (node.typeId === SUPERVISOR) return turnAnswered(this, node, state, heard)
    const agent = node.typeId === 'core.conformance.mock-agent'
    if ((late && !rejected) || (rejected && (agent || chance(choose, 2))))
      return this.fail(node.id, state, { code: 'interrupt_rejected', message: 'no' }, this.isTolerated(node.id))
    if (chance(choose, 4)) this.changeVariable(node)
    this.complete(node, { resumeValue: value })
  }

  complete(node: Node, outputs: object, cause?: number): void {
    this.settle(node.id, 'completed', { nodeId: node.id, outputs }, cause)
    if (node.typeId === 'core.loop') this.turnLoop()
    this.closeRound(node.id)
  }

  private isTolerated(nodeId: string): boolean {
    return this.workflow.edges.some(
      edge => edge.sourceNodeId === nodeId && !['all_success', 'none_failed', undefined].includes(edge.triggerRule),
    )
  }

  mayRetry(node: Node, state: NodeState): boolean {
    return state.retries < (node.settings?.maxRetries ?? this.workflow.settings.maxRetries ?? 0)
  }

  retry(nodeId: string, state: NodeState, lastError: object, cause?: number): void {
    state.phase = 'retrying'
    state.retries += 1
    this.emit('node.retried', nodeId, { nodeId, attempt: state.attempt + 1, delayMs: 10, lastError }, { cause })
    spend(this, { retries: 1 })
  }

  /** Fails a node that has an error code to tell, and because of what. */
  failAs(node: Node, state: NodeState, code: string, cause: number): void {
    this.fail(node.id, state, { code, message: 'it did not work' }, this.isTolerated(node.id), cause)
  }

  fail(nodeId: string, state: NodeState, error: object, tolerated: boolean, cause?: number): void {
    const node = this.workflow.nodes.find(({ id }) => id === nodeId) as Node
    const due = state.live === undefined ? cause : closeLive(this, node, state, 'failed', state.live.started)
    this.settle(nodeId, 'failed', { nodeId, error, attempts: state.attempt + 1 }, due)
    if (tolerated) return
    stop(this, { outcome: 'failed', error, failedNodeId: nodeId })
    this.end('failed', { error, failedNodeId: nodeId })
  }

  /** Side facts of a node's work. */
  private tell(node: Node): void {
    const { choose } = this.world
    if (node.typeId === 'core.setVariable') this.changeVariable(node)
    if (node.typeId === 'core.channelWrite') {
      const written = writeChannel(this.standing.channels, choose, this.at)
      this.emit('channel.written', node.id, { ...written, writtenAt: this.time(), nodeId: node.id }, { pass: 0 })
    }
    if (node.typeId === 'assay.effect') {
      const call = { nodeId: node.id, ordinal: this.invocations.length, provider: 'test:echo' }
      this.invocations.push({ id: identityOf(this.world.tenant, this.runId, call), ...call })
    }
    if (chance(choose, 6)) this.emit('log.appended', node.id, { level: 'info', message: 'working', nodeId: node.id })
  }

  changeVariable(node: Node, name = pick(this.world.choose, ['greeting', 'count', 'fresh']), cause?: number): void {
    const { variables } = this.standing
    const next = pick(this.world.choose, [1, 'two', { three: 3 }, null])
    const previous = Object.hasOwn(variables, name) ? { previous: variables[name] } : {}
    variables[name] = next
    this.emit('variable.changed', node.id, { name, ...previous, next, nodeId: node.id }, { cause })
  }

  spawn(workflow: Workflow, fate: Fate, parent: Parent): SimulatedRun {
    return new SimulatedRun(this.world, workflow, fate, undefined, parent)
  }

  /** Cancelled from outside, or by its parent. */
  cancel(reason: string, parentRunId?: string): void {
    cancel(this, reason, parentRunId)
  }

  /** Crosses a bound, and ends by that. */
  breach(error: object, told: { readonly nodeId?: string; readonly [field: string]: unknown }): void {
    breach(this, error, told)
  }

  end(status: string, payload: object): void {
    this.emit(`run.${status}`, undefined, payload)
    this.standing.mode = 'ended'
    this.standing.status = status
    this.remember()
  }

  private skip(nodeId: string, reason: string): void {
    this.settle(nodeId, 'skipped', { nodeId, reason })
    // A loop that is skipped never runs its body; a body node that is skipped still closes the round.
    if (nodeId === 'loop') this.loops.rounds = Number.POSITIVE_INFINITY
    this.closeRound(nodeId)
  }

  settle(nodeId: string, phase: NodeState['phase'], payload: object, cause?: number): void {
    this.state(nodeId).phase = phase
    this.emit(`node.${phase}`, nodeId, payload, { cause })
  }

  /** After the loop node completed: another round, or out. */
  private turnLoop(): void {
    const again = this.loops.rounds < 3 && !chance(this.world.choose, 3)
    this.loops.rounds = again ? this.loops.rounds + 1 : Number.POSITIVE_INFINITY
    if (!again) return
    for (const node of this.workflow.nodes) if (node.id.startsWith('b')) this.state(node.id).phase = 'idle'
  }

  /** After the last node of a body its loop, or its supervisor, goes on. */
  private closeRound(nodeId: string): void {
    if (nodeId === this.backSource() && Number.isFinite(this.loops.rounds)) this.state('loop').phase = 'idle'
    const supervisor = this.supervisor()
    if (supervisor !== undefined && this.loops.route === 'body' && nodeId === this.body().at(-1))
      supervisor.state.phase = 'idle'
  }

  backSource(): string | undefined {
    return this.workflow.edges.find(edge => edge.targetNodeId === 'loop' && edge.sourceNodeId !== 'pre')?.sourceNodeId
  }

  supervisor(): { readonly id: string; readonly state: NodeState } | undefined {
    const id = this.workflow.nodes.find(node => node.typeId === SUPERVISOR)?.id
    return id === undefined ? undefined : { id, state: this.state(id) }
  }

  /** Nodes of the supervisor's loop, in order. */
  body(): string[] {
    return bodyOf(this.workflow)
  }

  state(nodeId: string): NodeState {
    return this.nodes.get(nodeId) as NodeState
  }
}

const isBusy = ({ phase }: { readonly phase: string }): boolean => phase === 'running' || phase === 'began'
