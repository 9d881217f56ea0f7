import type { Rules } from '../run/decide.js'
import type { Recorded } from '../run/events.js'
import { type Active, nodeAt, type RunState } from '../run/state.js'
import { planNodeOf } from '../workflow/plan.js'

/** R-REPLAY-12: an outcome belongs to one attempt of one execution of a node, wherever that stands in the log. */
export type Start = {
  readonly nodeId: string
  readonly ordinal: number
  readonly attempt: number
  readonly since: number
}

export const sameStart = (a: Start, b: Start): boolean => keyOf(a) === keyOf(b)

const keyOf = ({ nodeId, ordinal, attempt }: Omit<Start, 'since'>): string => `${nodeId} ${ordinal} ${attempt}`

/** The start under which a node waits now. */
export function startOfNode({ plan }: Rules, state: Active, nodeId: string): Start | undefined {
  const planNode = planNodeOf(plan, nodeId)
  const node = planNode && nodeAt(state, planNode.index)
  if (!planNode || node?.is !== 'waiting') return undefined
  return { nodeId, ordinal: state.starts[planNode.index] ?? 0, attempt: node.attempt, since: node.since }
}

/** Which nodes the source has started, and what those brought that are told from their record. The log is read bit by bit. */
export class Starts {
  /** By the sequence at which they stand there. */
  readonly #bySequence = new Map<number, Start>()
  /** How often a node has been started anew. */
  readonly #fresh = new Map<string, number>()
  readonly #latest = new Map<string, Start>()
  readonly #completions = new Map<string, Recorded>()

  /** `base` is what the log comes to before what is read. */
  constructor(rules: Rules, base: RunState) {
    if (base.phase !== 'active') return
    for (const { index, node } of rules.plan.nodes) {
      this.#fresh.set(node.id, base.starts[index] ?? 0)
      const start = startOfNode(rules, base, node.id)
      if (start) this.#note(start)
    }
  }

  /** What comes next in the log. `isKept` says of which nodes a completion is kept. */
  read(log: readonly Recorded[], isKept: (nodeId: string) => boolean): void {
    for (const event of log) {
      if (event.type === 'node.completed' && isKept(event.nodeId)) this.#noteCompletion(event)
      const isRework = event.type === 'assay.rework.began' && event.payload.point === 'node'
      if (event.type !== 'node.started' && !isRework) continue
      const { nodeId, sequence } = event
      const attempt = event.type === 'node.started' ? event.payload.attempt : 0
      const ordinal = (this.#fresh.get(nodeId) ?? 0) + (attempt === 0 ? 1 : 0)
      this.#fresh.set(nodeId, ordinal)
      this.#note({ nodeId, ordinal, attempt, since: sequence })
    }
  }

  /** Which start of which node stands at a sequence of the source. */
  at(sequence: number): Start | undefined {
    return this.#bySequence.get(sequence)
  }

  /** How the source says that this attempt of this execution of a node completed. */
  completionOf(nodeId: string, ordinal: number, attempt: number): Recorded | undefined {
    return this.#completions.get(keyOf({ nodeId, ordinal, attempt }))
  }

  #note(start: Start): void {
    this.#bySequence.set(start.since, start)
    this.#latest.set(start.nodeId, start)
  }

  #noteCompletion(event: Recorded & { readonly nodeId: string }): void {
    const start = this.#latest.get(event.nodeId)
    if (start !== undefined) this.#completions.set(keyOf(start), event)
  }
}
