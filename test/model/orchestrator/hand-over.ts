import type { Json, JsonObject } from '../../../src/core/json.js'
import type { RunInput } from '../../../src/core/run/input.js'
import type { Asked } from './questions.js'
import { type Mapping, RUN_ID, type Setup } from './setup.js'
import { MASK, type Telling } from './telling.js'

type Heard<Type extends RunInput['type']> = Extract<RunInput, { type: Type }>

/** What a run owes to a worker, as far as the contract speaks of it. */
export type Owed = { readonly kind: string; readonly nodeId: string; readonly [detail: string]: unknown }

export type Result = {
  readonly workerId: string
  readonly status: string
  readonly childRunId?: string
  readonly error?: string
  readonly attestation?: object
}

type Worker = {
  readonly id: string
  is: 'pending' | 'dispatching' | 'running' | 'completed' | 'done'
  inputs: JsonObject
  unset: readonly string[]
  /** Index of its latest step, which leads to the next. */
  latest?: number
  childRunId?: string
  childStatus?: string | undefined
  brings?: JsonObject
  hidden?: readonly string[]
  attestation?: object
  status?: string
  code?: string
}

/** The place from which work is handed over. */
type Place = {
  readonly node: string
  readonly since: number
  /** What everything but the steps themselves is due to (R-ORCH-16). */
  readonly due: number
}

/** One hand-over, to all the workers of one decision or to the one of a sub-workflow (contract agents §4, §5, §12). */
export class HandOver {
  readonly #workers: readonly Worker[]

  constructor(
    private readonly setup: Setup,
    private readonly telling: Telling,
    readonly place: Place,
    ids: readonly string[],
  ) {
    this.#workers = ids.map(id => ({ id, is: 'pending', inputs: {}, unset: [] }))
  }

  get isAtWork(): boolean {
    return this.#workers.some(({ is }) => is === 'running')
  }

  /** What the first worker that waits for someone waits for. */
  get childStatus(): string | undefined {
    return this.#workers.find(({ is, childStatus }) => is === 'running' && childStatus !== undefined)?.childStatus
  }

  /** One child to start at a time, and every child at work to look after, or to stop. */
  owed(stopping: boolean): readonly Owed[] {
    const { node: nodeId, since } = this.place
    const starting = stopping ? undefined : this.#workers.find(({ is }) => is === 'dispatching')
    return this.#workers.flatMap((one, worker): Owed[] => {
      const { id: workflowId, inputs, unset, childRunId, childStatus: status = 'running' } = one
      if (one === starting) {
        const hiddenInputs = Object.keys(inputs).filter(name => this.telling.isSecret(inputs[name]!))
        return [{ kind: 'start-child', nodeId, since, worker, workflowId, inputs, unset, hiddenInputs }]
      }
      if (one.is !== 'running') return []
      const wanted = Object.values(this.#outputsOf(one))
      const attest = this.setup.handing.outputAttestation?.checksum === true
      const early = this.#isDue(one, stopping) ? {} : { early: true as const }
      const watch = { kind: 'watch-child', nodeId, since, worker, childRunId, ...early, status, wanted, attest }
      return stopping ? [{ kind: 'cancel-child', nodeId, since, worker, childRunId }, watch] : [watch]
    })
  }

  get #isParallel(): boolean {
    return this.place.node === 'hand' && this.setup.handing.fanOutPolicy === 'parallel'
  }

  /** Where all work at once their ends are told in the order of the decision, once all have been started. */
  #isDue(worker: Worker, stopping: boolean): boolean {
    if (!this.#isParallel) return true
    const earlier = this.#workers.slice(0, this.#workers.indexOf(worker))
    if (stopping) return !earlier.some(({ is }) => is === 'running')
    const unstarted = this.#workers.some(({ is }) => is === 'pending' || is === 'dispatching')
    return !unstarted && earlier.every(({ is }) => is === 'done')
  }

  /** What can be done next without anyone: a step, a question, or nothing, because all is done or someone is at work. */
  move(): 'moved' | 'done' | 'at work' | { readonly question: Omit<Asked, 'interruptId'>; readonly cause: number } {
    const first = this.#workers.find(({ is }) => is !== 'done')
    const fresh = this.#workers.find(({ is }) => is === 'pending')
    if (first === undefined) return 'done'
    if (fresh && (this.#isParallel || fresh === first)) this.#begin(fresh)
    else if (first.is !== 'completed') return 'at work'
    else {
      this.#hide(first)
      if (this.#isGated) return this.#inquire(first)
      this.#merge(first, first.brings!)
    }
    return 'moved'
  }

  /** R-MAP-10: what goes to a hidden name must not be seen on its way. */
  #hide(worker: Worker): void {
    const mapping = Object.entries(this.#outputsOf(worker))
    const children = mapping.filter(([parent]) => this.telling.hides(parent)).map(([, child]) => child)
    worker.hidden = [...worker.hidden!, ...children]
  }

  #outputsOf({ id }: Worker): Mapping {
    const { perWorkerOutputMappings = {}, outputMapping = {} } = this.setup.handing
    return Object.hasOwn(perWorkerOutputMappings, id) ? perWorkerOutputMappings[id]! : outputMapping
  }

  /** R-MAP-1, R-MAP-6: mapped from the variables as they are when the worker's turn has come. */
  #begin(worker: Worker): void {
    const { perWorkerInputMappings = {}, inputMapping = {} } = this.setup.handing
    const own = Object.hasOwn(perWorkerInputMappings, worker.id) ? perWorkerInputMappings[worker.id] : undefined
    const inputs: { [name: string]: Json } = { ...this.setup.ports }
    const unset: string[] = []
    for (const [child, parent] of Object.entries(own ?? inputMapping)) {
      const value = this.telling.variables.get(parent)
      if (value === undefined) unset.push(child)
      else inputs[child] = value
    }
    Object.assign(worker, { is: 'dispatching', inputs, unset })
    worker.latest = this.#step(worker, 'dispatch.began', this.place.due)
  }

  /** R-HANDOFF-2: every transition is told. */
  #step({ id, childRunId }: Worker, phase: string, cause: number, more: object = {}): number {
    const child = childRunId === undefined ? {} : { childRunId }
    const says = { phase, workerId: id, parentRunId: RUN_ID, ...child, ...more }
    return this.telling.tell('core.workflowChain.event', { node: this.place.node, cause, says })
  }

  /** The worker that is to be started and has not been, if that is what the input is about. */
  #dispatching({ nodeId, since, worker }: Heard<'ChildStarted' | 'ChildRefused'>): Worker | undefined {
    const { place } = this
    const meant = place.node === nodeId && place.since === since ? this.#workers[worker] : undefined
    return meant?.is === 'dispatching' ? meant : undefined
  }

  /** Returns the agent that has taken over, if one has. */
  started(input: Heard<'ChildStarted'>, before: string | undefined): string | undefined {
    const worker = this.#dispatching(input)
    if (!worker) return undefined
    const { childRunId, agentId } = input
    const { node, due: cause } = this.place
    this.telling.tell('node.dispatched', { node, cause, says: { childRunId, childWorkflowId: worker.id } })
    const other = agentId !== undefined && before !== undefined && agentId !== before ? agentId : undefined
    if (other !== undefined) {
      const says = { fromAgentId: before, toAgentId: other, reason: 'dispatch' }
      this.telling.tell('agent.handoff', { node, cause, says })
    }
    Object.assign(worker, { is: 'running', childRunId })
    worker.latest = this.#step(worker, 'dispatch.succeeded', worker.latest!)
    return other
  }

  refused(input: Heard<'ChildRefused'>): void {
    const worker = this.#dispatching(input)
    if (!worker) return
    const { code } = input.error
    this.#step(worker, 'dispatch.failed', worker.latest!, { error: { code, error: code } })
    Object.assign(worker, { is: 'done', status: 'failed', code })
  }

  #running({ nodeId, childRunId }: Heard<'ChildWaits' | 'ChildEnded'>): Worker | undefined {
    if (this.place.node !== nodeId) return undefined
    return this.#workers.find(worker => worker.is === 'running' && worker.childRunId === childRunId)
  }

  waits(input: Heard<'ChildWaits'>): void {
    const worker = this.#running(input)
    const { childRunId, status } = input
    if (!worker || (worker.childStatus ?? 'running') === status) return
    worker.childStatus = status === 'running' ? undefined : status
    const says = { childRunId, status }
    this.telling.tell('assay.child.status', { node: this.place.node, cause: worker.latest!, says })
  }

  /** Says whether it was one of these workers. */
  ended(input: Heard<'ChildEnded'>, stopping: boolean): boolean {
    const worker = this.#running(input)
    if (!worker || !this.#isDue(worker, stopping)) return false
    const { status, variables, hidden, checksum } = input
    const code = input.error?.code ?? `child_${status}`
    const error = status === 'completed' ? {} : { error: { code, error: code } }
    worker.latest = this.#step(worker, `child.${status}`, worker.latest!, error)
    // R-HANDOFF-5, R-HANDOFF-6: only what a completed worker is asked for is brought back.
    if (status === 'completed' && Object.keys(this.#outputsOf(worker)).length > 0) {
      const attestation = checksum === undefined ? {} : { attestation: { checksum, algorithm: 'sha256' } }
      Object.assign(worker, { is: 'completed', brings: variables, hidden, ...attestation })
    } else Object.assign(worker, { is: 'done', status, ...(status === 'completed' ? {} : { code }) })
    return true
  }

  get #isGated(): boolean {
    return this.setup.handing.outputAttestation?.requireApproval === true
  }

  /** A sub-workflow tells its harvest before it asks (contract agents §28 D7). */
  get #tellsFirst(): boolean {
    return this.#isGated && this.place.node === 'sub'
  }

  #inquire(worker: Worker): Exclude<ReturnType<HandOver['move']>, string> {
    const { childRunId: artifactId, brings = {}, hidden = [] } = worker
    if (this.#tellsFirst) this.#harvest(worker, brings)
    const shown = Object.entries(brings).map(([name, value]) => [
      name,
      hidden.includes(name) || this.telling.isSecret(value) ? MASK : value,
    ])
    const artifactData = Object.fromEntries(shown) as JsonObject
    const shows = { artifactId: artifactId!, artifactData, actions: ['accept', 'reject', 'edit-accept'] }
    const { node } = this.place
    return { question: { node, about: 'merge', kind: 'approval', shows, brings, hidden }, cause: worker.latest! }
  }

  /** Someone has said whether to merge. Who edits leaves alone what they cannot see. */
  answered({ shows, brings = {} }: Asked, { action, editedArtifactData }: JsonObject): void {
    const worker = this.#workers.find(({ is }) => is !== 'done')!
    if (action === 'reject') {
      Object.assign(worker, { is: 'done', status: 'failed', code: 'merge_rejected' })
      return
    }
    const unseen = (name: string, value: Json) => value === MASK && (shows.artifactData as JsonObject)[name] === MASK
    const edited = Object.entries((editedArtifactData ?? {}) as JsonObject).map(([name, value]) => [
      name,
      unseen(name, value) ? brings[name]! : value,
    ])
    this.#merge(worker, editedArtifactData === undefined ? brings : Object.fromEntries(edited))
  }

  /** R-MAP-3, R-MAP-4 */
  #merge(worker: Worker, brings: JsonObject): void {
    const { node, due } = this.place
    for (const [parent, child] of Object.entries(this.#outputsOf(worker))) {
      const value = brings[child]
      if (value !== undefined) this.telling.change(node, parent, value, worker.hidden!.includes(child), due)
    }
    if (!this.#tellsFirst) this.#harvest(worker, brings)
    Object.assign(worker, { is: 'done', status: 'completed' })
  }

  /** R-HANDOFF-9: the names that are written, in the order of the mapping. */
  #harvest(worker: Worker, brings: JsonObject): void {
    const { attestation } = worker
    const mapping = Object.entries(this.#outputsOf(worker))
    const harvestedKeys = mapping.filter(([, child]) => brings[child] !== undefined).map(([parent]) => parent)
    this.#step(worker, 'output.harvested', worker.latest!, { harvestedKeys, ...(attestation ? { attestation } : {}) })
  }

  /** What has become of the workers. */
  results(): readonly Result[] {
    return this.#workers.map(({ id, status, childRunId, code, attestation }) => ({
      workerId: id,
      status: status!,
      ...(childRunId === undefined ? {} : { childRunId }),
      ...(code === undefined ? {} : { error: code }),
      ...(attestation === undefined || status !== 'completed' ? {} : { attestation }),
    }))
  }
}
