import { type Failure, failure } from '../../core/problem.js'
import { ENGINE_VERSION } from '../../core/run/version.js'
import type { EffectOf, Perform } from './performing.js'

/** A child is born in the commit that tells its parent so: neither can be without the other (contract core §9.2). */
export const startChild: Perform<'start-child'> = async (shop, { runId, tenant, state, rules }, effect) => {
  if (state.phase !== 'active') return undefined
  const depth = (state.started.depth ?? 0) + 1
  if (depth > rules.limits.maxDepth) {
    const message = `the child would be nested ${depth} deep; the limit is ${rules.limits.maxDepth}`
    return refused(
      effect,
      failure('recursion_limit_exceeded', message, {
        retryable: false,
        details: { depth, limit: rules.limits.maxDepth },
      }),
    )
  }
  const plan = await shop.plans.named(tenant, effect.workflowId)
  if (!plan) {
    const message = `workflow "${effect.workflowId}" is not registered; register it before the parent runs`
    return refused(
      effect,
      failure('unknown_child_workflow', message, { retryable: false, details: { workflowId: effect.workflowId } }),
    )
  }
  const childRunId = shop.ids.run()
  const started = {
    workflowId: effect.workflowId,
    workflowDigest: plan.digest,
    inputs: effect.inputs,
    transport: state.started.transport,
    engineVersion: ENGINE_VERSION,
    owner: state.started.owner,
    ...(state.started.scopeId === undefined ? {} : { scopeId: state.started.scopeId }),
    ...(effect.timeoutMs > 0 ? { configurable: { runTimeoutMs: effect.timeoutMs } } : {}),
    ...(effect.unset.length === 0 ? {} : { unsetInputs: effect.unset }),
    parentRunId: runId,
    parentNodeId: effect.nodeId,
    depth,
  }
  const birth = () =>
    shop.runs.birth(
      shop.cells.enter(childRunId),
      { type: 'StartRun', runId: childRunId, started, hiddenInputs: effect.hiddenInputs },
      plan,
      { notBefore: state.lastAt },
    )
  const trial = birth()
  if ('code' in trial) return refused(effect, failure('child_refused', trial.message, { retryable: false }))
  const { nodeId, since } = effect
  return {
    input: { type: 'ChildStarted', nodeId, since, childRunId, childWorkflowId: effect.workflowId },
    options: { child: birth },
  }
}

const refused = ({ nodeId, since }: EffectOf<'start-child'>, error: Failure) => ({
  input: { type: 'ChildRefused' as const, nodeId, since, error },
})
