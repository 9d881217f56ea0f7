import type { CheckedEvent, CheckedInvocation, CheckedRun } from '../checked.js'
import { identityOf } from '../effects.js'
import { writeChannel } from './channels.js'
import { type Choose, chance, pick } from './choice.js'
import type { Node, Workflow } from './workflows.js'

/** What may happen to a run besides its nodes' own work. */
export type Fate = {
  readonly end: 'own' | 'cancelled' | 'executions' | 'duration' | 'cut'
  readonly pause: 'none' | 'drain' | 'immediate'
}

export type World = { readonly choose: Choose; readonly runs: SimulatedRun[]; readonly tenant: string; ids: number }

type Parent = { readonly runId: string; readonly nodeId: string; readonly at: number; readonly event: string }

type NodeState = {
  readonly typeId: string
  phase: 'idle' | 'running' | 'retrying' | 'interrupted' | 'completed' | 'failed' | 'skipped' | 'cancelled'
  attempt: number
  retries: number
  child?: SimulatedRun
}

const ERROR = { code: 'effect_failed', message: 'it did not work' }

/**
 * A toy host that writes legal logs: a scheduler that makes every choice by `choose`. It shares nothing with the
 * engine and nothing with the rules but the identity of effects.
 */
export class SimulatedRun {
  readonly runId: string
  readonly events: CheckedEvent[] = []
  private readonly invocations: CheckedInvocation[] = []
  private readonly nodes = new Map<string, NodeState>()
  private readonly variables: Record<string, unknown> = { greeting: 'hello', count: 7 }
  private readonly channels: Record<string, unknown> = { total: 10 }
  private mode: 'running' | 'paused' | 'cancelling' | 'failing' | 'ended' = 'running'
  private status = 'running'
  private pauseLeft: boolean
  private executions = 0
  private rounds = 0
  private at: number
  private epoch = 1
  private readonly limit: number

  constructor(
    private readonly world: World,
    private readonly workflow: Workflow,
    private readonly fate: Fate,
    private readonly childWorkflow: Workflow | undefined,
    private readonly parent?: Parent,
  ) {
    this.runId = `run_${world.ids++}`
    world.runs.push(this)
    this.at = parent?.at ?? 1_000
    this.pauseLeft = fate.pause !== 'none'
    this.limit = fate.end === 'executions' ? 1 + world.choose(workflow.nodes.length) : 100
    for (const node of workflow.nodes) {
      this.nodes.set(node.id, { typeId: node.typeId, phase: 'idle', attempt: -1, retries: 0 })
    }
    this.start()
  }

  private start(): void {
    const lineage = this.parent && { parentRunId: this.parent.runId, parentNodeId: this.parent.nodeId }
    const payload = {
      workflowId: this.workflow.id,
      workflowDigest: 'd'.repeat(64),
      inputs: { count: 7, extra: [1, 2] },
      transport: 'rest',
      engineVersion: '1',
      owner: { tenant: this.world.tenant },
      configurable: { recursionLimit: this.limit },
      ...lineage,
    }
    this.emit('run.started', undefined, payload, this.parent?.event)
  }

  /** Lets the run go on until it ends, or is cut off in flight. */
  finish(): void {
    for (let turn = 0; this.mode !== 'ended'; turn++) {
      if (this.fate.end === 'cut' && turn > 2 && chance(this.world.choose, 6)) return
      if (this.fate.end === 'cancelled' && (turn > 8 || chance(this.world.choose, 6)))
        return this.cancel('no longer needed')
      if (this.fate.end === 'duration' && (turn > 8 || chance(this.world.choose, 6))) return this.timeOut()
      this.turn()
    }
  }

  private turn(): void {
    const { choose } = this.world
    if (chance(choose, 12)) this.epoch += 1
    if (this.pauseLeft && chance(choose, 4)) return this.pause()
    const actions = [...this.advances(), ...this.begins()]
    if (actions.length === 0) this.complete()
    else pick(choose, actions)()
  }

  /** One action per node that is at work. */
  private advances(): (() => void)[] {
    const actions: (() => void)[] = []
    for (const node of this.workflow.nodes) {
      const state = this.state(node.id)
      if (state.phase === 'running') actions.push(() => this.advance(node, state))
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
      const verdict = state.phase === 'idle' ? this.verdict(node.id) : 'wait'
      if (verdict === 'start') actions.push(() => this.startNode(node, state, 0))
      if (verdict === 'skip') actions.push(() => this.skip(node.id, 'an inbound edge did not hold'))
    }
    return actions
  }

  private startNode(node: Node, state: NodeState, attempt: number): void {
    if (this.executions >= this.limit) return this.exceed(node.id)
    if (attempt === 0 && chance(this.world.choose, 10)) return this.skip(node.id, 'a condition was false')
    this.executions += 1
    if (attempt === 0) state.retries = 0
    state.phase = 'running'
    state.attempt = attempt
    delete state.child
    this.emit('node.started', node.id, { nodeId: node.id, typeId: node.typeId, attempt })
  }

  private advance(node: Node, state: NodeState): void {
    const { choose } = this.world
    if (node.typeId === 'core.subWorkflow') return this.advanceChild(node, state)
    this.work(node)
    const mayRetry = state.retries < (node.settings?.maxRetries ?? this.workflow.settings.maxRetries ?? 0)
    if (mayRetry && chance(choose, 2)) return this.retry(node.id, state)
    const tolerated = this.workflow.edges.some(
      edge => edge.sourceNodeId === node.id && !['all_success', 'none_failed', undefined].includes(edge.triggerRule),
    )
    if (chance(choose, tolerated ? 3 : 15)) return this.fail(node.id, state, ERROR, tolerated)
    this.settle(node.id, 'completed', { nodeId: node.id, outputs: { ok: true } })
    if (node.typeId === 'core.loop') this.turnLoop()
    if (node.id === this.backSource()) this.state('loop').phase = 'idle'
  }

  private retry(nodeId: string, state: NodeState): void {
    state.phase = 'retrying'
    state.retries += 1
    this.emit('node.retried', nodeId, { nodeId, attempt: state.attempt + 1, delayMs: 10, lastError: ERROR })
  }

  private advanceChild(node: Node, state: NodeState): void {
    const { choose } = this.world
    if (state.child === undefined) {
      const cause = this.emit('node.dispatched', node.id, {
        childRunId: `run_${this.world.ids}`,
        childWorkflowId: 'child',
        childStatus: 'running',
      })
      const ends = ['own', 'own', 'cancelled', 'executions', 'duration'] as const
      const fate: Fate = { end: pick(choose, ends), pause: pick(choose, ['none', 'none', 'immediate']) }
      const parent = { runId: this.runId, nodeId: node.id, at: this.at, event: cause }
      state.child = new SimulatedRun(this.world, this.childWorkflow as Workflow, fate, undefined, parent)
      return
    }
    if (state.child.mode !== 'ended') {
      state.child.finish()
      this.at = Math.max(this.at, state.child.at)
    }
    const childStatus = state.child.status
    if (childStatus === 'completed' || chance(choose, 2)) {
      this.settle(node.id, 'completed', { nodeId: node.id, outputs: { childRunId: state.child.runId, childStatus } })
      if (node.id === this.backSource()) this.state('loop').phase = 'idle'
    } else this.fail(node.id, state, { code: 'child_failed', message: 'the child failed' }, false)
  }

  private fail(nodeId: string, state: NodeState, error: object, tolerated: boolean): void {
    this.settle(nodeId, 'failed', { nodeId, error, attempts: state.attempt + 1 })
    if (tolerated) return
    this.stop({ outcome: 'failed', error, failedNodeId: nodeId })
    this.end('failed', { error, failedNodeId: nodeId })
  }

  /** Side facts of a node's work. */
  private work(node: Node): void {
    const { choose } = this.world
    if (node.typeId === 'core.setVariable') {
      const name = pick(choose, ['greeting', 'count', 'fresh'])
      const next = pick(choose, [1, 'two', { three: 3 }, null])
      const previous = Object.hasOwn(this.variables, name) ? { previous: this.variables[name] } : {}
      this.variables[name] = next
      this.emit('variable.changed', node.id, { name, ...previous, next, nodeId: node.id })
    }
    if (node.typeId === 'core.channelWrite') {
      const written = writeChannel(this.channels, this.world.choose, this.at)
      const writtenAt = new Date(this.at).toISOString()
      this.emit('channel.written', node.id, { ...written, writtenAt, nodeId: node.id }, undefined, 0)
    }
    if (node.typeId === 'assay.effect') {
      const call = { nodeId: node.id, ordinal: this.invocations.length, provider: 'test:echo' }
      this.invocations.push({ id: identityOf(this.world.tenant, this.runId, call), ...call })
    }
    if (chance(choose, 6)) this.emit('log.appended', node.id, { level: 'info', message: 'working', nodeId: node.id })
  }

  private pause(): void {
    this.pauseLeft = false
    const drain = this.fate.pause === 'drain'
    const policy = { drainPolicy: drain ? 'drain-current-node' : 'immediate' }
    if (drain) {
      this.emit('assay.pause.requested', undefined, policy)
      for (const node of this.workflow.nodes) {
        const state = this.state(node.id)
        // Waiting for a child may take days, so it does not hold up a pause.
        while (state.phase === 'running' && node.typeId !== 'core.subWorkflow') {
          this.advance(node, state)
          if (this.mode === 'ended') return
        }
      }
    }
    this.emit('run.paused', undefined, policy)
    this.mode = 'paused'
    if (this.fate.end === 'cut' && chance(this.world.choose, 2)) {
      this.status = 'paused'
      throw new CutOff()
    }
    for (const state of this.nodes.values()) {
      if (drain || state.phase !== 'running') continue
      // A host may let the wait for a child go on, or start it again when there is no child yet.
      if (state.typeId !== 'core.subWorkflow' || (state.child === undefined && chance(this.world.choose, 2))) {
        state.phase = 'interrupted'
      }
    }
    this.emit('run.resumed', undefined, {})
    this.mode = 'running'
  }

  /** Cancelled from outside, or by its parent. */
  cancel(reason: string, parentRunId?: string): void {
    const payload = { reason, ...(parentRunId === undefined ? { cancelledBy: 'someone' } : { parentRunId }) }
    this.mode = 'cancelling'
    this.stop({ outcome: 'cancelled', ...payload })
    this.end('cancelled', payload)
  }

  private timeOut(): void {
    const error = { code: 'run_timeout', message: 'took too long' }
    const breach = { kind: 'run-duration', limit: 5, observed: 6 + this.world.choose(9) }
    this.stop({ outcome: 'failed', error, breach })
    this.emit('cap.breached', undefined, breach)
    this.end('failed', { error })
  }

  private exceed(nodeId: string): void {
    const error = { code: 'recursion_limit_exceeded', message: 'too many executions' }
    const breach = { kind: 'node-executions', limit: this.limit, observed: this.limit + 1, nodeId }
    this.stop({ outcome: 'failed', error, failedNodeId: nodeId, breach })
    this.emit('cap.breached', undefined, breach)
    this.end('failed', { error, failedNodeId: nodeId })
  }

  /** Nothing new from here on: children are cancelled, open nodes too. */
  private stop(payload: object): void {
    this.emit('assay.stop.requested', undefined, payload)
    for (const node of this.workflow.nodes) {
      const state = this.state(node.id)
      if (!['running', 'retrying', 'interrupted'].includes(state.phase)) continue
      if (state.child !== undefined && state.child.mode !== 'ended') state.child.cancel('parent-cancelled', this.runId)
      this.at = Math.max(this.at, state.child?.at ?? 0)
      this.settle(node.id, 'cancelled', { nodeId: node.id, reason: 'the run is stopping' })
    }
  }

  private complete(): void {
    this.end('completed', { outputs: { ok: true } })
  }

  private end(status: string, payload: object): void {
    this.emit(`run.${status}`, undefined, payload)
    this.mode = 'ended'
    this.status = status
  }

  private skip(nodeId: string, reason: string): void {
    this.settle(nodeId, 'skipped', { nodeId, reason })
    // A loop that is skipped never runs its body; a body node that is skipped still closes the round.
    if (nodeId === 'loop') this.rounds = Number.POSITIVE_INFINITY
    if (nodeId === this.backSource() && Number.isFinite(this.rounds)) this.state('loop').phase = 'idle'
  }

  private settle(nodeId: string, phase: NodeState['phase'], payload: object): void {
    this.state(nodeId).phase = phase
    this.emit(`node.${phase}`, nodeId, payload)
  }

  /** After the loop node completed: another round, or out. */
  private turnLoop(): void {
    const again = this.rounds < 3 && !chance(this.world.choose, 3)
    this.rounds = again ? this.rounds + 1 : Number.POSITIVE_INFINITY
    if (!again) return
    for (const node of this.workflow.nodes) if (node.id.startsWith('b')) this.state(node.id).phase = 'idle'
  }

  private backSource(): string | undefined {
    return this.workflow.edges.find(edge => edge.targetNodeId === 'loop' && edge.sourceNodeId !== 'pre')?.sourceNodeId
  }

  /** What the inbound edges of an idle node say. */
  private verdict(nodeId: string): 'wait' | 'start' | 'skip' {
    const inbound = this.workflow.edges.filter(
      edge => edge.targetNodeId === nodeId && edge.sourceNodeId !== this.backSource(),
    )
    if (nodeId === this.workflow.nodes[0]?.id || inbound.length === 0) return 'start'
    const looping = this.nodes.has('loop') && this.state('loop').phase !== 'skipped'
    if (nodeId === 'after' && looping && Number.isFinite(this.rounds)) return 'wait'
    if (nodeId.startsWith('b') && !Number.isFinite(this.rounds)) return 'skip'
    if (inbound.some(edge => !SETTLED.includes(this.state(edge.sourceNodeId).phase))) return 'wait'
    const rule = inbound[0]?.triggerRule ?? 'all_success'
    const phases = inbound.map(edge => this.state(edge.sourceNodeId).phase)
    return HOLDS[rule]?.(phases) === true ? 'start' : 'skip'
  }

  private state(nodeId: string): NodeState {
    return this.nodes.get(nodeId) as NodeState
  }

  private emit(type: string, nodeId: string | undefined, payload: object, cause?: string, pass?: number): string {
    const { choose } = this.world
    this.at += pass ?? choose(20)
    const sequence = this.events.length
    const eventId = `e_${this.runId}_${sequence}`
    const earlier = this.events[choose(sequence)]
    const causationId = cause ?? (sequence === 0 || earlier === undefined ? null : (earlier.eventId ?? null))
    this.events.push({
      sequence,
      eventId,
      type,
      nodeId: nodeId ?? null,
      payload,
      causationId,
      at: this.at,
      epoch: this.epoch,
    })
    return eventId
  }

  toChecked(): CheckedRun {
    const ended = this.mode === 'ended'
    return {
      runId: this.runId,
      tenant: this.world.tenant,
      definition: this.workflow,
      events: this.events,
      invocations: this.invocations,
      snapshot: { variables: { ...this.variables, extra: [1, 2] }, channels: this.channels },
      row: {
        status: this.status,
        length: this.events.length,
        parentRunId: this.parent?.runId ?? null,
        parentNodeId: this.parent?.nodeId ?? null,
        endedAt: ended ? this.at : null,
        wakeAt: ended ? null : this.at,
      },
    }
  }
}

/** The host is gone while the run is paused; the log simply stops. */
export class CutOff extends Error {
  override readonly name = 'CutOff'
}

const SETTLED: readonly string[] = ['completed', 'failed', 'skipped', 'cancelled']

const HOLDS: { readonly [rule: string]: (phases: readonly string[]) => boolean } = {
  all_success: phases => phases.every(phase => phase === 'completed'),
  none_failed: phases => phases.every(phase => phase !== 'failed'),
  all_complete: () => true,
  any_success: phases => phases.includes('completed'),
  any_failed: phases => phases.includes('failed'),
}
