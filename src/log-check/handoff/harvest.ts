import { eachRun, isRetold, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { isGateQuestion } from '../interrupt/questions.js'
import { get, list, show, text } from '../json.js'
import {
  type Asked,
  answerTo,
  askedIn,
  attemptsThatHandOut,
  DISPATCH,
  eventsOfType,
  hasCompleted,
  type NodeAttempt,
  nodeAttemptsOfType,
} from '../node/node-attempts.js'
import { TERMINAL } from '../walk.js'
import {
  type Chain,
  chainsIn,
  configOf,
  isHarvestDue,
  isLost,
  isRefusedByGate,
  lastPhase,
  linksOf,
  mappedNames,
  needsApproval,
  phaseOf,
} from './chains.js'

/** What comes of work that was handed out. */
export const harvestRules: readonly Rule[] = [
  {
    id: 'L21m',
    title:
      'Results are harvested exactly when the child has completed and its node maps them, and only under names of that mapping; Assay keeps its order',
    source: 'agents R-HANDOFF-5, R-HANDOFF-9',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      for (const { event, chain } of linksOf(run)) {
        const names = mappedNames(run, chain)
        if (phaseOf(event) !== 'output.harvested' || names === undefined) continue
        if (names.length === 0) say('harvested although nothing is mapped', event)
        const places = list(event.payload.harvestedKeys).map(key => names.indexOf(String(key)))
        if (places.some((place, i) => place < 0 || (assay && place <= (places[i - 1] ?? -1))))
          say(`harvested ${show(event.payload.harvestedKeys)}, mapped are ${show(names)}`, event)
      }
      for (const nodeAttempt of attemptsThatHandOut(run).filter(hasCompleted)) {
        for (const chain of chainsIn(run, nodeAttempt)) {
          if (lastPhase(chain) === 'child.completed' && isHarvestDue(run, chain))
            say(`what ${show(chain.workerId)} brought is not harvested`, nodeAttempt.end)
        }
      }
    }),
  },
  {
    id: 'L21r',
    title: 'A child has ended as the hand-off says, when it says so',
    source: 'agents §4',
    checks: eachRun((run, say, log) => {
      for (const { event } of linksOf(run)) {
        const [subject, ending] = phaseOf(event)?.split('.') ?? []
        const child = log.byId.get(String(event.payload.childRunId))
        if (subject !== 'child' || child === undefined || isRetold(run, event)) continue
        const end = child.events.find(candidate => TERMINAL.includes(candidate.type))
        if (end?.type !== `run.${ending}`)
          say(`${phaseOf(event)}, but the child's log ends with ${end?.type ?? 'no end'}`, event)
      }
    }),
  },
  {
    id: 'L21s',
    title: 'A dispatch node completes with its workers, in order, with what became of each, and the child of the last',
    source: 'agents R-ORCH-15',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOfType(run, DISPATCH).filter(hasCompleted)) {
        for (const problem of outputProblems(run, nodeAttempt)) say(problem, nodeAttempt.end)
      }
    }),
  },
  {
    id: 'L21t',
    title: 'What must be approved is merged only when someone accepted it, and each child is asked about once',
    source: 'agents R-ATTEST-3, R-ATTEST-4, R-ATTEST-5',
    checks: eachRun((run, say) => {
      for (const nodeAttempt of attemptsThatHandOut(run))
        for (const [problem, event] of mergeProblems(run, nodeAttempt)) say(problem, event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent | undefined]

function outputProblems(run: RunLog, nodeAttempt: NodeAttempt): string[] {
  const outputs = get(nodeAttempt.end?.payload, 'outputs')
  const chains = chainsIn(run, nodeAttempt)
  const workers = list(get(outputs, 'workers'))
  const problems: string[] = []
  if (workers.length !== chains.length) problems.push(`tells of ${workers.length} workers, there are ${chains.length}`)
  chains.forEach((chain, place) => {
    const worker = workers[place]
    if (get(worker, 'workerId') !== chain.workerId)
      problems.push(`worker ${place + 1} is ${show(get(worker, 'workerId'))}`)
    if (get(worker, 'childRunId') !== childOf(chain)) problems.push(`its child is ${show(get(worker, 'childRunId'))}`)
    if (!statusesOf(run, chain).includes(text(get(worker, 'status'))))
      problems.push(`${show(chain.workerId)} is ${show(get(worker, 'status'))}`)
  })
  const last = chains.at(-1)
  if (last === undefined) return problems
  if (!statusesOf(run, last).includes(text(get(outputs, 'childStatus'))))
    problems.push(`childStatus is ${show(get(outputs, 'childStatus'))}`)
  const children = [childOf(last), chains.map(childOf).findLast(child => child !== undefined)]
  if (!children.includes(text(get(outputs, 'childRunId'))))
    problems.push(`childRunId is ${show(get(outputs, 'childRunId'))}`)
  return problems
}

const childOf = (chain: Chain): string | undefined => text(chain.events.at(-1)?.payload.childRunId)

/** A worker whose result was refused counts as failed; without the definition nobody knows whether it could be. */
function statusesOf(run: RunLog, chain: Chain): (string | undefined)[] {
  const phase = lastPhase(chain)
  if (isLost(run, chain)) return ['failed']
  if (phase === 'output.harvested') return ['completed']
  if (phase === 'child.completed' && isRefusedByGate(run, chain)) return ['failed']
  if (phase === 'child.completed')
    return run.graph === undefined || needsApproval(run, chain) ? ['completed', 'failed'] : ['completed']
  return [phase?.split('.')[1]]
}

function mergeProblems(run: RunLog, nodeAttempt: NodeAttempt): Problem[] {
  const chains = chainsIn(run, nodeAttempt)
  const [chain] = chains
  if (chain === undefined || get(get(configOf(run, chain), 'outputAttestation'), 'requireApproval') !== true) return []
  const asked = askedIn(nodeAttempt).filter(({ request }) => !isGateQuestion(request))
  const ended = chains.filter(other => other.events.some(event => phaseOf(event) === 'child.completed'))
  const problems: Problem[] = asked
    .slice(ended.length)
    .map(({ request }) => ['asked more often than children completed', request])
  const accepted = asked.filter(isAccepted).map(({ resolved }) => resolved?.sequence ?? 0)
  const merges =
    nodeAttempt.typeId === DISPATCH
      ? eventsOfType(nodeAttempt, 'core.workflowChain.event').filter(event => phaseOf(event) === 'output.harvested')
      : eventsOfType(nodeAttempt, 'variable.changed')
  merges.forEach((event, place) => {
    const needed = nodeAttempt.typeId === DISPATCH ? accepted[place] : accepted[0]
    if (needed === undefined || needed > event.sequence) problems.push(['merged although nobody accepted it', event])
  })
  return problems
}

/** Behind a mask nobody can tell. */
function isAccepted(question: Asked): boolean {
  const answer = answerTo(question)
  if (question.resolved === undefined || question.resolved.payload.outcome === 'rejected') return false
  return typeof answer === 'string' || ['accept', 'edit-accept'].includes(text(get(answer, 'action')) ?? '')
}
