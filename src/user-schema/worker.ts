import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { sha256 } from '../digest.js'
import { Lru } from '../lru.js'
import { serveJobs } from '../workers/serve-jobs.js'
import { clipText, explainProblems } from './explain.js'
import type { Job, JobAnswer } from './job.js'

/** Runs in a worker thread that may be killed at any moment: it holds nothing but a cache. */

const CACHE_SIZE = 100
const compiled = new Lru<ValidateFunction>(CACHE_SIZE)

/** Compiles, or takes from the cache. */
function validatorOf(schema: string): ValidateFunction {
  const digest = sha256(schema)
  const validate = compiled.get(digest) ?? compile(schema)
  compiled.set(digest, validate)
  return validate
}

/** A fresh instance each time: two users' schemas may carry the same `$id`. */
function compile(schema: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false })
  ajvFormats.default(ajv)
  return ajv.compile(JSON.parse(schema))
}

function answer(job: Job): JobAnswer {
  let validate: ValidateFunction
  try {
    validate = validatorOf(job.schema)
  } catch (error) {
    return { kind: 'bad-schema', problem: clipText(`is not a valid JSON Schema: ${reason(error)}`) }
  }
  if (job.value === undefined) return { kind: 'conforms' }
  try {
    return validate(JSON.parse(job.value))
      ? { kind: 'conforms' }
      : { kind: 'bad-value', ...explainProblems(validate.errors) }
  } catch (error) {
    return { kind: 'bad-schema', problem: clipText(`cannot be applied to the value: ${reason(error)}`) }
  }
}

/** RangeError is the stack running out: a schema that refers to itself without consuming anything. */
const reason = (error: unknown): string => {
  if (error instanceof RangeError) return 'it recurses without end'
  return (error instanceof Error ? error.message : String(error)).replace(/^schema is invalid: data/, '')
}

// The first compilation is slow because the compiler is cold.
serveJobs(answer, () =>
  answer({ schema: '{"type":"object","properties":{"a":{"type":"string","format":"date"}}}', value: '{"a":""}' }),
)
