import {
  type Draft,
  type DraftEvent,
  type DraftFork,
  type DraftRun,
  firstEvent,
  insert,
  isOwn,
  type Mutation,
  mutation,
  ofType,
  remove,
  runMutation,
  type Spot,
} from '../draft.js'

const isFork = (run: DraftRun): boolean => run.row.fork !== null
/** A branch that shares nothing with its source begins as a run of its own. */
const isBeginning = ({ row: { fork } }: DraftRun): boolean => fork?.mode === 'branch' && fork.fromSeq === 0
const isCutFork = (run: DraftRun): boolean => isFork(run) && !isBeginning(run)
const isReplay = (run: DraftRun): boolean => run.row.fork?.mode === 'replay'
const isShared = (spot: Spot): boolean => !isOwn(spot)
const cuts = (spot: Spot): boolean => ofType('assay.run.forked')(spot) && isOwn(spot) && !isReplay(spot.run)
const differs = (spot: Spot): boolean => ofType('replay.diverged')(spot) && isOwn(spot)
const forkOf = (run: DraftRun): DraftFork => run.row.fork as DraftFork

/** An event that a replay has told as its source did. */
const isRetold = ({ run, event, at }: Spot): boolean =>
  isReplay(run) &&
  at >= forkOf(run).fromSeq &&
  at < forkOf(run).sourceLength &&
  !run.events.slice(forkOf(run).fromSeq, at).some(other => other.type === 'replay.diverged') &&
  event.type !== 'replay.diverged' &&
  !isEnding(event)

const isEnding = ({ type }: DraftEvent): boolean => type === 'node.cancelled' || type.startsWith('run.')

/** Changes an event that a fork shares with its source. */
const altered = (title: string, change: (event: DraftEvent) => void, fits = isShared): Mutation =>
  mutation('L29', title, fits, ({ event }) => change(event))

const DIVERGED = {
  sourceRunId: 'run_1',
  atSequence: 1,
  originalEventId: 'a',
  replayEventId: 'b',
  divergenceKind: 'output',
  divergencePoint: 'node.started',
}

/** A remark that names the place it is put at. */
function diverge(run: DraftRun, at: number, draft: Draft): void {
  const source = sourceOf(run, draft)
  const names = { originalEventId: source?.events[at]?.eventId, replayEventId: run.events[at]?.eventId }
  insert(run, at, 'replay.diverged', null, { ...DIVERGED, sourceRunId: source?.runId, atSequence: at, ...names })
}

const sourceOf = (run: DraftRun, draft: Draft): DraftRun | undefined =>
  draft.runs.find(other => other.runId === run.row.fork?.sourceRunId)

/** Misstates a field of the remark about a difference. */
const misstated = (field: string, value: unknown): Mutation =>
  mutation('L29c', `a difference with another ${field}`, differs, ({ event }) => {
    event.payload[field] = value
  })

export const FORK_MUTATIONS: readonly Mutation[] = [
  altered('a shared event of another type', event => {
    event.type = 'log.appended'
  }),
  altered('a shared event of another node', event => {
    event.nodeId = 'other'
  }),
  altered('a shared event that says more', event => {
    event.payload.more = true
  }),
  altered('a shared event at another time', event => {
    event.at += 1
  }),
  altered(
    'a shared event without its cause',
    event => {
      event.causationId = null
    },
    spot => isShared(spot) && spot.event.causationId !== null,
  ),
  altered('a shared event with another secret', event => {
    event.secret = { ...event.secret, more: true }
  }),
  altered('a shared event with another hash', event => {
    event.link.hash = 'other'
  }),
  mutation('L29', 'a source that was changed after the fork', isShared, ({ run, at }, draft) => {
    const original = sourceOf(run, draft)?.events[at]
    if (original !== undefined) original.payload.more = true
  }),
  runMutation(
    'L29',
    'a fork that lacks a shared event',
    run => (run.row.fork?.fromSeq ?? 0) > 0,
    run => {
      run.events.length = forkOf(run).fromSeq - 1
    },
  ),
  mutation('L29a', 'a branch that does not say it is one', cuts, ({ run, event }) => remove(run, event)),
  mutation('L29a', 'a branch of another run', cuts, ({ event }) => {
    event.payload.sourceRunId = 'run_other'
  }),
  mutation('L29a', 'a branch from another place', cuts, ({ event }) => {
    event.payload.fromSeq = Number(event.payload.fromSeq) + 1
  }),
  mutation('L29a', 'a branch that says it late', cuts, ({ run, at }) => {
    insert(run, at, 'log.appended', null, { level: 'info', message: 'early' })
  }),
  mutation('L29a', 'a branch that says it twice', cuts, ({ run, event, at }) => {
    insert(run, at + 1, event.type, null, event.payload)
  }),
  runMutation(
    'L29a',
    'a branch in a run that is none',
    run => !isFork(run),
    run => {
      insert(run, run.events.length, 'assay.run.forked', null, { sourceRunId: 'run_other', fromSeq: 1 })
    },
  ),
  runMutation(
    'L29a',
    'a cut in a branch from the very beginning',
    run => run.row.fork?.mode === 'branch' && forkOf(run).fromSeq === 0,
    run => {
      insert(run, 0, 'assay.run.forked', null, { sourceRunId: forkOf(run).sourceRunId, fromSeq: 0 })
    },
  ),
  mutation('L29a', 'a replay that branches where its source does not', isRetold, ({ run, at }) => {
    insert(run, at, 'assay.run.forked', null, { sourceRunId: 'run_other', fromSeq: at })
  }),
  mutation(
    'L26a',
    'a branch that goes beyond its own bound',
    spot => cuts(spot) && startsAfter(spot),
    ({ event }) => {
      event.payload.configurable = { recursionLimit: 1 }
    },
  ),
  mutation('L29b', 'a replay that says more', isRetold, ({ event }) => {
    event.payload.more = true
  }),
  mutation('L29b', 'a replay of another node', isRetold, ({ event }) => {
    event.nodeId = 'other'
  }),
  mutation('L29b', 'a replay of another type', isRetold, ({ event }) => {
    event.type = 'log.appended'
  }),
  mutation('L29b', 'a replay with something in between', isRetold, ({ run, at }) => {
    insert(run, at, 'log.appended', null, { level: 'info', message: 'between' })
  }),
  mutation(
    'L29b',
    'a replay that leaves something out',
    spot => isRetold(spot) && isFollowed(spot),
    ({ run, event }) => remove(run, event),
  ),
  mutation('L29b', 'a difference that is none', isRetold, ({ run, at }, draft) => diverge(run, at, draft)),
  mutation('L29b', 'a difference that is not told', differs, ({ run, event }) => remove(run, event)),
  runMutation(
    'L29b',
    'a difference from nothing',
    run => isReplay(run) && run.events.length > forkOf(run).sourceLength && !run.events.some(isRemark),
    (run, draft) => diverge(run, forkOf(run).sourceLength, draft),
  ),
  mutation('L29c', 'a difference told twice', differs, ({ run, event, at }) => {
    insert(run, at + 2, event.type, null, event.payload)
  }),
  runMutation(
    'L29c',
    'a difference in a run that replays nothing',
    run => !isReplay(run),
    run => {
      insert(run, run.events.length - 1, 'replay.diverged', null, DIVERGED)
    },
  ),
  mutation('L29c', 'a difference after which nothing comes', differs, ({ run, at }) => {
    run.events.length = at + 1
  }),
  misstated('sourceRunId', 'run_other'),
  misstated('atSequence', 0),
  misstated('originalEventId', 'other'),
  misstated('replayEventId', 'other'),
  mutation('L29c', 'a difference of another kind', differs, ({ event }) => {
    event.payload.divergenceKind = event.payload.divergenceKind === 'output' ? 'type-mismatch' : 'output'
  }),
  runMutation('L29d', 'a fork of another tenant', isFork, run => {
    run.tenant = 'mallory'
  }),
  runMutation('L29d', 'a fork of another workflow', isFork, run => {
    firstEvent(run).payload.workflowId = 'other'
  }),
  runMutation('L29d', 'a fork of another version of the workflow', isCutFork, run => {
    firstEvent(run).payload.workflowDigest = 'e'.repeat(64)
  }),
  runMutation('L29f', 'a branch from the beginning by another version, and nothing is changed', isBeginning, run => {
    firstEvent(run).payload.workflowDigest = 'e'.repeat(64)
  }),
  mutation('L29f', 'a branch by another definition, and nothing is changed', cuts, ({ event }) => {
    event.payload.workflowDigest = 'e'.repeat(64)
  }),
  mutation('L29f', 'a branch by another definition, and only a model is changed', cuts, ({ event }) => {
    Object.assign(event.payload, { workflowDigest: 'e'.repeat(64), changed: ['agents.local.test.agent.model'] })
  }),
  runMutation('L29d', 'a fork of nothing', isFork, (run, draft) => {
    draft.runs = draft.runs.filter(other => other.runId !== run.row.fork?.sourceRunId)
  }),
  runMutation('L29d', 'a fork of more than there was', isFork, (run, draft) => {
    forkOf(run).sourceLength = (sourceOf(run, draft)?.events.length ?? 0) + 1
  }),
  runMutation('L29d', 'a fork cut beyond the end', isFork, run => {
    forkOf(run).sourceLength = forkOf(run).fromSeq - 1
  }),
  runMutation('L29e', 'a replay that performs an effect', isReplay, run => {
    run.invocations.push({ id: 'x', nodeId: 'n0', ordinal: '0', provider: 'test:echo' })
  }),
  runMutation(
    'L29e',
    'a child of a replay',
    (run, draft) => isReplay(run) && draft.runs.some(other => other.row.parentRunId !== null),
    (run, draft) => {
      const child = draft.runs.find(other => other.row.parentRunId !== null)
      if (child !== undefined) child.row.parentRunId = run.runId
    },
  ),
  runMutation('L4a', 'a fork with a parent', isFork, run => {
    run.row.parentRunId = 'run_other'
  }),
]

/** By something else that is retold: nobody could miss one of two equal events. */
const isFollowed = (spot: Spot): boolean => {
  const next = spot.run.events[spot.at + 1]
  const said = ({ type, nodeId, payload }: DraftEvent) => JSON.stringify([type, nodeId, payload])
  return next !== undefined && isRetold({ ...spot, event: next, at: spot.at + 1 }) && said(next) !== said(spot.event)
}

const isRemark = (event: DraftEvent): boolean => event.type === 'replay.diverged' || event.type === 'assay.run.forked'

/** A second start, or a later one, comes after the cut. */
const startsAfter = ({ run, at }: Spot): boolean =>
  run.events
    .filter(event => event.type === 'node.started')
    .slice(1)
    .some(event => event.sequence > at)
