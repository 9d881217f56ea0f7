import { valueAt } from './pointer.js'
import {
  evidence,
  found,
  type Means,
  nothingAt,
  type ProbeFinding,
  type ProbeOf,
  type ProbeSubject,
  probeUnavailable,
  refOf,
} from './probe.js'

export async function probeJsonSchema(
  probe: ProbeOf<'json-schema'>,
  { tenant, output }: ProbeSubject,
  { schemas }: Means,
): Promise<ProbeFinding> {
  const value = valueAt(output, probe.path)
  const ref = refOf(probe)
  if (value === undefined) return nothingAt(ref, output)
  const problem = await schemas.check(probe.schema, value, tenant)
  if (problem === undefined) return found('held', evidence('comparison', ref, 'conforms to the schema'))
  // Whose fault it is: a schema that is unacceptable, or was ended because it took too long, says nothing of the value.
  const fault = await schemas.inspect(probe.schema, tenant)
  return fault === undefined
    ? found('failed', evidence('comparison', ref, problem))
    : probeUnavailable(probe.probe_id, `the schema of this probe cannot be used: ${fault}`)
}
