import { isObject, type Json, type JsonObject } from '../../json.js'
import { present } from '../../present.js'
import { failure } from '../../problem.js'
import { isTooLarge, MAX_VALUE_BYTES } from '../../run/value-size.js'
import { claimProblems } from '../../supervisor/claims.js'
import { decisionProblems, isBelow, isDecision, type OrchestratorDecision } from '../../supervisor/decision.js'
import { DECISION_SCHEMA, DECISION_SCHEMA_HERE } from '../../supervisor/decision-schema.js'
import { type AgentOpinion, hold, ratification, ratificationProblems, tellOpinion } from '../../supervisor/hold.js'
import { clarificationOf, doubtOf, isConfirmed, pleaOf } from '../../supervisor/questions.js'
import {
  BUILT_IN_PLAN,
  isAgent,
  isScripted,
  ruleExpressions,
  ruleFor,
  SupervisorConfig,
  sourceProblems,
} from '../../supervisor/sources.js'
import {
  completed,
  failedStep,
  type NodeContext,
  type NodeStep,
  type NodeType,
  type WaitOutcome,
  type Write,
} from '../node-type.js'
import { agentOf } from '../supervisor-loop.js'
import { notApproved } from './interrupt.js'

/** What is done after a turn: hand over, take another turn at once, or leave the loop. */
const routeOf = ({ kind }: OrchestratorDecision): 'body' | 'again' | 'done' =>
  kind === 'next-worker' ? 'body' : kind === 'terminate' ? 'done' : 'again'

/** R-ORCH-12 */
const identityOf = ({ node }: Pick<NodeContext, 'node'>): string =>
  agentOf(node) ?? (typeof node.config.agentId === 'string' ? node.config.agentId : `host:orchestrator:${node.id}`)

const turnOf = ({ orchestrator }: NodeContext): number => (orchestrator?.iteration ?? 0) + 1

/**
 * Takes the turns of the orchestrator's loop (contract agents §3): one decision each, logged before anything follows
 * from it. Where it leads is the decision's to say: to the body of the loop, to a person, or out.
 */
export const supervisorNode = {
  typeId: 'core.orchestrator.supervisor',
  role: 'supervisor',
  invokes: true,
  loops: true,
  chosenPort: ({ route }) => (route === 'body' || route === 'again' ? route : 'done'),
  about:
    "Takes the turns of the orchestrator's loop, one decision each. Its decisions come from a model (prompt or agentId), from rules or from a provider. A decision leads into the body of the loop, to a person, or out by the port `done`.",
  config: SupervisorConfig,
  check: ({ config }, permit) => sourceProblems(config, permit),
  reads: ['iteration', 'workers', 'answer'],
  expressions: ruleExpressions,
  start: ctx => {
    const { config } = ctx
    const turn = turnOf(ctx)
    if (ctx.orchestrator?.owed) return failedStep(NOT_HANDED_OVER)
    if (typeof config.mockConfidence === 'number' && turn === 1)
      return holdOr(ctx, config.mockPendingDecision as OrchestratorDecision & JsonObject, config.mockConfidence)
    if (isScripted(config)) {
      const plan = (config.mockDispatchPlan ?? config.mockDecisions ?? []) as readonly (OrchestratorDecision &
        JsonObject)[]
      return take(ctx, plan[turn - 1] ?? { kind: 'terminate' })
    }
    if (isAgent(config)) return invoke(ctx)
    if (typeof config.provider === 'string') return call(ctx, config.provider)
    if (Array.isArray(config.rules)) {
      const found = ruleFor(ctx, turn)
      return found.ok ? take(ctx, found.decision) : failedStep(found.error)
    }
    return take(ctx, BUILT_IN_PLAN[turn - 1] ?? { kind: 'terminate' })
  },
  settle: (ctx, _wait, outcome) => {
    if (outcome.kind === 'answer') return heed(ctx, outcome.output)
    if (outcome.kind === 'agent') return heed(ctx, outcome.result)
    if (outcome.kind !== 'resolved') throw new Error(`supervisor settled by ${outcome.kind}`)
    return answered(ctx, outcome)
  },
  answerProblems: ({ kind, data }, value) => {
    if (kind === 'low-confidence') return ratificationProblems(value, edited => decisionProblems(edited, EDITED))
    // A decision in doubt is shown whole; only one that hands over or ends can stand in its place.
    const doubted = kind === 'custom' || (kind === 'approval' && isObject(data) && data.artifactType === 'decision')
    if (!doubted) return []
    return ratificationProblems(value, edited => [
      ...decisionProblems(edited, EDITED),
      ...(isObject(edited) && (edited.kind === 'next-worker' || edited.kind === 'terminate')
        ? []
        : [`${EDITED}.kind must be next-worker or terminate here`]),
    ])
  },
} as const satisfies NodeType

const NOT_HANDED_OVER = failure(
  'no_dispatch',
  'a decision names workers and no core.dispatch node has handed it over; lead an edge to one and leave it enabled',
  { retryable: false },
)

const EDITED = 'resumeValue.editedArtifactData'

/** R-STATE-5: what a turn goes by besides the prompt; its answer is the decision. */
const situationOf = (ctx: NodeContext): JsonObject => ({
  nodeId: ctx.node.id,
  iteration: turnOf(ctx),
  variables: ctx.shownVariables,
  workers: (ctx.orchestrator?.workers ?? []) as unknown as Json,
  answer: ctx.orchestrator?.answer ?? null,
  ...(ctx.unverified.length > 0
    ? { unverified: ctx.unverified.map(({ gateId, criteria }) => ({ gateId, criteria: [...criteria] })) }
    : {}),
})

function call(ctx: NodeContext, provider: string): NodeStep {
  const { config, ordinal, transcript } = ctx
  const input: JsonObject = {
    ...situationOf(ctx),
    ...(config.prompt === undefined ? {} : { prompt: config.prompt }),
  }
  return { kind: 'waiting', wait: { kind: 'effect', provider, input, ordinal, repeat: 'safe', transcript } }
}

/** The same asked of a model, on the runtime that every agent has. */
function invoke(ctx: NodeContext): NodeStep {
  const { config, ordinal, transcript } = ctx
  const inline = {
    systemPrompt: String(config.prompt),
    ...(typeof config.model === 'string' ? { model: config.model } : {}),
    ...(Array.isArray(config.toolAllowlist) ? { toolAllowlist: config.toolAllowlist.map(String) } : {}),
  }
  const agent = typeof config.agentId === 'string' ? { agentId: config.agentId } : { agentId: identityOf(ctx), inline }
  const task = situationOf(ctx)
  const wait = { kind: 'agent' as const, agent, role: 'supervisor' as const, task, ordinal, transcript }
  return { kind: 'waiting', wait: { ...wait, returnSchema: ctx.namesPeers ? DECISION_SCHEMA : DECISION_SCHEMA_HERE } }
}

/** What a provider answered: a decision, alone or with whose it is. */
function heed(ctx: NodeContext, output: Json): NodeStep {
  if (isTooLarge(output)) {
    const message = `the decision is larger than ${MAX_VALUE_BYTES} bytes as JSON`
    return failedStep(failure('value_too_large', message, { retryable: false }))
  }
  const wrapped = isObject(output) && isObject(output.decision) ? output : undefined
  const decision = wrapped ? wrapped.decision : output
  const problems = [
    ...decisionProblems(decision, 'decision'),
    // R-ORCH-3
    ...(wrapped?.agentId === undefined || wrapped.agentId === identityOf(ctx)
      ? []
      : [`decision: agent "${String(wrapped.agentId)}" is not the orchestrator of this run, "${identityOf(ctx)}"`]),
  ]
  if (problems.length > 0 || !isDecision(decision))
    return failedStep(failure('validation_error', problems.join('; '), { retryable: false }))
  return take(ctx, withoutSchemas(decision))
}

/** A question that nobody looked at before it is asked must not be one that cannot be answered. */
function withoutSchemas(decision: OrchestratorDecision & JsonObject): OrchestratorDecision & JsonObject {
  if (decision.kind !== 'clarify' || decision.questions === undefined) return decision
  return { ...decision, questions: decision.questions.map(({ id, question }) => ({ id: id!, question: question! })) }
}

/** R-LOOP-2, R-LOOP-3: the turn's one decision. R-LOWC-5: what a person has ratified is not doubted again. */
function take(ctx: NodeContext, decision: OrchestratorDecision & JsonObject, ratified = false): NodeStep {
  const iteration = turnOf(ctx)
  const decided = { kind: 'decided' as const, agentId: identityOf(ctx), decision, iteration }
  if (!ratified && isBelow(decision, ctx.confidence.floor)) {
    const { doubt, interrupt } = doubtOf(ctx, decision, iteration)
    return { kind: 'asking', interrupt, writes: [decided, { kind: 'escalated', doubt }] }
  }
  switch (decision.kind) {
    case 'clarify':
    case 'ask-user':
      return { kind: 'asking', interrupt: clarificationOf(ctx, decision), writes: [decided] }
    case 'escalate':
      return { kind: 'asking', interrupt: pleaOf(ctx, decision, iteration), writes: [decided] }
    case 'terminate':
      return end(ctx, iteration, decision, [decided])
    case 'next-worker': {
      if (ctx.wired('body')) return completed({ iteration, decision, route: 'body' }, [decided])
      return { kind: 'failed', error: NOT_HANDED_OVER, writes: [decided] }
    }
  }
}

/** R-VERIFY-12, contract agents §29 A30: what a gate has not passed is not called a success. Said once, then final. */
function end(
  ctx: NodeContext,
  iteration: number,
  decision: OrchestratorDecision & JsonObject,
  writes: Write[] = [],
): NodeStep {
  const problems = claimProblems(decision, ctx)
  if (problems.length === 0) return completed({ iteration, decision, route: 'done' }, writes)
  if ((ctx.orchestrator?.refusals ?? 0) === 0)
    return completed({ iteration, decision, route: 'again', refused: problems }, writes)
  const error = failure('verification_failed', problems.join('; '), { retryable: false })
  return { kind: 'failed', error, writes }
}

/** R-LOWC-2: a decision below the agent's own threshold is held; nothing is decided until a person ratifies it. */
function holdOr(ctx: NodeContext, pending: OrchestratorDecision & JsonObject, confidence: number): NodeStep {
  const opinion: AgentOpinion = { agentId: identityOf(ctx), decision: pending, confidence }
  const held = hold(ctx, opinion)
  if (held) return held
  const step = take(ctx, pending)
  return step.kind === 'waiting' ? step : { ...step, writes: [tellOpinion(opinion), ...(step.writes ?? [])] }
}

/** Contract agents §6.2. The counter stays: what is carried out now was decided in this turn (R-STATE-9). */
function answered(ctx: NodeContext, { resolution }: Extract<WaitOutcome, { kind: 'resolved' }>): NodeStep {
  const { kind, value, data, by, timedOut } = resolution
  if (kind === 'low-confidence') {
    const ratified = ratification(value, data.decision ?? null)
    return ratified === undefined
      ? notApproved(timedOut, by)
      : take(ctx, ratified as OrchestratorDecision & JsonObject, true)
  }
  const { iteration, decision } = present(ctx.orchestrator, 'decision that was asked about')
  const asked = decision as OrchestratorDecision & JsonObject
  if (routeOf(asked) === 'again') return completed({ iteration, decision: asked, route: 'again' })
  const carriedOut = kind === 'clarification' ? (isConfirmed(value) ? asked : undefined) : ratification(value, asked)
  if (!isDecision(carriedOut)) return completed({ iteration, decision: asked, route: 'again' })
  const route = routeOf(carriedOut)
  if (route === 'done') return end(ctx, iteration, carriedOut)
  if (route !== 'body' || ctx.wired('body')) return completed({ iteration, decision: carriedOut, route })
  return failedStep(NOT_HANDED_OVER)
}
