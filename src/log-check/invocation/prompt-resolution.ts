import { eachRun, type LoggedEvent, type Rule } from '../checked.js'
import { get, list, same, show } from '../json.js'
import { nodeAttemptsOf } from '../node/node-attempts.js'
import { invocationsOf, STARTED } from './invocations.js'

/** Where the prompts of an agent come from. */
export const promptRules: readonly Rule[] = [
  {
    id: 'L23e',
    title:
      'A prompt comes from exactly one layer, or from none when there is none; it is resolved before the prompt of its node is composed',
    source: 'agents R-PROMPT-1, R-PROMPT-2',
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        const problem = event.type === RESOLVED ? chainProblem(event) : undefined
        if (problem !== undefined) say(problem, event)
      }
      for (const { events } of nodeAttemptsOf(run)) {
        let isComposed = false
        for (const { type, ...event } of events) {
          // Work that was sent back is asked for anew.
          if (type === STARTED || type === COMPOSED) isComposed = type === COMPOSED
          else if (type === RESOLVED && isComposed) say('resolved after the prompt was composed', { type, ...event })
        }
      }
    }),
  },
  {
    id: 'L23f',
    title:
      'An invocation resolves each kind of prompt once, few-shot examples aside, for its agent and as its brief says, and composes them once',
    source: 'agents R-PROMPT-1, R-LIVE-5',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const { events, brief, agentId, nodeAttempt } of invocationsOf(run)) {
        const resolved = events.filter(({ type }) => type === RESOLVED)
        const kinds = new Set<unknown>()
        for (const event of resolved) {
          const { kind } = event.payload
          if (kinds.has(kind) && kind !== 'few-shot') say(`${show(kind)} is resolved twice`, event)
          kinds.add(kind)
          if (event.payload.agentId !== agentId) say(`resolved for ${show(event.payload.agentId)}`, event)
        }
        const composed = events.filter(({ type }) => type === COMPOSED)
        for (const extra of composed.slice(1)) say('composed twice', extra)
        if (composed.length === 0 && (events.length > resolved.length || nodeAttempt.end !== undefined))
          say('no prompt was composed', events[0])
        if (brief === undefined) continue
        list(brief.prompts).forEach((prompt, place) => {
          const event = resolved[place]
          const told = event && {
            kind: event.payload.kind,
            chain: event.payload.chain,
            resolved: event.payload.resolved,
          }
          if (composed.length > 0 && !same(told, prompt)) say(`not resolved as the brief says: ${show(prompt)}`, event)
        })
        const [{ payload } = { payload: {} }] = composed
        const { nodeId: _nodeId, ...told } = payload as Readonly<Record<string, unknown>>
        if (composed.length > 0 && !same(told, brief.composed)) say('not composed as the brief says', composed[0])
      }
    }),
  },
]

const RESOLVED = 'agent.promptResolved'
const COMPOSED = 'prompt.composed'

function chainProblem({ payload }: LoggedEvent): string | undefined {
  const applied = list(payload.chain).filter(link => get(link, 'applied') === true).length
  const due = payload.resolved === null ? 0 : 1
  return applied === due ? undefined : `${applied} layers applied, resolved is ${show(payload.resolved)}`
}
