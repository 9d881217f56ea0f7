import type { Json, JsonObject } from '../core/json.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import type { Job } from './job.js'
import { limitProblem, sizeProblem } from './limits.js'
import { type JobOutcome, SchemaWorker } from './schema-worker.js'

export type SchemaCheckerOptions = {
  /** How long one schema may keep a worker, from when the worker gets it. */
  readonly timeoutMs?: number
  /** While one worker is held up by a hostile schema, the others go on. */
  readonly workers?: number
}

/** Threads cannot run TypeScript on Node 20, so from `src` (tests) the compiled worker in `dist` is used. */
const WORKER_FILE = import.meta.url.endsWith('.ts')
  ? new URL('../../dist/user-schema/worker.js', import.meta.url)
  : new URL('./worker.js', import.meta.url)

const BARRED_MS = 10_000

const TOO_MUCH = 'took too long or too much memory'

export function createSchemaChecker({ timeoutMs = 250, workers = 2 }: SchemaCheckerOptions = {}): SchemaChecker {
  const desk = new Desk(workers, timeoutMs)
  const read = schemaReader()
  return {
    async inspect(schema) {
      const { text, problem } = read(schema)
      if (problem !== undefined) return problem
      const outcome = await desk.run({ schema: text })
      if (outcome.kind === 'killed') return `${TOO_MUCH} to compile`
      return outcome.kind === 'bad-schema' ? outcome.problem : undefined
    },
    async check(schema, value) {
      const { text, problem } = read(schema)
      if (problem !== undefined) return `the schema ${problem}`
      const rendered = render(value)
      if (rendered === undefined) return 'the value is nested too deeply'
      const outcome = await desk.run({ schema: text, value: rendered })
      if (outcome.kind === 'killed') return `the schema or the value ${TOO_MUCH} to check`
      if (outcome.kind === 'bad-schema') return `the schema ${outcome.problem}`
      return outcome.kind === 'bad-value' ? outcome.problem : undefined
    },
    close: () => desk.close(),
  }
}

type ReadSchema = { readonly text: string; readonly problem: string | undefined }

/** Limits are checked once per schema object: definitions are immutable and used for many runs. */
function schemaReader(): (schema: JsonObject) => ReadSchema {
  const known = new WeakMap<JsonObject, ReadSchema>()
  return schema => {
    const found = known.get(schema)
    if (found !== undefined) return found
    const limit = limitProblem(schema)
    const text = limit === undefined ? JSON.stringify(schema) : ''
    const result = { text, problem: limit ?? sizeProblem(text) }
    known.set(schema, result)
    return result
  }
}

function render(value: Json): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Hands jobs to idle workers in order of arrival; workers are started when first needed and replaced when gone. */
class Desk {
  readonly #idle: SchemaWorker[] = []
  readonly #all = new Set<SchemaWorker>()
  readonly #waiting: (() => void)[] = []
  readonly #barred = new Set<string>()
  #busy = 0
  #closed = false

  constructor(
    private readonly size: number,
    private readonly timeoutMs: number,
  ) {}

  async run(job: Job): Promise<JobOutcome> {
    if (this.#barred.has(job.schema)) return { kind: 'killed' }
    const outcome = await this.#run(job)
    if (outcome.kind === 'killed') this.#bar(job.schema)
    return outcome
  }

  /** For a while a schema that held up a worker is answered at once, so that it cannot hold up everybody else's. */
  #bar(schema: string): void {
    this.#barred.add(schema)
    setTimeout(() => this.#barred.delete(schema), BARRED_MS).unref()
  }

  async #run(job: Job): Promise<JobOutcome> {
    if (this.#busy >= this.size) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#busy += 1
    try {
      this.#refuseIfClosed()
      // It may have been found out while this job stood in line.
      if (this.#barred.has(job.schema)) return { kind: 'killed' }
      const worker = this.#take()
      const outcome = await worker.run(job, this.timeoutMs).finally(() => this.#giveBack(worker))
      this.#refuseIfClosed()
      return outcome
    } finally {
      // The place passes to the next in line, or becomes free.
      const next = this.#waiting.shift()
      if (next === undefined) this.#busy -= 1
      else next()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#all].map(worker => worker.close()))
    this.#all.clear()
  }

  #take(): SchemaWorker {
    for (let worker = this.#idle.pop(); worker !== undefined; worker = this.#idle.pop()) {
      if (!worker.gone) return worker
      this.#all.delete(worker)
    }
    const fresh = new SchemaWorker(WORKER_FILE)
    this.#all.add(fresh)
    return fresh
  }

  #giveBack(worker: SchemaWorker): void {
    if (worker.gone) this.#all.delete(worker)
    else this.#idle.push(worker)
  }

  /** A closed checker has no opinion on any schema: an answer given because it was closed would be a false verdict. */
  #refuseIfClosed(): void {
    if (this.#closed) throw new Error('the schema checker was closed')
  }
}
