import { readPattern } from './pattern.js'
import { valueAt } from './pointer.js'
import {
  evidence,
  found,
  nothingAt,
  type ProbeFinding,
  type ProbeOf,
  type ProbeSubject,
  probeUnavailable,
  refOf,
} from './probe.js'

/** What the pattern found is not repeated: patterns that must not be found are often there to find secrets. */
export function probeRegex(probe: ProbeOf<'regex'>, { output }: ProbeSubject): ProbeFinding {
  const value = valueAt(output, probe.path)
  const ref = refOf(probe)
  if (value === undefined) return nothingAt(ref, output)
  const pattern = readPattern(probe.pattern)
  if (pattern === undefined) return probeUnavailable(probe.probe_id, 'the pattern of this probe cannot be read')
  const place = pattern.find(typeof value === 'string' ? value : JSON.stringify(value))
  if (place === undefined) return probeUnavailable(ref, 'the text is too long for this pattern')
  const isThere = place !== -1
  const seen = isThere ? `found at character ${place}` : 'found nowhere'
  const detail = `the pattern, which must ${probe.absent ? 'not be' : 'be'} there, is ${seen}`
  return found(isThere === probe.absent ? 'failed' : 'held', evidence('comparison', ref, detail))
}
