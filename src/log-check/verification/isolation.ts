import { eachRun, type Fields, isBefore, isRetold, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { behindMask } from '../interrupt/questions.js'
import { fields, get, list, same, show } from '../json.js'
import { type VerificationAttempt, verificationAttemptOf } from './verification-attempts.js'

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
        if (event.type === 'assay.verifier.started' && !isBefore(child, 3))
          for (const problem of sourceProblems(verificationAttemptOf(run, event), child)) say(problem, event)
        if (event.type !== 'assay.verifier.ended' || event.payload.vote === 'none') continue
        if (child.events.at(-1)?.type !== 'run.completed') say('a vote of a run that has not completed', event)
      }
    }),
  },
]

const GIVEN: readonly string[] = ['agentId', 'bundle', 'schema']
const BUNDLE_2: readonly string[] = ['constraints', 'criteria', 'evidence', 'intents', 'knowledge', 'output']
const BUNDLE: readonly string[] = [
  'constraints',
  'context',
  'criteria',
  'evidence',
  'intents',
  'knowledge',
  'output',
  'role',
]

/** The sources are those that the gate names, and of a run that ends nothing is shown that the gate does not name. */
function sourceProblems(verification: VerificationAttempt | undefined, { events: [first] }: RunLog): string[] {
  const gate = verification?.gate
  if (gate === undefined || first === undefined) return []
  const bundle = fields(fields(get(first.raw.secret, 'withheld')).bundle)
  // Readers outside see that there is a bundle, not what is in it.
  if (Object.keys(bundle).length === 0) return []
  const problems: string[] = []
  const shown = list(bundle.context).map(entry => get(entry, 'ref'))
  if (!same(shown, list(gate.context))) problems.push(`sources ${show(shown)}, the gate names ${show(gate.context)}`)
  const isHashed = verification?.started.payload.contextHash !== undefined
  if (isHashed !== shown.length > 0) problems.push(isHashed ? 'a hash of no sources' : 'sources without a hash')
  if (bundle.role !== get(gate.verifier_requirements, 'role')) problems.push(`judges as ${show(bundle.role)}`)
  if (verification?.point !== 'run') return problems
  return [...problems, ...exitProblems(fields(bundle.output))]
}

const exitProblems = (left: Fields): string[] =>
  Object.entries(left).flatMap(([kind, values]) => {
    if (kind === 'outputs') return []
    if (kind !== 'variables' && kind !== 'channels') return [`what a run leaves has ${show(kind)}`]
    return 'verificationFeedback' in fields(values) ? ['it is shown what was said of an earlier attempt'] : []
  })

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
  if (!same(bundle, isBefore(child, 3) ? BUNDLE_2 : BUNDLE) && (isBefore(child, 3) || kept !== undefined))
    problems.push(`its bundle holds ${show(bundle)}`)
  if (inputs.agentId !== payload.agentId) problems.push(`${show(inputs.agentId)} judges, not ${show(payload.agentId)}`)
  return problems
}
