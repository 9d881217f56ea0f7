import type { ArtifactMade, Brief, ModelReply, ToolTerms, ToolWanted, Usage } from '../agent/brief.js'
import { costOf, modelProblem, mostCostOf, outputWithin, overspent, plus, usdOf } from '../agent/budget.js'
import { type InvocationState, nextCall } from '../agent/invocation.js'
import type { Interrupt, Resolution } from '../interrupt.js'
import type { Json } from '../json.js'
import { notApproved } from '../nodes/interrupt.js'
import { DEFAULT_THRESHOLD } from '../orchestrator/decision.js'
import { ratification, tellOpinion } from '../orchestrator/hold.js'
import { type Failure, failure } from '../problem.js'
import { summaryOf } from '../reasoning.js'
import { tellArtifact } from './artifact.js'
import { ask } from './ask.js'
import { closeInvocation, invocationOf, loseCall } from './bracket.js'
import type { EnvelopeReason, Invoking, UsageSecret } from './event.js'
import { failNode, settleNode, tooLarge } from './execute.js'
import { exhaust } from './exhaust.js'
import type { Outcome } from './input.js'
import { carriesSecret, MASK, maskWithin, secretsOf } from './masking.js'
import type { PlanNode } from './plan.js'
import { leftOf, policies, roomFor, setAside, spentBy, tellSpend } from './spending.js'
import type { Active, NodeState } from './state.js'
import { tellOfAgent } from './tell.js'
import type { Turn } from './turn.js'
import { isTooLarge } from './weight.js'

/**
 * One agent at work on one task (contract agents §14.3). The rounds between model and tools are states: what has been
 * answered is in the log, so whoever takes over after a crash goes on from the latest round.
 */

type Heard<Type extends Outcome['type']> = Extract<Outcome, { type: Type }>
type Waiting = Extract<NodeState, { is: 'waiting' }>
type Working = Waiting & {
  readonly wait: Invoking
  readonly invocation: InvocationState
}

/** Calls that one answer of a model may ask for; what is beyond is told to be too many. */
const MAX_CALLS_AT_ONCE = 16
const NOTHING_PAID = { calls: 0, uses: 0 }
/** An answer shorter than this is not worth the call. */
const LEAST_OUTPUT = 64

/** The node, while its agent is at work. */
function working(turn: Turn, { index }: PlanNode): Working | undefined {
  const node = turn.state.phase === 'active' ? turn.active.nodes[index]! : undefined
  return node?.is === 'waiting' && node.wait.kind === 'agent' && node.invocation ? (node as Working) : undefined
}

/** Steps 0–4 and 6a: the bracket, the model, the prompts, the tools, the task. */
export function briefed(turn: Turn, planNode: PlanNode, { answer, since }: Heard<'AgentBriefed'>): void {
  const before = turn.active.nodes[planNode.index]!
  if (before.is !== 'waiting' || before.wait.kind !== 'agent' || before.invocation) return
  if (!answer.ok) return failNode(turn, planNode, answer.error, since)
  const { brief, contents } = answer
  const nodeId = planNode.node.id
  const started = turn.emit({
    type: 'agent.invocation.started',
    nodeId,
    payload: {
      // R-LIVE-19: names the start it belongs to, so a replay tells the same one.
      invocationId: `${nodeId}:${since}`,
      agentId: brief.agentId,
      source: turn.active.started.agentSource ?? 'workflow-node',
      modelClass: brief.modelClass,
      resolvedModel: brief.model,
      resolvedProvider: brief.provider,
      ...(brief.version === undefined ? {} : { resolvedAgentVersion: brief.version }),
      toolSurfaceCount: brief.tools.length,
      memoryBound: brief.memoryBound,
    },
    secret: { brief, contents },
    cause: since,
  })
  for (const { kind, chain, resolved } of brief.prompts) {
    const payload = { nodeId, agentId: brief.agentId, kind, chain, resolved }
    turn.emit({ type: 'agent.promptResolved', nodeId, payload, cause: started })
  }
  turn.emit({ type: 'prompt.composed', nodeId, payload: { nodeId, ...brief.composed }, cause: started })
  const problem = briefProblem(turn, brief)
  if (problem) failNode(turn, planNode, problem, started)
}

function briefProblem(turn: Turn, brief: Brief): Failure | undefined {
  // R-MANIF-7, R-LIVE-10, R-LIVE-28: a bad task never reaches a model.
  if (brief.taskProblem !== undefined) {
    const message = `the task does not fit the task schema of agent "${brief.agentId}": ${brief.taskProblem}`
    return failure('handoff_task_schema_violation', message, { retryable: false })
  }
  const denied = policies(turn.active).map(policy => modelProblem(brief, policy))
  const unpriced = turn.active.budget?.maxCostUsd !== undefined && brief.price === undefined
  const why = denied.find(problem => problem !== undefined) ?? (unpriced ? UNPRICED : undefined)
  if (why === undefined) return undefined
  const message = `the budget of this run does not let it call ${brief.provider}:${brief.model}: ${why}`
  const details = { provider: brief.provider, model: brief.model }
  return failure('budget_model_denied', message, { retryable: false, details })
}

const UNPRICED = 'maxCostUsd is bounded and the model has no price; add it to prices'

/** Whether an earlier attempt of the node has paid for the next tool call, and left its outcome. */
const isPaid = ({ uses = 0, paid = NOTHING_PAID }: Waiting): boolean => uses < paid.uses

/** What an agent does next by itself, or undefined when it waits. */
export function invocationMove(state: Active, index: number): 'tool' | 'model' | 'deny' | undefined {
  const node = state.nodes[index]!
  const invocation = invocationOf(node)
  if (!invocation || node.is !== 'waiting' || node.asked) return undefined
  // A branch may have been made by someone who may do less than whoever started its source.
  if (invocation.now.is === 'using' && missingScopes(state, toolInUse(invocation)).length > 0) return 'deny'
  if (invocation.now.is !== 'between') return undefined
  if (nextCall(invocation)) return isPaid(node) || roomFor(state, { toolCalls: 1 }) !== 'not-yet' ? 'tool' : undefined
  // A call that is not affordable only because of what others have set aside waits until they have settled.
  const { inputTokens, outputTokens, brief } = invocation
  const least = Math.min(LEAST_OUTPUT, outputTokens)
  const fits = outputWithin(leftOf(state), inputTokens, brief.price) >= least
  const aside = setAside(state)
  return fits || (aside.tokens === 0 && aside.costNano === 0) ? 'model' : undefined
}

/** Takes the next step of an agent that has one to take. */
export function proceedInvocation(turn: Turn, planNode: PlanNode): void {
  const move = invocationMove(turn.active, planNode.index)
  const node = working(turn, planNode)
  if (!node || move === undefined) return
  if (move === 'model') return callModel(turn, planNode, node)
  if (move === 'deny') return denyTool(turn, planNode, node)
  const next = nextCall(node.invocation)
  if (next) callTool(turn, planNode, node, next.position, next.wanted)
}

/** Step 5: sets aside what the call may cost at most, then owes it. */
function callModel(turn: Turn, planNode: PlanNode, node: Working): void {
  const { invocation } = node
  const { brief, inputTokens, calls, retries, now, invocationId } = invocation
  const cause = now.is === 'between' ? now.cause : invocation.started
  if (calls >= brief.maxRounds + retries) {
    const message = `agent "${brief.agentId}" may call its model ${brief.maxRounds} times for one task and has not come to an answer; raise models.maxRounds or give it a smaller task`
    return failNode(turn, planNode, failure('agent_rounds_exceeded', message, { retryable: false }), cause)
  }
  const nodeId = planNode.node.id
  const least = Math.min(LEAST_OUTPUT, invocation.outputTokens)
  const fitting = outputWithin(leftOf(turn.active), inputTokens, brief.price)
  const maxOutputTokens = Math.max(least, Math.min(invocation.outputTokens, fitting))
  const reservedTokens = inputTokens + maxOutputTokens
  const costNano = mostCostOf(inputTokens, maxOutputTokens, brief.price)
  const wanted = plus(plus(spentBy(turn.active), setAside(turn.active)), { tokens: reservedTokens, costNano })
  const dimension = overspent(wanted, turn.active.budget ?? {})
  if (dimension) return exhaust(turn, nodeId, dimension, wanted, cause)
  turn.emit({
    type: 'assay.model.requested',
    nodeId,
    payload: {
      nodeId,
      invocationId,
      call: calls + 1,
      attempt: Math.max(invocation.lost, spoiledOf(node, calls + 1)) + 1,
      maxOutputTokens,
      reservedTokens,
      ...(brief.price ? { reservedCostUsd: usdOf(costNano) } : {}),
    },
    cause,
  })
}

/** Tries of a call that an earlier attempt of the node has lost: they are counted already. */
const spoiledOf = ({ spoiled }: Working, call: number): number => (spoiled?.call === call ? spoiled.attempt : 0)

/** Reasoning as it comes. What a second try of the same call repeats is not told again. */
export function modelReasoned(turn: Turn, planNode: PlanNode, input: Heard<'ModelReasoned'>): void {
  const { call, attempt, sequence, delta } = input
  const now = working(turn, planNode)?.invocation.now
  if (now?.is !== 'thinking' || now.call !== call || now.attempt !== attempt || now.deltas !== sequence) return
  // A secret of the run could stand half in one piece and half in the next; the whole, which follows, is masked as one.
  if (secretsOf(turn.active) !== undefined) return
  const { brief } = working(turn, planNode)!.invocation
  const payload = { agentId: brief.agentId, delta, sequence }
  tellOfAgent(turn, planNode.node.id, { type: 'agent.reasoning.delta', payload }, now.requested)
}

/** The host that made the call is gone, and nobody knows what came of it. */
export function modelLost(turn: Turn, planNode: PlanNode, { call, attempt }: Heard<'ModelLost'>): void {
  const node = working(turn, planNode)
  const now = node?.invocation.now
  if (!node || now?.is !== 'thinking' || now.call !== call || now.attempt !== attempt) return
  loseCall(turn, planNode.node.id, node.invocation, now)
}

export function modelAnswered(turn: Turn, planNode: PlanNode, { call, answer }: Heard<'ModelAnswered'>): void {
  const node = working(turn, planNode)
  const now = node?.invocation.now
  if (!node || now?.is !== 'thinking' || now.call !== call) return
  const { requested } = now
  if (answer.ok) return hear(turn, planNode, node, answer.reply, answer.contents, requested)
  // R-BUDGET-1: what a broken call has cost is spent, whatever comes of it.
  if (answer.usage === undefined) {
    tellUsage(turn, planNode, node, { inputTokens: 0, outputTokens: 0 }, requested)
    return failNode(turn, planNode, answer.error, requested)
  }
  tellUsage(turn, planNode, node, answer.usage, requested)
  if (answer.error.retryable === false) return failNode(turn, planNode, answer.error, requested)
  askAgain(turn, planNode, 'unknown', answer.error, requested)
}

function hear(
  turn: Turn,
  planNode: PlanNode,
  node: Working,
  reply: ModelReply,
  contents: string,
  requested: number,
): void {
  const { brief } = node.invocation
  const nodeId = planNode.node.id
  const verbosity = verbosityOf(turn.active)
  // R-EVENT-4, R-EVENT-5, R-LIVE-21: told once for every call, also by a model that gives no reasons.
  if (verbosity !== 'off') {
    const masked = String(maskWithin(reply.reasoning ?? '', secretsOf(turn.active)))
    const reasoning = verbosity === 'summary' ? summaryOf(masked) : masked
    const payload = { agentId: brief.agentId, reasoning, verbosity }
    tellOfAgent(turn, nodeId, { type: 'agent.reasoned', payload }, requested)
  }
  const { said } = reply
  const wanted = said.kind === 'tools' ? said.calls.map(isTooMany) : []
  const kept = said.kind === 'tools' || said.kind === 'unusable' || said.kind === 'truncated'
  const { replyTokens } = reply
  tellUsage(turn, planNode, node, reply.usage, requested, kept ? { contents, replyTokens, wanted } : {})
  // A provider that bills more than could be set aside has crossed the ceiling; nothing is built on that.
  const over = overspent(spentBy(turn.active), turn.active.budget ?? {})
  if (over) return exhaust(turn, nodeId, over, spentBy(turn.active), requested)
  judge(turn, planNode, reply, requested)
}

const isTooMany = (wanted: ToolWanted, position: number): ToolWanted =>
  position < MAX_CALLS_AT_ONCE ? wanted : { argsHash: wanted.argsHash }

function judge(turn: Turn, planNode: PlanNode, { said, usage }: ModelReply, requested: number): void {
  const { brief } = working(turn, planNode)!.invocation
  const { provider, model } = brief
  const nodeId = planNode.node.id
  switch (said.kind) {
    case 'tools':
      return
    case 'answered':
      if (said.recovery !== undefined) {
        const payload = { nodeId, path: said.recovery }
        turn.emit({ type: 'envelope.recovery.applied', nodeId, payload, cause: requested })
      }
      return decided(turn, planNode, said.result, said.confidence, requested)
    case 'refused': {
      // R-ENV-1, R-ENV-3, R-LIVE-30: never asked again, never made up for.
      const category = said.safetyCategory === undefined ? {} : { safetyCategory: said.safetyCategory }
      const payload = { nodeId, provider, model, refusalText: null, ...category }
      const refusal = turn.emit({ type: 'envelope.refusal', nodeId, payload, cause: requested })
      closeInvocation(turn, planNode, 'refused', refusal)
      const message = `${provider}:${model} refused the task of agent "${brief.agentId}"; change the task or the model`
      return failNode(turn, planNode, failure('envelope_refusal', message, { retryable: false }), refusal)
    }
    case 'truncated': {
      const outputTokenCount = usage.outputTokens
      const payload = { nodeId, provider, model, stopReason: said.stopReason, outputTokenCount }
      turn.emit({ type: 'envelope.truncated', nodeId, payload, cause: requested })
      const message = `the answer of ${provider}:${model} was cut off, however much room it got; raise models.maxOutputTokens or ask for less`
      return askAgain(
        turn,
        planNode,
        'truncation',
        failure('envelope_truncation_unrecoverable', message, { retryable: false }),
        requested,
      )
    }
    case 'unusable': {
      const isSchema = said.reason === 'schema-violation' && brief.checksResult
      const what = isSchema ? `does not fit the return schema of agent "${brief.agentId}"` : 'is not what was asked for'
      const message = `the answer of ${provider}:${model} ${what}, also after it was told so`
      const error = failure(isSchema ? 'handoff_return_schema_violation' : 'envelope_invalid', message, {
        retryable: false,
      })
      askAgain(turn, planNode, said.reason, error, requested, said.problem)
    }
  }
}

/** R-ENV-2: asks once more while it may, else the node fails for `error`. */
function askAgain(
  turn: Turn,
  planNode: PlanNode,
  reason: EnvelopeReason,
  error: Failure,
  cause: number,
  correction?: string,
): void {
  const { brief, retries } = working(turn, planNode)!.invocation
  const nodeId = planNode.node.id
  if (retries >= brief.maxRetries) {
    const payload = { nodeId, totalAttempts: retries + 1, finalReason: reason }
    const exhausted = turn.emit({ type: 'envelope.retry.exhausted', nodeId, payload, cause })
    return failNode(turn, planNode, error, exhausted)
  }
  const before = spentBy(turn.active)
  const room = roomFor(turn.active, { retries: 1 })
  if (room === 'retries') return exhaust(turn, nodeId, 'retries', plus(before, { retries: 1 }), cause)
  // Workers may need all that is left: nothing is tried again at their cost.
  if (room === 'not-yet') return failNode(turn, planNode, error, cause)
  const attempted = turn.emit({
    type: 'envelope.retry.attempted',
    nodeId,
    payload: { nodeId, attempt: retries + 2, reason },
    ...(correction === undefined ? {} : { secret: { correction } }),
    cause,
  })
  tellSpend(turn, before, attempted)
}

/** R-BUDGET-1: exactly one for every call that was answered, or broke off. */
function tellUsage(
  turn: Turn,
  { node: { id: nodeId } }: PlanNode,
  { invocation, paid = NOTHING_PAID }: Working,
  usage: Usage,
  cause: number,
  secret: UsageSecret = {},
): void {
  const { provider, model, price } = invocation.brief
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  const nano = costOf(usage, price)
  // An earlier attempt of this node has paid for the calls whose outcomes it left.
  const cacheHit = usage.cacheHit || invocation.calls <= paid.calls
  const before = spentBy(turn.active)
  const payload = {
    provider,
    model,
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(nano === undefined ? {} : { costEstimateUsd: usdOf(nano), currency: 'USD' as const }),
    ...(cacheHit ? { cacheHit: true as const } : {}),
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
    nodeId,
  }
  const kept = Object.keys(secret).length > 0 ? { secret } : {}
  tellSpend(turn, before, turn.emit({ type: 'provider.usage', nodeId, payload, cause, ...kept }))
}

/** Step 7: what the agent has come to; held for a person when it is not sure enough (R-LIVE-13, R-LIVE-14). */
function decided(turn: Turn, planNode: PlanNode, result: Json, confidence: number | undefined, cause: number): void {
  const node = working(turn, planNode)!
  const { brief } = node.invocation
  if (isTooLarge(result)) {
    return failNode(turn, planNode, tooLarge(`the result of agent "${brief.agentId}"`), cause)
  }
  const opinion = { agentId: brief.agentId, decision: result, ...(confidence === undefined ? {} : { confidence }) }
  const { event } = tellOpinion(opinion) as Extract<ReturnType<typeof tellOpinion>, { kind: 'agent' }>
  const said = tellOfAgent(turn, planNode.node.id, event, cause)
  const threshold = brief.threshold ?? thresholdOf(turn.active)
  // An orchestrator's doubt has a floor of its own.
  if (node.wait.role !== 'supervisor' && confidence !== undefined && confidence < threshold) {
    const { timeoutMs } = planNode.node.config
    const interrupt: Interrupt = {
      kind: 'low-confidence',
      data: { agentId: brief.agentId, threshold, observed: confidence, decision: result },
      ...(typeof timeoutMs === 'number' ? { timeoutMs } : {}),
    }
    return ask(turn, planNode, interrupt, said)
  }
  finish(turn, planNode, result, confidence, said)
}

const thresholdOf = ({ started }: Active): number => {
  const threshold = started.configurable?.escalationThreshold
  return typeof threshold === 'number' ? threshold : DEFAULT_THRESHOLD
}

/** A person has said whether what an agent was not sure of may stand. */
export function heldAnswered(turn: Turn, planNode: PlanNode, resolution: Resolution, cause: number): void {
  const { value, data, timedOut, by } = resolution
  const kept = ratification(value, data.decision ?? null)
  if (kept === undefined) {
    closeInvocation(turn, planNode, 'escalated', cause)
    const step = notApproved(timedOut, by)
    if (step.kind === 'failed') failNode(turn, planNode, step.error, cause)
    return
  }
  const edited = typeof value === 'object' && value !== null && 'action' in value && value.action === 'edit-accept'
  const result = edited
    ? ((value as { editedArtifactData?: Json }).editedArtifactData ?? null)
    : (data.decision ?? null)
  finish(turn, planNode, result, Number(data.observed), cause, edited)
}

/** Step 8: the bracket closes, and the node has its result. */
function finish(
  turn: Turn,
  planNode: PlanNode,
  result: Json,
  confidence: number | undefined,
  cause: number,
  edited = false,
): void {
  const { wait, invocation } = working(turn, planNode)!
  const { brief } = invocation
  const closed = closeInvocation(turn, planNode, 'completed', cause, {
    // R-LIVE-11: what a person wrote in its place was not held to the schema.
    ...(brief.checksResult && !edited ? { schemaValidated: true } : {}),
    ...(confidence === undefined ? {} : { confidence }),
  })
  const told = { kind: 'agent' as const, agentId: brief.agentId, result }
  settleNode(turn, planNode, wait, confidence === undefined ? told : { ...told, confidence }, closed ?? cause)
}

/** R-TOOL-3: every call is told before it is made, by hash. R-TOOL-4: what the principal may not do is not done. */
function callTool(turn: Turn, planNode: PlanNode, node: Working, position: number, wanted: ToolWanted): void {
  const { invocation } = node
  const nodeId = planNode.node.id
  const { brief, now } = invocation
  const cause = now.is === 'between' ? now.cause : invocation.started
  const terms = brief.tools.find(tool => tool.toolId === wanted.toolId)!
  if (!isPaid(node) && roomFor(turn.active, { toolCalls: 1 }) === 'toolCalls')
    return exhaust(turn, nodeId, 'toolCalls', plus(spentBy(turn.active), { toolCalls: 1 }), cause)
  const tool = { agentId: brief.agentId, toolName: terms.toolId, toolId: terms.toolId }
  const { owner } = turn.active.started
  const before = spentBy(turn.active)
  const called = turn.emitNumbered(sequence => ({
    type: 'agent.toolCalled',
    nodeId,
    payload: {
      ...tool,
      callId: `call-${sequence}`,
      argsHash: wanted.argsHash,
      principal: owner.principal ?? 'core.system',
      transport: terms.transport,
    },
    secret: { position, ...(isPaid(node) ? { paid: true as const } : {}) },
    cause,
  }))
  tellSpend(turn, before, called)
  const notCalled =
    missingScopes(turn.active, terms).length > 0
      ? 'forbidden'
      : wanted.problem === undefined
        ? undefined
        : 'invalid_arguments'
  if (notCalled === undefined) return
  const error: Json = notCalled === 'forbidden' ? forbidden(terms.toolId, terms.scopes) : { code: notCalled }
  turn.emit({
    type: 'agent.toolReturned',
    nodeId,
    payload: { ...tool, callId: `call-${called}`, status: notCalled === 'forbidden' ? 'forbidden' : 'error', error },
    secret: { position, code: notCalled },
    cause: called,
  })
}

/** R-TOOL-4: what the tool asks for and whoever the run acts for may not do. */
const missingScopes = ({ started: { principalScope = [] } }: Active, { scopes }: ToolTerms): readonly string[] =>
  scopes.filter(scope => !principalScope.includes(scope))

const toolInUse = ({ brief, rounds, now }: InvocationState): ToolTerms => {
  const toolId = now.is === 'using' ? rounds.at(-1)?.wanted[now.position]?.toolId : undefined
  return brief.tools.find(tool => tool.toolId === toolId)!
}

function denyTool(turn: Turn, { node: { id: nodeId } }: PlanNode, { invocation }: Working): void {
  const { now, brief } = invocation
  if (now.is !== 'using') return
  const { toolId, scopes } = toolInUse(invocation)
  const tool = { agentId: brief.agentId, toolName: toolId, toolId, callId: now.callId }
  turn.emit({
    type: 'agent.toolReturned',
    nodeId,
    payload: { ...tool, status: 'forbidden', error: forbidden(toolId, scopes) },
    secret: { position: now.position, code: 'forbidden' },
    cause: now.called,
  })
}

const forbidden = (toolName: string, scopes: readonly string[]): Json => ({
  code: 'forbidden',
  scope: 'tool',
  toolName,
  requiredScopes: [...scopes],
})

export function toolAnswered(turn: Turn, planNode: PlanNode, { position, call, answer }: Heard<'ToolAnswered'>): void {
  const invocation = working(turn, planNode)?.invocation
  const now = invocation?.now
  if (!invocation || now?.is !== 'using' || now.position !== position || invocation.calls !== call) return
  if (!answer.ok) return failNode(turn, planNode, answer.error, now.called)
  const { reply, contents } = answer
  const wanted = invocation.rounds.at(-1)!.wanted[position]!
  const toolId = wanted.toolId!
  const nodeId = planNode.node.id
  const returned = turn.emit({
    type: 'agent.toolReturned',
    nodeId,
    payload: {
      agentId: invocation.brief.agentId,
      toolName: toolId,
      toolId,
      callId: now.callId,
      status: reply.status,
      ...(reply.status === 'rate_limited' ? {} : { durationMs: reply.durationMs }),
      ...(reply.status === 'ok' ? {} : { error: { code: reply.code ?? reply.status } }),
    },
    secret: { position, contents, resultTokens: reply.resultTokens },
    cause: now.called,
  })
  if (reply.artifact !== undefined) keepArtifact(turn, planNode, reply.artifact, returned)
}

/** What a tool made for the run is told right after the tool has returned, so a second call finds it in the log. */
function keepArtifact(turn: Turn, planNode: PlanNode, { artifactType, content }: ArtifactMade, cause: number): void {
  if (isTooLarge(content)) return failNode(turn, planNode, tooLarge('the artifact'), cause)
  const secrets = secretsOf(turn.active)
  // A model names the type as it likes, and everybody sees it.
  const type = carriesSecret(artifactType, secrets) ? MASK : artifactType
  const shown = maskWithin(content, secrets)
  tellArtifact(turn, planNode.node.id, { artifactType: type, content, shown }, cause)
}

export const verbosityOf = ({ started }: Active): 'summary' | 'full' | 'off' => {
  const verbosity = started.configurable?.reasoningVerbosity
  return verbosity === 'full' || verbosity === 'off' ? verbosity : 'summary'
}
