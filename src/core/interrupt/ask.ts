import type { StoppedStep } from '../budget/state.js'
import type { JsonObject } from '../json.js'
import type { DecisionContext } from '../run/decision-context.js'
import { carriesSecret, MASK, maskWithin, secretsOf } from '../run/redaction.js'
import { isoTime } from '../time.js'
import type { PlanNode } from '../workflow/plan.js'
import type { Interrupt } from './interrupt.js'

/**
 * Suspends a node. The key counts the node's questions, so none is ever put twice. `step` is what the node is kept from
 * by its budget, where it asks about that.
 */
export function ask(
  context: DecisionContext,
  { node, index }: PlanNode,
  interrupt: Interrupt,
  cause: number,
  step?: StoppedStep,
): void {
  const { kind, data, resumeSchema, timeoutMs, withheld = [], masked: hidden = [] } = interrupt
  const nodeId = node.id
  const key = `${nodeId}:${context.active.asks[index] ?? 0}`
  const masked = maskData(context, data, hidden)
  const { shown, rest } = parted(masked, withheld)
  const secret = {
    ...(masked === data ? {} : { data }),
    ...(rest ? { withheld: rest } : {}),
    ...(step ? { step } : {}),
  }
  const requested = context.emitNumbered(sequence => ({
    type: 'interrupt.requested',
    nodeId,
    payload: {
      runId: context.runId,
      nodeId,
      interruptId: `int-${sequence}`,
      kind,
      key,
      data: shown,
      ...(resumeSchema === undefined ? {} : { resumeSchema }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      requestedAt: isoTime(context.at),
    },
    cause,
    ...(Object.keys(secret).length > 0 ? { secret } : {}),
  }))
  const interruptId = `int-${requested}`
  emitLegacyRequest(context, nodeId, interruptId, kind, shown, requested)
  const payload = { nodeId, interruptId, kind, key, ...(kind === 'low-confidence' ? shortfall(shown) : {}) }
  context.emit({ type: 'node.suspended', nodeId, payload, cause: requested })
}

/** What every reader of the log sees, with the names of the rest; and the rest. */
function parted(
  data: JsonObject,
  withheld: readonly string[],
): { readonly shown: JsonObject; readonly rest?: JsonObject } {
  if (withheld.length === 0) return { shown: data }
  const of = (isRest: boolean) => Object.entries(data).filter(([name]) => withheld.includes(name) === isRest)
  return {
    shown: { ...Object.fromEntries(of(false)), withheld: [...withheld] },
    rest: Object.fromEntries(of(true)),
  }
}

/** R-LOWC-1 */
const shortfall = ({ agentId, threshold, observed }: JsonObject) => ({
  reason: 'low-confidence' as const,
  agentId: String(agentId),
  threshold: Number(threshold),
  observed: Number(observed),
})

function emitLegacyRequest(
  context: DecisionContext,
  nodeId: string,
  interruptId: string,
  kind: Interrupt['kind'],
  shown: JsonObject,
  cause: number,
): void {
  if (kind === 'clarification') {
    const payload = { nodeId, questions: shown.questions ?? [], interruptId }
    context.emit({ type: 'clarification.requested', nodeId, payload, cause })
  }
  if (kind !== 'approval') return
  const { artifactId, artifactType, title, actions, approversList, requiredApprovals } = shown
  context.emit({
    type: 'approval.requested',
    nodeId,
    payload: {
      nodeId,
      interruptId,
      artifactId: String(artifactId),
      artifactType: String(artifactType),
      title: String(title),
      actions: (actions as readonly string[]).map(action => (action === 'edit-accept' ? 'edit' : action)),
      ...(approversList === undefined ? {} : { approversList }),
      ...(typeof requiredApprovals === 'number' ? { requiredApprovals } : {}),
    },
    cause,
  })
}

/** Fields by which the host itself goes; masking them would say something else, or nothing. */
const STRUCTURE = new Set(['actions', 'requiredApprovals', 'rejectionPolicy', 'mayNotAccept'])

/** The data as it may be shown: every value that carries a secret of the run is masked where it stands. */
function maskData(context: DecisionContext, data: JsonObject, hidden: readonly string[]): JsonObject {
  const secrets = secretsOf(context.active)
  if (hidden.length === 0 && !carriesSecret(data, secrets)) return data
  const masked = Object.entries(data).map(([name, value]) => [
    name,
    STRUCTURE.has(name) ? value : hidden.includes(name) ? MASK : maskWithin(value, secrets),
  ])
  return Object.fromEntries(masked)
}
