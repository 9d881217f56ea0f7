import {
  after,
  all,
  before,
  changed,
  type Draft,
  type DraftEvent,
  type DraftRun,
  firstEvent,
  insert,
  isOwn,
  lastEvent,
  lost,
  type Mutation,
  mutation,
  nextOf,
  nodeOf,
  ofType,
  remove,
  runMutation,
  type Spot,
  shift,
} from '../draft.js'
import { byDispatch, bySub, completesLater, toldPhase } from './handoffs.js'

type Config = Record<string, unknown> & { outputMapping?: object; outputAttestation?: { requireApproval?: boolean } }

const configOf = (run: DraftRun, id: string | null): Config => nodeOf(run, id)?.config ?? {}
const isGuarded = ({ run, event }: Spot): boolean =>
  configOf(run, event.nodeId).outputAttestation?.requireApproval === true
const unguarded = (spot: Spot): boolean => !isGuarded(spot)
const isParallel = ({ run, event }: Spot): boolean => configOf(run, event.nodeId).fanOutPolicy === 'parallel'
const workersOf = (event: DraftEvent) => (event.payload.decision as { nextWorkerIds?: string[] }).nextWorkerIds ?? []
/** A decision whose work was all done, as it was decided. */
const carriedOut = (spot: Spot): boolean =>
  ofType('runOrchestrator.decided')(spot) &&
  workersOf(spot.event).length > 0 &&
  nextOf(spot)?.type === 'node.completed' &&
  after(
    spot,
    ({ type, nodeId }) => type === 'runOrchestrator.decided' || (type === 'node.completed' && nodeId === 'hand'),
  )?.type === 'node.completed'
const outputsOf = (event: DraftEvent) =>
  event.payload.outputs as Record<string, unknown> & { workers: Record<string, unknown>[] }
const dispatched = (spot: Spot): boolean =>
  ofType('node.completed')(spot) && byDispatch(spot) && outputsOf(spot.event).workers.length > 0

/** Changes what a dispatch says when it completes. */
const completed = (title: string, change: (outputs: ReturnType<typeof outputsOf>) => void): Mutation =>
  changed('L21s', title, dispatched, event => change(outputsOf(event)))

const redecided = (
  title: string,
  fits: (workers: readonly string[]) => boolean,
  change: (workers: string[]) => void,
): Mutation =>
  changed(
    'L21l',
    title,
    spot => carriedOut(spot) && fits(workersOf(spot.event)),
    event => change(workersOf(event)),
  )

/** Told by these rules, and not stopped: a run that stops tells of its workers as it lets them go. */
const goesOn = ({ run }: Spot): boolean =>
  Number(firstEvent(run).payload.engineVersion) >= 3 && run.events.every(({ type }) => type !== 'assay.stop.requested')
/** The end of another worker of the same node. */
const endAfter = (spot: Spot): DraftEvent | undefined =>
  after(
    spot,
    ({ nodeId, payload }) =>
      nodeId === spot.event.nodeId &&
      payload.phase === 'child.completed' &&
      payload.workerId !== spot.event.payload.workerId,
  )
/** The next event of the same kind, told of another worker in the same attempt of the node. */
const nextWorker = (spot: Spot, phase: string): DraftEvent | undefined => {
  const next = after(
    spot,
    ({ payload, nodeId, type }) =>
      nodeId === spot.event.nodeId && (payload.phase === phase || type === 'node.started' || type === 'node.completed'),
  )
  return next?.payload.phase === phase ? next : undefined
}

export const WORKER_MUTATIONS: readonly Mutation[] = [
  redecided(
    'another worker than was decided',
    () => true,
    workers => workers.splice(0, 1, 'stranger'),
  ),
  redecided(
    'a worker that gets no work',
    () => true,
    workers => workers.push('stranger'),
  ),
  redecided(
    'a worker nobody decided on',
    workers => workers.length > 1,
    workers => workers.pop(),
  ),
  redecided(
    'workers in another order',
    workers => new Set(workers).size > 1 && workers[0] !== workers.at(-1),
    workers => workers.reverse(),
  ),
  mutation(
    'L21l',
    'another worker than a person decided on',
    spot =>
      ofType('interrupt.resolved')(spot) &&
      spot.event.nodeId === 'lead' &&
      spot.event.payload.kind !== 'low-confidence' &&
      answerOf(spot.event).editedArtifactData?.nextWorkerIds !== undefined &&
      after(spot, ({ payload }) => payload.phase === 'dispatch.began') !== undefined,
    ({ event }) => {
      Object.assign(answerOf(event).editedArtifactData ?? {}, { nextWorkerIds: ['stranger'] })
    },
  ),
  mutation(
    'L21l',
    'another sub-workflow than the node names',
    all(toldPhase('dispatch.began'), bySub),
    ({ run, event }) => {
      configOf(run, event.nodeId).workflowId = 'stranger'
    },
  ),
  lost('L21m', 'what is mapped and not harvested', all(toldPhase('output.harvested'), unguarded, completesLater)),
  mutation('L21m', 'what is harvested and not mapped', toldPhase('output.harvested'), ({ run, event }) => {
    const config = configOf(run, event.nodeId)
    delete config.outputMapping
    delete config.perWorkerOutputMappings
  }),
  changed('L21m', 'a name that is not mapped', toldPhase('output.harvested'), event => {
    event.payload.harvestedKeys = ['stranger']
  }),
  changed(
    'L21m',
    'names in another order',
    spot => toldPhase('output.harvested')(spot) && (spot.event.payload.harvestedKeys as unknown[]).length > 1,
    event => {
      ;(event.payload.harvestedKeys as unknown[]).reverse()
    },
  ),
  mutation(
    'L21m',
    'a mapping that is ignored',
    spot =>
      toldPhase('child.completed')(spot) && completesLater(spot) && nextWorker(spot, 'output.harvested') === undefined,
    ({ run, event }) => {
      const config = configOf(run, event.nodeId)
      delete config.outputAttestation
      delete config.perWorkerOutputMappings
      config.outputMapping = { result: 'answer' }
    },
  ),
  mutation(
    'L21n',
    'workers that work at once although they may not',
    all(toldPhase('dispatch.began'), isParallel, spot => nextWorker(spot, 'dispatch.began') !== undefined),
    ({ run, event }) => {
      delete configOf(run, event.nodeId).fanOutPolicy
    },
  ),
  mutation(
    'L21n',
    'a worker that gets work before another has finished',
    all(
      toldPhase('dispatch.succeeded'),
      spot => !isParallel(spot),
      spot => nextWorker(spot, 'dispatch.began') !== undefined,
    ),
    spot => {
      const next = nextWorker(spot, 'dispatch.began')
      if (next !== undefined) shift(spot.run, next, spot.at)
    },
  ),
  mutation(
    'L21o',
    'workers one after the other although they should work at once',
    all(
      toldPhase('dispatch.succeeded', 'dispatch.failed'),
      byDispatch,
      spot => !isParallel(spot),
      spot => nextWorker(spot, 'dispatch.began') !== undefined,
    ),
    ({ run, event }) => {
      configOf(run, event.nodeId).fanOutPolicy = 'parallel'
    },
  ),
  mutation(
    'L21o',
    'a worker that is started before one named earlier',
    all(toldPhase('dispatch.succeeded'), isParallel, spot => nextWorker(spot, 'dispatch.succeeded') !== undefined),
    spot => {
      const next = nextWorker(spot, 'dispatch.succeeded')
      if (next !== undefined) shift(spot.run, next, spot.at)
    },
  ),
  mutation(
    'L21o',
    'a worker that is merged before one named earlier',
    all(
      toldPhase('output.harvested'),
      isParallel,
      unguarded,
      spot => nextWorker(spot, 'output.harvested') !== undefined,
    ),
    spot => {
      const next = nextWorker(spot, 'output.harvested')
      if (next !== undefined) shift(spot.run, next, spot.at)
    },
  ),
  mutation(
    'L21o',
    'a worker that is told to have ended before another is started',
    all(toldPhase('dispatch.succeeded'), isParallel, goesOn, spot => endAfter(spot) !== undefined),
    spot => {
      const end = endAfter(spot)
      if (end !== undefined) shift(spot.run, end, spot.at)
    },
  ),
  mutation(
    'L21o',
    'a worker that is told to have ended before one named earlier',
    all(toldPhase('child.completed'), isParallel, goesOn, spot => nextWorker(spot, 'child.completed') !== undefined),
    spot => {
      const next = nextWorker(spot, 'child.completed')
      if (next !== undefined) shift(spot.run, next, spot.at)
    },
  ),
  lost('L21p', 'a worker that is still at work', all(toldPhase('child.failed', 'child.cancelled'), completesLater)),
  lost('L21p', 'a worker that was never started', all(toldPhase('dispatch.failed'), byDispatch, completesLater)),
  lost('L21q', 'a child that was not dispatched', ofType('node.dispatched')),
  changed('L21q', 'a child of another workflow', ofType('node.dispatched'), event => {
    event.payload.childWorkflowId = 'stranger'
  }),
  lost(
    'L21q',
    'a dispatched child that is no worker’s',
    all(toldPhase('dispatch.succeeded'), spot => spot.at + 1 < spot.run.events.length),
  ),
  mutation('L21q', 'a child that is dispatched late', toldPhase('dispatch.succeeded'), spot => {
    const { childRunId } = spot.event.payload
    const event = before(spot, ({ type, payload }) => type === 'node.dispatched' && payload.childRunId === childRunId)
    if (event !== undefined) shift(spot.run, event, spot.at)
  }),
  mutation('L21r', 'a child that ended otherwise', endsOwnChild, ({ event }, draft) => {
    const end = childOf(event, draft)
    if (end !== undefined) lastEvent(end).type = lastEvent(end).type === 'run.failed' ? 'run.cancelled' : 'run.failed'
  }),
  mutation('L21r', 'a child that has not ended', endsOwnChild, ({ event }, draft) => {
    const child = childOf(event, draft)
    if (child !== undefined) remove(child, lastEvent(child))
  }),
  changed(
    'L21r',
    'a child that completes and is said to fail',
    all(toldPhase('child.completed'), endsOwnChild),
    event => {
      Object.assign(event.payload, { phase: 'child.failed', error: { code: 'no', message: 'no' } })
    },
  ),
  completed('a worker that is not told of', outputs => outputs.workers.pop()),
  completed('a worker told of twice', outputs => outputs.workers.push({ ...outputs.workers[0] })),
  completed('a worker with another name', outputs => {
    Object.assign(outputs.workers[0] ?? {}, { workerId: 'stranger' })
  }),
  completed('a worker with another child', outputs => {
    Object.assign(outputs.workers[0] ?? {}, { childRunId: 'run_other' })
  }),
  completed('a worker of which another end is told', outputs => {
    const [worker] = outputs.workers
    if (worker !== undefined) worker.status = worker.status === 'cancelled' ? 'completed' : 'cancelled'
  }),
  completed('another end of the last worker', outputs => {
    outputs.childStatus = outputs.childStatus === 'cancelled' ? 'completed' : 'cancelled'
  }),
  completed('another child of the last worker', outputs => {
    outputs.childRunId = 'run_other'
  }),
  mutation('L21t', 'a merge that nobody accepted', all(toldPhase('output.harvested'), byDispatch, unguarded), spot => {
    configOf(spot.run, spot.event.nodeId).outputAttestation = { requireApproval: true }
  }),
  mutation(
    'L21t',
    'a merge of a sub-workflow that nobody accepted',
    all(ofType('variable.changed'), bySub, unguarded),
    spot => {
      configOf(spot.run, spot.event.nodeId).outputAttestation = { requireApproval: true }
    },
  ),
  mutation('L21t', 'a merge that was refused', acceptsMerge, ({ event }) => {
    Object.assign(answerOf(event), { action: 'reject' })
    event.payload.outcome = 'rejected'
  }),
  mutation('L21t', 'a child that is asked about again and again', asksToMerge, ({ run, event, at }) => {
    for (let again = 0; again < 4; again++)
      insert(run, at, event.type, event.nodeId, { ...event.payload, interruptId: `i${again}` })
  }),
  runMutation(
    'L21l',
    'a decision of which nothing is told',
    run => run.events.some((event, at) => dispatched({ run, event, at })),
    run => {
      for (const event of run.events.filter((other, at) => toldPhase()({ run, event: other, at }))) remove(run, event)
    },
  ),
]

type AnswerValue = { action?: string; editedArtifactData?: { nextWorkerIds?: string[] } }

function answerOf({ payload, secret }: DraftEvent): AnswerValue {
  const value = (secret?.resumeValue ?? payload.resumeValue) as AnswerValue | null
  return typeof value === 'object' && value !== null ? value : {}
}

const childOf = ({ payload }: DraftEvent, draft: Draft): DraftRun | undefined =>
  draft.runs.find(run => run.runId === payload.childRunId)

function endsOwnChild(spot: Spot): boolean {
  const own = isOwn(spot) && spot.run.row.fork?.mode !== 'replay'
  return own && toldPhase('child.completed', 'child.failed', 'child.cancelled')(spot)
}

function acceptsMerge(spot: Spot): boolean {
  if (!ofType('interrupt.resolved')(spot) || !(byDispatch(spot) || bySub(spot))) return false
  if (!['accept', 'edit-accept'].includes(answerOf(spot.event).action ?? '')) return false
  const next = spot.run.events[spot.at + 3]
  return next?.nodeId === spot.event.nodeId && next.type === 'variable.changed' && mergesMore(spot)
}

/** The dispatch harvests what was accepted, and nothing else was. */
function mergesMore(spot: Spot): boolean {
  const answers = spot.run.events.filter(
    ({ type, nodeId }) => type === 'interrupt.resolved' && nodeId === spot.event.nodeId,
  )
  return (
    answers.length === 1 &&
    (bySub(spot) || after(spot, ({ payload }) => payload.phase === 'output.harvested') !== undefined)
  )
}

function asksToMerge(spot: Spot): boolean {
  return ofType('interrupt.requested')(spot) && (byDispatch(spot) || bySub(spot))
}
