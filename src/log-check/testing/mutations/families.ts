import {
  type DraftRun,
  dispatches,
  firstEvent,
  has,
  insert,
  lastEvent,
  type Mutation,
  mutation,
  ofType,
  remove,
  runMutation,
  type Spot,
  typeOf,
} from '../draft.js'

const isChild = (run: DraftRun): boolean => run.row.parentRunId !== null

const isTraced = (run: DraftRun): boolean => isChild(run) && firstEvent(run).payload.traceparent !== undefined

const OTHER_TRACE = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`

export const FAMILY_MUTATIONS: readonly Mutation[] = [
  runMutation('L21', 'a child that does not exist', isChild, (run, draft) => {
    draft.runs = draft.runs.filter(other => other !== run)
  }),
  runMutation('L21', 'a child with another parent', isChild, run => {
    run.row.parentRunId = 'run_other'
    firstEvent(run).payload.parentRunId = 'run_other'
  }),
  runMutation('L21', 'a child whose first event names another parent', isChild, run => {
    firstEvent(run).payload.parentRunId = 'run_other'
  }),
  runMutation('L21', 'a child of another node', isChild, run => {
    run.row.parentNodeId = 'other'
    firstEvent(run).payload.parentNodeId = 'other'
  }),
  runMutation('L21', 'a child of another workflow', isChild, run => {
    firstEvent(run).payload.workflowId = 'other'
  }),
  mutation('L21a', 'a child dispatched twice', dispatches, ({ run, event, at }) => {
    insert(run, at + 1, 'node.dispatched', event.nodeId, event.payload)
  }),
  mutation('L21a', 'a child that nobody dispatched', dispatches, ({ run, event }) => remove(run, event)),
  runMutation('L21a', 'a child whose parent does not exist', isChild, run => {
    run.row.parentRunId = 'run_other'
    firstEvent(run).payload.parentRunId = 'run_other'
  }),
  mutation('L21b', 'another status than the child’s', completesSub, ({ event }) => {
    const outputs = childOutputs(event.payload) ?? {}
    outputs.childStatus = outputs.childStatus === 'completed' ? 'failed' : 'completed'
  }),
  mutation('L21b', 'no status of the child', completesSub, ({ event }) => {
    delete childOutputs(event.payload)?.childStatus
  }),
  mutation('L21b', 'another child than was dispatched', completesSub, ({ event }) => {
    Object.assign(childOutputs(event.payload) ?? {}, { childRunId: 'run_other' })
  }),
  mutation('L21b', 'a completed node whose child still runs', completesSub, ({ event }, draft) => {
    const child = draft.runs.find(run => run.runId === childOutputs(event.payload)?.childRunId)
    if (child !== undefined) remove(child, lastEvent(child))
  }),
  runMutation('L21u', 'a child with a trace of its own', isTraced, run => {
    firstEvent(run).payload.traceparent = OTHER_TRACE
  }),
  runMutation('L21u', 'a child without a trace', isTraced, run => {
    delete firstEvent(run).payload.traceparent
  }),
  runMutation('L21c', 'a child that starts before its parent’s node', isChild, run => {
    for (const event of run.events) event.at -= 1_000_000
  }),
  mutation(
    'L21d',
    'a parent named by a cancellation from outside',
    spot => ofType('run.cancelled')(spot) && spot.event.payload.parentRunId === undefined,
    ({ event }) => {
      event.payload.parentRunId = 'run_1'
    },
  ),
  mutation('L21d', 'no parent named by a cascade', isCascade, ({ event }) => {
    delete event.payload.parentRunId
  }),
  mutation('L21d', 'another parent named by a cascade', isCascade, ({ event }) => {
    event.payload.parentRunId = 'run_other'
  }),
  mutation(
    'L21e',
    'a second child of one attempt',
    ({ run, event }) => event.type === 'node.dispatched' && typeOf(run, event.nodeId) === 'core.subWorkflow',
    ({ run, event, at }) => {
      insert(run, at + 1, 'node.dispatched', event.nodeId, { ...event.payload, childRunId: 'run_other' })
    },
  ),
]

function isCascade(spot: Spot): boolean {
  return ofType('run.cancelled', 'assay.stop.requested')(spot) && spot.event.payload.reason === 'parent-cancelled'
}

function completesSub({ run, event }: Spot): boolean {
  const isSub = typeOf(run, event.nodeId) === 'core.subWorkflow' && !has(run, 'assay.run.forked')
  return isSub && childOutputs(event.payload) !== undefined
}

const childOutputs = (payload: Record<string, unknown> | undefined): Record<string, unknown> | undefined => {
  const outputs = payload?.outputs as Record<string, unknown> | undefined
  return outputs?.childRunId === undefined ? undefined : outputs
}
