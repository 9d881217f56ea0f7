import { own } from '../core/json.js'
import type { Criterion, Probe, Scale } from '../core/verification/gate.js'
import { key, type Origin } from './names.js'
import { type ProbeWanted, probe } from './probe.js'
import {
  anyNumber,
  flag,
  list,
  may,
  must,
  object,
  oneOf,
  orElse,
  positive,
  type Read,
  refined,
  text,
} from './reader.js'

/** The host adds these to the keys of a verdict itself (contract agents §23.2, A13). */
const RESERVED = ['human-override', 'human-confirmed', 'human-accepted', 'no-answer', 'self-verification']

/** R-DWS-30: what the usual dimensions ask, where the gate does not say. */
const USUAL: { readonly [dimension: string]: string } = {
  correctness: 'Does the output do what it was asked for?',
  completeness: 'Is everything there that was asked for?',
  consistency: 'Does it agree with itself, and with the knowledge given?',
  constraint_compliance: 'Does it keep every constraint?',
  quality: 'Is it as well made as such work is expected to be?',
}

const dimension: Read<string> = refined(key, (name, field, problems) => {
  if (name.startsWith('gate.') || RESERVED.includes(name))
    problems.push(`${field} ${JSON.stringify(name)} is a key of the host's own; choose another name`)
  return name
})

const scale: Read<Scale> = refined(
  object({ min: must(anyNumber), max: must(anyNumber), type: must(oneOf('integer', 'float')) }),
  (taken, field, problems) => {
    const { min, max, type } = taken
    if (min >= max) problems.push(`${field}.min ${min} must be below ${field}.max ${max}`)
    if (type === 'integer' && !(Number.isSafeInteger(min) && Number.isSafeInteger(max)))
      problems.push(`${field} is an integer scale from ${min} to ${max}; give whole numbers, or type: float`)
    return taken
  },
)

/** R-DWS-3 */
export const criterion = (origin: Origin): Read<Criterion> =>
  refined(
    object({
      dimension: must(dimension),
      description: may(text(4_000)),
      scale: must(scale),
      pass_threshold: must(anyNumber),
      weight: orElse(positive(1_000_000), 1),
      evidence_required: orElse(flag, true),
      probes: orElse(list(probe(origin), 0, 20), []),
      settled_by_probes: may(flag),
    }),
    (taken, field, problems) => {
      const { probes, settled_by_probes = probes.length > 0 } = taken
      const usual = own(USUAL, taken.dimension)
      const description = taken.description ?? usual
      problems.push(...thresholdProblems(taken.scale, taken.pass_threshold, `${field}.pass_threshold`))
      if (settled_by_probes && probes.length === 0)
        problems.push(`${field}.settled_by_probes is true and there are no probes; add probes or leave it out`)
      return {
        ...taken,
        ...(description === undefined ? {} : { description }),
        probes: probes.map((one, i) => named(one, taken.dimension, i)),
        settled_by_probes,
      }
    },
  )

function thresholdProblems({ min, max, type }: Scale, threshold: number, field: string): string[] {
  if (threshold < min || threshold > max) return [`${field} ${threshold} is outside its scale, ${min} to ${max}`]
  if (type === 'integer' && !Number.isSafeInteger(threshold))
    return [`${field} ${threshold} must be a whole number, as its scale is`]
  return []
}

const named = (wanted: ProbeWanted, dimension: string, index: number): Probe => ({
  probe_id: `${dimension}-${index + 1}`,
  ...wanted,
})
