import { isObject, type Json, type JsonObject } from '../json.js'

/**
 * What happened in a run so far, as a supervisor is told it: by turn the decision, what became of each worker, what
 * people were asked and answered. It is made of public events alone, so nothing that a gate has withheld is in it; and
 * of nothing else, so the same events give the same recap (R-STATE-5).
 */
export type Recap = {
  /** The turn that is about to be taken. */
  readonly turn: number
  /** Oldest first. */
  readonly turns: readonly RecapTurn[]
}

export type RecapTurn = {
  /** 0 for what happened before the first decision. */
  readonly turn: number
  /** None where it was made before the first event in view. */
  readonly decision?: JsonObject
  readonly workers: readonly RecapWorker[]
  readonly steps: readonly RecapStep[]
  readonly people: readonly RecapQuestion[]
}

export type RecapVerdict = {
  readonly gate: string
  readonly verdict: string
  readonly label?: string
  /** Criteria with a blocking finding. */
  readonly failed: readonly string[]
}

export type RecapWorker = {
  readonly worker: string
  readonly status: 'completed' | 'failed' | 'cancelled' | 'not started'
  /** More than one where a gate sent the work back and it was done again in the same turn. */
  readonly attempts: number
  readonly error?: string
  readonly verdicts: readonly RecapVerdict[]
  /** A gate has not let its result pass, and it will not be merged. */
  readonly withheld?: true
  /** What it brought back, by the names of this run's variables. */
  readonly brought?: JsonObject
}

/** Another node than those of the loop, and how it ended. */
export type RecapStep = {
  readonly node: string
  readonly status: 'completed' | 'failed'
  readonly error?: string
  readonly verdicts: readonly RecapVerdict[]
  readonly made?: JsonObject
}

export type RecapQuestion = { readonly asked: Json; readonly answered?: Json; readonly by?: string }

export type RecapEvent = { readonly type: string; readonly nodeId?: string; readonly payload: Json }
type Open<T> = { -readonly [Field in keyof T]: T[Field] extends readonly (infer Item)[] ? Item[] : T[Field] }
type Turn = Open<RecapTurn>
/** Where in a turn something is told that a later event adds to. */
type Place = { readonly turn: Turn; readonly at: number }

const ENDS = {
  'dispatch.failed': 'not started',
  'child.completed': 'completed',
  'child.failed': 'failed',
  'child.cancelled': 'cancelled',
} as const

const isEnd = (phase: string): phase is keyof typeof ENDS => Object.hasOwn(ENDS, phase)

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

const numberIn = ({ payload }: RecapEvent): number | undefined =>
  isObject(payload) && typeof payload.iteration === 'number' ? payload.iteration : undefined

/** The turns before `turn` that these events, the latest of the log, tell of. */
export function recapOf(events: readonly RecapEvent[], turn: number): Recap {
  const first = events.find(({ type }) => type === 'runOrchestrator.decided')
  const fold = new RecapFold(((first && numberIn(first)) ?? turn) - 1)
  for (const { type, nodeId = '', payload } of events) if (isObject(payload)) fold.hear(type, nodeId, payload)
  return { turn, turns: fold.turns.filter(isWorthTelling) }
}

const isWorthTelling = ({ decision, workers, steps, people }: RecapTurn): boolean =>
  decision !== undefined || workers.length + steps.length + people.length > 0

class RecapFold {
  readonly turns: Turn[]
  /** Variables that were changed since the last harvest, by the node that changed them. */
  #changed: { readonly nodeId: string; readonly name: string; readonly next: Json }[] = []
  /** Nodes of the loop: their decisions and hand-offs are told as such. */
  readonly #loop = new Set<string>()
  /** What a gate is judging: a worker's run, or else what the node made; and which of its criteria failed. */
  readonly #judging = new Map<string, { readonly run?: string; readonly failed: Set<string> }>()
  readonly #verdicts = new Map<string, readonly RecapVerdict[]>()
  readonly #workers = new Map<string, Place>()
  /** By worker, the run whose work is done again. */
  readonly #again = new Map<string, Place>()
  readonly #questions = new Map<string, Place>()

  constructor(turn: number) {
    this.turns = [{ turn, workers: [], steps: [], people: [] }]
  }

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
      case 'dws.verification.started': {
        const run = payload.workerId === undefined ? {} : { run: text(payload.targetRef) }
        this.#judging.set(gatingOf(nodeId, payload), { ...run, failed: new Set() })
        return
      }
      case 'dws.verification.finding_issued':
        if (payload.classification === 'blocking')
          this.#judging.get(gatingOf(nodeId, payload))?.failed.add(text(payload.dimension))
        return
      case 'dws.verification.verdict_rendered':
        return this.#judged(nodeId, payload)
      case 'assay.result.withheld':
        return this.#change(text(payload.targetRef), worker => ({ ...worker, withheld: true }))
      case 'assay.rework.began':
        return this.#sentBack(text(payload.workerId))
      case 'interrupt.requested':
        this.#questions.set(text(payload.interruptId), { turn: this.#turn, at: this.#turn.people.length })
        this.#turn.people.push({ asked: questionIn(payload) })
        return
      case 'interrupt.resolved':
        return this.#answered(payload)
      case 'node.completed':
      case 'node.failed':
        return this.#stepped(type === 'node.failed', nodeId, payload)
    }
  }

  #decided(nodeId: string, { iteration, decision }: JsonObject): void {
    this.#loop.add(nodeId)
    const turn = typeof iteration === 'number' ? iteration : this.#turn.turn + 1
    this.turns.push({ turn, ...(isObject(decision) ? { decision } : {}), workers: [], steps: [], people: [] })
  }

  #handed(nodeId: string, payload: JsonObject): void {
    this.#loop.add(nodeId)
    const [phase, worker, run] = [text(payload.phase), text(payload.workerId), text(payload.childRunId)]
    if (phase === 'output.harvested') return this.#harvested(nodeId, run, payload.harvestedKeys)
    if (!isEnd(phase)) return
    const error = isObject(payload.error) ? { error: text(payload.error.code) } : {}
    const ended = { worker, status: ENDS[phase], attempts: 1, ...error, verdicts: [] }
    const before = this.#again.get(worker)
    this.#again.delete(worker)
    const place = before ?? { turn: this.#turn, at: this.#turn.workers.length }
    const attempts = (place.turn.workers[place.at]?.attempts ?? 0) + 1
    place.turn.workers[place.at] = { ...ended, attempts }
    this.#workers.set(run, place)
  }

  /** The latest of that name in this turn is the one whose result was judged last. */
  #sentBack(worker: string): void {
    const at = this.#turn.workers.findLastIndex(one => one.worker === worker)
    if (at >= 0) this.#again.set(worker, { turn: this.#turn, at })
  }

  #harvested(nodeId: string, run: string, keys: Json | undefined): void {
    const names: readonly Json[] = Array.isArray(keys) ? keys : []
    const mine = this.#changed.filter(change => change.nodeId === nodeId && names.includes(change.name))
    const brought = Object.fromEntries(mine.map(({ name, next }) => [name, next]))
    this.#changed = []
    this.#change(run, before => ({ ...before, brought }))
  }

  #judged(nodeId: string, payload: JsonObject): void {
    const { run, failed = [] } = this.#judging.get(gatingOf(nodeId, payload)) ?? {}
    const verdict = text(payload.dwsVerdict)
    const label = typeof payload.label === 'string' ? { label: payload.label } : {}
    const told = { gate: text(payload.gateId), verdict, ...label, failed: verdict === 'pass' ? [] : [...failed] }
    if (run === undefined) this.#verdicts.set(nodeId, withVerdict(this.#verdicts.get(nodeId) ?? [], told))
    else this.#change(run, before => ({ ...before, verdicts: withVerdict(before.verdicts, told) }))
  }

  #answered({ interruptId, resumeValue, resolvedBy, outcome }: JsonObject): void {
    const place = this.#questions.get(text(interruptId))
    const answered = outcome === 'timed-out' ? 'nobody answered in time' : (resumeValue ?? null)
    const by = typeof resolvedBy === 'string' ? { by: resolvedBy } : {}
    const question = place?.turn.people[place.at]
    if (place && question) place.turn.people[place.at] = { ...question, answered, ...by }
    else this.#turn.people.push({ asked: 'what was asked before', answered, ...by })
  }

  #stepped(hasFailed: boolean, node: string, { outputs, error }: JsonObject): void {
    const verdicts = this.#verdicts.get(node) ?? []
    this.#verdicts.delete(node)
    if (hasFailed) {
      const code = isObject(error) ? { error: text(error.code) } : {}
      this.#turn.steps.push({ node, status: 'failed', ...code, verdicts })
    } else if (!this.#loop.has(node)) {
      const made = isObject(outputs) && Object.keys(outputs).length > 0 ? { made: outputs } : {}
      this.#turn.steps.push({ node, status: 'completed', verdicts, ...made })
    }
  }

  #change(run: string, into: (before: RecapWorker) => RecapWorker): void {
    const place = this.#workers.get(run)
    const before = place?.turn.workers[place.at]
    if (place && before) place.turn.workers[place.at] = into(before)
  }
}

/** The latest verdict of each gate. */
const withVerdict = (before: readonly RecapVerdict[], told: RecapVerdict): RecapVerdict[] => [
  ...before.filter(({ gate }) => gate !== told.gate),
  told,
]

const gatingOf = (nodeId: string, { gateId, attempt }: JsonObject): string => JSON.stringify([nodeId, gateId, attempt])

/** What a person was asked, as far as the log shows it: the words of it, not what they are for. */
function questionIn({ kind, data }: JsonObject): Json {
  const { prompt, questions, title, reason } = isObject(data) ? data : {}
  const said = Object.entries({ prompt, questions, title, reason }).filter(([, value]) => value !== undefined)
  return said.length === 0 ? text(kind) : (Object.fromEntries(said) as JsonObject)
}
