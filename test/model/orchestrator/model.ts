import type { Json, JsonObject } from '../../../src/core/json.js'
import type { RunInput } from '../../../src/core/run/input.js'
import { HandOver, type Owed, type Result } from './hand-over.js'
import { type Asked, isDoubtful, judged, questionAbout } from './questions.js'
import { type Decision, ESCALATION_THRESHOLD, RUN_ID, type Rule, type Setup, SUB_WORKER } from './setup.js'
import { MASK, Telling } from './telling.js'

/**
 * Foresees the log of a run from what happens to it. Written from the contract and in the plainest way that came to
 * mind: one node is open at a time, everything is kept in fields and nothing is derived from the log.
 */
export class Model {
  readonly #telling = new Telling()
  #now = 0
  #startedAt = 0
  #mode: 'running' | 'paused' | 'stopping' | 'completed' | 'failed' | 'cancelled' = 'running'
  #stop: Stop | undefined

  #turn = 0
  #decided = -1
  #decision: Decision | undefined
  #answer: Json = null
  #results: readonly Result[] = []
  #agent: string | undefined
  #handovers = 0
  #hasHanded = false
  #handing: HandOver | undefined

  #asked: Asked | undefined
  readonly #questions = new Map<string, number>()

  constructor(private readonly setup: Setup) {}

  get log() {
    return this.#telling.log
  }

  get variables(): JsonObject {
    return this.#telling.bag()
  }

  get asked(): Asked | undefined {
    return this.#isOver || this.#mode === 'stopping' ? undefined : this.#asked
  }

  get isStopping(): boolean {
    return this.#mode === 'stopping'
  }

  get status(): string {
    if (this.#mode === 'stopping') return this.#stop!.outcome === 'cancelled' ? 'cancelling' : 'running'
    if (this.#mode !== 'running') return this.#mode
    if (this.#asked)
      return ['approval', 'low-confidence'].includes(this.#asked.kind) ? 'waiting-approval' : 'waiting-input'
    return this.#handing?.childStatus ?? 'running'
  }

  get #isOver(): boolean {
    return this.#mode === 'completed' || this.#mode === 'failed' || this.#mode === 'cancelled'
  }

  get owed(): readonly Owed[] {
    const isWaiting = this.#mode === 'running' || this.#mode === 'stopping'
    return isWaiting && this.#handing ? this.#handing.owed(this.#mode === 'stopping') : []
  }

  /** Says whether the input is taken; a refused one changes nothing. */
  hear(input: RunInput): boolean {
    this.#now = Math.max(this.#now, input.now)
    switch (input.type) {
      case 'StartRun':
        this.#begin()
        return true
      case 'CancelRun':
        return this.#cancel(input.reason)
      case 'PauseRun':
        return this.#pause(input.drainPolicy)
      case 'ResumeRun':
        return this.#resume()
      case 'ResolveInterrupt':
        return this.#answered(input)
      default:
        if (!this.#isOver) this.#learn(input)
        return true
    }
  }

  #begin(): void {
    const { shape, variables, inputs } = this.setup
    this.#startedAt = this.#now
    for (const { name, defaultValue, sensitive } of variables) {
      if (defaultValue !== undefined) this.#telling.variables.set(name, defaultValue)
      if (sensitive) this.#telling.hide(name)
    }
    for (const [name, value] of Object.entries(inputs)) this.#telling.variables.set(name, value)
    this.#telling.tell('run.started')
    if (shape === 'sub') this.#handOver('sub', [SUB_WORKER], 0)
    else this.#takeTurn(0)
  }

  #learn(input: RunInput): void {
    if (this.#mode === 'stopping') {
      if (input.type === 'ChildEnded' && this.#handing!.ended(input, true)) this.#endWithChildren()
      return
    }
    if (input.type === 'Quarantine') return this.#halt({ outcome: 'failed', code: 'run_quarantined' })
    if (this.#isLate) return this.#halt(this.#late)
    if (this.#mode === 'paused') return
    switch (input.type) {
      case 'ChildStarted':
        this.#agent = this.#handing?.started(input, this.#actor) ?? this.#agent
        break
      case 'ChildRefused':
        this.#handing?.refused(input)
        break
      case 'ChildWaits':
        this.#handing?.waits(input)
        break
      case 'ChildEnded':
        this.#handing?.ended(input, false)
        break
      case 'TimeCame':
        this.#timeOut()
    }
    this.#proceed()
  }

  // The orchestrator's loop.

  /** R-STATE-3, R-BOUND-3: one turn too many is refused before anything is told of it. */
  #takeTurn(cause: number): void {
    const { ceiling, configurable, source } = this.setup
    const limit = Math.min(configurable.maxLoopIterations ?? ceiling, ceiling)
    const turn = this.#turn + 1
    if (turn > limit) return this.#breach('lead', limit, turn)
    const started = this.#telling.tell('node.started', { node: 'lead', cause, says: { attempt: 0 } })
    if (source.kind !== 'held' || turn > 1) return this.#decide(this.#choose(turn), started, false)
    const { confidence, pending: decision } = source
    const says = { agentId: this.#agentId, decision, confidence }
    const opinion = this.#telling.tell('agent.decided', { node: 'lead', cause: started, says })
    if (confidence >= ESCALATION_THRESHOLD) return this.#decide(decision, opinion, false)
    const shows = { agentId: this.#agentId, threshold: ESCALATION_THRESHOLD, observed: confidence, decision }
    this.#ask(
      {
        node: 'lead',
        about: 'hold',
        kind: 'low-confidence',
        shows,
        ...this.#limit(this.setup.answerMs, this.setup.nodeMs),
      },
      opinion,
    )
  }

  /** R-ORCH-12 */
  get #agentId(): string {
    return this.setup.agent ?? 'host:orchestrator:lead'
  }

  /** Who has acted last, as far as anyone is known to. */
  get #actor(): string | undefined {
    return this.#agent ?? (this.setup.shape === 'sub' ? undefined : this.#agentId)
  }

  #choose(turn: number): Decision {
    const { source } = this.setup
    if (source.kind !== 'rules') return source.decisions[turn - 1] ?? { kind: 'terminate' }
    return source.rules.find(({ when }) => this.#holds(when, turn))?.decide ?? source.otherwise
  }

  #holds(when: Rule['when'], turn: number): boolean {
    switch (when) {
      case 'early':
        return turn <= 2
      case 'a worker failed':
        return this.#results.some(({ status }) => status === 'failed')
      case 'someone answered':
        return this.#answer !== null
      case 'p is set':
        return this.#telling.variables.has('p')
    }
  }

  /** R-LOOP-2, R-LOOP-3: the one decision of a turn, and what follows from it. */
  #decide(decision: Decision, cause: number, ratified: boolean): void {
    this.#turn += 1
    this.#answer = null
    this.#decision = decision
    const says = { agentId: this.#agentId, decision, iteration: this.#turn }
    this.#decided = this.#telling.tell('runOrchestrator.decided', { node: 'lead', cause, says })
    const { floor, escalation, answerMs, nodeMs } = this.setup
    const question = questionAbout(decision, {
      doubtful: !ratified && isDoubtful(decision, floor),
      escalation,
      turn: this.#turn,
      floor,
    })
    if (question === undefined) return this.#carryOut(decision, this.#decided)
    const asked = { node: 'lead', ...question, ...this.#limit(answerMs, nodeMs) }
    if (question.about !== 'doubt') return this.#ask(asked, this.#decided)
    const doubt = {
      parentRunId: RUN_ID,
      ...(decision.kind === 'next-worker' ? { workerId: decision.nextWorkerIds[0]! } : {}),
      confidence: Number(decision.confidence),
      floor,
      escalationKind: escalation === 'clarification' ? 'clarify' : 'escalate',
      originalDecision: decision,
    }
    const escalated = 'core.workflowChain.confidence-escalated'
    this.#ask(asked, this.#telling.tell(escalated, { node: 'lead', cause: this.#decided, says: doubt }))
  }

  #carryOut(decision: Decision, cause: number): void {
    this.#decision = decision
    if (decision.kind === 'next-worker' && this.setup.shape === 'alone') return this.#fail('lead', 'no_dispatch', cause)
    const route = decision.kind === 'next-worker' ? 'body' : decision.kind === 'terminate' ? 'done' : 'again'
    this.#routed(route, cause)
  }

  #routed(route: 'body' | 'done' | 'again', cause: number): void {
    const outputs = { iteration: this.#turn, decision: this.#decision!, route }
    const completed = this.#telling.tell('node.completed', { node: 'lead', cause, says: { outputs } })
    if (route === 'again') return this.#takeTurn(completed)
    if (route === 'done') return this.#leave(completed)
    if (this.#decision!.kind === 'next-worker') this.#handOver('hand', this.#decision!.nextWorkerIds, completed)
  }

  #leave(cause: number): void {
    const { shape } = this.setup
    if (shape !== 'alone' && !this.#hasHanded) this.#telling.tell('node.skipped', { node: 'hand', cause })
    if (shape === 'loop and after') this.#pass('after', cause)
    this.#complete()
  }

  #pass(node: string, cause: number): void {
    const started = this.#telling.tell('node.started', { node, cause, says: { attempt: 0 } })
    this.#telling.tell('node.completed', { node, cause: started, says: { outputs: {} } })
  }

  // Handing work over.

  #handOver(node: string, ids: readonly string[], cause: number): void {
    const { handing } = this.setup
    const { iterationCap } = handing
    if (node === 'hand') {
      this.#handovers += 1
      if (iterationCap !== undefined && this.#handovers > iterationCap)
        return this.#breach('hand', iterationCap, this.#handovers)
    }
    const since = this.#telling.tell('node.started', { node, cause, says: { attempt: 0 } })
    this.#hasHanded = true
    if (node === 'hand' && handing.fanOutPolicy === 'reject' && ids.length > 1)
      return this.#fail(node, 'fan_out_unsupported', since)
    const due = node === 'hand' ? this.#decided : since
    this.#handing = new HandOver(this.setup, this.#telling, { node, since, due }, ids)
    this.#proceed()
  }

  #proceed(): void {
    while (this.#mode === 'running' && this.#handing && !this.#asked) {
      const next = this.#handing.move()
      if (next === 'at work') return
      if (next === 'done') this.#settle(this.#handing)
      else if (next !== 'moved') this.#ask(next.question, next.cause)
    }
  }

  /** R-LOOP-8, R-ORCH-19: when nothing more will come of any worker, whoever handed over goes on. */
  #settle(handing: HandOver): void {
    const { node, due: cause } = handing.place
    this.#handing = undefined
    const results = handing.results()
    const { childRunId, status: childStatus, error, attestation } = results.at(-1)!
    const child = { ...(childRunId === undefined ? {} : { childRunId }), childStatus }
    if (node === 'hand') {
      this.#results = results
      const says = { outputs: { ...child, workers: results } }
      return this.#takeTurn(this.#telling.tell('node.completed', { node, cause, says }))
    }
    if (childRunId === undefined) return this.#fail(node, error!, cause)
    if (childStatus !== 'completed' && this.setup.handing.onChildFailure !== 'absorb')
      return this.#fail(node, error === 'merge_rejected' ? error : `child_${childStatus}`, cause)
    const says = { outputs: { ...child, ...(attestation ? { attestation } : {}) } }
    this.#pass('next', this.#telling.tell('node.completed', { node, cause, says }))
    this.#complete()
  }

  // Asking people.

  #limit(...limits: readonly (number | undefined)[]): Pick<Asked, 'dueAt' | 'timeoutMs'> {
    const given = limits.filter(limit => limit !== undefined)
    if (given.length === 0) return {}
    const own = limits.length > 1 ? limits[0] : undefined
    return { dueAt: this.#now + Math.min(...given), ...(own === undefined ? {} : { timeoutMs: own }) }
  }

  #ask(question: Omit<Asked, 'interruptId'>, cause: number): void {
    const { node, kind, shows, timeoutMs } = question
    const count = this.#questions.get(node) ?? 0
    this.#questions.set(node, count + 1)
    const interruptId = `int-${this.#telling.log.length}`
    const key = `${node}:${count}`
    const limit = timeoutMs === undefined ? {} : { timeoutMs }
    const says = { interruptId, kind, key, data: shows, ...limit }
    const requested = this.#telling.tell('interrupt.requested', { node, cause, says })
    if (kind === 'approval' || kind === 'clarification')
      this.#telling.tell(`${kind}.requested`, { node, cause: requested, says: { interruptId } })
    const { agentId, threshold, observed } = shows
    const held = kind === 'low-confidence' ? { reason: kind, agentId, threshold, observed } : {}
    this.#telling.tell('node.suspended', { node, cause: requested, says: { interruptId, kind, key, ...held } })
    this.#asked = { ...question, interruptId }
  }

  #answered({ nodeId, interruptId, value, by }: Extract<RunInput, { type: 'ResolveInterrupt' }>): boolean {
    const asked = this.asked
    if (!asked || asked.node !== nodeId || this.#mode !== 'running') return false
    if (interruptId !== undefined && interruptId !== asked.interruptId) return false
    if (this.#isLate || (asked.dueAt !== undefined && this.#now >= asked.dueAt)) return false
    const said = judged(asked, value)
    if (said === undefined) return false
    this.#close(asked, said, by)
    this.#proceed()
    return true
  }

  /** Who is not answered in time was refused an approval; nothing else can be made up. */
  #timeOut(): void {
    const asked = this.#asked
    if (asked?.dueAt === undefined || this.#now < asked.dueAt) return
    this.#close(asked, ['approval', 'low-confidence'].includes(asked.kind) ? { action: 'reject' } : null, undefined)
  }

  /** Returns the index of what closes the question; what must not be seen of an answer is not told. */
  #tellAnswer(
    { node, kind, interruptId, hidden = [] }: Asked,
    said: JsonObject | null,
    by: string | undefined,
  ): number {
    const { action, answers, editedArtifactData: edited } = said ?? {}
    const editsHidden = edited !== undefined && hidden.some(name => (edited as JsonObject)[name] !== undefined)
    const isMasked = editsHidden || this.#telling.isSecret(said)
    const outcome = isRefusal(kind, said) ? { outcome: 'rejected' } : by === undefined ? { outcome: 'timed-out' } : {}
    const late = by === undefined ? { reason: 'timeout' } : {}
    const resumeValue = isMasked ? MASK : said
    const says = { interruptId, kind, resumeValue, resolvedBy: by ?? 'timeout', ...outcome, ...late }
    const cause = this.#telling.tell('interrupt.resolved', { node, says })
    if (kind === 'approval') {
      const shown = isMasked || edited === undefined ? {} : { editedArtifactData: edited }
      const received = by === undefined ? { action: 'timeout' } : { action, decidedBy: by, ...shown }
      this.#telling.tell('approval.received', { node, cause, says: received })
    }
    if (kind === 'clarification' && by !== undefined)
      this.#telling.tell('clarification.resolved', { node, cause, says: { answers, answeredBy: by } })
    this.#telling.tell('node.resumed', { node, cause, says: { interruptId } })
    return cause
  }

  #close(asked: Asked, said: JsonObject | null, by: string | undefined): void {
    const { node, kind, about } = asked
    this.#asked = undefined
    const isRejected = isRefusal(kind, said)
    const cause = this.#tellAnswer(asked, said, by)
    if (node === 'lead') this.#answer = said
    if (by === undefined && !isRejected) return this.#fail(node, 'interrupt_timeout', cause)
    if (about === 'merge') return this.#handing!.answered(asked, said!)
    if (about === 'hold' && isRejected)
      return this.#fail(node, by === undefined ? 'interrupt_timeout' : 'interrupt_rejected', cause)
    if (about === 'hold') return this.#decide(chosen(said!, asked.shows.decision as Decision), cause, true)
    if (about !== 'doubt') return this.#routed('again', cause)
    const confirmed =
      kind === 'clarification' ? (said!.answers as JsonObject).decision === 'confirm' : said!.action !== 'reject'
    if (!confirmed) return this.#routed('again', cause)
    this.#carryOut(chosen(said!, this.#decision!), cause)
  }

  // Stopping and ending.

  get #isLate(): boolean {
    const { runTimeoutMs } = this.setup.configurable
    return runTimeoutMs !== undefined && this.#now - this.#startedAt > runTimeoutMs
  }

  get #late(): Stop {
    const limit = this.setup.configurable.runTimeoutMs!
    const breach = { kind: 'run-duration', limit, observed: this.#now - this.#startedAt }
    return { outcome: 'failed', code: 'run_timeout', breach }
  }

  #pause(drainPolicy: string): boolean {
    if (this.#mode !== 'running') return false
    // Nothing here is in the host's own hands, so there is nothing to drain.
    if (drainPolicy !== 'immediate') this.#telling.tell('assay.pause.requested', { says: { drainPolicy } })
    this.#telling.tell('run.paused', { says: { drainPolicy } })
    this.#mode = 'paused'
    return true
  }

  #resume(): boolean {
    if (this.#mode !== 'paused') return false
    this.#telling.tell('run.resumed')
    this.#mode = 'running'
    if (this.#isLate) this.#halt(this.#late)
    else this.#proceed()
    return true
  }

  #cancel(reason: string | undefined): boolean {
    // R-REST-9: of a run that is over, or about to be, nothing is left to cancel.
    if (this.#mode === 'cancelled' || this.#mode === 'stopping' || this.#isOver) return true
    this.#halt({ outcome: 'cancelled', ...(reason === undefined ? {} : { reason }) })
    return true
  }

  /** Children that go down with the run are waited for; nothing else is. */
  #halt(stop: Stop): void {
    if (this.#handing?.isAtWork && this.setup.handing.propagateCancellation !== false) {
      const { outcome, reason, code } = stop
      const says = {
        outcome,
        ...(reason === undefined ? {} : { reason }),
        ...(code === undefined ? {} : { error: { code } }),
      }
      this.#telling.tell('assay.stop.requested', { says })
      this.#mode = 'stopping'
      this.#stop = stop
      return
    }
    const node = this.#handing?.place.node ?? this.#asked?.node
    const reason = stop.outcome === 'cancelled' ? (stop.reason ?? 'run-cancelled') : 'run-failed'
    if (node !== undefined) this.#telling.tell('node.cancelled', { node, says: { reason } })
    this.#end(stop)
  }

  #endWithChildren(): void {
    const { isAtWork, place } = this.#handing!
    if (isAtWork) return
    this.#telling.tell('node.cancelled', { node: place.node, says: { reason: 'child-ended' } })
    this.#end(this.#stop!)
  }

  #breach(node: string, limit: number, observed: number): void {
    const breach = { kind: 'loop-iterations', limit, observed, nodeId: node }
    this.#halt({ outcome: 'failed', code: 'loop_limit_exceeded', node, breach })
  }

  #fail(node: string, code: string, cause: number): void {
    this.#handing = undefined
    this.#telling.tell('node.failed', { node, cause, says: { error: { code } } })
    this.#end({ outcome: 'failed', code, node })
  }

  #end({ outcome, reason, code, node, breach }: Stop): void {
    this.#handing = undefined
    this.#asked = undefined
    this.#mode = outcome
    if (outcome === 'cancelled')
      return void this.#telling.tell('run.cancelled', { says: reason === undefined ? {} : { reason } })
    const at = breach?.nodeId === undefined ? {} : { node: breach.nodeId }
    const due = breach ? { cause: this.#telling.tell('cap.breached', { ...at, says: breach }) } : {}
    const failed = node === undefined ? {} : { failedNodeId: node }
    this.#telling.tell('run.failed', { ...due, says: { error: { code }, ...failed } })
  }

  #complete(): void {
    this.#telling.tell('run.completed', { cause: this.#telling.log.length - 1 })
    this.#mode = 'completed'
  }
}

const isRefusal = (kind: string, said: JsonObject | null): boolean =>
  (kind === 'approval' || kind === 'low-confidence') && said?.action === 'reject'

const chosen = ({ action, editedArtifactData }: JsonObject, decision: Decision): Decision =>
  action === 'edit-accept' ? (editedArtifactData as Decision) : decision

type Stop = {
  readonly outcome: 'cancelled' | 'failed'
  readonly reason?: string
  readonly code?: string
  readonly node?: string
  readonly breach?: {
    readonly kind: string
    readonly limit: number
    readonly observed: number
    readonly nodeId?: string
  }
}
