import { type Gate, HOST_VERIFIER } from '../core/verification/gate.js'
import { gateSourceProblems } from './gate-sources.js'
import { outputPathProblems } from './output-paths.js'
import { positionProblems } from './position.js'
import type { StandardsDeps } from './standards.js'
import { missingOf, type StandardsSnapshot } from './standards-snapshot.js'

/** What keeps a well-formed gate from being taken: what it names and is not there, and schemas nobody can check. */
export async function gateProblems(
  gate: Gate,
  tenant: string,
  shelf: StandardsSnapshot,
  { plans, schemas, returnSchema }: Pick<StandardsDeps, 'plans' | 'schemas' | 'returnSchema'>,
): Promise<string[]> {
  const { workflow_id } = gate.position
  const plan = await plans().named(tenant, workflow_id)
  const problems = [
    ...missingOf(gate, shelf.find).map(problem => `${problem}; register it first`),
    ...(plan === undefined
      ? [`position.workflow_id: there is no workflow or agent ${JSON.stringify(workflow_id)}; register it first`]
      : [
          ...positionProblems(gate, plan),
          ...gateSourceProblems(gate, plan, shelf.gatesOf(workflow_id)),
          ...(returnSchema === undefined ? [] : outputPathProblems(gate, plan, returnSchema)),
        ]),
  ]
  for (const [i, { agent_id }] of gate.verifier_requirements.verifiers.entries())
    if (agent_id !== HOST_VERIFIER && (await plans().named(tenant, agent_id)) === undefined)
      problems.push(
        `verifier_requirements.verifiers[${i}]: there is no agent ${JSON.stringify(agent_id)}; install it, or name ${HOST_VERIFIER}`,
      )
  for (const { dimension, probes } of gate.evaluation_criteria)
    for (const probe of probes) {
      if (probe.type !== 'json-schema') continue
      const problem = await schemas.inspect(probe.schema, tenant)
      if (problem !== undefined)
        problems.push(`evaluation_criteria: probe ${probe.probe_id} of ${dimension}: schema ${problem}`)
    }
  return problems
}
