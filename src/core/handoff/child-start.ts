import type { BudgetPolicy } from '../budget/budget.js'
import { policiesForChild } from '../budget/decide.js'
import { hasPlace } from '../journal/effects.js'
import { childPlaces, usesJournal } from '../journal/start.js'
import type { JsonObject } from '../json.js'
import { type Failure, failure } from '../problem.js'
import type { Effect } from '../run/effects.js'
import type { RunInput } from '../run/input.js'
import type { Active } from '../run/state.js'
import { ENGINE_VERSION } from '../run/version.js'
import type { BoundGate } from '../verification/gate.js'
import { JUDGE_WORKFLOW_IDS } from '../workflow/host-workflow-ids.js'
import type { Plan } from '../workflow/plan.js'

/** What a child begins with, and what its parent is told of that. */

type Start = Omit<Extract<RunInput, { type: 'StartRun' }>, 'now'>
type StartChild = Extract<Effect, { kind: 'start-child' }>

const TRIAL = 'a trial is a run of its own and nobody’s worker; put the gate at the node whose work it is to judge'

/** The command that starts a child, or why there will be none. `plan` is what its workflow is now, if there is one. */
export function childStartCommand(
  runId: string,
  state: Active,
  maxDepth: number,
  effect: StartChild,
  plan: Plan | undefined,
  childRunId: string,
  gates: readonly BoundGate[] | Failure,
): Start | Failure {
  const depth = (state.started.depth ?? 0) + 1
  if (depth > maxDepth) {
    const message = `the child would be nested ${depth} deep; the limit is ${maxDepth}`
    return failure('recursion_limit_exceeded', message, {
      retryable: false,
      details: { depth, limit: maxDepth },
    })
  }
  const { workflowId, inputs, hiddenInputs, unset, timeoutMs, nodeId, principalScope, grant, withheld, gatedBy } =
    effect
  if (!plan) {
    const message = `workflow "${workflowId}" is not registered; register it before the parent runs`
    return failure('unknown_child_workflow', message, { retryable: false, details: { workflowId } })
  }
  if ('code' in gates) return gates
  if (JUDGE_WORKFLOW_IDS.includes(plan.definition.id)) return failure('gate_unbound', TRIAL, { retryable: false })
  const started = {
    workflowId: plan.definition.id,
    workflowDigest: plan.digest,
    inputs,
    transport: state.started.transport,
    engineVersion: ENGINE_VERSION,
    owner: state.started.owner,
    ...(state.started.scopeId === undefined ? {} : { scopeId: state.started.scopeId }),
    // A verifier's model is the host's choice, whatever the run chose for its own agents.
    // What it thinks on the way is for nobody: it would quote what it judges.
    ...inheritance(effect.verifier ? { reasoningVerbosity: 'off' } : (state.started.configurable ?? {}), timeoutMs),
    ...(grant ? { grant } : {}),
    ...inherited(policiesForChild(state)),
    ...(unset.length === 0 ? {} : { unsetInputs: unset }),
    parentRunId: runId,
    parentNodeId: nodeId,
    ...narrowed(state.started.principalScope, principalScope),
    depth,
    ...(gatedBy ? { gatedBy } : {}),
    ...(state.started.traceparent === undefined ? {} : { traceparent: state.started.traceparent }),
  }
  const places = effect.verifier ? {} : childPlaces(state, runId, childRunId, effect.isolated === true)
  const more = {
    ...(withheld ? { withheld } : {}),
    ...(gates.length > 0 ? { gates } : {}),
    ...(hasPlace(places) && usesJournal(plan, gates.length > 0) ? { journal: places } : {}),
  }
  return { type: 'StartRun', runId: childRunId, started, hiddenInputs, ...more }
}

const inherited = (policies: readonly BudgetPolicy[]) => (policies.length > 0 ? { policies } : {})

/** How a parent's agents are to work, its children's are too. */
const INHERITED = ['ai', 'reasoningVerbosity', 'escalationThreshold']

function inheritance(parents: JsonObject, timeoutMs: number): { configurable?: JsonObject } {
  const own = INHERITED.flatMap(name => (parents[name] === undefined ? [] : [[name, parents[name]]]))
  const configurable = { ...Object.fromEntries(own), ...(timeoutMs > 0 ? { runTimeoutMs: timeoutMs } : {}) }
  return Object.keys(configurable).length > 0 ? { configurable } : {}
}

/** R-ATTEST-6: a child may do at most what its parent may. */
function narrowed(own: readonly string[] | undefined, given: readonly string[] | undefined) {
  if (own === undefined && given === undefined) return {}
  return { principalScope: own && given ? given.filter(scope => own.includes(scope)) : (given ?? own ?? []) }
}

/** What the parent is told of a child that was started. */
export function childStartedInput({ nodeId, since, worker, verifier }: StartChild, plan: Plan, childRunId: string) {
  const agentId = plan.nodes.find(node => node.agentId !== undefined)?.agentId
  const told = { type: 'ChildStarted' as const, nodeId, since, worker, childRunId, ...(verifier ? { verifier } : {}) }
  return agentId === undefined ? told : { ...told, agentId }
}

/** What the parent is told of a child that could not be. */
export const childRefusedInput = (
  { nodeId, since, worker, verifier }: Pick<StartChild, 'nodeId' | 'since' | 'worker' | 'verifier'>,
  error: Failure,
) => ({
  type: 'ChildRefused' as const,
  nodeId,
  since,
  worker,
  error,
  ...(verifier ? { verifier } : {}),
})
