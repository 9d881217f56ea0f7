import { isObject, type Json } from '../core/json.js'
import { Closed, DistinctBy, ListOf } from '../core/schema/kinds.js'
import { filledBy } from '../core/schema/filled.js'
import { type Document, schemaProblems } from '../core/schema/problems.js'
import type { Shape } from '../core/schema/shape.js'
import type { Probe } from '../core/verification/gate.js'
import type { PredicateWanted } from '../engine/ports/verification.js'
import { ProbeSchema, type ProbeWanted, probeProblems } from './probe.js'

/** Probes that stand for themselves, outside of gates. */
const ProbeSetSchema = Closed({
  probes: DistinctBy(
    ListOf(ProbeSchema, 1, 20, { description: 'What the host finds out by itself; all of it must hold' }),
    one => (one as ProbeWanted).probe_id ?? JSON.stringify(one),
  ),
})

/** With what was left out filled in; or all that is wrong with it. */
export function completeProbeSet(
  document: Json,
  { field, over, origin, home }: PredicateWanted,
): Document<readonly Probe[]> {
  const misshapen = schemaProblems(ProbeSetSchema, document, field)
  if (misshapen.length > 0 || !isObject(document)) return { ok: false, problems: misshapen }
  const { probes: wanted } = filledBy(ProbeSetSchema as Shape, document) as { readonly probes: readonly ProbeWanted[] }
  const probes = wanted.map((probe, i) => ({ probe_id: `probe-${i + 1}`, ...probe }) as Probe)
  const ids = probes.map(({ probe_id }) => probe_id)
  const twice = ids.find((id, i) => ids.indexOf(id) !== i)
  const problems = [
    ...probes.flatMap((probe, i) => {
      const at = `${field}.probes[${i}]`
      const own = probeProblems(probe, at, origin, home)
      return over === 'world' && own.length === 0 ? resultProblems(probe, at) : own
    }),
    ...(twice === undefined ? [] : [`${field}.probes has the probe_id "${twice}" twice; give each its own`]),
  ]
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: probes }
}

/** Where nothing was brought there is nothing to look at but the world. */
function resultProblems(probe: Probe, field: string): string[] {
  const other = 'give an http probe with a url, a command, or a file of the project'
  if (probe.type === 'command' || (probe.type === 'http' && probe.url !== undefined)) return []
  if (probe.type === 'file')
    return probe.in === 'workspace' ? [`${field}.in is workspace, and no run has one here; ${other}`] : []
  return [`${field} looks at what a run has brought, and here there is none; ${other}`]
}

/** What the host judges a goal by (R-GOAL-2), as it is written where the goal is. */
export const goalProbes =
  (origin: PredicateWanted['origin']) =>
  (probes: Json, field: string): Document<readonly Probe[]> =>
    completeProbeSet({ probes }, { field, over: 'result', origin, home: { what: 'goal', folder: 'goals/' } })
