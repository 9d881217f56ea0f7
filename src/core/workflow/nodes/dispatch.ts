import { TERMS, WORKER_TERMS } from '../../handoff/terms-schema.js'
import { present } from '../../present.js'
import { failure } from '../../problem.js'
import { Closed, May, OneOf, Whole } from '../../schema/kinds.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

/** Contract agents §3.4. */
export const dispatchNode = {
  typeId: 'core.dispatch',
  role: 'dispatch',
  hands: true,
  about:
    "Hands the supervisor's decision to the workers it names, each a run of its own, and gives control back. Its outputs are those of the last worker.",
  // R-ORCH-13: the whole configuration; `parallel` and `outputAttestation` are Assay's own.
  config: Closed({
    askUserRouting: May(
      OneOf(['clarification', 'auto'], {
        description: 'How a question of the supervisor reaches a person',
        default: 'auto',
        'x-must-be':
          'one of clarification, auto ("conversation" needs conversationPrimitive, which this host does not have)',
      }),
    ),
    workerDispatchModel: May(OneOf(['child-run'], { description: 'The only one', default: 'child-run' })),
    fanOutPolicy: May(
      OneOf(['sequential', 'reject', 'parallel'], {
        description: 'What is done with a decision that names several workers',
        default: 'sequential',
      }),
    ),
    iterationCap: May(
      Whole(1, Number.MAX_SAFE_INTEGER, { description: 'How often this node may hand over in one run' }),
    ),
    ...TERMS,
    ...WORKER_TERMS,
  }),
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
} as const satisfies NodeType
