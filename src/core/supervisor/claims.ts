import type { NodeContext } from '../workflow/node-type.js'
import type { OrchestratorDecision } from './decision.js'

/** What is wrong with ending the run like this while gates stand against it; each entry says what to do instead. */
export function claimProblems(
  decision: OrchestratorDecision,
  { unverified, gaveUp }: Pick<NodeContext, 'unverified' | 'gaveUp'>,
): string[] {
  if (decision.kind !== 'terminate' || (unverified.length === 0 && !gaveUp)) return []
  const { successCriteria = [] } = decision
  const denied = successCriteria.flatMap(({ key, met }) => {
    const gate = met ? unverified.find(({ gateId, criteria }) => gateId === key || criteria.includes(key)) : undefined
    return gate ? [`successCriteria says that "${key}" is met, and gate "${gate.gateId}" says that it is not`] : []
  })
  if (denied.length > 0) return denied
  // Whoever says itself that it has not reached the goal claims nothing.
  if (successCriteria.some(({ met }) => !met)) return []
  if (unverified.length === 0) return [GAVE_UP]
  return unverified.map(
    ({ gateId, nodeId, workerId }) =>
      `gate "${gateId}" has not passed the latest result of "${workerId ?? nodeId}"; have it done again, ask a person, or end with a criterion that is not met`,
  )
}

const GAVE_UP =
  'a worker says itself that it has not reached its goal; have it work again, or end with a criterion that is not met'
