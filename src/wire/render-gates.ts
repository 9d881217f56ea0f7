import { minus, type Spend } from '../core/budget/budget.js'
import { maskWithin, secretsOf } from '../core/run/redaction.js'
import type { Active, Ended, RunBase } from '../core/run/state.js'
import { placeOfSlot } from '../core/verification/attempt.js'
import { costOfPlace } from '../core/verification/cost.js'
import type { Cost } from '../core/verification/state.js'
import type { RunSnapshot } from './run.js'
import { spentOf } from './spent.js'
import type { Convergence, GateSnapshot } from './verification.js'

/** What a snapshot tells of gates: how each result stands, what judging has cost, and whether the goal was reached. */

type Existing = Active | Ended

type Criteria = NonNullable<Convergence['successCriteria']>

/** R-VERIFY-19. Absent while nothing has been judged, and nothing said of the goal. */
export function renderConvergence(state: Existing): Pick<RunSnapshot, 'convergence'> {
  const criteria = criteriaOf(state)
  const verdicts = Object.values(state.gated?.slots ?? {}).flatMap(({ target, verdict, label }) =>
    verdict === undefined ? [] : [{ target, verdict, ...(label && { label }) }],
  )
  const outcome = state.phase === 'ended' && state.outcome.status === 'completed' ? state.outcome : undefined
  const { goalSatisfied, against } = outcome ?? {}
  if (criteria === undefined && verdicts.length === 0 && goalSatisfied === undefined) return {}
  return {
    convergence: {
      ...(criteria && { successCriteria: criteria }),
      ...(goalSatisfied !== undefined && { goalSatisfied }),
      verdicts,
      ...(against && { against: [...against] }),
    },
  }
}

/** R-VERIFY-18: the supervisor names the keys, so they are masked like everything else that it says. */
function criteriaOf(state: Existing): Criteria | undefined {
  const decision = state.orchestrator?.decision
  if (decision?.kind !== 'terminate' || decision.successCriteria === undefined) return undefined
  const secrets = secretsOf(state)
  return decision.successCriteria.map(({ key, met }) => ({ key: String(maskWithin(key, secrets)), met }))
}

/** In the order in which they were first judged. */
export function renderGates({ gated }: Pick<RunBase, 'gated'>): GateSnapshot[] {
  if (gated === undefined) return []
  return Object.entries(gated.slots).map(
    ([key, { gateId, nodeId, workerId, target, verdict, label, attempts }]): GateSnapshot => {
      const latest = attempts.at(-1)
      return {
        gateId,
        nodeId,
        ...(workerId !== undefined && { workerId }),
        target,
        ...(verdict !== undefined && { verdict }),
        ...(label !== undefined && { label }),
        attempts: attempts.length,
        ...(latest && { blocking: latest.blocking }),
        cost: costShown(costOfPlace(gated, placeOfSlot(key))),
        attemptCosts: attempts.map(({ cost }) => costShown(cost)),
      }
    },
  )
}

const costShown = ({ execution, verification }: Cost): GateSnapshot['cost'] => ({
  execution: spentOf(execution),
  verification: spentOf(verification),
})

/** R-DWS-28: what workers and verifiers have spent is booked apart; both draw on the one budget. */
export function ledgersOf(
  spend: Spend,
  { verification }: Pick<RunBase, 'verification'>,
): NonNullable<RunSnapshot['assay']>['spend'] {
  if (verification === undefined) return spentOf(spend)
  return { ...spentOf(spend), execution: spentOf(minus(spend, verification)), verification: spentOf(verification) }
}
