import { heldBy, tellOfWork } from './agents-at-work.js'
import type { Heard } from './asking-nodes.js'
import { ask } from './asking-nodes.js'
import { type Choose, chance, pick } from './choice.js'
import { NOBODY } from './handing-out.js'
import type { Question } from './questions.js'
import type { SimulatedRun } from './simulated-run.js'
import type { Decision, NodeState } from './simulated-state.js'
import type { Node } from './workflows.js'

/** After so many turns a supervisor has had enough. */
const PATIENCE = 6

/** One turn of a supervisor. */
export function takeTurn(run: SimulatedRun, node: Node, state: NodeState): void {
  const { choose } = run.world
  tellOfWork(run, node, agentOf(node))
  const decision = decideFor(run)
  if (chance(choose, 6)) return hold(run, node, state, decision)
  settleTurn(run, node, state, decision, state.startedAt)
}

export const decideFor = (run: SimulatedRun): Decision => decide(run.world.choose, run.loops.turns + 1 >= PATIENCE)

/** The decision is told, and what follows from it happens. */
export function settleTurn(run: SimulatedRun, node: Node, state: NodeState, decision: Decision, cause: number): void {
  tellDecision(run, node, state, decision, cause)
  const confidence = decision.confidence as number | undefined
  if (isAct(decision) && confidence !== undefined && confidence < run.world.floor)
    return escalate(run, node, state, decision)
  const question = QUESTIONS[decision.kind]
  if (question !== undefined) return ask(run, node, state, question, state.decidedAt)
  leave(run, node, state, decision)
}

const agentOf = (node: Node): string => node.agent?.agentId ?? `host:orchestrator:${node.id}`

const isAct = ({ kind }: Decision): boolean => kind === 'next-worker' || kind === 'terminate'

function decide(choose: Choose, last: boolean): Decision {
  const kinds = ['next-worker', 'next-worker', 'next-worker', 'terminate', 'clarify', 'escalate', 'ask-user']
  const kind = last ? 'terminate' : pick(choose, kinds)
  const confidence = pick(choose, [
    {},
    {},
    { confidence: 0.9 },
    { confidence: last ? 1 : 0.3 },
    { confidence: last ? 1 : 0.5 },
  ])
  if (kind === 'next-worker') return { kind, nextWorkerIds: crew(choose), ...confidence }
  if (kind === 'terminate') return { kind, ...pick(choose, ENDS), ...confidence }
  if (kind === 'ask-user') return { kind, prompt: 'Which?' }
  return { kind, ...(kind === 'clarify' ? { prompt: 'Which?' } : { title: 'Look!', artifact: [1] }) }
}

const ENDS = [
  {},
  { reason: 'goal-reached' },
  { successCriteria: [{ key: 'tests', met: true }] },
  { successCriteria: [{ key: 'tests', met: false }] },
]

/** What a run that completes says of its goal, where its supervisor has said something about that. */
export function goalOf(run: SimulatedRun): { goalSatisfied?: boolean } {
  const decision = run.supervisor()?.state.decision
  const criteria = decision?.kind === 'terminate' ? (decision.successCriteria as { met: boolean }[] | undefined) : []
  return criteria === undefined || criteria.length === 0 ? {} : { goalSatisfied: criteria.every(({ met }) => met) }
}

const crew = (choose: Choose): string[] =>
  Array.from({ length: 1 + choose(3) }, () => pick(choose, ['child', 'child', 'helper', NOBODY]))

const CLARIFY: Question = { kind: 'clarification', data: { questions: [{ id: 'q', question: 'Which?' }] } }

const APPROVE = { artifactId: 'decision', artifactType: 'decision', title: 'Go on?' }

const QUESTIONS: { readonly [kind: string]: Question } = {
  clarify: CLARIFY,
  'ask-user': CLARIFY,
  escalate: { kind: 'approval', data: { ...APPROVE, actions: ['accept', 'reject', 'ask'] } },
}

function tellDecision(run: SimulatedRun, node: Node, state: NodeState, decision: Decision, cause: number): void {
  const masked = decision.reason !== undefined && chance(run.world.choose, 2)
  const seen = masked ? { ...decision, reason: '[REDACTED]' } : decision
  run.loops.turns += 1
  const payload = { agentId: agentOf(node), decision: seen, iteration: run.loops.turns }
  state.decision = decision
  state.shown = seen
  state.decidedAt = run.emit('runOrchestrator.decided', node.id, payload, {
    cause,
    secret: masked ? { decision } : undefined,
  })
}

/** A person must look first. */
function escalate(run: SimulatedRun, node: Node, state: NodeState, decision: Decision): void {
  const { floor, floorKind } = run.world
  const [workerId] = (decision.nextWorkerIds ?? []) as string[]
  const payload = {
    parentRunId: run.runId,
    ...(workerId === undefined ? {} : { workerId }),
    confidence: decision.confidence,
    floor,
    escalationKind: floorKind === 'clarification' ? 'clarify' : 'escalate',
    originalDecision: state.shown,
  }
  const cause = run.emit('core.workflowChain.confidence-escalated', node.id, payload, { cause: state.decidedAt })
  ask(run, node, state, FLOOR_QUESTIONS[floorKind], cause)
}

const EDITS = [
  { kind: 'next-worker', nextWorkerIds: ['helper'] },
  { kind: 'terminate', reason: 'enough' },
]

const FLOOR_QUESTIONS: { readonly [kind: string]: Question } = {
  clarification: CLARIFY,
  approval: { kind: 'approval', data: { ...APPROVE, actions: ['accept', 'reject', 'edit-accept'], edits: EDITS } },
  custom: { kind: 'custom', data: { customKind: 'x-host-acme-review', edits: EDITS } },
}

/** The decision is not told before someone has ratified it. */
function hold(run: SimulatedRun, node: Node, state: NodeState, decision: Decision): void {
  const { question, tell } = heldBy(run, agentOf(node), decision)
  state.decision = decision
  delete state.decidedAt
  tell(node)
  ask(run, node, state, question)
}

/** Someone has answered what a supervisor asked. */
export function turnAnswered(run: SimulatedRun, node: Node, state: NodeState, heard: Heard): void {
  const decision = state.decision as Decision
  const { kind, value, late, rejected, answeredAt } = heard
  if (kind === 'low-confidence' && state.decidedAt === undefined) {
    if (rejected) return run.fail(node.id, state, { code: 'interrupt_rejected', message: 'no' }, false)
    // What a person has ratified asks nobody else.
    const ratified = isAct(decision) ? decision : { kind: 'terminate' }
    tellDecision(run, node, state, ratified, answeredAt)
    return leave(run, node, state, ratified)
  }
  if (late && kind !== 'approval')
    return run.fail(node.id, state, { code: 'interrupt_timeout', message: 'late' }, false)
  if (!isAct(decision)) return route(run, node, state, 'again')
  const words = Object.values(value?.answers ?? {})
  const accepted = kind === 'clarification' ? words.every(word => word === 'confirm') : !rejected && !late
  if (!accepted) return route(run, node, state, 'again')
  const { editedArtifactData } = (value ?? {}) as { editedArtifactData?: Decision }
  if (editedArtifactData !== undefined) state.shown = editedArtifactData
  leave(run, node, state, editedArtifactData ?? decision)
}

/** The decision is carried out. */
function leave(run: SimulatedRun, node: Node, state: NodeState, decision: Decision): void {
  state.decision = decision
  route(run, node, state, decision.kind === 'next-worker' ? 'body' : 'done')
}

function route(run: SimulatedRun, node: Node, state: NodeState, to: 'body' | 'again' | 'done'): void {
  const outputs = { iteration: run.loops.turns, decision: state.shown, route: to }
  run.loops.route = to
  run.complete(node, outputs, state.decidedAt)
  if (to === 'again') state.phase = 'idle'
  if (to === 'body') for (const inner of run.body()) run.state(inner).phase = 'idle'
}
