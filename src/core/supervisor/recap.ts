import { isObject, type Json, type JsonObject } from '../json.js'

/**
 * What happened in a run so far, as a supervisor is told it: by turn the decision, what became of each worker, what
 * people were asked and answered. It is made of public events alone, so nothing that a gate has withheld is in it; and
 * of nothing else, so the same events give the same recap (R-STATE-5).
 */
export type Recap = {
  readonly turns: readonly RecapTurn[]
}

export type RecapTurn = {
  /** 0 before the first decision, or before the first that is in view. */
  readonly turn: number
  readonly decision?: JsonObject
  readonly workers: readonly RecapWorker[]
  /** Other nodes, and how they ended. */
  readonly steps: readonly { readonly node: string; readonly status: string; readonly says?: Json }[]
  readonly people: readonly { readonly asked: Json; readonly answered?: Json; readonly by?: string }[]
}

export type RecapWorker = {
  readonly worker: string
  readonly status: 'completed' | 'failed' | 'cancelled' | 'not started'
  readonly attempts: number
  readonly error?: string
  readonly verdicts: readonly {
    readonly gate: string
    readonly verdict: string
    readonly label?: string
    readonly failed: readonly string[]
  }[]
  /** A gate has not let its result pass, and it will not be merged. */
  readonly withheld?: true
  /** What it brought back, by the names of this run's variables. */
  readonly brought?: JsonObject
}

type Told = { readonly type: string; readonly nodeId?: string; readonly payload: Json }
type Open<T> = { -readonly [Field in keyof T]: T[Field] extends readonly (infer Item)[] ? Item[] : T[Field] }
type Turn = Open<RecapTurn>

const ENDS = {
  'dispatch.failed': 'not started',
  'child.completed': 'completed',
  'child.failed': 'failed',
  'child.cancelled': 'cancelled',
} as const

const isEnd = (phase: string): phase is keyof typeof ENDS => Object.hasOwn(ENDS, phase)

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** The turns that these events tell of, oldest first. */
export function recapOf(events: readonly Told[]): Recap {
  const fold = new RecapFold()
  for (const { type, nodeId = '', payload } of events) if (isObject(payload)) fold.hear(type, nodeId, payload)
  return { turns: fold.turns.filter(isWorthTelling) }
}

const isWorthTelling = ({ decision, workers, steps, people }: RecapTurn): boolean =>
  decision !== undefined || workers.length + steps.length + people.length > 0

class RecapFold {
  readonly turns: Turn[] = [{ turn: 0, workers: [], steps: [], people: [] }]
  /** Variables that were changed since the last harvest, by the node that changed them. */
  #changed: { readonly nodeId: string; readonly name: string; readonly next: Json }[] = []
  /** Nodes of the loop: their decisions and hand-offs are told as such. */
  readonly #loop = new Set<string>()
  /** Whose result a gate is judging, and which of its criteria failed. */
  readonly #judging = new Map<string, { readonly worker: string; readonly failed: Set<string> }>()
  readonly #reworked = new Set<string>()

  get #turn(): Turn {
    return this.turns.at(-1) as Turn
  }

  hear(type: string, nodeId: string, payload: JsonObject): void {
    switch (type) {
      case 'runOrchestrator.decided':
        return this.#decided(nodeId, payload)
      case 'core.workflowChain.event':
        return this.#handed(nodeId, payload)
      case 'variable.changed':
        this.#changed.push({ nodeId, name: text(payload.name), next: payload.next ?? null })
        return
      case 'dws.verification.started':
        this.#judging.set(gatingOf(payload), { worker: text(payload.workerId), failed: new Set() })
        return
      case 'dws.verification.finding_issued':
        if (payload.classification === 'blocking')
          this.#judging.get(gatingOf(payload))?.failed.add(text(payload.dimension))
        return
      case 'dws.verification.verdict_rendered':
        return this.#judged(payload)
      case 'assay.result.withheld':
        return this.#change(text(payload.workerId), worker => ({ ...worker, withheld: true }))
      case 'assay.rework.began':
        if (typeof payload.workerId === 'string') this.#reworked.add(payload.workerId)
        return
      case 'interrupt.requested':
        this.#turn.people.push({ asked: questionIn(payload) })
        return
      case 'interrupt.resolved':
        return this.#answered(payload)
      case 'node.completed':
      case 'node.failed':
        return this.#stepped(type, nodeId, payload)
    }
  }

  #decided(nodeId: string, { iteration, decision }: JsonObject): void {
    this.#loop.add(nodeId)
    const turn = typeof iteration === 'number' ? iteration : this.#turn.turn + 1
    this.turns.push({ turn, ...(isObject(decision) ? { decision } : {}), workers: [], steps: [], people: [] })
  }

  #handed(nodeId: string, payload: JsonObject): void {
    this.#loop.add(nodeId)
    const [phase, worker] = [text(payload.phase), text(payload.workerId)]
    if (phase === 'output.harvested') return this.#harvested(nodeId, worker, payload.harvestedKeys)
    if (!isEnd(phase)) return
    const error = isObject(payload.error) ? { error: text(payload.error.code) } : {}
    const ended = { worker, status: ENDS[phase], attempts: 1, ...error, verdicts: [] }
    const before = this.#reworked.delete(worker) ? this.#latest(worker) : undefined
    if (before === undefined) this.#turn.workers.push(ended)
    else this.#change(worker, ({ attempts }) => ({ ...ended, attempts: attempts + 1 }))
  }

  #harvested(nodeId: string, worker: string, keys: Json | undefined): void {
    const names: readonly Json[] = Array.isArray(keys) ? keys : []
    const mine = this.#changed.filter(change => change.nodeId === nodeId && names.includes(change.name))
    const brought = Object.fromEntries(mine.map(({ name, next }) => [name, next]))
    this.#changed = []
    this.#change(worker, before => ({ ...before, brought }))
  }

  #judged(payload: JsonObject): void {
    const { worker = '', failed = new Set<string>() } = this.#judging.get(gatingOf(payload)) ?? {}
    const verdict = text(payload.dwsVerdict)
    const label = typeof payload.label === 'string' ? { label: payload.label } : {}
    const told = { gate: text(payload.gateId), verdict, ...label, failed: verdict === 'pass' ? [] : [...failed] }
    this.#change(worker, before => ({
      ...before,
      verdicts: [...before.verdicts.filter(({ gate }) => gate !== told.gate), told],
    }))
  }

  #answered({ resumeValue, resolvedBy, outcome }: JsonObject): void {
    const { people } = this.#turn
    const at = people.findIndex(({ answered }) => answered === undefined)
    const question = people[at]
    const answered = outcome === 'timed-out' ? 'nobody answered in time' : (resumeValue ?? null)
    const by = typeof resolvedBy === 'string' ? { by: resolvedBy } : {}
    if (question) people[at] = { ...question, answered, ...by }
    else people.push({ asked: 'what was asked before', answered, ...by })
  }

  #stepped(type: string, nodeId: string, { outputs, error }: JsonObject): void {
    if (this.#loop.has(nodeId)) {
      if (type === 'node.failed')
        this.#turn.steps.push({ node: nodeId, status: 'failed', says: isObject(error) ? text(error.code) : '' })
      return
    }
    const isEmpty = !isObject(outputs) || Object.keys(outputs).length === 0
    if (type === 'node.failed')
      this.#turn.steps.push({ node: nodeId, status: 'failed', says: isObject(error) ? text(error.code) : '' })
    else this.#turn.steps.push({ node: nodeId, status: 'completed', ...(isEmpty ? {} : { says: outputs }) })
  }

  #latest(worker: string): RecapWorker | undefined {
    return this.#turn.workers.findLast(one => one.worker === worker)
  }

  #change(worker: string, into: (before: RecapWorker) => RecapWorker): void {
    const { workers } = this.#turn
    const at = workers.findLastIndex(one => one.worker === worker)
    const before = workers[at]
    if (before) workers[at] = into(before)
  }
}

const gatingOf = ({ gateId, attempt }: JsonObject): string => JSON.stringify([gateId, attempt])

/** What a person was asked, as far as the log shows it: the words of it, not what they are for. */
function questionIn({ kind, data }: JsonObject): Json {
  const { prompt, questions, title, reason } = isObject(data) ? data : {}
  const said = Object.entries({ prompt, questions, title, reason }).filter(([, value]) => value !== undefined)
  return said.length === 0 ? text(kind) : (Object.fromEntries(said) as JsonObject)
}
