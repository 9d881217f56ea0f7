import { isObject, type Json, type JsonObject } from '../core/json.js'
import { suggestion } from '../core/schema/suggest.js'

/** What the steps of a project say of themselves, by name. */
export type StepContracts = ReadonlyMap<string, JsonObject>

/**
 * A definition with what its steps say of themselves, so that a run, which pins its definition, pins that with it; and the
 * steps that it names and nobody has.
 */
export function fillSteps(
  definition: JsonObject,
  contracts: StepContracts,
): { readonly definition: JsonObject; readonly problems: readonly string[] } {
  const problems: string[] = []
  if (!Array.isArray(definition.nodes)) return { definition, problems }
  const nodes = definition.nodes.map((node: Json): Json => {
    if (!isObject(node) || node.typeId !== 'core.step' || !isObject(node.config)) return node
    const { contract: _, ...config } = node.config
    const step = String(config.step).replace(/\.(?:m?ts|mjs)$/, '')
    const contract = contracts.get(step)
    if (contract === undefined)
      problems.push(
        `nodes["${String(node.id)}"].config.step names "${step}", and steps/ has no such file${suggestion(step, [...contracts.keys()], 'steps')}`,
      )
    return { ...node, config: { ...config, step, ...(contract && { contract }) } }
  })
  return { definition: { ...definition, nodes }, problems }
}
