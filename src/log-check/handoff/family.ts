import { eachRun, isRetold, type Log, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, show, text } from '../json.js'
import { TERMINAL, walk } from '../walk.js'
import { isPeerRun } from './peer-names.js'

/** Parents and their children: two logs that must tell one story. */
export const familyRules: readonly Rule[] = [
  {
    id: 'L21',
    title: 'A dispatched child exists, runs the named workflow, and names this run and node as its parent',
    source: 'core §9.2',
    checks: eachRun((run, say, log) => {
      for (const event of dispatches(run)) {
        const child = childOf(log, event)
        if (child === undefined) {
          if (log.input.complete === true && !isPeerRun(event.payload.childRunId))
            say(`child ${String(event.payload.childRunId)} does not exist`, event)
          continue
        }
        for (const problem of parentageProblems(run, event, child)) say(problem, event)
      }
    }),
  },
  {
    id: 'L21a',
    title: 'A child is dispatched exactly once, by the parent it names',
    source: 'core §9.2',
    checks(log, report) {
      const dispatchedBy = new Map<string, RunLog>()
      for (const run of log.runs) {
        for (const event of dispatches(run)) {
          const childRunId = String(event.payload.childRunId)
          if (dispatchedBy.has(childRunId)) report(run, `child ${childRunId} is dispatched twice`, event)
          dispatchedBy.set(childRunId, run)
        }
      }
      for (const run of log.runs) {
        const parent = run.parentRunId === undefined ? undefined : log.byId.get(run.parentRunId)
        if (parent !== undefined && dispatchedBy.get(run.run.runId) !== parent)
          report(run, 'its parent never dispatched it')
        if (run.parentRunId !== undefined && parent === undefined && log.input.complete === true) {
          report(run, `its parent ${run.parentRunId} does not exist`)
        }
      }
    },
  },
  {
    id: 'L21b',
    title:
      'A sub-workflow node completes with its child’s id and the status the child ended with; what a person refused to merge counts as failed',
    source: 'core §9.2, agents R-ATTEST-4',
    checks: eachRun((run, say, log) => {
      walk(run, ({ event, node }) => {
        if (event.type !== 'node.completed' || node?.childRunId === undefined || !isSubWorkflow(run, event)) return
        const outputs = event.payload.outputs
        if (get(outputs, 'childRunId') !== node.childRunId) say(`outputs.childRunId is not ${node.childRunId}`, event)
        const child = log.byId.get(node.childRunId)
        const end = child?.events.find(candidate => TERMINAL.includes(candidate.type))
        const ended = end === undefined ? 'still running' : end.type.slice('run.'.length)
        const told = text(get(outputs, 'childStatus')) ?? 'missing'
        // What a gate withheld counts as failed, however the child ended.
        if (told === 'failed' && isWithheld(run, event)) return
        const due = isMergeRefused(run, node.startedBy, event) ? 'failed' : ended
        if (child !== undefined && told !== due) say(`outputs.childStatus is ${told}, the child is ${due}`, event)
      })
    }),
  },
  {
    id: 'L21c',
    title: 'A child does not start before the node that dispatched it',
    source: 'core §9.2',
    checks: eachRun((run, say, log) => {
      const skew = log.input.limits?.clockSkewMs ?? 0
      walk(run, ({ event, node }) => {
        const first = isDispatch(event) && !isRetold(run, event) ? childOf(log, event)?.events[0] : undefined
        if (first === undefined || node?.startedBy === undefined) return
        if (first.at < node.startedBy.at - skew) say('the child started before its parent’s node', event)
      })
    }),
  },
  {
    id: 'L21d',
    title: 'A cancellation names a parent run exactly when it came from the parent, and then the right one',
    source: 'core §5.4',
    checks: eachRun((run, say) => {
      for (const event of run.events.filter(isCancellation)) {
        const parent = text(event.payload.parentRunId)
        const cascaded = event.payload.reason === 'parent-cancelled'
        if ((parent !== undefined) !== cascaded)
          say(`parentRunId ${parent ?? 'missing'} with reason ${String(event.payload.reason)}`, event)
        else if (parent !== undefined && parent !== (run.parentRunId ?? run.started.parentRunId))
          say(`${parent} is not the parent of this run`, event)
      }
    }),
  },
  {
    id: 'L21e',
    title: 'A sub-workflow node dispatches one child per attempt',
    source: 'core §9.2',
    checks: eachRun((run, say) => {
      walk(run, ({ event, node }) => {
        if (!isDispatch(event) || node?.childRunId === undefined || !isSubWorkflow(run, event)) return
        say(`${event.node} already waits for ${node.childRunId}`, event)
      })
    }),
  },
  {
    id: 'L21f',
    title:
      'A parent tells what its child waits for as it changes: of the child its node was handed to, and nothing else',
    source: 'core §7.7',
    assayOnly: true,
    checks: eachRun((run, say) => {
      walk(run, ({ event, nodes }) => {
        if (event.type !== 'assay.child.status') return
        const node = nodes.get(event.node ?? '')
        const status = text(event.payload.status) ?? 'missing'
        const before = node?.childStatuses.get(String(event.payload.childRunId))
        if (before === undefined) say(`${event.node} does not wait for ${String(event.payload.childRunId)}`, event)
        else if (status === before) say(`the child is still ${status}`, event)
      })
    }),
  },
  {
    id: 'L32',
    title: 'A run, its first event, and its children belong to one tenant',
    source: 'core §9.2',
    checks: eachRun((run, say, log) => {
      const told = text(get(run.started.owner, 'tenant'))
      if (told !== undefined && run.tenant !== undefined && told !== run.tenant) {
        say(`the run belongs to ${run.tenant}, run.started says ${told}`, run.events[0])
      }
      const parent = run.parentRunId === undefined ? undefined : log.byId.get(run.parentRunId)
      if (parent?.tenant === undefined || run.tenant === undefined || parent.tenant === run.tenant) return
      say(`tenant ${run.tenant}, but its parent belongs to ${parent.tenant}`)
    }),
  },
  {
    id: 'L21u',
    title: 'A run has the trace of its parent, from the same caller on',
    source: 'core §11.1, agents §8',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      const parent = run.parentRunId === undefined ? undefined : log.byId.get(run.parentRunId)
      // A parent of before traces were recorded has none to hand on.
      const wanted = parent && traceOf(parent)
      if (wanted !== undefined && traceOf(run) !== wanted)
        say(`its trace is ${show(traceOf(run))}, its parent's ${show(wanted)}`)
    }),
  },
]

/** Children of its own, workers and verifiers; those that a fork retells are its source's. */
const dispatches = (run: RunLog): LoggedEvent[] =>
  run.events.filter(event => (isDispatch(event) || startsVerifier(event)) && !isRetold(run, event))

const isDispatch = (event: LoggedEvent): boolean => event.type === 'node.dispatched'

const startsVerifier = (event: LoggedEvent): boolean => event.type === 'assay.verifier.started'

const isCancellation = (event: LoggedEvent): boolean =>
  event.type === 'run.cancelled' || (event.type === 'assay.stop.requested' && event.payload.outcome === 'cancelled')

const childOf = (log: Log, event: LoggedEvent): RunLog | undefined => log.byId.get(String(event.payload.childRunId))

const isWithheld = (run: RunLog, { node, sequence }: LoggedEvent): boolean =>
  run.events.some(event => event.type === 'assay.result.withheld' && event.node === node && event.sequence < sequence)

/** In this attempt of the node a person, or the end of the time for an answer, has kept out what the child brought. */
const isMergeRefused = (run: RunLog, start: LoggedEvent | undefined, end: LoggedEvent): boolean =>
  run.events
    .slice(start?.sequence, end.sequence)
    .some(
      ({ type, node, payload }) => type === 'interrupt.resolved' && node === end.node && payload.outcome === 'rejected',
    )

/** Other node types may dispatch several children and answer otherwise; without a definition we cannot tell. */
function isSubWorkflow(run: RunLog, event: LoggedEvent): boolean {
  const declared = run.graph?.nodes.get(event.node ?? '')
  return declared?.typeId === 'core.subWorkflow' && get(declared.config, 'waitForCompletion') !== false
}

function parentageProblems(run: RunLog, event: LoggedEvent, child: RunLog): string[] {
  const problems: string[] = []
  if (child.parentRunId !== run.run.runId)
    problems.push(`child ${child.run.runId} names parent ${child.parentRunId ?? 'none'}`)
  if (child.parentNodeId !== event.node)
    problems.push(`child ${child.run.runId} names node ${child.parentNodeId ?? 'none'}`)
  const toldParent = text(child.started.parentRunId)
  if (toldParent !== undefined && toldParent !== run.run.runId) {
    problems.push(`run.started of child ${child.run.runId} names parent ${toldParent}`)
  }
  const workflow = text(child.started.workflowId)
  const dispatched = startsVerifier(event) ? 'assay-verifier' : String(event.payload.childWorkflowId)
  if (workflow !== undefined && workflow !== dispatched && !workflow.startsWith(ownWorkflowOf(dispatched))) {
    problems.push(`child ${child.run.runId} runs ${workflow}, not ${dispatched}`)
  }
  return problems
}

/** An agent that is handed work runs in a workflow of the host's own; its name may have a hash at the end. */
const ownWorkflowOf = (agentId: string): string =>
  `assay-agent-${agentId.toLowerCase().replaceAll('.', '-')}`.slice(0, 100)

/** A branch has one of its own. */
const traceOf = ({ started, events }: RunLog): unknown =>
  events.findLast(({ type, payload }) => type === 'assay.run.forked' && payload.traceparent !== undefined)?.payload
    .traceparent ?? started.traceparent
