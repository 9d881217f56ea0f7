import { eachRun, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, show, text } from '../json.js'
import {
  attemptsThatHandOut,
  DISPATCH,
  eventsOfType,
  hasCompleted,
  type NodeAttempt,
  nodeAttemptsOfType,
  SUB_WORKFLOW,
} from '../node/node-attempts.js'
import { turnBefore, workersOf } from '../orchestrator/turns.js'
import { lastForkSequence } from '../story.js'
import { type Chain, chainsIn, isFinished, isLost, lastPhase, linksOf, needsApproval, phaseOf } from './chains.js'

/** Who gets work, one after the other or all at once. */
export const workerRules: readonly Rule[] = [
  {
    id: 'L21l',
    title: 'Each worker that a decision names gets the work once, in the order of the decision',
    source: 'agents R-LOOP-7, §6.2',
    checks: eachRun((run, say, log) => {
      // A host without the execution model tells no hand-offs at all.
      if (log.input.dialect === 'openwop' && linksOf(run).length === 0) return
      for (const nodeAttempt of attemptsThatHandOut(run))
        for (const [problem, event] of namingProblems(run, nodeAttempt)) say(problem, event)
    }),
  },
  {
    id: 'L21n',
    title: 'One after the other: a worker gets its work when those before it are finished',
    source: 'agents R-ORCH-15',
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOfType(run, DISPATCH)) {
        if (run.graph === undefined || isParallel(run, nodeAttempt)) continue
        const chains = chainsIn(run, nodeAttempt)
        chains.forEach((chain, place) => {
          const began = chain.events[0] as LoggedEvent
          const open = chains.slice(0, place).find(earlier => !isFinished(run, earlier, began.sequence))
          if (open !== undefined) say(`${show(open.workerId)} is still at work`, began)
        })
      }
    }),
  },
  {
    id: 'L21o',
    title:
      'All at once: every worker begins before any is started, they are started in the order of the decision, told to have ended in that order once all are started, and what they bring is merged in that order',
    source: 'agents §3.4, R-LOOP-10',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const nodeAttempt of nodeAttemptsOfType(run, DISPATCH)) {
        if (isParallel(run, nodeAttempt))
          for (const [problem, event] of [...fanOutProblems(run, nodeAttempt), ...endProblems(run, nodeAttempt)])
            say(problem, event)
      }
    }),
  },
  {
    id: 'L21p',
    title: 'A node that hands out work completes when every worker is finished',
    source: 'agents R-LOOP-8',
    checks: eachRun((run, say) => {
      for (const nodeAttempt of attemptsThatHandOut(run).filter(hasCompleted)) {
        const open = chainsIn(run, nodeAttempt).find(chain => !isFinished(run, chain, Number.POSITIVE_INFINITY))
        if (open !== undefined && lastPhase(open) !== 'child.completed')
          say(`${show(open.workerId)} is still at work`, nodeAttempt.end)
      }
    }),
  },
  {
    id: 'L21q',
    title: 'A child that was started is told twice, by node.dispatched and, as this worker’s, by dispatch.succeeded',
    source: 'agents R-ORCH-17, R-HANDOFF-4',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      // A host without the execution model tells no hand-offs at all.
      if (!assay && linksOf(run).length === 0) return
      for (const nodeAttempt of attemptsThatHandOut(run))
        for (const [problem, event] of startProblems(run, nodeAttempt, assay)) say(problem, event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent | undefined]

const isParallel = (run: RunLog, { node }: NodeAttempt): boolean =>
  get(run.graph?.nodes.get(node)?.config, 'fanOutPolicy') === 'parallel'

function namingProblems(run: RunLog, nodeAttempt: NodeAttempt): Problem[] {
  const chains = chainsIn(run, nodeAttempt)
  const declared = run.graph?.nodes.get(nodeAttempt.node)
  const workers =
    nodeAttempt.typeId === DISPATCH
      ? workersOf(turnBefore(run, nodeAttempt.start))
      : [text(get(declared?.config, 'workflowId'))].filter(id => id !== undefined)
  if (workers === undefined) return []
  if (nodeAttempt.typeId === SUB_WORKFLOW && workers.length === 0) return []
  const problems: Problem[] = []
  chains.forEach((chain, place) => {
    const named = workers[place]
    if (chain.workerId !== named)
      problems.push([`worker ${place + 1} is ${show(chain.workerId)}, decided was ${show(named)}`, chain.events[0]])
  })
  if (hasCompleted(nodeAttempt) && chains.length < workers.length)
    problems.push([`${chains.length} of ${workers.length} workers got their work`, nodeAttempt.end])
  return problems
}

function fanOutProblems(run: RunLog, nodeAttempt: NodeAttempt): Problem[] {
  const chains = chainsIn(run, nodeAttempt)
  const problems: Problem[] = []
  const at = (chain: Chain, phase: string) => chain.events.findLast(event => phaseOf(event) === phase)
  const first = nodeAttempt.events.find(
    event => event.type === 'node.dispatched' || phaseOf(event) === 'dispatch.failed',
  )
  let started = -1
  chains.forEach((chain, place) => {
    const began = chain.events[0] as LoggedEvent
    const isFirst = chain.again === undefined
    if (isFirst && first !== undefined && began.sequence > first.sequence)
      problems.push(['begins after others were started', began])
    const success = chain.events.find(event => phaseOf(event) === 'dispatch.succeeded')
    if (isFirst && success !== undefined && success.sequence < started)
      problems.push(['started before a worker named earlier', success])
    if (isFirst) started = Math.max(started, success?.sequence ?? -1)
    const harvested = at(chain, 'output.harvested')
    const open = chains
      .slice(0, place)
      .find(earlier => harvested && !isFinished(run, earlier, harvested.sequence) && !needsApproval(run, earlier))
    if (open !== undefined) problems.push([`merged before ${show(open.workerId)} is finished`, harvested])
  })
  return problems
}

const ENDS: readonly unknown[] = ['child.completed', 'child.failed', 'child.cancelled']
const STARTS: readonly unknown[] = ['dispatch.succeeded', 'dispatch.failed']

/** The same decision gives the same log, whoever is faster. A run that stops starts nobody any more. */
function endProblems(run: RunLog, nodeAttempt: NodeAttempt): Problem[] {
  if (isBefore(run, 3)) return []
  const chains = chainsIn(run, nodeAttempt)
  const problems: Problem[] = []
  const stopped = run.events.find(({ type }) => type === 'assay.stop.requested')?.sequence ?? Number.POSITIVE_INFINITY
  const endOf = (chain: Chain) => chain.events.find(event => ENDS.includes(phaseOf(event)))
  const isStarted = (chain: Chain, before: number) =>
    isLost(run, chain, before) || chain.events.some(event => STARTS.includes(phaseOf(event)) && event.sequence < before)
  chains.forEach((chain, place) => {
    const ended = endOf(chain)
    if (ended === undefined) return
    const earlier = chains.slice(0, place)
    if (ended.sequence > stopped) {
      const late = earlier.find(other => (endOf(other)?.sequence ?? -1) > ended.sequence)
      if (late !== undefined) problems.push([`told to have ended before ${show(late.workerId)}`, ended])
      return
    }
    const idle = chains.find(other => other.again === undefined && !isStarted(other, ended.sequence))
    if (idle !== undefined) problems.push([`told to have ended before ${show(idle.workerId)} was started`, ended])
    const open = earlier.find(other => !isFinished(run, other, ended.sequence))
    if (open !== undefined) problems.push([`told to have ended before ${show(open.workerId)} is finished`, ended])
  })
  return problems
}

function startProblems(run: RunLog, nodeAttempt: NodeAttempt, assay: boolean): Problem[] {
  const problems: Problem[] = []
  const dispatched = eventsOfType(nodeAttempt, 'node.dispatched')
  const succeeded = eventsOfType(nodeAttempt, 'core.workflowChain.event').filter(
    event => phaseOf(event) === 'dispatch.succeeded',
  )
  for (const success of succeeded) {
    const same = dispatched.find(event => event.payload.childRunId === success.payload.childRunId)
    if (same === undefined || (assay && same.sequence > success.sequence))
      problems.push(['a child is started that was not dispatched', success])
    else if (same.payload.childWorkflowId !== success.payload.workerId)
      problems.push([`${show(success.payload.workerId)} runs ${show(same.payload.childWorkflowId)}`, success])
  }
  for (const event of dispatched) {
    const known = succeeded.some(success => success.payload.childRunId === event.payload.childRunId)
    if (!known && hasCompleted(nodeAttempt) && event.sequence > lastForkSequence(run.events))
      problems.push(['a dispatched child is no worker’s', event])
    if (!known && assay && isOvertaken(run, event)) problems.push(['dispatched, and nothing succeeded', event])
  }
  return problems
}

/** In Assay both are written together; only an agent's hand-off may stand between, or a branch be cut there. */
function isOvertaken(run: RunLog, event: LoggedEvent): boolean {
  let next = event.sequence + 1
  while (run.events[next]?.type === 'agent.handoff') next += 1
  return next < run.events.length && run.events[next]?.type !== 'assay.run.forked'
}
