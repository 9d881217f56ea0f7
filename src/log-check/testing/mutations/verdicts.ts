import { OVERRIDE, RENDERED, VERIFICATION_STARTED } from '../../verification/verification-attempts.js'
import {
  after,
  all,
  before,
  changed,
  type DraftEvent,
  firstEvent,
  has,
  lastEvent,
  lost,
  type Mutation,
  mutation,
  ofType,
  remove,
  repeat,
  type Spot,
  setsField,
  shift,
  uncaused,
} from '../draft.js'

/** The verification that an event is told in, by its first event. */
export const verificationStartOf = (spot: Spot): DraftEvent | undefined =>
  before(spot, ({ type, nodeId }) => type === VERIFICATION_STARTED && nodeId === spot.event.nodeId)

export const keysOf = ({ payload }: DraftEvent): string[] => (payload.criteria ?? []) as string[]

/** One more than was told. */
export const raised = (field: string) => (event: DraftEvent) => {
  event.payload[field] = Number(event.payload[field]) + 1
}

const verdict = (...said: string[]) =>
  all(ofType('agent.verified'), ({ event }) => said.includes(String(event.payload.verdict)))

export const isOfGate = ({ event }: Spot): boolean =>
  event.payload.agentId !== OVERRIDE && !keysOf(event).some(key => key.startsWith('human-') || key === 'no-answer')

const blocking = (spot: Spot): boolean => verificationStartOf(spot)?.payload.blocking === true

/** The event that comes of the result of a phase that a pass was over. */
const outcomeAfter = (spot: Spot): DraftEvent | undefined =>
  after(
    spot,
    ({ type, nodeId, payload }) =>
      nodeId === spot.event.nodeId &&
      (payload.phase === 'output.harvested' ||
        ['node.completed', 'node.failed', 'node.cancelled', 'assay.rework.began', 'assay.result.withheld'].includes(
          type,
        )),
  )

/** The result that a pass was over is merged. */
const merges = (spot: Spot): boolean => {
  const verification = verificationStartOf(spot)
  if (verification?.payload.point === 'run') return lastEvent(spot.run).type === 'run.completed' && isLastPass(spot)
  const next = outcomeAfter(spot)
  if (verification?.payload.point === 'harvest')
    return next?.payload.childRunId === spot.event.payload.target && next?.payload.phase === 'output.harvested'
  return next?.type === 'node.completed'
}

const mergeAfter = (spot: Spot): DraftEvent | undefined =>
  point('run')(spot) ? lastEvent(spot.run) : outcomeAfter(spot)

/** Merges name the hash of what they merge from version 3 of the rules on. */
const namesHash = ({ run }: Spot): boolean => Number(firstEvent(run).payload.engineVersion) >= 3

const asksAll = ({ run }: Spot): boolean => {
  const gates = JSON.stringify(firstEvent(run).secret)
  return gates.includes('"confirm":"full"') && !gates.includes('"confirm":"none"')
}

const isLastPass = (spot: Spot): boolean => after(spot, ({ type }) => type === 'agent.verified') === undefined

/** No other gate at the same place has a word after it. */
const isLatest = (spot: Spot): boolean => {
  const isNext = ({ type, payload }: DraftEvent) =>
    type === 'agent.verified' || type === 'node.completed' || payload.phase === 'output.harvested'
  return after(spot, event => event.nodeId === spot.event.nodeId && isNext(event))?.type !== 'agent.verified'
}

const point = (wanted: string) => (spot: Spot) => verificationStartOf(spot)?.payload.point === wanted
const rendered = (spot: Spot): DraftEvent | undefined =>
  before(spot, ({ type, nodeId }) => type === RENDERED && nodeId === spot.event.nodeId)

/** The verifiers have passed it, and a person has the last word. */
const isAsked = all(ofType(RENDERED), ({ event }) => event.payload.judged !== undefined)

export const VERDICT_MUTATIONS: readonly Mutation[] = [
  setsField('L24', 'a verdict over nothing', ofType('agent.verified'), 'target', 'stranger'),
  setsField('L24', 'a result of nobody', ofType('assay.result.staged'), 'targetRef', 'stranger'),
  uncaused('L24a', 'a verdict without a cause', ofType('agent.verified')),
  uncaused('L24a', 'a verification without a cause', ofType(VERIFICATION_STARTED)),
  mutation('L24a', 'a verdict due to something else', ofType('agent.verified'), ({ run, event }) => {
    event.causationId = firstEvent(run).eventId
  }),
  mutation(
    'L24a',
    'a verdict after the invocation has ended',
    all(verdict('pass'), point('node'), ({ run, at }) => run.events[at + 1]?.type === 'agent.invocation.completed'),
    ({ run, event, at }) => shift(run, event, at + 1),
  ),
  setsField(
    'L24b',
    'a merge after a fail',
    all(verdict('pass'), merges, isLatest, spot => !point('run')(spot)),
    'verdict',
    'fail',
  ),
  setsField(
    'L24b',
    'a merge of what was sent back',
    all(verdict('pass'), merges, point('harvest')),
    'verdict',
    'revise',
  ),
  lost('L24c', 'a merge without a pass', all(verdict('pass'), blocking, merges)),
  mutation('L24c', 'a pass over another result', all(verdict('pass'), blocking, merges), ({ event }) => {
    Object.assign(event.secret ?? {}, { resultHash: `sha256:${'0'.repeat(64)}` })
  }),
  mutation('L24c', 'a merge of another result', all(verdict('pass'), blocking, merges, namesHash), spot => {
    const merge = mergeAfter(spot)
    if (merge !== undefined) merge.secret = { ...(merge.secret as object), resultHash: `sha256:${'0'.repeat(64)}` }
  }),
  mutation('L24c', 'a merge that names no result', all(verdict('pass'), blocking, merges, namesHash), spot => {
    const merge = mergeAfter(spot)
    if (merge !== undefined) merge.secret = { ...(merge.secret as object), resultHash: undefined }
  }),
  mutation('L24c', 'a merge of what was judged in part', all(verdict('pass'), blocking, merges, asksAll), spot => {
    Object.assign(spot.event.secret ?? {}, { label: 'verified in part' })
  }),
  mutation('L24c', 'a merge past a gate', all(verdict('pass'), blocking, merges), spot => {
    const verification = verificationStartOf(spot)
    if (verification !== undefined) verification.payload.gateId = 'other'
  }),
  mutation('L24c', 'a result that was put to no gate', all(verdict('pass'), blocking, merges), spot => {
    const verification = verificationStartOf(spot)
    if (verification !== undefined) remove(spot.run, verification)
  }),
  setsField(
    'L24e',
    'a pass that becomes a fail',
    all(verdict('pass'), isOfGate, spot => rendered(spot)?.payload.forced !== true),
    'verdict',
    'fail',
  ),
  setsField('L24e', 'a fail that becomes a pass', all(verdict('fail', 'revise'), isOfGate), 'verdict', 'pass'),
  setsField('L24e', 'the word of somebody else', all(ofType('agent.verified'), isOfGate), 'agentId', 'some.body'),
  mutation('L24e', 'a verdict over another result', ofType('agent.verified'), ({ run, event }) => {
    event.payload.target = firstEvent(run).eventId
  }),
  changed('L24e', 'a criterion that was not judged', ofType('agent.verified'), event => {
    event.payload.criteria = [...keysOf(event), 'extra']
  }),
  changed('L24e', 'a criterion that is not told', ofType('agent.verified'), event => {
    event.payload.criteria = keysOf(event).slice(1)
  }),
  setsField(
    'L24e',
    'a gate that blocks and proceeds',
    all(ofType(RENDERED), ({ event }) => event.payload.proceeds !== true),
    'proceeds',
    true,
  ),
  changed(
    'L24e',
    'a gate that does not block and waits',
    all(ofType(RENDERED), ({ event }) => event.payload.proceeds === true),
    event => {
      delete event.payload.proceeds
    },
  ),
  changed('L24e', 'a person who is asked of what nobody says how far it was judged', isAsked, event => {
    delete event.payload.judged
  }),
  changed('L24e', 'a person who is told that more or less was judged', isAsked, event => {
    event.payload.judged = event.payload.judged === 'part' ? 'whole' : 'part'
  }),
  setsField(
    'L24e',
    'a result without a label of which nobody is asked',
    all(ofType(RENDERED), ({ event }) => event.payload.label !== undefined),
    'judged',
    'whole',
  ),
  setsField(
    'L24e',
    'a pass that is forced',
    all(ofType(RENDERED), ({ event }) => event.payload.dwsVerdict !== 'fail'),
    'forced',
    true,
  ),
  changed(
    'L24e',
    'a forced pass that is not told',
    all(ofType('agent.verified'), ({ event }) => keysOf(event).includes('gate.on-fail.conditional-pass')),
    event => {
      event.payload.criteria = keysOf(event).filter(key => !key.startsWith('gate.'))
    },
  ),
  lost(
    'L24e',
    'what was found, and nothing said',
    all(
      ofType('agent.verified'),
      isOfGate,
      ({ run, at }) =>
        run.events[at - 1]?.type === RENDERED &&
        at + 1 < run.events.length &&
        run.events[at + 1]?.type !== 'interrupt.requested',
    ),
  ),
  mutation(
    'L24e',
    'a verdict told twice',
    all(ofType('agent.verified'), isOfGate, verdict('fail')),
    ({ run, event, at }) => {
      repeat(run, event, at)
    },
  ),
  changed(
    'L24f',
    'somebody who did not judge their own work',
    all(
      ofType('agent.verified'),
      spot => ['node', 'harvest'].includes(String(verificationStartOf(spot)?.payload.point)),
      ({ event }) => !keysOf(event).includes('self-verification'),
    ),
    event => {
      event.payload.criteria = [...keysOf(event), 'self-verification']
    },
  ),
  changed(
    'L24f',
    'somebody who judged their own work',
    all(ofType('agent.verified'), ({ event }) => keysOf(event).includes('self-verification')),
    event => {
      event.payload.criteria = keysOf(event).filter(key => key !== 'self-verification')
    },
  ),
  setsField('L25', 'a give-up that counts as success', all(ofType('run.completed'), gaveUp), 'goalSatisfied', true),
  changed(
    'L25a',
    'a goal of which nothing is said',
    all(ofType('run.completed'), ({ event }) => event.payload.goalSatisfied !== undefined),
    event => {
      delete event.payload.goalSatisfied
    },
  ),
  setsField(
    'L25a',
    'a goal that was reached and is not',
    all(ofType('run.completed'), ({ event }) => event.payload.goalSatisfied === true),
    'goalSatisfied',
    false,
  ),
  setsField(
    'L25a',
    'a goal of a run that has none',
    all(
      ofType('run.completed'),
      ({ event, run }) => event.payload.goalSatisfied === undefined && !has(run, 'agent.verified'),
    ),
    'goalSatisfied',
    true,
  ),
  mutation(
    'L25a',
    'a success that a gate denies',
    all(verdict('pass'), isLastPass, ({ run }) => lastEvent(run).payload.goalSatisfied === true),
    ({ event }) => {
      event.payload.verdict = 'fail'
    },
  ),
]

/** The supervisor ended the run and said itself that a criterion is not met. */
function gaveUp({ run }: Spot): boolean {
  const decided = run.events.findLast(({ type }) => type === 'runOrchestrator.decided')
  const decision = decided?.payload.decision as { successCriteria?: { met: boolean }[] } | undefined
  return decision?.successCriteria?.some(({ met }) => !met) === true
}
