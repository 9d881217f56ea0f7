import { isMap, memoryProblems, termProblems } from '../../handoff/mapping.js'
import { isObject, type Json, type JsonObject, own } from '../../json.js'
import { isWorkId } from '../../names.js'
import { present } from '../../present.js'
import { failure } from '../../problem.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

type Rule = readonly [(value: Json) => boolean, string]

const isOneOf = (...values: readonly string[]): Rule => [
  value => values.includes(value as string),
  values.map(value => `"${value}"`).join(' or '),
]

const maps: Rule = [
  value => isObject(value) && Object.entries(value).every(([id, map]) => isWorkId(id) && isObject(map) && isMap(map)),
  'an object of mappings by workflow id',
]

/** R-ORCH-13: the whole configuration; `parallel` and `outputAttestation` are Assay's own. */
const FIELDS: { readonly [field: string]: Rule } = {
  askUserRouting: isOneOf('clarification', 'auto'),
  workerDispatchModel: isOneOf('child-run'),
  fanOutPolicy: isOneOf('sequential', 'reject', 'parallel'),
  iterationCap: [value => Number.isSafeInteger(value) && Number(value) >= 1, 'a whole number, 1 or more'],
  inputMapping: [() => true, ''],
  outputMapping: [() => true, ''],
  outputAttestation: [() => true, ''],
  perWorkerInputMappings: maps,
  perWorkerOutputMappings: maps,
  memoryScopeIsolation: [() => true, ''],
  propagateCancellation: [value => typeof value === 'boolean', 'true or false'],
}

function fieldProblems(config: JsonObject): string[] {
  return Object.entries(config).flatMap(([field, value]) => {
    if (field === 'askUserRouting' && value === 'conversation')
      return ['config.askUserRouting "conversation" needs conversationPrimitive, which this host does not have']
    const rule = own(FIELDS, field)
    if (rule === undefined) return [`config.${field} is not known; known: ${Object.keys(FIELDS).join(', ')}`]
    return rule[0](value) ? [] : [`config.${field} must be ${rule[1]}`]
  })
}

/** Hands the supervisor's decision to the workers it names, each a child run, and gives control back (§3.4). */
export const dispatchNode: NodeType = {
  typeId: 'core.dispatch',
  role: 'dispatch',
  hands: true,
  check: ({ config }, permit) => [...fieldProblems(config), ...termProblems(config), ...memoryProblems(config, permit)],
  start: ({ config, inputs, supervised, orchestrator }) => {
    if (!supervised || !orchestrator?.owed || orchestrator.decision.kind !== 'next-worker') {
      const message =
        'no decision is to be handed over here; lead an edge from the supervisor to this node, and one back'
      return failedStep(failure('no_pending_decision', message, { retryable: false }))
    }
    const { nextWorkerIds } = orchestrator.decision
    if (config.fanOutPolicy === 'reject' && nextWorkerIds.length > 1) {
      const message = `the decision names ${nextWorkerIds.length} workers and config.fanOutPolicy is "reject"; allow "sequential" or "parallel"`
      return failedStep(
        failure('fan_out_unsupported', message, { retryable: false, details: { workers: nextWorkerIds.length } }),
      )
    }
    return {
      kind: 'waiting',
      wait: {
        kind: 'handoff',
        workers: nextWorkerIds,
        policy: config.fanOutPolicy === 'parallel' ? 'parallel' : 'sequential',
        inputs,
        decided: orchestrator.decided,
      },
    }
  },
  /** R-ORCH-15, R-ORCH-19: the last child is the node's output, and no child's failure is the node's. */
  settle: (_ctx, _wait, outcome) => {
    if (outcome.kind !== 'handed') throw new Error(`dispatch settled by ${outcome.kind}`)
    const workers = outcome.workers.map(({ workerId, status, childRunId, error, attestation }) => ({
      workerId,
      status,
      ...(childRunId === undefined ? {} : { childRunId }),
      ...(error === undefined ? {} : { error: error.code }),
      ...(attestation === undefined ? {} : { attestation }),
    }))
    const last = present(workers.at(-1), 'worker of the hand-off')
    return completed({
      ...(last.childRunId === undefined ? {} : { childRunId: last.childRunId }),
      childStatus: last.status,
      workers,
    })
  },
}
