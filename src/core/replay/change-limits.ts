import { isObject, type Json, own } from '../json.js'
import type { Refusal } from '../problem.js'
import type { Recorded } from '../run/events.js'
import { type Active, nodeAt, type RunState } from '../run/state.js'
import { invocationOf } from '../run/waiting.js'
import { type BoundGate, HOST_VERIFIER } from '../verification/gate.js'
import { type Plan, planNodeAt, planNodeOf } from '../workflow/plan.js'
import { type Changes, type NodeChange, unchangeable } from './changes.js'

/**
 * What a branch must not change.
 *
 *  C1  Its past is folded alike by the definition before and after: what the fold goes by is not changed
 *      (`outputAttestation`; the graph never is).
 *  C2  A node or an agent that is at work at the cut is not changed: what it has begun with, it ends with. A node is at
 *      work while it is not settled, and also where it has told anything in a decision that the cut goes through, because
 *      the rest of that decision is still to be told.
 *  C3  The gates of the source stand as they stood: whose work they judge, what of it, and who judges.
 */
export type PlaceOfCut = {
  readonly plan: Plan
  /** What the source is held to. */
  readonly gates: readonly BoundGate[]
  /** As the log tells it up to the cut. */
  readonly state: RunState
  /** Where nodes were last not at work, as far as that is known. */
  readonly idle: IdlePlaces
  /** Those of the decision that the cut goes through; none, where it goes between two. */
  readonly half: readonly Recorded[]
}

/** The first change that must not be made here, and where or how it could be. */
export function changeProblem(place: PlaceOfCut, { nodes, agents, names }: Changes): Refusal | undefined {
  const { state } = place
  const [first] = names
  if (state.phase === 'ended' && first !== undefined)
    return unchangeable(first, `changes nothing: the run has ended by event ${state.next - 1}; fork it earlier`)
  for (const change of nodes) {
    const why = keptForPeople(place, change) ?? keptForGates(place, change) ?? keptWhileAtWork(place, change)
    if (why !== undefined) return unchangeable(change.name, why)
  }
  for (const [agentId, change] of Object.entries(agents)) {
    const why = judges(place, agentId) ?? agentAtWork(place, agentId)
    if (why !== undefined) return unchangeable(`agents.${agentId}.${Object.keys(change)[0] ?? ''}`, why)
  }
  return undefined
}

/** Node types by which people let work pass. */
const ASKS_PEOPLE: readonly string[] = ['core.approvalGate', 'core.interrupt']

function keptForPeople({ plan }: PlaceOfCut, { nodeId, path }: NodeChange): string | undefined {
  const typeId = planNodeOf(plan, nodeId)?.node.typeId ?? ''
  if (ASKS_PEOPLE.includes(typeId))
    return `is how people are asked to let work pass (${typeId}), which a branch keeps; change the workflow and start a run of it`
  return path[0] === 'outputAttestation'
    ? 'is what a result must have before it is merged, which a branch keeps; change the workflow and start a run of it'
    : undefined
}

/** Says who works, and so whose work a gate judges and who may judge it. */
const WHO_WORKS: readonly string[] = ['agentId', 'workflowId']
/** Says what is merged, and so what a gate at that node sees. */
const WHAT_IS_MERGED: readonly string[] = ['outputMapping', 'perWorkerOutputMappings']

function keptForGates({ plan, gates }: PlaceOfCut, { nodeId, path: [field = ''] }: NodeChange): string | undefined {
  const isSupervisor = planNodeOf(plan, nodeId)?.type.role === 'supervisor'
  for (const { gate } of gates) {
    const { phase_id, worker_id, tool_name } = gate.position
    const isHere = phase_id === nodeId
    const isNarrowed = worker_id !== undefined || tool_name !== undefined
    const isKept =
      WHO_WORKS.includes(field) ||
      (isHere && (isNarrowed || WHAT_IS_MERGED.includes(field))) ||
      (isSupervisor && worker_id !== undefined)
    if (isKept)
      return `would change whose work gate ${JSON.stringify(gate.gate_id)} judges, or what of it; a branch keeps the gates of its source. Change the workflow and start a run of it`
  }
  return undefined
}

function keptWhileAtWork({ plan, state, idle, half }: PlaceOfCut, { nodeId }: NodeChange): string | undefined {
  const index = plan.indexOf.get(nodeId)
  const isOpen = state.phase === 'active' && index !== undefined && state.open.includes(index)
  const isTold = half.some(event => event.nodeId === nodeId)
  if (!isOpen && !isTold) return undefined
  return `cannot be changed here: node ${JSON.stringify(nodeId)} is at work at event ${nextOf(state)}, and ends with what it began with; fork at ${idle.before(nodeId)}`
}

const nextOf = (state: RunState): number => (state.phase === 'absent' ? 0 : state.next)

/** The latest place at which a node was not at work, in a log that is read bit by bit. */
export class IdlePlaces {
  readonly #places = new Map<string, number>()
  /** Nodes that have told something in the decision that was read last: what they tell later in it is the same work. */
  readonly #told = new Set<string>()

  /** What comes next in the log. */
  read(events: readonly Recorded[]): void {
    for (const event of events) {
      const { nodeId, sequence, input } = event
      if (input !== undefined) this.#told.clear()
      if (nodeId === undefined || this.#told.has(nodeId)) continue
      this.#told.add(nodeId)
      if (isFreshStart(event)) this.#places.set(nodeId, sequence)
    }
  }

  /** As far as has been read; the very beginning always is one. */
  before(nodeId: string): number {
    return this.#places.get(nodeId) ?? 0
  }
}

const isFreshStart = ({ type, payload }: Recorded): boolean => type === 'node.started' && payload.attempt === 0

/** R-DWS-10: who judges, and by which model, is the gate's and the host's to say. */
function judges({ gates }: PlaceOfCut, agentId: string): string | undefined {
  const found = gates.find(({ gate: { verifier_requirements } }) =>
    verifier_requirements.verifiers.length > 0
      ? verifier_requirements.verifiers.some(({ agent_id }) => agent_id === agentId)
      : agentId === HOST_VERIFIER,
  )
  if (found === undefined && agentId !== HOST_VERIFIER) return undefined
  const whose = found === undefined ? 'gates' : `gate ${JSON.stringify(found.gate.gate_id)}`
  return `is a verifier of ${whose}, and the model of a verifier cannot be changed by a branch; change the model of whoever does the work`
}

function agentAtWork({ plan, state, idle }: PlaceOfCut, agentId: string): string | undefined {
  if (state.phase !== 'active') return undefined
  const index = state.open.find(open => workingIn(state, open) === agentId)
  if (index === undefined) return undefined
  const { id } = planNodeAt(plan, index).node
  return `cannot be changed here: the agent is at work in node ${JSON.stringify(id)} at event ${state.next}, and ends with the model it began with; fork at ${idle.before(id)}`
}

const workingIn = (state: Active, index: number): string | undefined =>
  invocationOf(nodeAt(state, index))?.brief.agentId

/** The options of a run with these models in the place of what they said of the same agents. */
export function withAgents(ai: Json | undefined, agents: Changes['agents']): Json {
  const before = isObject(ai) ? ai : {}
  const known = isObject(before.agents) ? before.agents : {}
  const merged = Object.entries(agents).map(([agentId, change]) => {
    const said = own(known, agentId)
    return [agentId, { ...(isObject(said) ? said : {}), ...change }] as const
  })
  return { ...before, agents: { ...known, ...Object.fromEntries(merged) } }
}
