import { NOTHING_SPENT, plus, type Spend } from '../budget/budget.js'
import { chargesOf } from '../budget/evolve.js'
import { type JsonObject, withKey } from '../json.js'
import type { Recorded } from '../run/events.js'
import type { ResultLabel } from '../verification/label.js'

/** One time that a node worked, from its start to its end, as far as readers of the log see it. */
export type Step = {
  readonly nodeId: string
  /** How often the node had been started before, in the whole run. */
  readonly nth: number
  /** Sequence of the event that began it. */
  readonly began: number
  readonly status: 'open' | 'completed' | 'failed' | 'skipped' | 'cancelled'
  /** Tries, counted from 1; none of a step that was passed over. */
  readonly attempts: number
  readonly outputs?: JsonObject
  /** What it made of variables, by name, as the log shows it. */
  readonly variables: JsonObject
  /** Code of the failure that ended it. */
  readonly error?: string
  /** The latest word of each gate about it. */
  readonly verdicts: readonly { readonly gateId: string; readonly verdict: string; readonly label?: ResultLabel }[]
  /** The models that were asked in it, here and not in the runs of workers. */
  readonly models: readonly string[]
  /** What it cost from the cut on: its own calls, its workers and whoever judged them. */
  readonly spent: Spend
}

/** What a run did from a place in its log on, step by step. */
export type SteppedRun = {
  readonly steps: readonly Step[]
  /** From that place on, whichever step it was for. */
  readonly spent: Spend
  /** Names of what it changes of its source. */
  readonly changed: readonly string[]
  /** There are more steps than are kept. */
  readonly truncated: boolean
}

const SETTLED = {
  'node.completed': 'completed',
  'node.failed': 'failed',
  'node.skipped': 'skipped',
  'node.cancelled': 'cancelled',
} as const

const isSettling = (type: string): type is keyof typeof SETTLED => Object.hasOwn(SETTLED, type)

/**
 * Folds a log into its steps. It must hear all of the log, because a step that is cut through belongs to both sides; of
 * what has ended before the cut nothing is kept.
 */
export class StepFold {
  readonly #starts = new Map<string, number>()
  /** The latest step of each node. */
  readonly #latest = new Map<string, Step>()
  /** Those that count, by node and number, in the order in which they began. */
  readonly #kept = new Map<string, Step>()
  #spent = NOTHING_SPENT
  #changed: readonly string[] = []
  #truncated = false

  /** `from` is the first event that counts, `most` how many steps are kept. */
  constructor(
    private readonly from: number,
    private readonly most: number,
  ) {}

  hear(event: Recorded): void {
    const { nodeId, sequence } = event
    if (sequence >= this.from) this.#note(event)
    if (nodeId === undefined) return
    if (event.type === 'node.started' && event.payload.attempt === 0) return this.#begin(nodeId, sequence, 1)
    const before = this.#latest.get(nodeId)
    if (event.type === 'node.skipped' && (before === undefined || before.status !== 'open'))
      this.#begin(nodeId, sequence, 0)
    const step = this.#latest.get(nodeId)
    const after = step && changedBy(step, event, sequence >= this.from)
    // What a node says after its end, and what changes nothing, makes no step of work that ended before the cut.
    if (after && (after !== step || step.status === 'open')) this.#put(after, sequence)
  }

  get told(): SteppedRun {
    const steps = [...this.#kept.values()].sort((a, b) => a.began - b.began)
    return { steps, spent: this.#spent, changed: this.#changed, truncated: this.#truncated }
  }

  #note(event: Recorded): void {
    for (const { spent } of chargesOf(event, undefined)) this.#spent = plus(this.#spent, spent)
    if (event.type === 'run.started' || event.type === 'assay.run.forked')
      this.#changed = [...new Set([...this.#changed, ...(event.payload.changed ?? [])])]
  }

  #begin(nodeId: string, began: number, attempts: number): void {
    const nth = this.#starts.get(nodeId) ?? 0
    this.#starts.set(nodeId, nth + 1)
    const fresh = {
      nodeId,
      nth,
      began,
      status: 'open',
      attempts,
      variables: {},
      verdicts: [],
      models: [],
      spent: NOTHING_SPENT,
    } as const
    this.#put(fresh, began)
  }

  #put(step: Step, sequence: number): void {
    this.#latest.set(step.nodeId, step)
    if (sequence < this.from) return
    const key = JSON.stringify([step.nodeId, step.nth])
    if (this.#kept.has(key) || this.#kept.size < this.most) this.#kept.set(key, step)
    else this.#truncated = true
  }
}

function changedBy(step: Step, event: Recorded, counts: boolean): Step {
  const spent = counts
    ? chargesOf(event, undefined).reduce((sum, charge) => plus(sum, charge.spent), step.spent)
    : step.spent
  const paid = spent === step.spent ? step : { ...step, spent }
  if (isSettling(event.type)) return { ...paid, status: SETTLED[event.type], ...endOf(event) }
  switch (event.type) {
    case 'node.started':
      return { ...paid, status: 'open', attempts: event.payload.attempt + 1 }
    case 'variable.changed':
      return { ...paid, variables: withKey(step.variables, event.payload.name, event.payload.next) }
    case 'agent.invocation.started': {
      const { resolvedProvider, resolvedModel } = event.payload
      return { ...paid, models: [...new Set([...step.models, `${resolvedProvider}:${resolvedModel}`])] }
    }
    case 'dws.verification.verdict_rendered': {
      const { gateId, dwsVerdict: verdict, label } = event.payload
      return judged(paid, { gateId, verdict, ...(label === undefined ? {} : { label }) })
    }
    case 'agent.verified': {
      const { gateId, label } = event.secret ?? {}
      if (gateId === undefined) return paid
      return judged(paid, { gateId, verdict: event.payload.verdict, ...(label === undefined ? {} : { label }) })
    }
    default:
      return paid
  }
}

const judged = (step: Step, verdict: Step['verdicts'][number]): Step => ({
  ...step,
  verdicts: [...step.verdicts.filter(({ gateId }) => gateId !== verdict.gateId), verdict],
})

const endOf = (event: Recorded): Pick<Step, 'outputs' | 'error'> =>
  event.type === 'node.completed'
    ? { outputs: event.payload.outputs }
    : event.type === 'node.failed'
      ? { error: event.payload.error.code }
      : {}
