import { RENDERED, VERIFICATION_STARTED } from '../../verification/verification-attempts.js'
import {
  after,
  all,
  before,
  changed,
  type Draft,
  type DraftEvent,
  type DraftRun,
  firstEvent,
  isOwn,
  lastEvent,
  lost,
  type Mutation,
  mutation,
  ofType,
  repeat,
  type Spot,
  setsField,
  shift,
  uncaused,
} from '../draft.js'
import { raised, verificationStartOf } from './verdicts.js'

const HELD = 'assay.verification.held'
const RESUMED = 'assay.verification.resumed'
const BEGAN = 'assay.verifier.began'
const STARTED = 'assay.verifier.started'
const ENDED = 'assay.verifier.ended'

const votes = (...wanted: string[]) => all(ofType(ENDED), ({ event }) => wanted.includes(String(event.payload.vote)))
const quorumOf = ({ payload }: DraftEvent) => payload.quorum as { votes: number; passVotes: number }
const verifiers = (spot: Spot): number => Number(verificationStartOf(spot)?.payload.verifiers)
const isVoted = (spot: Spot): boolean => verifiers(spot) > 0 && verificationStartOf(spot)?.payload.probesFailed === 0

const counting: readonly Mutation[] = [
  changed('L24h', 'a vote too many', ofType(RENDERED), event => {
    quorumOf(event).votes += 1
  }),
  changed(
    'L24h',
    'a pass too few',
    all(ofType(RENDERED), ({ event }) => quorumOf(event).passVotes > 0),
    event => {
      quorumOf(event).passVotes -= 1
    },
  ),
  setsField(
    'L24h',
    'a pass without a quorum',
    all(
      ofType(RENDERED),
      isVoted,
      ({ event }) => event.payload.dwsVerdict === 'fail' && quorumOf(event).passVotes === 0,
    ),
    'dwsVerdict',
    'pass',
  ),
  setsField(
    'L24h',
    'a fail against all votes',
    all(
      ofType(RENDERED),
      isVoted,
      ({ event }) => event.payload.dwsVerdict === 'pass' && quorumOf(event).passVotes === quorumOf(event).votes,
    ),
    'dwsVerdict',
    'fail',
  ),
  setsField(
    'L24h',
    'a condition without a warning',
    all(ofType(RENDERED), ({ event }) => event.payload.dwsVerdict === 'pass'),
    'dwsVerdict',
    'conditional_pass',
  ),
  setsField(
    'L24h',
    'a warning without a condition',
    all(ofType(RENDERED), ({ event }) => event.payload.dwsVerdict === 'conditional_pass'),
    'dwsVerdict',
    'pass',
  ),
]

const asking: readonly Mutation[] = [
  lost(
    'L24g',
    'a verifier that was not asked',
    all(ofType(BEGAN), spot => after(spot, ({ type }) => type === STARTED || type === ENDED) !== undefined),
  ),
  lost(
    'L24g',
    'a verifier that was not started',
    all(
      ofType(STARTED),
      spot =>
        after(spot, ({ type, payload }) => type === ENDED && payload.childRunId === spot.event.payload.childRunId) !==
        undefined,
    ),
  ),
  lost(
    'L24g',
    'a verdict while a verifier is at work',
    all(
      ofType(ENDED),
      ({ event }) => event.payload.childRunId !== undefined,
      spot =>
        after(
          spot,
          ({ type, nodeId }) =>
            nodeId === spot.event.nodeId &&
            [RENDERED, HELD, BEGAN, 'interrupt.requested', 'node.cancelled'].includes(type),
        )?.type === RENDERED,
    ),
  ),
  setsField('L24g', 'a vote that was none', votes('pass', 'fail', 'conditional_pass'), 'fault', 'verifier_failed'),
  changed('L24g', 'no vote, and no reason', votes('none'), event => {
    delete event.payload.fault
  }),
  changed('L24g', 'a vote in another round', ofType(ENDED), raised('round')),
  setsField('L24g', 'a verifier that the gate does not have', ofType(BEGAN), 'verifier', 9),
  setsField('L24g', 'the vote of another run', votes('pass', 'fail', 'conditional_pass'), 'childRunId', 'run_other'),
  setsField(
    'L24g',
    'a verifier in the place of another',
    all(ofType(ENDED), ({ event }) => event.payload.childRunId !== undefined),
    'agentId',
    'some.body',
  ),
  setsField('L24g', 'a verifier of another gate', ofType(BEGAN, STARTED, ENDED), 'gateId', 'other'),
  mutation('L24g', 'a verifier that is asked twice', ofType(BEGAN), ({ run, event, at }) => {
    repeat(run, event, at)
  }),
  mutation('L24g', 'a verifier that votes twice', votes('pass', 'fail'), ({ run, event, at }) => {
    repeat(run, event, at)
  }),
  uncaused('L24g', 'a verifier that is asked for nothing', ofType(BEGAN)),
  uncaused('L24g', 'a verifier that ends for nothing', ofType(ENDED)),
  changed(
    'L24g',
    'faults that were none',
    all(ofType(HELD), spot => isHeldDuringVerification(spot)),
    raised('faults'),
  ),
  changed('L24m', 'a round that is left out', ofType(RESUMED), raised('round')),
  lost(
    'L24m',
    'what goes on and was not held',
    all(ofType(HELD), spot => after(spot, ({ nodeId }) => nodeId === spot.event.nodeId)?.type === RESUMED),
  ),
  setsField(
    'L24m',
    'what goes on too early',
    all(ofType(HELD), spot => after(spot, ({ nodeId }) => nodeId === spot.event.nodeId)?.type === RESUMED),
    'retryInMs',
    1e12,
  ),
  setsField(
    'L24m',
    'a gate that blocks and lets go',
    all(ofType(HELD), ({ event }) => event.payload.proceeds !== true),
    'proceeds',
    true,
  ),
  setsField('L24m', 'another gate that goes on', ofType(RESUMED), 'gateId', 'other'),
]

const policyOf = (spot: Spot): { early_stop: boolean; min_agree: number; quorum_strategy: string } | undefined => {
  const { gates = [] } = (firstEvent(spot.run).secret ?? {}) as {
    gates?: { gate: { gate_id: string; multi_verifier: ReturnType<typeof policyOf> } }[]
  }
  return gates.find(({ gate }) => gate.gate_id === spot.event.payload.gateId)?.gate.multi_verifier
}
const stopsEarly = (spot: Spot): boolean => policyOf(spot)?.early_stop === true
const isNew = ({ run }: Spot): boolean => Number(firstEvent(run).payload.engineVersion) >= 3
/** Of the same verification, asked while this one is at work. */
const besides = (spot: Spot): DraftEvent | undefined => {
  const next = after(spot, ({ type, nodeId }) => nodeId === spot.event.nodeId && type !== 'node.dispatched')
  return next?.type === BEGAN ? next : undefined
}

const stopping: readonly Mutation[] = [
  mutation(
    'L24s',
    'a verifier that a pass does not need',
    all(ofType(BEGAN), isNew, stopsEarly, spot => besides(spot) !== undefined),
    spot => {
      Object.assign(policyOf(spot) ?? {}, { quorum_strategy: 'any', min_agree: 1 })
    },
  ),
  mutation(
    'L24s',
    'verifiers that are asked in another order',
    all(ofType(BEGAN), isNew, spot => besides(spot) !== undefined),
    spot => {
      const next = besides(spot)
      if (next !== undefined) shift(spot.run, next, spot.at)
    },
  ),
  mutation(
    'L24s',
    'verifiers that are asked one by one although all should be',
    all(
      ofType(BEGAN),
      isNew,
      stopsEarly,
      spot => Number(spot.event.payload.verifier) + 1 < verifiers(spot),
      spot => besides(spot) === undefined,
      spot => after(spot, ({ nodeId }) => nodeId === spot.event.nodeId)?.type === STARTED,
      ({ event }) => event.payload.round === 1,
    ),
    spot => {
      Object.assign(policyOf(spot) ?? {}, { early_stop: false })
    },
  ),
]

/** Held in a verification, not before one. */
function isHeldDuringVerification(spot: Spot): boolean {
  const previous = before(spot, ({ nodeId }) => nodeId === spot.event.nodeId)
  return previous !== undefined && [ENDED, VERIFICATION_STARTED].includes(previous.type)
}

type Given = { agentId: string; bundle: Record<string, unknown> }

const childOf = ({ event }: Spot, draft: Draft): DraftRun | undefined =>
  draft.runs.find(run => run.runId === event.payload.childRunId)
const ownJudge =
  (...types: string[]) =>
  (spot: Spot, draft: Draft) =>
    types.includes(spot.event.type) && isOwn(spot) && childOf(spot, draft) !== undefined
const givenTo = (spot: Spot, draft: Draft): Given => {
  const child = childOf(spot, draft)
  return (child === undefined ? {} : firstEvent(child).payload.inputs) as Given
}
const withheldFrom = (spot: Spot, draft: Draft): Given => {
  const child = childOf(spot, draft)
  return (child === undefined ? {} : (firstEvent(child).secret as { withheld: Given }).withheld) as Given
}

const isolation: readonly Mutation[] = [
  mutation('L24l', 'a verifier that is told more', ownJudge(STARTED), (spot, draft) => {
    Object.assign(givenTo(spot, draft), { transcript: [] })
  }),
  mutation('L24l', 'a case with more in it', ownJudge(STARTED), (spot, draft) => {
    Object.assign(withheldFrom(spot, draft).bundle, { reasoning: 'because' })
  }),
  mutation('L24l', 'somebody else who judges', ownJudge(STARTED), (spot, draft) => {
    givenTo(spot, draft).agentId = 'some.body'
  }),
  mutation(
    'L24l',
    'a vote of a run that failed',
    (spot, draft) => ownJudge(ENDED)(spot, draft) && spot.event.payload.vote !== 'none',
    (spot, draft) => {
      const child = childOf(spot, draft)
      if (child !== undefined) lastEvent(child).type = 'run.failed'
    },
  ),
]

const isOfVerifier = ({ run }: Spot): boolean => firstEvent(run).payload.workflowId === 'assay-verifier'
const isOfGate = ({ event }: Spot): boolean =>
  (event.payload.data as { artifactType?: string }).artifactType === 'verification'

/** The run whose result a blocking gate of its parent looks at. */
const worker = ({ event }: Spot, { runs }: Draft): DraftRun | undefined =>
  event.type === VERIFICATION_STARTED && event.payload.point === 'harvest' && event.payload.blocking === true
    ? runs.find(({ runId }) => runId === event.payload.targetRef)
    : undefined

const readers: readonly Mutation[] = [
  setsField('L24r', 'a vote that everybody reads', all(ofType('agent.decided'), isOfVerifier), 'decision', {
    scores: {},
  }),
  changed('L24r', 'a vote in the outputs of its run', all(ofType('run.completed'), isOfVerifier), event => {
    event.payload.outputs = { result: { scores: {} } }
  }),
  changed('L24r', 'findings in a question', all(ofType('interrupt.requested'), isOfGate), event => {
    Object.assign(event.payload.data as object, { findings: [] })
  }),
  mutation(
    'L24r',
    'a result that is told before it has passed',
    all(ofType(VERIFICATION_STARTED), ({ event }) => event.payload.point === 'node' && event.payload.blocking === true),
    ({ run, event }) => {
      const place = Number(String(event.payload.targetRef).split(':').at(-1))
      for (const decided of run.events) if (decided.sequence === place) decided.payload.decision = 'told'
    },
  ),
  mutation(
    'L24r',
    'a worker that does not say that its result has to pass',
    (spot, draft) => worker(spot, draft) !== undefined,
    (spot, draft) => {
      const isMarked = ({ type }: DraftEvent) => type === 'run.started' || type === 'run.completed'
      for (const { payload } of worker(spot, draft)?.events.filter(isMarked) ?? []) delete payload.gatedBy
    },
  ),
  setsField('L24r', 'a mark that nobody gave', all(ofType('run.completed'), isOwn), 'gatedBy', ['nobody']),
]

export const VERIFIER_MUTATIONS: readonly Mutation[] = [...counting, ...asking, ...stopping, ...isolation, ...readers]
