import type { ForeignParent } from '../../core/handoff/foreign-cause.js'
import { VERIFIER_WORKFLOW } from '../../core/workflow/nodes/verify.js'
import { planNodeOf } from '../../core/workflow/plan.js'
import type { InspectedRun, RunEngine } from '../api.js'

/** How a run came to be started by another one. */
export type StartCause = 'core.dispatch' | 'core.subWorkflow'

/** `foreign`: it is a run of another host. */
export type Parent = { readonly runId: string; readonly cause: StartCause; readonly foreign?: ForeignParent }

/**
 * The run that has started another one, or null where a client has; undefined when there is no such run for the tenant.
 * A fork is nobody's child, whatever its source was (agents §29 A12). Whoever judges a result is handed it by the run it is
 * a result of: the protocol has no word for that, and `core.dispatch` is what comes nearest.
 */
export async function parentOf(
  engine: Pick<RunEngine, 'inspect'>,
  tenant: string,
  runId: string,
): Promise<Parent | null | undefined> {
  const state = (await engine.inspect(tenant, runId))?.state
  if (state === undefined || state.phase === 'absent') return undefined
  const { parentRunId, parentNodeId = '', workflowId, foreignParent: foreign } = state.started
  if (state.fork !== undefined) return null
  if (foreign) return { runId: foreign.runId, cause: foreign.cause, foreign }
  if (parentRunId === undefined) return null
  if (workflowId === VERIFIER_WORKFLOW) return { runId: parentRunId, cause: 'core.dispatch' }
  // A family is kept and purged as a whole.
  const parent = await engine.inspect(tenant, parentRunId)
  return parent && { runId: parentRunId, cause: causeIn(parent, parentNodeId) }
}

const causeIn = ({ plan }: InspectedRun, nodeId: string): StartCause =>
  planNodeOf(plan, nodeId)?.type.typeId === 'core.subWorkflow' ? 'core.subWorkflow' : 'core.dispatch'
