import { isObject, type Json, type JsonObject, own } from '../json.js'
import type { PlanNode } from '../workflow/plan.js'

/** What a node that hands work over says about one of its workers (contract agents §5, §12). */
export type WorkerTerms = {
  /** Child name ← parent variable. */
  readonly inputs: readonly (readonly [child: string, parent: string])[]
  /** Parent variable ← child name. */
  readonly outputs: readonly (readonly [parent: string, child: string])[]
  readonly attest: boolean
  readonly principalScope: readonly string[] | undefined
}

/** R-MAP-1: a worker's own map stands in place of the default one. */
export function termsFor(config: JsonObject, workerId: string): WorkerTerms {
  const attestation = isObject(config.outputAttestation) ? config.outputAttestation : {}
  const { principalScope } = attestation
  return {
    inputs: pairs(ownMap(config.perWorkerInputMappings, workerId) ?? config.inputMapping),
    outputs: pairs(ownMap(config.perWorkerOutputMappings, workerId) ?? config.outputMapping),
    attest: attestation.checksum === true,
    principalScope: Array.isArray(principalScope) ? principalScope.map(String) : undefined,
  }
}

/** R-ATTEST-3: whether a person must accept what a worker brings back. */
export const needsMergeApproval = ({ node: { config } }: PlanNode): boolean =>
  isObject(config.outputAttestation) && config.outputAttestation.requireApproval === true

/** R-ATTEST-4: how long that person may take; nobody answering is a no. */
export const patienceOf = ({ node: { config } }: PlanNode): { readonly timeoutMs?: number } => {
  const timeoutMs = isObject(config.outputAttestation) ? config.outputAttestation.timeoutMs : undefined
  return typeof timeoutMs === 'number' ? { timeoutMs } : {}
}

/** Whether the harvest is told before that person is asked (contract agents §28 D7). */
export const isToldFirst = (planNode: PlanNode): boolean =>
  planNode.type.role !== 'dispatch' && needsMergeApproval(planNode)

const ownMap = (maps: Json | undefined, workerId: string): Json | undefined =>
  isObject(maps) ? own(maps, workerId) : undefined

const pairs = (map: Json | undefined): [string, string][] =>
  isObject(map) ? Object.entries(map).map(([to, from]) => [to, String(from)]) : []

/** R-MAP-2: an input whose variable has no value is passed on as unset; the worker's default does not stand in for it. */
export function mapInputs(
  { inputs }: WorkerTerms,
  variables: JsonObject,
): { readonly mapped: JsonObject; readonly unset: readonly string[] } {
  const mapped: [string, Json][] = []
  const unset: string[] = []
  for (const [child, parent] of inputs) {
    const value = own(variables, parent)
    if (value === undefined) unset.push(child)
    else mapped.push([child, value])
  }
  return { mapped: Object.fromEntries(mapped), unset }
}

/** Results are merged into variables; a channel has rules of its own. */
export function targetProblems(config: JsonObject, isChannel: (name: string) => boolean): string[] {
  const { outputMapping, perWorkerOutputMappings } = config
  const maps: [string, Json | undefined][] = [['outputMapping', outputMapping]]
  for (const [workerId, map] of isObject(perWorkerOutputMappings) ? Object.entries(perWorkerOutputMappings) : [])
    maps.push([`perWorkerOutputMappings["${workerId}"]`, map])
  return maps.flatMap(([field, map]) =>
    Object.keys(isObject(map) ? map : {})
      .filter(isChannel)
      .map(name => `config.${field}: "${name}" is a channel; map to a variable`),
  )
}
