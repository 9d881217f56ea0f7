import type { JsonObject } from '../json.js'
import { gatesAt, unresolved } from './gating.js'
import { maskOutputs } from './masking.js'
import type { PlanNode } from './plan.js'
import type { Told } from './state.js'
import type { Turn } from './turn.js'

/** Nothing is left to do: the run ends with its outputs, once the gates at its exit have let them pass. */
export function leave(turn: Turn): void {
  const outputs = outputsOf(turn)
  const [first] = gatesAt(turn.active, '', { point: 'run' })
  if (first === undefined) return complete(turn, outputs)
  const last = turn.active.next - 1
  const { target, sequence } = turn.active.latest ?? { target: `${turn.runId}:${last}`, sequence: last }
  const nodeId = turn.active.gates![first]!.gate.position.phase_id
  turn.emit({
    type: 'assay.result.staged',
    nodeId,
    payload: { nodeId, point: 'run', targetRef: target },
    secret: { result: outputs, subject: sequence },
    cause: last,
  })
}

export function complete(turn: Turn, outputs: JsonObject): void {
  const goalSatisfied = isSatisfied(turn.active)
  const payload = goalSatisfied === undefined ? { outputs } : { outputs, goalSatisfied }
  turn.emit({ type: 'run.completed', payload, cause: turn.active.next - 1 })
}

/** What the orchestrator said of the goal when it stopped. */
export const criteriaOf = ({ orchestrator }: Pick<Told, 'orchestrator'>) =>
  orchestrator?.decision.kind === 'terminate' ? orchestrator.decision.successCriteria : undefined

/** R-VERIFY-19, contract agents §11.3; undefined when nobody has said anything about it. */
export function isSatisfied(state: Pick<Told, 'orchestrator' | 'slots'>): boolean | undefined {
  const criteria = criteriaOf(state)
  const isJudged = Object.values(state.slots ?? {}).some(({ verdict }) => verdict !== undefined)
  if (criteria === undefined && !isJudged) return undefined
  return (criteria ?? []).every(({ met }) => met) && unresolved(state).length === 0
}

/** The run's outputs as readers may see them: what core.end nodes were given, else what the last nodes gave. */
function outputsOf(turn: Turn): JsonObject {
  const shown = ({ index, node }: PlanNode): JsonObject => {
    const state = turn.active.nodes[index]!
    return state.is === 'completed' ? maskOutputs(turn.active, node, state.outputs).shown : {}
  }
  const completed = turn.plan.nodes.filter(({ index }) => turn.active.nodes[index]!.is === 'completed')
  const ends = completed.filter(({ type }) => type.typeId === 'core.end')
  if (ends.length > 0) return Object.assign({}, ...ends.map(shown))
  const last = completed.filter(({ outbound }) => outbound.every(edge => edge.port === 'body'))
  const primary = last.filter(({ node }) => node.outputRole === 'primary')
  const chosen = primary.length > 0 ? primary : last
  if (chosen.length === 1) return shown(chosen[0]!)
  return Object.fromEntries(chosen.map(planNode => [planNode.node.id, shown(planNode)]))
}
