import type { JsonObject } from '../json.js'
import type { Rules } from '../run/decide.js'
import type { Effect } from '../run/effects.js'
import { carriesSecret, secretsOf } from '../run/redaction.js'
import type { Active } from '../run/state.js'
import type { OnWorkers } from '../run/waiting.js'
import { blockingGatesAt } from '../verification/attempt.js'
import type { PlanNode } from '../workflow/plan.js'
import { handoffMove } from './decide.js'
import { termsFor } from './mapping.js'
import { peerEffects } from './peer-effects.js'
import { peerWorkOf } from './peer-work.js'
import { handedTo, isTurnToEnd } from './state.js'

/** One child is started at a time, in the order of the decision, so that every host tells the same log. */
export function handoffEffects(
  rules: Pick<Rules, 'plan'>,
  planNode: PlanNode,
  node: OnWorkers,
  state: Active,
): Effect[] {
  const { since, workers } = node
  const stopping = state.mode.kind === 'stopping'
  const { config, id: nodeId } = planNode.node
  // What the run can do by itself comes first, so that it does not depend on who is faster.
  const isMoving = stopping || handoffMove(rules, state, planNode.index) !== undefined
  const starting = isMoving ? -1 : workers.findIndex(worker => worker.is === 'dispatching')
  return workers.flatMap((worker, k): Effect[] => {
    const workflowId = handedTo(node, k)
    const work = peerWorkOf(workflowId)
    if (work) return peerEffects(state, planNode, node, k, work, k === starting)
    if (worker.is === 'dispatching' && k === starting) {
      const { inputs, unset, grant, withheld } = worker
      const secrets = secretsOf(state)
      const hiddenInputs = Object.entries(inputs).flatMap(([name, value]) =>
        carriesSecret(value, secrets) ? [name] : [],
      )
      const { principalScope, outputs } = termsFor(config, workflowId)
      const { timeoutMs } = planNode
      // What nothing is taken from, no gate looks at.
      const gates =
        outputs.length === 0 ? [] : blockingGatesAt(state, nodeId, { point: 'harvest', workerId: workflowId })
      const given = { inputs, hiddenInputs, unset, timeoutMs, principalScope, grant }
      const more = {
        ...(withheld ? { withheld } : {}),
        ...(gates.length > 0 ? { gatedBy: gates } : {}),
        ...isolation(config),
      }
      return [{ kind: 'start-child', nodeId, since, worker: k, workflowId, ...given, ...more }]
    }
    if (worker.is !== 'running') return []
    const { childRunId, childStatus: status = 'running' } = worker
    const { outputs, attest } = termsFor(config, workflowId)
    const wanted = outputs.map(([, child]) => child)
    const early = isTurnToEnd(state, node, k) ? {} : { early: true as const }
    const watch: Effect = {
      kind: 'watch-child',
      nodeId,
      since,
      worker: k,
      childRunId,
      ...early,
      status,
      wanted,
      attest,
    }
    if (!stopping || config.propagateCancellation === false) return [watch]
    return [{ kind: 'cancel-child', nodeId, since, worker: k, childRunId }, watch]
  })
}

/** R-MEM-3 */
const isolation = ({ memoryScopeIsolation }: JsonObject) =>
  memoryScopeIsolation === 'isolated' ? { isolated: true as const } : {}
