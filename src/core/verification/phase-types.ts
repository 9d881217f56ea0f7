/** What a gate can stand at: the one list of each kind, for documents that are registered and for runs that start. */

/** Node types whose own result a gate can hold; those that hand work over are held worker by worker. */
export const HELD_TYPES: readonly string[] = ['core.agent']

/** The node type whose calls of a tool a gate can hold. */
export const TOOL_CALLING_TYPE = 'core.agent'

/** Node types that a gate at the exit can send the work back to. */
export const REWORKABLE_TYPES: readonly string[] = ['core.agent', 'core.subWorkflow', 'core.orchestrator.supervisor']
