import { eachRun, isBefore, type Log, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { isGateQuestion } from '../interrupt/questions.js'
import { get, list, same, show, text } from '../json.js'
import { VERIFICATION_STARTED } from './verification-attempts.js'

/** Who may read it: what is before a gate, what was found in it and what verifiers say are in no payload. */
export const readerRules: readonly Rule[] = [
  {
    id: 'L24r',
    title:
      'No payload holds what a blocking gate has not let pass, what was found in it, or what a verifier says; a worker whose result has to pass a gate of its parent says so when it begins and when it completes',
    source: 'agents §23.3, R-SEC-1, readers',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      if (isBefore(run, 3)) return
      for (const event of run.events) {
        for (const problem of isVerifier(run) ? votedProblems(event) : []) say(problem, event)
        for (const problem of questionProblems(event)) say(problem, event)
        for (const problem of subjectProblems(run, event, log)) say(problem, event)
        for (const problem of markProblems(run, event)) say(problem, event)
      }
    }),
  },
]

const MASK = '[REDACTED]'

const isVerifier = ({ started }: RunLog): boolean => started.workflowId === 'assay-verifier'

/** Where the word of a verifier would stand. */
const SAID: { readonly [type: string]: (event: LoggedEvent) => unknown } = {
  'agent.decided': ({ payload }) => payload.decision,
  'variable.changed': ({ payload }) => payload.next,
  'node.completed': ({ payload }) => get(payload.outputs, 'result'),
  'run.completed': ({ payload }) => get(payload.outputs, 'result'),
}

function votedProblems(event: LoggedEvent): string[] {
  const said = SAID[event.type]?.(event)
  const reasoning = event.type === 'agent.reasoned' || event.type === 'agent.reasoning.delta'
  return [
    ...(said === undefined || said === MASK ? [] : ['a verifier’s word is told']),
    ...(reasoning ? ['a verifier’s reasons are told'] : []),
  ]
}

function questionProblems(event: LoggedEvent): string[] {
  if (event.type !== 'interrupt.requested' || !isGateQuestion(event)) return []
  const told = ['artifactData', 'findings'].filter(name => get(event.payload.data, name) !== undefined)
  return told.map(name => `a gate asks, and its ${name} are told to everybody`)
}

/** The result a blocking gate looks at: the decision of an agent, or what a child has left. */
function subjectProblems(run: RunLog, { type, payload }: LoggedEvent, log: Log): string[] {
  if (type !== VERIFICATION_STARTED || payload.blocking !== true) return []
  const target = text(payload.targetRef) ?? ''
  if (payload.point === 'node') {
    const place = Number(/:(\d+)$/.exec(target)?.[1])
    const decided = run.events.find(({ sequence }) => sequence === place)
    const isTold = decided?.type === 'agent.decided' && decided.payload.decision !== MASK
    return isTold ? [`what ${target} decided is told before it has passed`] : []
  }
  const child = payload.point === 'harvest' ? log.byId.get(target) : undefined
  if (child === undefined || isBefore(child, 3) || list(child.started.gatedBy).includes(payload.gateId)) return []
  return [`${target} does not say that ${show(payload.gateId)} has to pass it`]
}

/** A branch is nobody's worker, whatever its source was. */
function markProblems(run: RunLog, { type, payload }: LoggedEvent): string[] {
  if (type !== 'run.completed') return []
  const isBranch = run.fork?.mode === 'branch' || run.events.some(event => event.type === 'assay.run.forked')
  const marks = isBranch ? [undefined, run.started.gatedBy] : [run.started.gatedBy]
  return marks.some(mark => same(mark ?? null, payload.gatedBy ?? null))
    ? []
    : [`gated by ${show(payload.gatedBy)}, began as gated by ${show(run.started.gatedBy)}`]
}
