import { eachRun, isRetold, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { behindMask } from '../interrupt/questions.js'
import { fields, same, show } from '../json.js'

/** Isolation of verifiers: each is given what it judges and nothing else. */
export const isolationRules: readonly Rule[] = [
  {
    id: 'L24l',
    title:
      'The run of a verifier is given who judges, the bundle of the case and the schema of the answer, and nothing else; its vote is that of a run that completed',
    source: 'agents R-DWS-7, R-DWS-8, R-DWS-33',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      for (const event of run.events) {
        const child = log.byId.get(String(event.payload.childRunId))
        if (child === undefined || isRetold(run, event)) continue
        if (event.type === 'assay.verifier.started')
          for (const problem of givenProblems(child, event)) say(problem, event)
        if (event.type !== 'assay.verifier.ended' || event.payload.vote === 'none') continue
        if (child.events.at(-1)?.type !== 'run.completed') say('a vote of a run that has not completed', event)
      }
    }),
  },
]

const GIVEN: readonly string[] = ['agentId', 'bundle', 'schema']
const BUNDLE: readonly string[] = ['constraints', 'criteria', 'evidence', 'intents', 'knowledge', 'output']

function givenProblems({ events }: RunLog, { payload }: LoggedEvent): string[] {
  const [first] = events
  if (first === undefined) return ['it never began']
  const inputs = fields(behindMask(first, 'inputs'))
  const problems: string[] = []
  if (!same(Object.keys(inputs).sort(), GIVEN)) problems.push(`it was given ${show(Object.keys(inputs))}`)
  const bundle = Object.keys(fields(inputs.bundle)).sort()
  if (!same(bundle, BUNDLE)) problems.push(`its bundle holds ${show(bundle)}`)
  if (inputs.agentId !== payload.agentId) problems.push(`${show(inputs.agentId)} judges, not ${show(payload.agentId)}`)
  return problems
}
