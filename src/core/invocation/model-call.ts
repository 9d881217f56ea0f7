import { costOf, mostCostOf, outputWithin, overspent, plus, usdOf } from '../budget/budget.js'
import { committedBy, leftOf, roomFor, setAside, spentBy, tellSpend } from '../budget/decide.js'
import { exhaust } from '../budget/exhaust.js'
import type { StoppedStep } from '../budget/state.js'
import { type Failure, failure } from '../problem.js'
import { summaryOf } from '../reasoning.js'
import type { DecisionContext } from '../run/decision-context.js'
import { failAttempt } from '../run/node-lifecycle.js'
import { maskWithin, secretsOf } from '../run/redaction.js'
import type { Active } from '../run/state.js'
import { NO_CALLS, type OnAgent } from '../run/waiting.js'
import { recordAgentEvent } from '../supervisor/decide.js'
import type { PlanNode } from '../workflow/plan.js'
import type { ModelReply, ToolWanted, Usage } from './brief.js'
import { decided } from './conclude.js'
import type { EnvelopeReason, UsageSecret } from './events.js'
import { closeInvocation, ledTo, loseCall, type OutcomeOf, stillWorking, working } from './lifecycle.js'
import type { InvocationState } from './state.js'

/** Calls that one answer of a model may ask for; what is beyond is told to be too many. */
export const MAX_CALLS_AT_ONCE = 16
/** An answer shorter than this is not worth the call. */
const LEAST_OUTPUT = 64

/** Whether there is room for a call, or never will be. */
export function mayCallModel(state: Active, { inputTokens, outputTokens, brief }: InvocationState): boolean {
  const least = Math.min(LEAST_OUTPUT, outputTokens)
  if (outputWithin(leftOf(state), inputTokens, brief.price) >= least) return true
  const aside = setAside(state)
  return aside.tokens === 0 && aside.costNano === 0
}

/** Sets aside what the call may cost at most, then owes it. */
export function requestModelCall(context: DecisionContext, planNode: PlanNode, node: OnAgent): void {
  const { invocation } = node
  const { brief, inputTokens, calls, retries, invocationId } = invocation
  const cause = ledTo(invocation)
  if (calls >= brief.maxRounds + retries) {
    const message = `agent "${brief.agentId}" may call its model ${brief.maxRounds} times for one task and has not come to an answer; raise models.maxRounds or give it a smaller task`
    return failAttempt(context, planNode, failure('agent_rounds_exceeded', message, { retryable: false }), cause)
  }
  const nodeId = planNode.node.id
  const least = Math.min(LEAST_OUTPUT, invocation.outputTokens)
  const fitting = outputWithin(leftOf(context.active), inputTokens, brief.price)
  const maxOutputTokens = Math.max(least, Math.min(invocation.outputTokens, fitting))
  const reservedTokens = inputTokens + maxOutputTokens
  const costNano = mostCostOf(inputTokens, maxOutputTokens, brief.price)
  const wanted = plus(plus(committedBy(context.active), setAside(context.active)), { tokens: reservedTokens, costNano })
  const dimension = overspent(wanted, context.active.budget ?? {})
  if (dimension) return exhaust(context, planNode, { is: 'model-call' }, dimension, wanted, cause)
  context.emit({
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
const spoiledOf = ({ calls: { spoiled } = NO_CALLS }: OnAgent, call: number): number =>
  spoiled?.call === call ? spoiled.attempt : 0

/** Reasoning as it comes. What a second try of the same call repeats is not told again. */
export function modelReasoned(context: DecisionContext, planNode: PlanNode, input: OutcomeOf<'ModelReasoned'>): void {
  const { call, attempt, sequence, delta } = input
  const now = working(context, planNode)?.invocation.now
  if (now?.is !== 'thinking' || now.call !== call || now.attempt !== attempt || now.deltas !== sequence) return
  // A secret of the run could stand half in one piece and half in the next; the whole, which follows, is masked as one.
  if (secretsOf(context.active) !== undefined) return
  const { brief } = stillWorking(context, planNode).invocation
  const payload = { agentId: brief.agentId, delta, sequence }
  recordAgentEvent(context, planNode.node.id, { type: 'agent.reasoning.delta', payload }, now.requested)
}

/** The host that made the call is gone, and nobody knows what came of it. */
export function modelLost(
  context: DecisionContext,
  planNode: PlanNode,
  { call, attempt }: OutcomeOf<'ModelLost'>,
): void {
  const node = working(context, planNode)
  const now = node?.invocation.now
  if (!node || now?.is !== 'thinking' || now.call !== call || now.attempt !== attempt) return
  loseCall(context, planNode.node.id, node.invocation, now)
}

export function modelAnswered(
  context: DecisionContext,
  planNode: PlanNode,
  { call, answer }: OutcomeOf<'ModelAnswered'>,
): void {
  const node = working(context, planNode)
  const now = node?.invocation.now
  if (!node || now?.is !== 'thinking' || now.call !== call) return
  const { requested } = now
  if (answer.ok) return hear(context, planNode, node, answer, requested)
  // R-BUDGET-1: what a broken call has cost is spent, whatever comes of it.
  if (answer.usage === undefined) {
    tellUsage(context, planNode, node, { inputTokens: 0, outputTokens: 0 }, requested)
    return failAttempt(context, planNode, answer.error, requested)
  }
  tellUsage(context, planNode, node, answer.usage, requested)
  if (answer.error.retryable === false) return failAttempt(context, planNode, answer.error, requested)
  askAgain(context, planNode, 'unknown', answer.error, requested)
}

function hear(
  context: DecisionContext,
  planNode: PlanNode,
  node: OnAgent,
  { reply, contents, exchange }: Extract<OutcomeOf<'ModelAnswered'>['answer'], { ok: true }>,
  requested: number,
): void {
  const { brief } = node.invocation
  const nodeId = planNode.node.id
  const verbosity = verbosityOf(context.active)
  // R-EVENT-4, R-EVENT-5, R-LIVE-21: told once for every call, also by a model that gives no reasons.
  if (verbosity !== 'off') {
    const masked = String(maskWithin(reply.reasoning ?? '', secretsOf(context.active)))
    const reasoning = verbosity === 'summary' ? summaryOf(masked) : masked
    const payload = { agentId: brief.agentId, reasoning, verbosity }
    recordAgentEvent(context, nodeId, { type: 'agent.reasoned', payload }, requested)
  }
  const { said } = reply
  const wanted = said.kind === 'tools' ? said.calls.map(isTooMany) : []
  const kept = said.kind === 'tools' || said.kind === 'unusable' || said.kind === 'truncated'
  const { replyTokens } = reply
  const stands = said.kind === 'answered' && exchange ? { exchange } : {}
  tellUsage(context, planNode, node, reply.usage, requested, kept ? { contents, replyTokens, wanted } : stands)
  // A provider that bills more than could be set aside has crossed the ceiling; nothing is built on that.
  const spent = committedBy(context.active)
  const over = overspent(spent, context.active.budget ?? {})
  if (over) return exhaust(context, planNode, heard(reply, requested), over, spent, requested)
  judge(context, planNode, reply, requested)
}

/** What is left to make of an answer; calls of tools are in the log already. */
const heard = ({ said, usage }: ModelReply, requested: number): StoppedStep =>
  said.kind === 'tools' ? { is: 'tool-call' } : { is: 'answer', said, usage, requested }

const isTooMany = (wanted: ToolWanted, position: number): ToolWanted =>
  position < MAX_CALLS_AT_ONCE ? wanted : { argsHash: wanted.argsHash }

/** Makes something of what a model has said. */
export function judge(
  context: DecisionContext,
  planNode: PlanNode,
  { said, usage }: Pick<ModelReply, 'said' | 'usage'>,
  requested: number,
): void {
  const { invocation, wait } = stillWorking(context, planNode)
  const { brief } = invocation
  const { provider, model } = brief
  const nodeId = planNode.node.id
  switch (said.kind) {
    case 'tools':
      return
    case 'answered':
      if (said.recovery !== undefined) {
        const payload = { nodeId, path: said.recovery }
        context.emit({ type: 'envelope.recovery.applied', nodeId, payload, cause: requested })
      }
      return decided(context, planNode, said.result, said.confidence, requested)
    case 'refused': {
      // R-ENV-1, R-ENV-3, R-LIVE-30: never asked again, never made up for.
      const category = said.safetyCategory === undefined ? {} : { safetyCategory: said.safetyCategory }
      const payload = { nodeId, provider, model, refusalText: null, ...category }
      const refusal = context.emit({ type: 'envelope.refusal', nodeId, payload, cause: requested })
      closeInvocation(context, planNode, 'refused', refusal)
      const message = `${provider}:${model} refused the task of agent "${brief.agentId}"; change the task or the model`
      return failAttempt(context, planNode, failure('envelope_refusal', message, { retryable: false }), refusal)
    }
    case 'truncated': {
      const outputTokenCount = usage.outputTokens
      const payload = { nodeId, provider, model, stopReason: said.stopReason, outputTokenCount }
      context.emit({ type: 'envelope.truncated', nodeId, payload, cause: requested })
      const message = `the answer of ${provider}:${model} was cut off, however much room it got; raise models.maxOutputTokens or ask for less`
      return askAgain(
        context,
        planNode,
        'truncation',
        failure('envelope_truncation_unrecoverable', message, { retryable: false }),
        requested,
      )
    }
    case 'unusable': {
      const isSchema = said.reason === 'schema-violation' && brief.checksResult && !wait.envelope
      const what = isSchema ? `does not fit the return schema of agent "${brief.agentId}"` : 'is not what was asked for'
      const message = `the answer of ${provider}:${model} ${what}, also after it was told so`
      const error = failure(isSchema ? 'handoff_return_schema_violation' : 'envelope_invalid', message, {
        retryable: false,
      })
      askAgain(context, planNode, said.reason, error, requested, said.problem)
    }
  }
}

/** R-ENV-2: asks once more while it may, else the node fails for `error`. */
export function askAgain(
  context: DecisionContext,
  planNode: PlanNode,
  reason: EnvelopeReason,
  error: Failure,
  cause: number,
  correction?: string,
): void {
  const { brief, retries } = stillWorking(context, planNode).invocation
  const nodeId = planNode.node.id
  if (retries >= brief.maxRetries) {
    const payload = { nodeId, totalAttempts: retries + 1, finalReason: reason }
    const exhausted = context.emit({ type: 'envelope.retry.exhausted', nodeId, payload, cause })
    return failAttempt(context, planNode, error, exhausted)
  }
  const before = spentBy(context.active)
  const room = roomFor(context.active, { retries: 1 })
  if (room === 'retries') {
    const step = { is: 'ask-again' as const, reason, error, ...(correction === undefined ? {} : { correction }), cause }
    return exhaust(context, planNode, step, 'retries', plus(committedBy(context.active), { retries: 1 }), cause)
  }
  // Workers may need all that is left: nothing is tried again at their cost.
  if (room === 'not-yet') return failAttempt(context, planNode, error, cause)
  const attempted = context.emit({
    type: 'envelope.retry.attempted',
    nodeId,
    payload: { nodeId, attempt: retries + 2, reason },
    ...(correction === undefined ? {} : { secret: { correction } }),
    cause,
  })
  tellSpend(context, before, attempted)
}

/** R-BUDGET-1: exactly one for every call that was answered, or broke off. */
function tellUsage(
  context: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  { invocation, calls: { paid } = NO_CALLS }: OnAgent,
  usage: Usage,
  cause: number,
  secret: UsageSecret = {},
): void {
  const { provider, model, price } = invocation.brief
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  const nano = costOf(usage, price)
  // An earlier attempt of this node has paid for the calls whose outcomes it left.
  const cacheHit = usage.cacheHit || invocation.calls <= paid.calls
  const before = spentBy(context.active)
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
  tellSpend(context, before, context.emit({ type: 'provider.usage', nodeId, payload, cause, ...kept }))
}

export const verbosityOf = ({ started }: Active): 'summary' | 'full' | 'off' => {
  const verbosity = started.configurable?.reasoningVerbosity
  return verbosity === 'full' || verbosity === 'off' ? verbosity : 'summary'
}
