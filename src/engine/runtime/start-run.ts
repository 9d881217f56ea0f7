import type { Space } from '../../core/journal/place.js'
import type { JsonObject } from '../../core/json.js'
import { isAgentId } from '../../core/names.js'
import { type Failure, failure, type Refusal, refuse } from '../../core/problem.js'
import type { RunStarted } from '../../core/run/events.js'
import type { RunInput } from '../../core/run/input.js'
import { ENGINE_VERSION } from '../../core/run/version.js'
import type { BoundGate } from '../../core/verification/gate.js'
import { JUDGE_WORKFLOW_IDS } from '../../core/workflow/host-workflow-ids.js'
import { GOAL_JUDGE_WORKFLOW, JUDGE_WORKFLOW } from '../../core/workflow/nodes/judge.js'
import type { Plan } from '../../core/workflow/plan.js'
import { traceBegun } from '../../trace.js'
import type { CreateRun } from '../api.js'
import { placesFor } from '../journal/new-run.js'
import type { SchemaChecker } from '../ports/schema-checker.js'
import type { Store } from '../ports/store.js'
import type { Standards } from '../ports/verification.js'
import type { Plans } from '../plans/plans.js'

/** What a run that somebody asks for begins with. */

export type StartDeps = {
  readonly plans: Pick<Plans, 'named'>
  readonly schemas: SchemaChecker
  readonly standards: Standards
  readonly store: Store
  /** What runs can write down for later. */
  readonly spaces: readonly Space[]
}

type StartRun = Omit<Extract<RunInput, { type: 'StartRun' }>, 'now'>

/** The plan of a new run and what to put to it, or why there can be none. */
export async function beginningOf(
  deps: StartDeps,
  request: CreateRun,
  runId: string,
): Promise<{ readonly plan: Plan; readonly input: StartRun } | Refusal> {
  const { plans, schemas, standards, store, spaces } = deps
  const plan = await planFor(plans, request)
  // Only a goal has a judge of goals.
  if (!plan || (plan.definition.id === GOAL_JUDGE_WORKFLOW && !request.stream)) return unknownWork(request)
  const misfit = await configurableProblem(schemas, plan, request)
  if (misfit) return misfit
  const gates = await gatesFor(standards, request.tenant, plan.definition.id, request.inputs)
  if ('code' in gates)
    return refuse(gates.code === 'gate_removed' ? 'gate_removed' : 'validation_error', gates.message, gates.details)
  const { inputs, ...withheld } = partedInputs(request, plan)
  const started = startedWith(request, plan, inputs, runId)
  const journal = await placesFor(store, spaces, { runId, plan, isGated: gates.length > 0 }, request)
  const input = { type: 'StartRun' as const, runId, started, ...withheld, ...journal }
  return { plan, input: gates.length > 0 ? { ...input, gates } : input }
}

/** What the run would be made of. Where an agent is asked for, nothing else will do. */
async function planFor(plans: Pick<Plans, 'named'>, request: CreateRun): Promise<Plan | undefined> {
  if (!('agentId' in request)) return plans.named(request.tenant, request.workflowId)
  return isAgentId(request.agentId) ? plans.named(request.tenant, request.agentId) : undefined
}

/** Why what the run is configured with does not fit its workflow. */
async function configurableProblem(
  schemas: SchemaChecker,
  { definition: { configurableSchema } }: Plan,
  { tenant, configurable = {} }: CreateRun,
): Promise<Refusal | undefined> {
  const problem = configurableSchema && (await schemas.check(configurableSchema, configurable, tenant))
  if (problem === undefined) return undefined
  return refuse('validation_error', `configurable does not fit the workflow's configurableSchema: ${problem}`)
}

/** What the results of a run are held to. A trial is of the one gate it names. */
async function gatesFor(
  standards: Standards,
  tenant: string,
  workflowId: string,
  { gateId }: JsonObject,
): Promise<readonly BoundGate[] | Failure> {
  if (!JUDGE_WORKFLOW_IDS.includes(workflowId)) return standards.gatesFor(tenant, workflowId)
  const bound = typeof gateId === 'string' ? await standards.gate(tenant, gateId) : undefined
  if (bound) return [onTrial(bound, workflowId)]
  return failure('gate_unbound', `inputs.gateId must name a gate, not ${JSON.stringify(gateId ?? null)}`)
}

/** The same gate, standing in the trial and holding nothing up there. */
const onTrial = (bound: BoundGate, workflow_id: string): BoundGate => ({
  ...bound,
  gate: {
    ...bound.gate,
    position: { workflow_id, phase_id: 'judge', placement: workflow_id === JUDGE_WORKFLOW ? 'checkpoint' : 'goal' },
    gate_behaviour: { ...bound.gate.gate_behaviour, blocking: false },
  },
})

/** What a trial judges, and by which sources, may come of a result that did not pass: not for every reader of its log. */
function partedInputs({ inputs }: CreateRun, plan: Plan): { inputs: JsonObject; withheld?: JsonObject } {
  if (!JUDGE_WORKFLOW_IDS.includes(plan.definition.id) || inputs.output === undefined) return { inputs }
  const { output, context, ...others } = inputs
  return { inputs: others, withheld: { output, ...(context === undefined ? {} : { context }) } }
}

function startedWith(request: CreateRun, plan: Plan, inputs: JsonObject, runId: string): RunStarted {
  const started: RunStarted = {
    workflowId: plan.definition.id,
    workflowDigest: plan.digest,
    inputs,
    transport: request.transport,
    engineVersion: ENGINE_VERSION,
    owner: { tenant: request.tenant, principal: request.principal },
    traceparent: traceBegun(runId, request.traceparent),
    ...(request.foreign ? { foreignParent: request.foreign.parent, depth: request.foreign.depth } : {}),
    ...('agentId' in request ? { agentSource: request.source } : {}),
    ...request.stream,
    // What its tools may ask for, and its workers' (R-TOOL-4).
    ...(request.scopes && mayAct(plan) ? { principalScope: request.scopes } : {}),
  }
  for (const field of ['configurable', 'tags', 'metadata', 'scopeId'] as const)
    if (request[field] !== undefined) Object.assign(started, { [field]: request[field] })
  return started
}

const mayAct = ({ nodes }: Plan): boolean => nodes.some(({ type }) => type.hands || type.invokes || type.acts)

/** There is nothing of that name to run. */
const unknownWork = (request: CreateRun): Refusal =>
  'agentId' in request ? unknownAgent(request.agentId) : unknownWorkflow(request.workflowId)

const unknownAgent = (agentId: string): Refusal =>
  refuse('unknown_workflow', `agentId "${agentId}" names no agent of this host; see GET /v1/agents`, {
    field: 'agentId',
  })

/** R-REST-17 */
const unknownWorkflow = (workflowId: string): Refusal =>
  refuse(
    'unknown_workflow',
    `workflowId "${workflowId}" is not registered; register it with PUT /v1/workflows/${workflowId}`,
    { field: 'workflowId' } satisfies JsonObject,
  )
