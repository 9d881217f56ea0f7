import { eachRun, isRetold, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { show } from '../json.js'
import {
  askedIn,
  causeOf,
  DISPATCH,
  eventsById,
  eventsOfType,
  isDueToForeign,
  type NodeAttempt,
  nodeAttemptOf,
  nodeAttemptsOfType,
  SUB_WORKFLOW,
} from '../node/node-attempts.js'
import { turnBefore } from '../orchestrator/turns.js'
import { isUnattended, type Link, linksOf, phaseOf } from './chains.js'

/** Handing work to a worker, step by step. */
export const handoffRules: readonly Rule[] = [
  {
    id: 'L21g',
    title:
      'A worker’s hand-off begins, succeeds or fails, its child ends, and what it brought is harvested: in this order, of one worker and one node, told by the run that hands out',
    source: 'agents §4, R-HANDOFF-1',
    checks: eachRun((run, say) => {
      for (const link of linksOf(run)) for (const problem of orderProblems(run, link)) say(problem, link.event)
    }),
  },
  {
    id: 'L21h',
    title:
      'Each step of a hand-off is caused by the step before it, the first by the decision that names the worker, or by the start of a sub-workflow node',
    source: 'agents R-HANDOFF-3',
    checks: eachRun((run, say, log) => {
      for (const link of linksOf(run)) {
        const problem = causeProblem(run, link, log.input.dialect !== 'openwop')
        if (problem !== undefined) say(problem, link.event)
      }
    }),
  },
  {
    id: 'L21i',
    title:
      'A hand-off names its child from dispatch.succeeded on, and the same one; it tells an error when it fails, what was harvested when it was, and neither otherwise',
    source: 'agents R-HANDOFF-8, R-HANDOFF-10',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      for (const link of linksOf(run)) for (const problem of fieldProblems(link, assay)) say(problem, link.event)
    }),
  },
  {
    id: 'L21j',
    title: 'A hand-off is told by a node that hands work out, while it does',
    source: 'agents §4',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const { event, chain } of linksOf(run)) {
        if (chain.nodeAttempt === undefined || ![DISPATCH, SUB_WORKFLOW].includes(chain.nodeAttempt.typeId))
          say(`${event.node ?? 'nobody'} hands out no work now`, event)
        else if (nodeAttemptOf(run, event) !== chain.nodeAttempt && !isUnattended(run, chain))
          say(`${event.node} has settled`, event)
      }
    }),
  },
  {
    id: 'L21k',
    title:
      'What a node that hands out work tells besides is caused by the decision it carries out, or by its own start',
    source: 'agents R-ORCH-16',
    checks: eachRun((run, say, log) => {
      // Hosts without the execution model tell no hand-offs and no decisions.
      const strict = log.input.dialect !== 'openwop'
      for (const nodeAttempt of nodeAttemptsOfType(run, DISPATCH, ...(strict ? [SUB_WORKFLOW] : []))) {
        const cause = giverOf(run, nodeAttempt)
        if (cause === undefined) continue
        for (const event of toldBesides(nodeAttempt)) {
          if (causeOf(event) !== cause.id) say(`${event.type} is not caused by ${cause.type}`, event)
        }
      }
    }),
  },
]

const NEXT: { readonly [phase: string]: readonly string[] } = {
  '': ['dispatch.began'],
  'dispatch.began': ['dispatch.succeeded', 'dispatch.failed'],
  'dispatch.succeeded': ['child.completed', 'child.failed', 'child.cancelled'],
  'child.completed': ['output.harvested'],
}

function orderProblems(run: RunLog, { event, before, chain }: Link): string[] {
  const problems: string[] = []
  const phase = phaseOf(event) ?? 'nothing'
  const last = phaseOf(before) ?? ''
  if (!(NEXT[last] ?? []).includes(phase))
    problems.push(`${phase} of a worker ${last === '' ? 'nobody handed work to' : `after ${last}`}`)
  if (event.payload.workerId !== chain.workerId)
    problems.push(`${show(event.payload.workerId)} goes on with the work of ${show(chain.workerId)}`)
  if (event.node !== chain.events[0]?.node) problems.push(`${event.node} goes on for ${chain.events[0]?.node}`)
  if (!isRetold(run, event) && event.payload.parentRunId !== run.run.runId)
    problems.push(`parentRunId is ${show(event.payload.parentRunId)}`)
  return problems
}

function causeProblem(run: RunLog, { event, before, chain }: Link, assay: boolean): string | undefined {
  if (before === undefined && isDueToForeign(event)) return undefined
  if (before !== undefined)
    return causeOf(event) === before.id ? undefined : `${phaseOf(event)} is not caused by ${phaseOf(before)}`
  if (chain.nodeAttempt?.typeId === SUB_WORKFLOW)
    return !assay || causeOf(event) === chain.nodeAttempt.start.id ? undefined : 'not caused by the start of its node'
  const cause = eventsById(run).get(causeOf(event) ?? '')
  if (cause?.type !== 'runOrchestrator.decided') return `caused by ${cause?.type ?? 'nothing'}, not by a decision`
  const turn = chain.nodeAttempt === undefined ? undefined : turnBefore(run, chain.nodeAttempt.start)
  return turn?.decided === undefined || turn.decided === cause ? undefined : 'caused by another decision'
}

const FAILURES: readonly (string | undefined)[] = ['dispatch.failed', 'child.failed', 'child.cancelled']
const CHILDLESS: readonly (string | undefined)[] = ['dispatch.began', 'dispatch.failed']

function fieldProblems({ event, before }: Link, assay: boolean): string[] {
  const phase = phaseOf(event)
  const { childRunId, error, harvestedKeys, attestation } = event.payload
  const problems: string[] = []
  if (CHILDLESS.includes(phase) !== (childRunId === undefined)) problems.push(`${phase} with child ${show(childRunId)}`)
  const known = before?.payload.childRunId
  if (known !== undefined && childRunId !== known)
    problems.push(`the child was ${show(known)}, now ${show(childRunId)}`)
  if (FAILURES.includes(phase) !== (error !== undefined)) problems.push(`${phase} with error ${show(error)}`)
  const harvested = phase === 'output.harvested'
  if (!harvested && (harvestedKeys ?? attestation) !== undefined) problems.push(`${phase} harvests nothing`)
  if (harvested && assay && harvestedKeys === undefined) problems.push('harvested without harvestedKeys')
  return problems
}

/** The decision that a dispatch carries out; the start of a sub-workflow node. */
const giverOf = (run: RunLog, nodeAttempt: NodeAttempt): LoggedEvent | undefined =>
  nodeAttempt.typeId === SUB_WORKFLOW ? nodeAttempt.start : turnBefore(run, nodeAttempt.start)?.decided

/** After an answer the answer may be the cause instead. */
function toldBesides(nodeAttempt: NodeAttempt): LoggedEvent[] {
  const first = askedIn(nodeAttempt)[0]?.request.sequence ?? Number.POSITIVE_INFINITY
  return eventsOfType(nodeAttempt, 'node.dispatched', 'agent.handoff', 'variable.changed', 'node.completed').filter(
    event => event.sequence < first || event.type === 'node.dispatched',
  )
}
