import { eachRun, type LoggedEvent, type Rule } from '../checked.js'
import { get, show } from '../json.js'
import { nodeAttemptsOf } from '../node/node-attempts.js'
import { STARTED } from './invocations.js'

/** What a node needs of its model. */
export const modelNeedsRules: readonly Rule[] = [
  {
    id: 'L23t',
    title:
      'A model that lacks something is named with what it lacks: another takes its place at once, or no agent begins and the node fails with capability_not_provided',
    source: 'agents R-ENV-4',
    checks: eachRun((run, say) => {
      for (const { events, end } of nodeAttemptsOf(run))
        for (const [place, event] of events.entries()) {
          if (![SUBSTITUTED, INSUFFICIENT].includes(event.type)) continue
          const { missingCapabilities: missing } = event.payload
          if (!Array.isArray(missing) || missing.length === 0) say('nothing is missing', event)
          if (event.type === SUBSTITUTED)
            for (const problem of substitutionProblems(event, events[place + 1])) say(problem, event)
          else {
            if (events.slice(place + 1).some(({ type }) => type === STARTED)) say('an agent begins all the same', event)
            const code = get(end?.payload.error ?? end?.payload.lastError, 'code')
            if (end !== undefined && end.type !== 'node.cancelled' && code !== 'capability_not_provided')
              say(`the node ends with ${show(code ?? end.type)}`, event)
          }
        }
    }),
  },
]

const SUBSTITUTED = 'model.capability.substituted'
const INSUFFICIENT = 'model.capability.insufficient'

function substitutionProblems({ payload }: LoggedEvent, next: LoggedEvent | undefined): string[] {
  if (next?.type !== STARTED) return [`${next?.type ?? 'nothing'} follows`]
  const { resolvedProvider, resolvedModel } = next.payload
  const isUsed = payload.fallbackProvider === resolvedProvider && payload.fallbackModel === resolvedModel
  const isOther = payload.originalProvider !== resolvedProvider || payload.originalModel !== resolvedModel
  return isUsed && isOther ? [] : [`the agent begins with ${show(resolvedModel)}`]
}
