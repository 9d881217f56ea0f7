import type { Interrupt } from '../interrupt/interrupt.js'
import { isObject, type Json, type JsonObject, own } from '../json.js'
import type { NodeContext } from '../workflow/node-type.js'
import type { OrchestratorDecision } from './decision.js'
import type { ConfidenceEscalated } from './events.js'

type Of<Kind extends OrchestratorDecision['kind']> = Extract<OrchestratorDecision, { kind: Kind }>

const limited = (interrupt: Interrupt, { config }: NodeContext): Interrupt =>
  typeof config.timeoutMs === 'number' ? { ...interrupt, timeoutMs: config.timeoutMs } : interrupt

/** R-LOOP-5: what the orchestrator wants to know. */
export function clarificationOf(ctx: NodeContext, decision: Of<'clarify'> | Of<'ask-user'>): Interrupt {
  const { prompt = 'The orchestrator needs to know more before it goes on.' } = decision
  const asked = decision.kind === 'clarify' ? decision.questions : undefined
  const questions = asked ?? [{ id: 'answer', question: prompt }]
  const context = asked !== undefined && decision.prompt !== undefined ? { contextType: decision.prompt } : {}
  return limited({ kind: 'clarification', data: { questions: [...questions], ...context } }, ctx)
}

/** R-LOOP-6: what the orchestrator wants a person to decide; whatever they say is an input of its next turn. */
export function pleaOf(ctx: NodeContext, { title, reason, artifact }: Of<'escalate'>, iteration: number): Interrupt {
  const data: JsonObject = {
    artifactId: `${ctx.node.id}-turn-${iteration}`,
    artifactType: 'escalation',
    title: title ?? reason ?? 'The orchestrator asks for a decision',
    ...(reason === undefined ? {} : { description: reason }),
    ...(artifact === undefined ? {} : { artifactData: artifact }),
    actions: ['accept', 'reject', 'refine'],
  }
  return limited({ kind: 'approval', data }, ctx)
}

/** The one question about a decision in doubt; this answer to it lets the decision pass. */
const QUESTION = 'decision'
const CONFIRM = 'confirm'

export function isConfirmed(value: Json): boolean {
  const answers = isObject(value) && isObject(value.answers) ? value.answers : {}
  return own(answers, QUESTION) === CONFIRM
}

/** R-CONF-8, R-CONF-9, R-CONF-11: what is told of a decision below the floor, and what a person is asked about it. */
export function doubtOf(
  ctx: NodeContext,
  decision: OrchestratorDecision & JsonObject,
  iteration: number,
): { readonly doubt: Omit<ConfidenceEscalated, 'parentRunId'>; readonly interrupt: Interrupt } {
  const { floor, interruptKind } = ctx.confidence
  const confidence = Number(decision.confidence)
  const doubt = {
    ...(decision.kind === 'next-worker' ? { workerId: decision.nextWorkerIds[0]! } : {}),
    confidence,
    floor,
    escalationKind: interruptKind === 'clarification' ? ('clarify' as const) : ('escalate' as const),
    originalDecision: decision,
  }
  return { doubt, interrupt: limited(inquiry(interruptKind, ctx, decision, confidence, iteration), ctx) }
}

function inquiry(
  interruptKind: string,
  { node, confidence: { floor } }: NodeContext,
  decision: OrchestratorDecision & JsonObject,
  confidence: number,
  iteration: number,
): Interrupt {
  const plan = decision.kind === 'next-worker' ? `hand work to ${decision.nextWorkerIds.join(', ')}` : 'end the run'
  const unsure = `The orchestrator wants to ${plan}, with confidence ${confidence}; ${floor} is asked for.`
  if (interruptKind === 'clarification') {
    const question = `${unsure} Answer "${CONFIRM}" to let it, or say what it should do instead.`
    return { kind: 'clarification', data: { questions: [{ id: QUESTION, question }], contextType: 'low-confidence' } }
  }
  if (interruptKind === 'approval') {
    const artifactId = `${node.id}-turn-${iteration}`
    const actions = ['accept', 'reject', 'edit-accept']
    const data = { artifactId, artifactType: 'decision', title: unsure, artifactData: decision, actions }
    return { kind: 'approval', data }
  }
  return { kind: 'custom', data: { customKind: interruptKind, payload: { decision, confidence, floor } } }
}
