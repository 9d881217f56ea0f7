import { Type } from 'typebox'
import { own } from '../core/json.js'
import { Above, AnyNumber, Closed, Flag, ListOf, May, OneOf, Text } from '../core/schema/kinds.js'
import type { Criterion, Probe, Scale } from '../core/verification/gate.js'
import { CriterionKey, type Origin } from './names.js'
import { ProbeSchema, type ProbeWanted, probeProblems } from './probe.js'

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

const Dimension = Type.Refine(
  CriterionKey({ description: 'What is judged; the name appears in the record' }),
  name => !name.startsWith('gate.') && !RESERVED.includes(name),
  name => `${JSON.stringify(name)} is a key of the host's own; choose another name`,
)

/** R-DWS-3 */
export const CriterionSchema = Closed({
  dimension: Dimension,
  description: May(Text(4_000, { description: 'The question that verifiers answer; the usual dimensions have one' })),
  scale: Closed(
    {
      min: AnyNumber({ description: 'The worst score' }),
      max: AnyNumber({ description: 'The best score' }),
      type: OneOf(['integer', 'float'], { description: 'Whole scores only, or any' }),
    },
    { description: 'What scores there are' },
  ),
  pass_threshold: AnyNumber({ description: 'The least score that passes' }),
  weight: May(Above(0, 1_000_000, { description: 'What it counts for in the scores that are reported', default: 1 })),
  evidence_required: May(
    Flag({ description: 'No finding without evidence, and no low score without a finding', default: true }),
  ),
  probes: May(
    ListOf(ProbeSchema, 0, 20, { description: 'What the host checks itself, before any model is asked', default: [] }),
  ),
  settled_by_probes: May(
    Flag({ description: 'The probes alone decide; true where there are some and nothing is said' }),
  ),
})

/** As its author wrote it, with the schema's defaults. */
export type CriterionWanted = Omit<Criterion, 'probes' | 'settled_by_probes'> & {
  readonly probes: readonly ProbeWanted[]
  readonly settled_by_probes?: boolean
}

export function completeCriterion(wanted: CriterionWanted): Criterion {
  const { dimension, probes, settled_by_probes = probes.length > 0 } = wanted
  const description = wanted.description ?? own(USUAL, dimension)
  return {
    ...wanted,
    ...(description === undefined ? {} : { description }),
    probes: probes.map((probe, i): Probe => ({ probe_id: `${dimension}-${i + 1}`, ...probe })),
    settled_by_probes,
  }
}

/** What no schema can say of a criterion and its probes. */
export function criterionProblems(criterion: Criterion, field: string, origin: Origin): string[] {
  const { scale, pass_threshold, probes, settled_by_probes } = criterion
  return [
    ...scaleProblems(scale, `${field}.scale`),
    ...thresholdProblems(scale, pass_threshold, `${field}.pass_threshold`),
    ...(settled_by_probes && probes.length === 0
      ? [`${field}.settled_by_probes is true and there are no probes; add probes or leave it out`]
      : []),
    ...probes.flatMap((probe, i) => probeProblems(probe, `${field}.probes[${i}]`, origin)),
  ]
}

function scaleProblems({ min, max, type }: Scale, field: string): string[] {
  const isWhole = Number.isSafeInteger(min) && Number.isSafeInteger(max)
  return [
    ...(min < max ? [] : [`${field}.min ${min} must be below ${field}.max ${max}; lower it or raise the other`]),
    ...(type === 'integer' && !isWhole
      ? [`${field} is an integer scale from ${min} to ${max}; give whole numbers, or type: float`]
      : []),
  ]
}

function thresholdProblems({ min, max, type }: Scale, threshold: number, field: string): string[] {
  if (threshold < min || threshold > max)
    return [`${field} ${threshold} is outside its scale, ${min} to ${max}; choose one within`]
  if (type === 'integer' && !Number.isSafeInteger(threshold))
    return [`${field} ${threshold} must be a whole number, as its scale is; round it, or set scale.type to float`]
  return []
}
