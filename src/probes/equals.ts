import { canonicalJson } from '../core/json.js'
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

export function probeEquals(probe: ProbeOf<'equals'>, { output }: ProbeSubject): ProbeFinding {
  const value = valueAt(output, probe.path)
  const ref = refOf(probe)
  if (value === undefined) return nothingAt(ref, output)
  return canonicalJson(value) === canonicalJson(probe.value)
    ? found('held', evidence('comparison', ref, `is ${quoted(value)}, as it must be`))
    : found('failed', evidence('comparison', ref, `is ${quoted(value)} and must be ${quoted(probe.value)}`))
}
