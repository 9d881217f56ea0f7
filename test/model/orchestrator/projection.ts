import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Effect } from '../../../src/core/run/effects.js'
import type { Recorded } from '../../../src/core/run/events.js'
import type { Told } from './telling.js'

type Shown = (payload: JsonObject) => JsonObject

const only =
  (...fields: readonly string[]): Shown =>
  payload =>
    Object.fromEntries(fields.flatMap(field => (payload[field] === undefined ? [] : [[field, payload[field]!]])))

/** Payloads that the protocol closes are compared whole: nothing may be added to them. */
const whole: Shown = payload => payload

const SHOWN: { readonly [type: string]: Shown } = {
  'run.failed': only('error', 'failedNodeId'),
  'run.cancelled': only('reason'),
  'run.paused': whole,
  'assay.pause.requested': whole,
  'assay.stop.requested': only('outcome', 'reason', 'error'),
  'cap.breached': whole,
  'node.started': only('attempt'),
  'node.dispatched': whole,
  'node.suspended': only('interruptId', 'kind', 'key', 'reason', 'agentId', 'threshold', 'observed'),
  'node.resumed': only('interruptId'),
  'node.completed': only('outputs'),
  'node.failed': only('error'),
  'node.cancelled': only('reason'),
  'agent.decided': whole,
  'agent.handoff': whole,
  'runOrchestrator.decided': whole,
  'core.workflowChain.event': whole,
  'core.workflowChain.confidence-escalated': whole,
  'assay.child.status': only('childRunId', 'status'),
  'approval.requested': only('interruptId'),
  'approval.received': only('action', 'decidedBy', 'editedArtifactData'),
  'clarification.requested': only('interruptId'),
  'clarification.resolved': only('answers', 'answeredBy'),
  'variable.changed': only('name', 'previous', 'next'),
  'interrupt.requested': ({ data, ...others }) => ({
    ...only('interruptId', 'kind', 'key', 'timeoutMs')(others),
    data: question(data as JsonObject),
  }),
  'interrupt.resolved': ({ resumeValue, ...others }) => ({
    ...only('interruptId', 'kind', 'resolvedBy', 'outcome', 'reason')(others),
    resumeValue: unsigned(resumeValue!),
  }),
}

const question: Shown = ({ questions, ...data }) => ({
  ...only(
    'artifactId',
    'artifactData',
    'actions',
    'agentId',
    'threshold',
    'observed',
    'decision',
    'customKind',
    'payload',
  )(data),
  ...(questions === undefined
    ? {}
    : { questions: (questions as readonly JsonObject[]).map(({ id }): JsonObject => ({ id: id! })) }),
})

function unsigned(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  return only('action', 'answers', 'refineFeedback', 'editedArtifactData')(value as JsonObject)
}

/** An event as the model foresees it. */
export function toldBy({ type, nodeId, payload, cause }: Recorded): Told {
  const shown = SHOWN[type]
  const says = shown && coded(JSON.parse(JSON.stringify(shown(payload as unknown as JsonObject))))
  return {
    type,
    ...(nodeId === undefined ? {} : { node: nodeId }),
    ...(cause === undefined ? {} : { cause }),
    ...(says === undefined ? {} : { says }),
  }
}

/** An error without its wording. */
function coded(says: JsonObject): JsonObject {
  const { error } = says
  return typeof error === 'object' ? { ...says, error: only('code', 'error')(error as JsonObject) } : says
}

/** What is owed, without what the model does not know. */
export function owedBy(effect: Effect): { readonly [detail: string]: unknown } {
  if (effect.kind !== 'start-child') return effect
  const { kind, nodeId, since, worker, workflowId, inputs, unset, hiddenInputs } = effect
  return { kind, nodeId, since, worker, workflowId, inputs, unset, hiddenInputs }
}
