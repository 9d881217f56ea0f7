import {
  type DraftEvent,
  insert,
  isOwn,
  type Mutation,
  mutation,
  ofType,
  repeat,
  runMutation,
  type Spot,
  setsField,
} from '../draft.js'

const diverges = (spot: Spot): boolean => ofType('replay.divergedAtRefusal')(spot) && isOwn(spot)
const substitutes = ofType('model.capability.substituted')
const lacks = ofType('model.capability.insufficient')

/** Gives the failure that follows another code. */
const otherwise = (type: string) => (spot: Spot) => {
  const failed = spot.run.events.slice(spot.at).find(event => event.type === type)
  if (failed !== undefined) failed.payload.error = { code: 'effect_failed', message: 'no' }
}

export const REFUSAL_MUTATIONS: readonly Mutation[] = [
  mutation('L29g', 'a refusal that is told twice', diverges, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation('L29g', 'a refusal where there was one', diverges, ({ event }) => {
    event.payload.originalEnvelopeKind = event.payload.replayEnvelopeKind
  }),
  setsField('L29g', 'a refusal elsewhere', diverges, 'atSequence', 1),
  setsField('L29g', 'a refusal of another event', diverges, 'originalEventId', 'run-other:1'),
  setsField('L29g', 'a refusal of another node', diverges, 'nodeId', 'then'),
  setsField('L29g', 'a refusal of another source', diverges, 'sourceRunId', 'run-other'),
  mutation('L29g', 'a refusal whose node fails otherwise', diverges, otherwise('node.failed')),
  mutation('L29g', 'a refusal whose run fails otherwise', diverges, otherwise('run.failed')),
  mutation('L29g', 'a refusal after which a node begins', diverges, ({ run, at }) => {
    insert(run, at + 1, 'node.started', 'then', { nodeId: 'then', typeId: 'core.noop', attempt: 0 })
  }),
  mutation('L29g', 'a refusal that is told as a difference, too', diverges, ({ run, event, at }) => {
    const { sourceRunId } = event.payload
    insert(run, at, 'replay.diverged', null, { sourceRunId, atSequence: at })
  }),
  runMutation(
    'L29g',
    'a refusal in a run that replays nothing',
    run => run.row.fork === null && run.events.length > 4,
    run => {
      const { nodeId } = run.events[1] as DraftEvent
      const kinds = { originalEnvelopeKind: 'valid', replayEnvelopeKind: 'refusal' }
      const names = { sourceRunId: run.runId, atSequence: 3, originalEventId: 'x', nodeId }
      insert(run, 3, 'replay.divergedAtRefusal', nodeId ?? null, { ...names, ...kinds })
    },
  ),
  setsField('L23t', 'a substitute that lacks nothing', substitutes, 'missingCapabilities', []),
  setsField('L23t', 'a substitute that is not used', substitutes, 'fallbackModel', 'other'),
  mutation('L23t', 'a substitute for itself', substitutes, ({ event }) => {
    event.payload.originalProvider = event.payload.fallbackProvider
    event.payload.originalModel = event.payload.fallbackModel
  }),
  mutation('L23t', 'a substitute that does not begin at once', substitutes, ({ run, event, at }) => {
    insert(run, at + 1, 'log.appended', event.nodeId, { level: 'info', message: 'first' })
  }),
  setsField('L23t', 'a model that lacks nothing', lacks, 'missingCapabilities', []),
  mutation('L23t', 'a model that lacks something and fails otherwise', lacks, otherwise('node.failed')),
  mutation('L23t', 'a model that lacks something and begins', lacks, ({ run, event, at }) => {
    insert(run, at + 1, 'agent.invocation.started', event.nodeId, {
      invocationId: 'x',
      agentId: 'x',
      resolvedProvider: 'mock',
      resolvedModel: 'mini',
    })
  }),
]
