import type { DecisionContext } from '../run/decision-context.js'
import type { Recorded, RunEvent } from '../run/events.js'
import { nodeAt } from '../run/state.js'
import { planNodeOf } from '../workflow/plan.js'
import { sameEvent } from './compare.js'

/** The rules of today decide otherwise than the log they are asked to go on with. */
export class NonDeterminismError extends Error {
  override readonly name = 'Strayed'
}

/**
 * Guides a decision that another log has made before. The events that a fork shares with its source are taken from
 * there; a replay's own are compared with what the source said, and the first difference is reported once.
 */
export class ReplayGuide {
  inherited = 0

  constructor(
    private readonly options: {
      /** Events of this decision that the fork shares with its source. */
      readonly shared?: readonly Recorded[]
      /** Called when the shared events are used up: from here on the run is its own. */
      readonly parted?: (context: DecisionContext) => void
      /** What the source said at a sequence; undefined beyond its end. */
      readonly original?: (sequence: number) => Recorded | undefined
      /** How the source says that this attempt of this execution of a node completed. */
      readonly completion?: (nodeId: string, ordinal: number, attempt: number) => Recorded | undefined
    },
  ) {}

  /** Whether every shared event has found its place in the decision. */
  get isDone(): boolean {
    return this.inherited === (this.options.shared?.length ?? 0)
  }

  /**
   * Whether the log that is told again shows that a decision ended here: what comes next there was led to by something
   * heard. Undefined where there is nothing to go by.
   */
  isCut({ state, length }: Pick<DecisionContext, 'state' | 'length'>): boolean | undefined {
    const { shared = [], original } = this.options
    if (this.inherited < shared.length) return false
    if (state.phase !== 'active' || state.diverged) return undefined
    const next = original?.(state.next)
    // What led to this decision itself stands with the first of its events.
    return next && length > 0 && next.input !== undefined
  }

  /** Takes over what was only said about the log. */
  #recallRemarks(context: DecisionContext): void {
    for (let next = this.options.shared?.[this.inherited]; next && isRemark(next); ) {
      this.inherited += 1
      context.recall(next)
      next = this.options.shared?.[this.inherited]
    }
  }

  /** The sequence of the shared event that stands for this one, or undefined when the event is new. */
  inherit(context: DecisionContext, event: RunEvent): number | undefined {
    const { shared = [], parted } = this.options
    this.#recallRemarks(context)
    const known = shared[this.inherited]
    if (known === undefined) {
      this.#compare(context, event)
      return undefined
    }
    if (known.type !== event.type || known.nodeId !== event.nodeId)
      throw new NonDeterminismError(
        `event ${known.sequence} is ${known.type}; the rules of this host would now say ${event.type}`,
      )
    this.inherited += 1
    const sequence = context.recall(known)
    this.#recallRemarks(context)
    if (this.inherited === shared.length) {
      parted?.(context)
      this.remark(context)
    }
    return sequence
  }

  /** What was said about the source, because it was a branch or a replay itself, is said here too. */
  remark(context: DecisionContext): void {
    if (context.state.phase !== 'active' || context.state.diverged) return
    const original = this.options.original?.(context.state.next)
    if (original === undefined || !isRemark(original)) return
    context.at = Math.max(context.at, original.at)
    const { type, payload, secret } = original
    context.note({ type, payload, ...(secret === undefined ? {} : { secret }) } as RunEvent)
    this.remark(context)
  }

  /**
   * A hand-off names the run in whose name it was made, and a verdict the event it is about, also where they are told
   * again (contract agents §0.3, R-VERIFY-22).
   */
  asRecorded(context: DecisionContext, event: RunEvent): RunEvent {
    const fact = this.#factOf(context, event)
    if (fact) return { ...event, payload: fact.payload, secret: fact.secret } as RunEvent
    if (!NAMES_RUN.test(event.type) || context.state.phase === 'absent') return event
    const original = this.options.original?.(context.state.next)
    return original && sameEvent(original, event) ? ({ ...event, payload: original.payload } as RunEvent) : event
  }

  /** R-REPLAY-15: what a node that is not deterministic brought then, and not what it would bring now. */
  #factOf({ state, plan }: DecisionContext, { type, nodeId }: RunEvent): Recorded | undefined {
    if (state.phase !== 'active' || !BROUGHT.has(type) || nodeId === undefined) return undefined
    const planNode = planNodeOf(plan, nodeId)
    if (planNode?.node.config.nondeterministic !== true) return undefined
    const original = state.diverged ? undefined : this.options.original?.(state.next)
    if (original?.type === type && original.nodeId === nodeId) return original
    if (type !== 'node.completed') return undefined
    const node = nodeAt(state, planNode.index)
    const attempt = node.is === 'waiting' ? node.attempt : 0
    return this.options.completion?.(nodeId, state.starts[planNode.index] ?? 0, attempt)
  }

  /** R-REPLAY-10 */
  #compare(context: DecisionContext, event: RunEvent): void {
    const { runId } = context
    // R-REPLAY-8: this one says itself in what it differs.
    if (event.type === 'replay.divergedAtRefusal') return
    if (context.state.phase === 'absent' || context.state.diverged || context.state.fork === undefined) return
    const original = this.options.original?.(context.state.next)
    if (original === undefined || sameEvent(original, this.#factOf(context, event) ?? event)) return
    const { sourceRunId } = context.state.fork
    context.note({
      type: 'replay.diverged',
      payload: {
        sourceRunId,
        atSequence: original.sequence,
        originalEventId: `${sourceRunId}:${original.sequence}`,
        replayEventId: `${runId}:${original.sequence + 1}`,
        divergenceKind: original.type === event.type && original.nodeId === event.nodeId ? 'output' : 'type-mismatch',
        divergencePoint: original.type,
      },
    })
  }
}

/** What can be seen of a node's work (R-REPLAY-6). */
const BROUGHT: ReadonlySet<string> = new Set([
  'node.completed',
  'variable.changed',
  'channel.written',
  'artifact.created',
])

const NAMES_RUN = /^(core\.workflowChain\.|dws\.|agent\.verified$|assay\.result\.)/

/** Said about a log by whoever made it, not decided by its rules. */
export const isRemark = ({ type }: Recorded): boolean => type === 'assay.run.forked' || type === 'replay.diverged'
