import { plus } from '../budget/budget.js'
import { committedBy, grantFor, roomFor, spentBy, tellSpend } from '../budget/decide.js'
import { exhaust } from '../budget/exhaust.js'
import type { OutcomeOf } from '../invocation/lifecycle.js'
import { isObject, type Json } from '../json.js'
import type { Failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import { type Active, nodeAt } from '../run/state.js'
import { gatingIn } from '../run/waiting.js'
import { VERIFICATION } from '../workflow/nodes/verify.js'
import { type PlanNode, planNodeOf } from '../workflow/plan.js'
import { askedOf } from './evidence.js'
import { boundGateAt, type VerificationAttempt } from './state.js'
import { isSelf, verifierAt, verifiersToAsk } from './tally.js'
import type { Vote } from './voting/judgement.js'
import { voteOf } from './voting/vote.js'

/** The verifiers of a case: runs of their own. */

/** Less than that nobody can work with. */
const LEAST = { tokens: 1, costNano: 1 }

/** Those that are to be asked now begin together. What is left of the budget is shared with those who may yet be asked. */
export function beginVerifiers(context: DecisionContext, planNode: PlanNode, gating: VerificationAttempt): void {
  const nodeId = planNode.node.id
  const bound = boundGateAt(context.active, gating.gate)
  const { gate } = bound
  const idle = gating.verifiers.filter(({ is }) => is === 'idle').length
  const { attempt, round } = gating
  // Contract agents §23.2: a spent budget is a hard stop, not a judge that gives no vote.
  const short = roomFor(context.active, LEAST)
  if (short !== 'yes' && short !== 'not-yet')
    return exhaust(
      context,
      planNode,
      { is: 'verifiers' },
      short,
      plus(committedBy(context.active), LEAST),
      gating.started,
    )
  for (const [i, k] of verifiersToAsk(bound, gating).entries()) {
    const { agentId, weight } = verifierAt(gate, k)
    const payload = { gateId: gate.gate_id, attempt, verifier: k, agentId, round }
    if (gating.context?.ok === false) {
      const ended = { ...payload, vote: 'none' as const, fault: gating.context.problem.code }
      context.emit({ type: 'assay.verifier.ended', nodeId, payload: ended, secret: { weight }, cause: gating.started })
      continue
    }
    if (!gate.verifier_requirements.allow_self_verification && isSelf(context, planNode, agentId)) {
      const ended = { ...payload, vote: 'none' as const, fault: 'self_verification' }
      context.emit({ type: 'assay.verifier.ended', nodeId, payload: ended, secret: { weight }, cause: gating.started })
      continue
    }
    const grant = grantFor(context.active, idle - i)
    context.emit({
      type: 'assay.verifier.began',
      nodeId,
      payload,
      cause: gating.started,
      ...(grant ? { secret: { grant } } : {}),
    })
  }
}

/** The gate at work in a node, and the verifier that is meant. */
function found(
  context: DecisionContext,
  nodeId: string,
  isMeant: (judge: VerificationAttempt['verifiers'][number], k: number) => boolean,
) {
  const planNode = planNodeOf(context.plan, nodeId)
  const gating = planNode && gatingIn(nodeAt(context.active, planNode.index))
  const k = gating?.verifiers.findIndex(isMeant) ?? -1
  const judge = gating?.verifiers[k]
  return planNode && gating && judge ? { planNode, gating, judge, k } : undefined
}

function told(state: Active, { gate: index, attempt, round }: VerificationAttempt, k: number) {
  const { gate } = boundGateAt(state, index)
  return { gateId: gate.gate_id, attempt, verifier: k, agentId: verifierAt(gate, k).agentId, round }
}

export function verifierStarted(
  context: DecisionContext,
  { nodeId, since, worker, childRunId }: OutcomeOf<'ChildStarted'>,
): void {
  const meant = found(context, nodeId, (judge, k) => k === worker && judge.is === 'starting' && judge.began === since)
  if (!meant) return
  const payload = { ...told(context.active, meant.gating, meant.k), childRunId }
  context.emit({ type: 'assay.verifier.started', nodeId, payload, cause: since })
}

export function verifierRefused(
  context: DecisionContext,
  { nodeId, since, worker, error }: OutcomeOf<'ChildRefused'>,
): void {
  const meant = found(context, nodeId, (judge, k) => k === worker && judge.is === 'starting' && judge.began === since)
  if (!meant) return
  const { gating, k } = meant
  const { weight } = verifierAt(boundGateAt(context.active, gating.gate).gate, k)
  const payload = { ...told(context.active, gating, k), vote: 'none' as const, fault: codeOf(error) }
  context.emit({ type: 'assay.verifier.ended', nodeId, payload, secret: { weight }, cause: since })
}

/** Whether it was a verifier's run that has ended. R-DWS-36: anything but an answer that holds is no vote. */
export function verifierEnded(context: DecisionContext, input: OutcomeOf<'ChildEnded'>): PlanNode | undefined {
  const { nodeId, childRunId, status, variables, spent, held } = input
  const meant = found(context, nodeId, judge => judge.is === 'running' && judge.childRunId === childRunId)
  if (!meant) return undefined
  const { gating, judge, k, planNode } = meant
  const bound = boundGateAt(context.active, gating.gate)
  const { agentId, weight } = verifierAt(bound.gate, k)
  const [model] = input.models ?? []
  const [prompt] = input.prompts ?? []
  const judgedBy = { ...(model === undefined ? {} : { model }), ...(prompt === undefined ? {} : { prompt }) }
  // Findings of both rounds of an attempt stand side by side.
  const position = k + (gating.targeted?.verifiers.length ?? 0)
  const verifier = { agentId, weight, childRunId, position, ...judgedBy }
  const heard = status === 'completed' ? voteIn(variables[VERIFICATION]) : undefined
  const asked = askedOf(bound.gate, gating.dimensions)
  const read = heard && voteOf(bound, asked, verifier, heard.result, heard.confidence)
  const vote: Vote | undefined = read?.ok ? read.vote : undefined
  const fault = vote ? undefined : read && !read.ok ? read.code : faultOf(status, input.error, heard)
  const before = spentBy(context.active)
  const ended = context.emit({
    type: 'assay.verifier.ended',
    nodeId,
    payload: {
      ...told(context.active, gating, k),
      childRunId,
      vote: vote?.verdict ?? 'none',
      ...(fault === undefined ? {} : { fault }),
    },
    secret: {
      weight,
      ...(vote ? { vote } : {}),
      ...(spent ? { spent } : {}),
      ...(held ? { held } : {}),
      ...saidBesides(read),
    },
    cause: judge.is === 'running' ? judge.began : gating.started,
  })
  tellSpend(context, before, ended)
  return planNode
}

/** Of an answer that is no vote: what it could not check, and what it found all the same. */
const saidBesides = (read: ReturnType<typeof voteOf> | undefined) =>
  read && !read.ok && read.code === 'could_not_check' ? { unchecked: read.unchecked, findings: read.findings } : {}

function voteIn(said: Json | undefined): { result: Json; confidence: number | undefined } | undefined {
  if (!isObject(said)) return undefined
  const { result = null, confidence } = said
  return { result, confidence: typeof confidence === 'number' ? confidence : undefined }
}

const faultOf = (status: string, error: Failure | undefined, heard: unknown): string => {
  if (status === 'cancelled') return 'verifier_cancelled'
  if (status === 'failed') return error === undefined ? 'verifier_failed' : codeOf(error)
  return heard === undefined ? 'verifier_off_schema' : 'verifier_failed'
}

/** A code of ours; what a failure says in words may quote what nobody is to see. */
const codeOf = ({ code }: Failure): string => (/^[a-z0-9_]{1,64}$/.test(code) ? code : 'verifier_failed')
