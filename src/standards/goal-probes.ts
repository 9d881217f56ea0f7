import type { Json } from '../core/json.js'
import { DistinctBy, ListOf } from '../core/schema/kinds.js'
import { filledBy } from '../core/schema/filled.js'
import { type Document, schemaProblems } from '../core/schema/problems.js'
import type { Shape } from '../core/schema/shape.js'
import type { Probe } from '../core/verification/gate.js'
import type { Origin } from './names.js'
import { probeProblems, ProbeSchema, type ProbeWanted } from './probe.js'

const GoalProbesSchema = DistinctBy(
  ListOf(ProbeSchema, 1, 20),
  one => (one as ProbeWanted).probe_id ?? JSON.stringify(one),
)

/** What the host judges a goal by (R-GOAL-2), each with a name; or all that is wrong with it. */
export function completeGoalProbes(written: Json, field: string, origin: Origin): Document<readonly Probe[]> {
  const misshapen = schemaProblems(GoalProbesSchema, written, field)
  if (misshapen.length > 0) return { ok: false, problems: misshapen }
  const wanted = filledBy(GoalProbesSchema as Shape, written) as unknown as readonly ProbeWanted[]
  const probes = wanted.map((probe, i) => ({ ...probe, probe_id: probe.probe_id ?? `probe-${i + 1}` }) as Probe)
  const problems = probes.flatMap((probe, i) => probeProblems(probe, `${field}[${i}]`, origin))
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: probes }
}
