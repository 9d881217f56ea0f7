import type { Json, JsonObject } from '../core/json.js'
import type { SchemaChecker, Violation } from '../engine/ports/schema-checker.js'
import type { QueueLoad } from '../timing/fair-queue.js'
import { type WeightOf, WorkerPool } from '../workers/pool.js'
import type { Job, JobAnswer } from './job.js'
import { limitProblem, sizeProblem } from './limits.js'

export type SchemaCheckerOptions = {
  /** How long one schema may keep a worker, from when the worker gets it. */
  readonly timeoutMs?: number
  /** While one worker is held up by a hostile schema, the others go on; one tenant has at most all but one of them. */
  readonly workers?: number
  readonly weightOf?: WeightOf
}

/** Threads cannot run TypeScript on Node 20, so from `src` (tests) the compiled worker in `dist` is used. */
const WORKER_FILE = import.meta.url.endsWith('.ts')
  ? new URL('../../dist/user-schema/worker.js', import.meta.url)
  : new URL('./worker.js', import.meta.url)

const TOO_MUCH = 'took too long or too much memory'

export function createSchemaChecker(options: SchemaCheckerOptions = {}): SchemaChecker & { readonly load: QueueLoad } {
  const { timeoutMs = 250, workers = 3, ...more } = options
  const pool = { file: WORKER_FILE, size: workers, timeoutMs, name: 'schema checker', ...more }
  const desk = new WorkerPool<Job, JobAnswer>(pool)
  const read = schemaReader()
  async function violation(schema: JsonObject, value: Json, tenant: string | null): Promise<Violation | undefined> {
    const { text, problem } = read(schema)
    if (problem !== undefined) return whole(`the schema ${problem}`)
    const rendered = render(value)
    if (rendered === undefined) return whole('the value is nested too deeply')
    const outcome = await desk.run({ schema: text, value: rendered }, text, tenant)
    if (outcome.kind === 'killed') return whole(`the schema or the value ${TOO_MUCH} to check`)
    if (outcome.kind === 'bad-schema') return whole(`the schema ${outcome.problem}`)
    if (outcome.kind === 'conforms') return undefined
    const { kind: _, ...found } = outcome
    return found
  }
  return {
    async inspect(schema, tenant) {
      const { text, problem } = read(schema)
      if (problem !== undefined) return problem
      const outcome = await desk.run({ schema: text }, text, tenant)
      if (outcome.kind === 'killed') return `${TOO_MUCH} to compile`
      return outcome.kind === 'bad-schema' ? outcome.problem : undefined
    },
    check: async (schema, value, tenant) => (await violation(schema, value, tenant))?.problem,
    violation,
    get load() {
      return desk.load
    },
    close: () => desk.close(),
  }
}

/** What no single place of the value is to blame for. */
const whole = (problem: string): Violation => ({ problem, steps: [], rule: problem })

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
