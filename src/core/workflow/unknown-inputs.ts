import type { WorkflowDefinition } from './definition.js'

/** Types that take all that the run was given, where their own `inputs` name nothing. */
const TAKE_ALL = ['core.agent', 'core.ai.callPrompt', 'core.ai.structuredOutput']

/**
 * Names of inputs that nothing in a workflow takes: none of its variables has the name, and no node takes whatever there is.
 * The protocol has them accepted; whoever gave one has most likely mistyped it.
 */
export function unknownInputs(
  { variables, nodes }: Pick<WorkflowDefinition, 'variables' | 'nodes'>,
  names: readonly string[],
): string[] {
  const takesAll = nodes.some(
    ({ typeId, inputs }) =>
      typeId === 'core.start' || (TAKE_ALL.includes(typeId) && Object.keys(inputs ?? {}).length === 0),
  )
  if (takesAll) return []
  const known = variables.map(({ name }) => name)
  return names.filter(name => !known.includes(name))
}
