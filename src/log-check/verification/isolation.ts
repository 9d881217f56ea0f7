import { eachRun, type Fields, isBefore, isRetold, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { behindMask } from '../interrupt/questions.js'
import { fields, get, list, same, show } from '../json.js'

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

function givenProblems(child: RunLog, { payload }: LoggedEvent): string[] {
  const [first] = child.events
  if (first === undefined) return ['it never began']
  const shown = fields(behindMask(first, 'inputs'))
  const names = [...Object.keys(shown), ...list(first.payload.withheld).map(String)].sort()
  const problems: string[] = []
  if (!same(names, GIVEN)) problems.push(`it was given ${show(names)}`)
  const kept = get(first.raw.secret, 'withheld')
  const inputs: Fields = { ...shown, ...fields(kept) }
  // Readers outside see that there is a bundle, not what is in it.
  const bundle = Object.keys(fields(inputs.bundle)).sort()
  if (!same(bundle, BUNDLE) && (isBefore(child, 3) || kept !== undefined))
    problems.push(`its bundle holds ${show(bundle)}`)
  if (inputs.agentId !== payload.agentId) problems.push(`${show(inputs.agentId)} judges, not ${show(payload.agentId)}`)
  return problems
}
