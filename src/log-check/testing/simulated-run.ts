import type { CheckedEvent, CheckedFork, CheckedInvocation, CheckedRun } from '../checked.js'
import { identityOf } from '../effects.js'
import { chained } from './chained.js'
import { writeChannel } from './channels.js'
import { type Choose, chance, pick } from './choice.js'
import { ASKING, type Asked, answerTo, type Closing, olderRequest, questionFor, waitingFor } from './questions.js'
import type { Node, Workflow } from './workflows.js'

/** What may happen to a run besides its nodes' own work. */
export type Fate = {
  readonly end: 'own' | 'cancelled' | 'executions' | 'duration' | 'cut'
  readonly pause: 'none' | 'drain' | 'immediate'
}

export type World = {
  readonly choose: Choose
  readonly runs: SimulatedRun[]
  readonly tenant: string
  ids: number
  /** Events at the beginning of every log that are older than the hash chain. */
  readonly older: number
}

type Parent = { readonly runId: string; readonly nodeId: string; readonly at: number; readonly event: string }

type NodeState = {
  readonly typeId: string
  phase:
    | 'idle'
    | 'running'
    | 'suspended'
    | 'retrying'
    | 'interrupted'
    | 'completed'
    | 'failed'
    | 'skipped'
    | 'cancelled'
  attempt: number
  retries: number
  /** How often it has asked someone outside. */
  asks: number
  asked?: Asked
  child?: SimulatedRun
  /** What the child was last said to wait for. */
  mirrored?: string
}

/** A run between two steps, from where a fork can go on. */
export type Moment = {
  readonly length: number
  readonly mode: Mode
  readonly status: string
  readonly nodes: ReadonlyMap<string, NodeState>
  readonly variables: Record<string, unknown>
  readonly channels: Record<string, unknown>
  readonly executions: number
  readonly rounds: number
  readonly limit: number
}

type Mode = 'running' | 'paused' | 'cancelling' | 'failing' | 'ended'

/** What a fork takes over. `told` of the source's events are in its log when it begins to live, shared or retold. */
export type Origin = { readonly source: SimulatedRun; readonly fork: CheckedFork; readonly told?: Moment }

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
  private variables: Record<string, unknown> = { greeting: 'hello', count: 7 }
  private channels: Record<string, unknown> = { total: 10 }
  readonly moments: Moment[] = []
  private mode: Mode = 'running'
  private status = 'running'
  private pauseLeft: boolean
  private executions = 0
  private rounds = 0
  private turns = 0
  private at: number
  private epoch = 1
  private limit: number

  constructor(
    private readonly world: World,
    readonly workflow: Workflow,
    private readonly fate: Fate,
    readonly childWorkflow: Workflow | undefined,
    readonly parent?: Parent,
    private readonly origin?: Origin,
  ) {
    this.runId = `run_${world.ids++}`
    world.runs.push(this)
    this.at = parent?.at ?? 1_000
    this.pauseLeft = fate.pause !== 'none'
    this.limit = fate.end === 'executions' ? 1 + world.choose(workflow.nodes.length) : 100
    for (const node of workflow.nodes) {
      this.nodes.set(node.id, { typeId: node.typeId, phase: 'idle', attempt: -1, retries: 0, asks: 0 })
    }
    if (origin?.told === undefined) this.start()
    else this.adopt(origin.source, origin.fork, origin.told)
  }

  /** Takes over the source's log as far as it is told, and where things stood there. */
  private adopt(source: SimulatedRun, { mode, fromSeq }: CheckedFork, told: Moment): void {
    const idOf = new Map(source.events.map(event => [event.eventId, `e_${this.runId}_${event.sequence}`]))
    for (const event of source.events.slice(0, told.length)) {
      const { payload, eventId = '', causationId } = event
      const own = mode === 'replay' && event.sequence >= fromSeq && event.type === 'interrupt.requested'
      this.events.push({
        ...event,
        eventId: String(idOf.get(eventId)),
        causationId: idOf.get(causationId ?? '') ?? causationId ?? null,
        payload: own ? { ...(payload as object), runId: this.runId } : payload,
        epoch: this.epoch,
      })
    }
    this.at = this.events.at(-1)?.at ?? this.at
    this.moments.push(...source.moments.filter(moment => moment.length <= told.length))
    const { mode: stood, status, nodes, variables, channels, executions, rounds, limit } = structuredClone(told)
    Object.assign(this, { mode: stood, status, variables, channels, executions, rounds, limit })
    for (const [id, state] of nodes) this.nodes.set(id, state)
  }

  private remember(): void {
    const { mode, status, variables, channels, executions, rounds, limit } = this
    const nodes = [...this.nodes].map(([id, state]) => {
      const { child: _, ...others } = state
      return [id, others] as const
    })
    const state = { nodes: new Map(nodes), variables, channels }
    this.moments.push({
      length: this.events.length,
      mode,
      status,
      executions,
      rounds,
      limit,
      ...structuredClone(state),
    })
  }

  /** The first own event of a branch. Time stood still for what it waits for; it may be given another bound. */
  branchOff({ sourceRunId, fromSeq }: CheckedFork): void {
    const { choose } = this.world
    if (this.mode === 'ended') return
    const before = this.at
    const limit = pick(choose, [undefined, undefined, 100, 1 + choose(9)])
    this.limit = limit ?? this.limit
    const overlay = limit === undefined ? {} : { configurable: { recursionLimit: limit } }
    this.emit('assay.run.forked', undefined, { sourceRunId, fromSeq, ...overlay })
    for (const state of this.nodes.values()) {
      delete state.mirrored
      if (state.asked?.dueAt !== undefined) state.asked.dueAt += this.at - before
    }
    this.mode = 'running'
    this.status = 'running'
  }

  /** A replay differs from its source here: the node that is at work fails, for nothing is known of its end. */
  diverge(original: CheckedEvent, sourceRunId: string): void {
    const atSequence = this.events.length
    const node = this.workflow.nodes.find(({ id }) => this.isAtWork(id))
    // A source that missed its own source here says just that.
    if (node === undefined || JSON.stringify(original.payload).includes('replay_source_missing')) return
    const alike = original.type === 'node.failed' && original.nodeId === node.id
    this.emit('replay.diverged', undefined, {
      sourceRunId,
      atSequence,
      originalEventId: original.eventId,
      replayEventId: `e_${this.runId}_${atSequence + 1}`,
      divergenceKind: alike ? 'output' : 'type-mismatch',
      divergencePoint: original.type,
    })
    this.missSource()
  }

  /** Nothing is recorded of what the run waits for. */
  missSource(): void {
    const node = this.workflow.nodes.find(({ id }) => this.isAtWork(id))
    if (node === undefined) return
    const error = { code: 'replay_source_missing', message: 'nothing is recorded here' }
    this.fail(node.id, this.state(node.id), error, false)
  }

  private isAtWork(nodeId: string): boolean {
    return ['running', 'suspended'].includes(this.state(nodeId).phase)
  }

  /** A replay is stopped, or given up by its host. It has no children to wait for. */
  breakOff(): void {
    this.cancelOpen()
    if (chance(this.world.choose, 2)) return this.end('cancelled', { reason: 'enough', cancelledBy: 'someone' })
    this.end('failed', { error: { code: 'run_quarantined', message: 'given up' } })
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
    let goesOn = true
    while (goesOn && this.mode !== 'ended') goesOn = this.step()
  }

  /** Goes on until it waits for someone, or ends: true. */
  private work(): boolean {
    let goesOn = true
    while (goesOn && this.mode !== 'ended') goesOn = this.step() && this.waiting() === undefined
    return this.mode === 'ended'
  }

  /** False when the run was left in flight. */
  private step(): boolean {
    const { choose } = this.world
    const turn = this.turns++
    this.remember()
    if (this.fate.end === 'cut' && turn > 2 && chance(choose, 6)) return false
    if (this.fate.end === 'cancelled' && (turn > 8 || chance(choose, 6))) this.cancel('no longer needed')
    else if (this.fate.end === 'duration' && (turn > 8 || chance(choose, 6))) this.timeOut()
    else this.turn()
    return true
  }

  /** What the run waits for, if it waits for someone: its own question first, else what a child asks. */
  private waiting(): string | undefined {
    const states = this.workflow.nodes.map(node => this.state(node.id))
    const asked = states.find(state => state.phase === 'suspended')?.asked
    if (asked !== undefined) return waitingFor(asked)
    return states.find(state => state.phase === 'running' && state.mirrored !== undefined)?.mirrored
  }

  private turn(): void {
    const { choose } = this.world
    if (chance(choose, 12)) this.epoch += 1
    if (this.pauseLeft && chance(choose, 4)) return this.pause()
    const actions = [...this.advances(), ...this.begins()]
    if (actions.length === 0) this.end('completed', { outputs: { ok: true } })
    else pick(choose, actions)()
  }

  /** One action per node that is at work. */
  private advances(): (() => void)[] {
    const actions: (() => void)[] = []
    for (const node of this.workflow.nodes) {
      const state = this.state(node.id)
      if (state.phase === 'running') actions.push(() => this.advance(node, state))
      if (state.phase === 'suspended') actions.push(() => this.hear(node, state, state.asked as Asked))
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
    delete state.mirrored
    this.emit('node.started', node.id, { nodeId: node.id, typeId: node.typeId, attempt })
    if (ASKING.includes(node.typeId)) this.ask(node, state)
  }

  private ask(node: Node, state: NodeState): void {
    const { choose } = this.world
    const { kind, data } = questionFor(node.typeId, choose)
    const [nodeId, sequence] = [node.id, this.events.length]
    const limits = chance(choose, 2) ? { timeoutMs: 10 + choose(200) } : {}
    const key = `${nodeId}:${state.asks++}`
    const [interruptId, requestedAt] = [`int-${sequence}`, this.time()]
    const names = { nodeId, interruptId, kind, key }
    this.emit(
      'interrupt.requested',
      nodeId,
      { runId: this.runId, ...names, data, ...limits, requestedAt },
      undefined,
      0,
    )
    const due = Math.min(
      limits.timeoutMs ?? Number.POSITIVE_INFINITY,
      node.settings?.timeoutMs ?? Number.POSITIVE_INFINITY,
    )
    state.asked = { interruptId, kind, data, votes: [], dueAt: Number.isFinite(due) ? this.at + due : undefined }
    const older = olderRequest(state.asked, nodeId)
    if (older !== undefined) this.emit(older[0], nodeId, older[1], undefined, 0)
    this.emit('node.suspended', nodeId, names, undefined, 0)
    state.phase = 'suspended'
  }

  /** Someone answers, or time runs out. */
  private hear(node: Node, state: NodeState, asked: Asked): void {
    const { choose } = this.world
    const { interruptId, dueAt } = asked
    this.at += choose(20)
    if (dueAt !== undefined && (this.at >= dueAt || chance(choose, 4))) {
      this.at = Math.max(this.at, dueAt)
      const approval = asked.kind === 'approval' || asked.kind === 'low-confidence'
      return this.close(node, state, asked, { value: approval ? { action: 'reject' } : null, by: 'timeout' })
    }
    const answer = answerTo(asked, choose, this.time())
    const names = { nodeId: node.id, interruptId }
    if (answer.is === 'answer') return this.close(node, state, asked, answer)
    if (answer.is === 'question') {
      this.emit('assay.interrupt.asked', node.id, { ...names, by: 'ann', question: 'What is it?' }, undefined, 0)
      return
    }
    const { voter, action, closes } = answer
    this.emit('assay.interrupt.voted', node.id, { ...names, voter, action, by: voter }, undefined, 0)
    state.asked = { ...asked, votes: [...asked.votes, { voter, action }] }
    if (closes !== undefined) this.close(node, state, asked, closes)
  }

  private close(node: Node, state: NodeState, { kind, interruptId }: Asked, { value, by }: Closing | Silence): void {
    const { choose } = this.world
    const nodeId = node.id
    const [late, rejected, at] = [by === 'timeout', value?.action === 'reject', this.time()]
    const outcome = rejected ? { outcome: 'rejected' } : late ? { outcome: 'timed-out' } : {}
    const masked = !late && chance(choose, 6)
    const resolved = {
      nodeId,
      interruptId,
      kind,
      resumeValue: masked ? '[REDACTED]' : value,
      resolvedAt: at,
      resolvedBy: by,
      ...outcome,
      ...(late ? { reason: 'timeout' } : { shownHash: 'h'.repeat(43) }),
    }
    this.emit('interrupt.resolved', nodeId, resolved, undefined, 0, masked ? { resumeValue: value } : undefined)
    if (kind === 'approval') {
      const told = late ? { action: 'timeout' } : { action: value?.action, decidedBy: by }
      this.emit('approval.received', nodeId, { nodeId, ...told, decidedAt: at }, undefined, 0)
    }
    if (kind === 'clarification' && !late)
      this.emit('clarification.resolved', nodeId, { nodeId, answers: value?.answers, answeredBy: by }, undefined, 0)
    this.emit('node.resumed', nodeId, { nodeId, interruptId }, undefined, 0)
    state.phase = 'running'
    delete state.asked
    if ((late && !rejected) || (rejected && chance(choose, 2)))
      return this.fail(nodeId, state, { code: 'interrupt_rejected', message: 'no' }, this.isTolerated(nodeId))
    if (chance(choose, 4)) this.changeVariable(node)
    this.complete(node, { resumeValue: value })
  }

  private time(): string {
    return new Date(this.at).toISOString()
  }

  private advance(node: Node, state: NodeState): void {
    const { choose } = this.world
    if (node.typeId === 'core.subWorkflow') return this.advanceChild(node, state)
    this.tell(node)
    const mayRetry = state.retries < (node.settings?.maxRetries ?? this.workflow.settings.maxRetries ?? 0)
    if (mayRetry && chance(choose, 2)) return this.retry(node.id, state)
    const tolerated = this.isTolerated(node.id)
    if (chance(choose, tolerated ? 3 : 15)) return this.fail(node.id, state, ERROR, tolerated)
    this.complete(node, { ok: true })
  }

  private complete(node: Node, outputs: object): void {
    this.settle(node.id, 'completed', { nodeId: node.id, outputs })
    if (node.typeId === 'core.loop') this.turnLoop()
    if (node.id === this.backSource()) this.state('loop').phase = 'idle'
  }

  private isTolerated(nodeId: string): boolean {
    return this.workflow.edges.some(
      edge => edge.sourceNodeId === nodeId && !['all_success', 'none_failed', undefined].includes(edge.triggerRule),
    )
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
    const ended = state.child.work()
    this.at = Math.max(this.at, state.child.at)
    if (!ended) return this.mirror(node.id, state, state.child)
    const childStatus = state.child.status
    if (childStatus === 'completed' || chance(choose, 2))
      this.complete(node, { childRunId: state.child.runId, childStatus })
    else this.fail(node.id, state, { code: 'child_failed', message: 'the child failed' }, false)
  }

  /** The parent of a run that waits for someone waits for that too. */
  private mirror(nodeId: string, state: NodeState, child: SimulatedRun): void {
    const waits = child.waiting()
    if (waits === state.mirrored) return
    if (waits === undefined) delete state.mirrored
    else state.mirrored = waits
    this.emit('assay.child.status', nodeId, { nodeId, childRunId: child.runId, status: waits ?? 'running' })
  }

  private fail(nodeId: string, state: NodeState, error: object, tolerated: boolean): void {
    this.settle(nodeId, 'failed', { nodeId, error, attempts: state.attempt + 1 })
    if (tolerated) return
    this.stop({ outcome: 'failed', error, failedNodeId: nodeId })
    this.end('failed', { error, failedNodeId: nodeId })
  }

  /** Side facts of a node's work. */
  private tell(node: Node): void {
    const { choose } = this.world
    if (node.typeId === 'core.setVariable') this.changeVariable(node)
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

  private changeVariable(node: Node): void {
    const { choose } = this.world
    const name = pick(choose, ['greeting', 'count', 'fresh'])
    const next = pick(choose, [1, 'two', { three: 3 }, null])
    const previous = Object.hasOwn(this.variables, name) ? { previous: this.variables[name] } : {}
    this.variables[name] = next
    this.emit('variable.changed', node.id, { name, ...previous, next, nodeId: node.id })
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
    this.status = 'paused'
    if (this.fate.end === 'cut' && chance(this.world.choose, 2)) throw new CutOff()
    for (const state of this.nodes.values()) {
      if (drain || state.phase !== 'running') continue
      // A host may let the wait for a child go on, or start it again when there is no child yet.
      if (state.typeId !== 'core.subWorkflow' || (state.child === undefined && chance(this.world.choose, 2))) {
        state.phase = 'interrupted'
      }
    }
    this.remember()
    this.emit('run.resumed', undefined, {})
    this.mode = 'running'
    this.status = 'running'
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
    const breach = { kind: 'node-executions', limit: this.limit, observed: this.executions + 1, nodeId }
    this.stop({ outcome: 'failed', error, failedNodeId: nodeId, breach })
    this.emit('cap.breached', undefined, breach)
    this.end('failed', { error, failedNodeId: nodeId })
  }

  /** Nothing new from here on: children are cancelled, open nodes too. */
  private stop(payload: object): void {
    this.emit('assay.stop.requested', undefined, payload)
    this.cancelOpen()
  }

  private cancelOpen(): void {
    for (const node of this.workflow.nodes) {
      const state = this.state(node.id)
      if (!['running', 'suspended', 'retrying', 'interrupted'].includes(state.phase)) continue
      if (state.child !== undefined && state.child.mode !== 'ended') state.child.cancel('parent-cancelled', this.runId)
      this.at = Math.max(this.at, state.child?.at ?? 0)
      this.settle(node.id, 'cancelled', { nodeId: node.id, reason: 'the run is stopping' })
    }
  }

  private end(status: string, payload: object): void {
    this.emit(`run.${status}`, undefined, payload)
    this.mode = 'ended'
    this.status = status
    this.remember()
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

  private emit(
    type: string,
    nodeId: string | undefined,
    payload: object,
    cause?: string,
    pass?: number,
    secret?: object,
  ): string {
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
      ...(secret === undefined ? {} : { secret }),
    })
    return eventId
  }

  toChecked(): CheckedRun {
    const ended = this.mode === 'ended'
    const events = chained(this.events, this.world.older)
    const waits = this.mode === 'running' ? this.waiting() : undefined
    return {
      runId: this.runId,
      tenant: this.world.tenant,
      definition: this.workflow,
      events,
      outlets: { poll: this.events },
      invocations: this.invocations,
      snapshot: { variables: { ...this.variables, extra: [1, 2] }, channels: this.channels },
      row: {
        status: waits ?? this.status,
        length: this.events.length,
        parentRunId: this.parent?.runId ?? null,
        parentNodeId: this.parent?.nodeId ?? null,
        endedAt: ended ? this.at : null,
        wakeAt: ended ? null : this.at,
        fork: this.origin?.fork ?? null,
        head: events.at(-1)?.link?.hash ?? '',
      },
    }
  }
}

/** Nobody answers: a clarification, say, is then answered by nothing. */
type Silence = { readonly value: { readonly action?: unknown; readonly answers?: unknown } | null; readonly by: string }

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
