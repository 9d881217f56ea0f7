import { valueAt } from './pointer.js'
import {
  evidence,
  found,
  nothingAt,
  type ProbeFinding,
  type ProbeOf,
  type ProbeSubject,
  quoted,
  refOf,
} from './probe.js'

export function probeNumeric(probe: ProbeOf<'numeric'>, { output }: ProbeSubject): ProbeFinding {
  const value = valueAt(output, probe.path)
  const ref = refOf(probe)
  if (value === undefined) return nothingAt(ref, output)
  const problem = problemOf(value, probe)
  return problem === undefined
    ? found('held', evidence('metric', ref, `is ${quoted(value)}, within its limits`))
    : found('failed', evidence('metric', ref, `is ${quoted(value)}; it must be ${problem}`))
}

function problemOf(value: unknown, { min, max }: ProbeOf<'numeric'>): string | undefined {
  if (typeof value !== 'number') return 'a number'
  if (min !== undefined && value < min) return `at least ${min}`
  return max !== undefined && value > max ? `at most ${max}` : undefined
}
