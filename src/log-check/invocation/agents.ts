import { eachRun, type LoggedEvent, type Rule } from '../checked.js'
import { show } from '../json.js'
import { causeOf, eventsOfType, hasCompleted, type NodeAttempt, nodeAttemptsOf } from '../node/node-attempts.js'

/** What an agent tells of its work. */
export const agentRules: readonly Rule[] = [
  {
    id: 'L23a',
    title:
      'Every return of a tool is caused by a call before it, with the same id, tool and agent, and has an outcome or an error; a call returns once, before its node completes',
    source: 'agents R-EVENT-2',
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOf(run))
        for (const [problem, event] of toolProblems(nodeAttempt)) say(problem, event)
    }),
  },
  {
    id: 'L23b',
    title:
      'Parts of a reasoning count 0, 1, 2 … and are closed by the whole, of the same agent, before the node completes',
    source: 'agents R-EVENT-4',
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOf(run))
        for (const [problem, event] of reasoningProblems(nodeAttempt)) say(problem, event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent | undefined]

function toolProblems(nodeAttempt: NodeAttempt): Problem[] {
  const problems: Problem[] = []
  const open = new Map<unknown, LoggedEvent>()
  const returned = new Set<unknown>()
  for (const event of eventsOfType(nodeAttempt, 'agent.toolCalled', 'agent.toolReturned')) {
    const { callId } = event.payload
    const call = open.get(callId)
    if (event.type === 'agent.toolCalled') {
      if (call !== undefined || returned.has(callId)) problems.push([`call ${show(callId)} is made twice`, event])
      open.set(callId, event)
      continue
    }
    if (call === undefined) problems.push([`${show(callId)} returns, which was not called`, event])
    else problems.push(...returnProblems(call, event).map((problem): Problem => [problem, event]))
    open.delete(callId)
    returned.add(callId)
  }
  const [left] = open.values()
  if (left !== undefined && hasCompleted(nodeAttempt)) problems.push(['a call that never returned', left])
  return problems
}

function returnProblems(call: LoggedEvent, event: LoggedEvent): string[] {
  const problems = ['toolName', 'agentId']
    .filter(name => call.payload[name] !== event.payload[name])
    .map(name => `${name} is ${show(event.payload[name])}, the call's ${show(call.payload[name])}`)
  if (causeOf(event) !== call.id) problems.push('not caused by its call')
  if (event.payload.outcome !== undefined && event.payload.error !== undefined) problems.push('an outcome and an error')
  return problems
}

function reasoningProblems(nodeAttempt: NodeAttempt): Problem[] {
  const problems: Problem[] = []
  const open = new Map<unknown, LoggedEvent[]>()
  for (const event of eventsOfType(nodeAttempt, 'agent.reasoning.delta', 'agent.reasoned', 'assay.model.requested')) {
    const { agentId, sequence } = event.payload
    // What was said in a call that came to nothing stays without an end.
    if (event.type === 'assay.model.requested') open.clear()
    const parts = open.get(agentId) ?? []
    if (event.type !== 'agent.reasoning.delta') {
      open.delete(agentId)
      continue
    }
    if (sequence !== parts.length) problems.push([`part ${show(sequence)}; ${parts.length} is due`, event])
    open.set(agentId, [...parts, event])
  }
  for (const parts of open.values()) {
    if (hasCompleted(nodeAttempt)) problems.push(['a reasoning that was never told whole', parts.at(-1)])
  }
  return problems
}
