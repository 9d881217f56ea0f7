import { ask } from './asking-nodes.js'
import { crossing, spend } from './budgeting.js'
import { chance } from './choice.js'
import type { Question } from './questions.js'
import type { SimulatedRun } from './simulated-run.js'
import type { NodeState } from './simulated-state.js'
import type { Node } from './workflows.js'

/** An agent thinks aloud and uses tools. */
export function tellOfWork(run: SimulatedRun, node: Node, agentId: string): void {
  const { choose } = run.world
  if (chance(choose, 3)) {
    const parts = choose(3)
    for (let sequence = 0; sequence < parts; sequence++)
      run.emit('agent.reasoning.delta', node.id, { agentId, delta: 'so ', sequence })
    run.emit('agent.reasoned', node.id, { agentId, reasoning: 'so '.repeat(parts), verbosity: 'summary' })
  }
  if (!chance(choose, 3)) return
  for (let call = 0; call <= choose(3) && crossing(run, { toolCalls: 1 }) === undefined; call++) {
    const names = { agentId, toolName: 'search', toolId: 'search', callId: `call-${run.events.length}` }
    const cause = run.emit('agent.toolCalled', node.id, { ...names, inputs: { q: 1 } })
    spend(run, { toolCalls: 1 })
    const outcome = chance(choose, 3)
      ? { status: 'error', error: ERROR }
      : { status: 'ok', outcome: [1], durationMs: 3 }
    run.emit('agent.toolReturned', node.id, { ...names, ...outcome }, { cause })
  }
}

const ERROR = { code: 'tool_failed', message: 'it did not work' }

/** A node that is an agent; when it is not sure someone else decides. */
export function actAsAgent(run: SimulatedRun, node: Node, state: NodeState): void {
  const { choose } = run.world
  const agentId = `host:mock-agent:${node.id}`
  tellOfWork(run, node, agentId)
  if (chance(choose, 2)) {
    const { question, tell } = heldBy(run, agentId, 'buy')
    tell(node)
    return ask(run, node, state, question)
  }
  if (chance(choose, 2)) run.emit('agent.decided', node.id, { agentId, decision: 'buy', confidence: 0.9 })
  run.complete(node, {})
}

/** An agent that is not sure enough: what it tells, and what is asked because of it. */
export function heldBy(
  run: SimulatedRun,
  agentId: string,
  decision: unknown,
): { question: Question; tell(node: Node): void } {
  const [threshold, observed] = [run.threshold ?? 0.7, 0.4]
  const facts = { agentId, threshold, observed }
  return {
    question: {
      kind: 'low-confidence',
      data: { ...facts, decision },
      suspended: { reason: 'low-confidence', ...facts },
    },
    tell: node => run.emit('agent.decided', node.id, { agentId, decision, confidence: observed }),
  }
}
