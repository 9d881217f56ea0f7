import { OVERRIDE, RENDERED, VERIFICATION_STARTED } from '../../verification/verification-attempts.js'
import {
  after,
  all,
  before,
  changed,
  type DraftEvent,
  firstEvent,
  lost,
  type Mutation,
  mutation,
  ofType,
  remove,
  repeat,
  type Spot,
  setsField,
} from '../draft.js'
import { keysOf, raised } from './verdicts.js'

const FINDING = 'dws.verification.finding_issued'
const REWORK = 'assay.rework.began'
const WITHHELD = 'assay.result.withheld'
const OTHER_HASH = `sha256:${'0'.repeat(64)}`

/** Why a person is asked where there is no verdict. */
const UNDECIDED: readonly string[] = ['unsettled', 'unchecked']

const isRecord = ({ event }: Spot): boolean => event.payload.artifactType === 'dws.verification-result'
const findings: readonly Mutation[] = [
  setsField('L24d', 'a gate that has changed since', ofType(VERIFICATION_STARTED), 'gateHash', '0'.repeat(64)),
  changed('L24d', 'another version of the gate', ofType(VERIFICATION_STARTED), raised('gateVersion')),
  setsField('L24d', 'a verdict over another version', ofType(RENDERED), 'resultHash', OTHER_HASH),
  changed('L24d', 'a verdict of another attempt', ofType(RENDERED), raised('attempt')),
  setsField('L24d', 'a finding of another gate', ofType(FINDING), 'gateId', 'other'),
  setsField('L24d', 'a finding about what nobody asked', ofType(FINDING), 'dimension', 'invented'),
  setsField('L24d', 'a record that is not there', ofType(RENDERED), 'resultArtifactId', 'art-0'),
  lost('L24d', 'a verdict without a record', all(ofType('artifact.created'), isRecord)),
  lost('L24d', 'a finding that is kept and not told', ofType(FINDING)),
  lost(
    'L24d',
    'a verdict on nothing',
    all(
      ofType(VERIFICATION_STARTED),
      spot =>
        after(spot, ({ type }) => type === RENDERED || type === VERIFICATION_STARTED)?.type === RENDERED &&
        before(spot, ({ type }) => type === VERIFICATION_STARTED) === undefined,
    ),
  ),
  mutation('L24d', 'a verdict that is rendered twice', ofType(RENDERED), ({ run, event, at }) => {
    repeat(run, event, at)
  }),
]

const again: readonly Mutation[] = [
  changed('L24i', 'an attempt that is left out', ofType(VERIFICATION_STARTED), raised('attempt')),
  changed(
    'L24i',
    'an attempt that is counted anew',
    all(ofType(VERIFICATION_STARTED), ({ event }) => Number(event.payload.attempt) > 1),
    event => {
      event.payload.attempt = 1
    },
  ),
  changed('L24j', 'another attempt than the next', ofType(REWORK), raised('attempt')),
  setsField(
    'L24j',
    'another gate that sends back',
    all(ofType(REWORK), ({ event }) => event.payload.point !== 'run'),
    'gateId',
    'other',
  ),
  setsField(
    'L24j',
    'somebody else who has to work again',
    all(ofType(REWORK), ({ event }) => event.payload.point === 'harvest'),
    'workerId',
    'stranger',
  ),
  lost(
    'L24j',
    'what is sent back and not done again',
    all(ofType(REWORK), ({ run, at }) => run.events[at - 1]?.type === 'agent.verified' && at + 1 < run.events.length),
  ),
  mutation('L24j', 'work that is done again after a pass', ofType(REWORK), spot => {
    const verdict = before(spot, ({ type }) => type === 'agent.verified')
    if (verdict !== undefined) verdict.payload.verdict = 'pass'
  }),
  lost(
    'L24j',
    'what is withheld and not told',
    all(ofType(WITHHELD), ({ run, at }) => run.events[at - 1]?.type === 'agent.verified' && at + 1 < run.events.length),
  ),
  changed('L24j', 'what is withheld for another reason', ofType(WITHHELD), event => {
    event.payload.verdict = event.payload.verdict === 'fail' ? 'revise' : 'fail'
  }),
  setsField('L24j', 'another result that is withheld', ofType(WITHHELD), 'targetRef', 'run_other'),
  mutation('L24i', 'more attempts than the gate allows', ofType(REWORK), ({ run }) => {
    const gates = (firstEvent(run).secret?.gates ?? []) as { gate: { gate_behaviour: { max_attempts: number } } }[]
    for (const { gate } of gates) gate.gate_behaviour.max_attempts = 1
  }),
  mutation(
    'L26d',
    'work that is sent back beyond the bound',
    all(
      ofType(REWORK),
      spot => before(spot, ({ type }) => type === REWORK || type === 'runOrchestrator.decided') !== undefined,
    ),
    ({ run }) => {
      // As the rules of version 2 have it: turns and reworks together.
      Object.assign(firstEvent(run).payload, { engineVersion: '2', configurable: { maxLoopIterations: 1 } })
    },
  ),
]

type Question = Record<string, unknown>
const dataOf = ({ payload, secret }: DraftEvent): Question => (secret?.data ?? payload.data ?? {}) as Question
const isGateQuestion = ({ event }: Spot): boolean => dataOf(event).artifactType === 'verification'
const asked = all(ofType('interrupt.requested'), isGateQuestion)
const word = all(ofType('agent.verified'), ({ event }) => event.payload.agentId === OVERRIDE)

const people: readonly Mutation[] = [
  changed('L24k', 'a question about another result', asked, event => {
    dataOf(event).artifactId = 'run_other'
  }),
  changed('L24k', 'a question for no reason', asked, event => {
    dataOf(event).reason = 'curious'
  }),
  changed('L24k', 'a question for another reason', asked, event => {
    dataOf(event).reason = UNDECIDED.includes(String(dataOf(event).reason)) ? 'unsure' : 'unsettled'
  }),
  setsField(
    'L24k',
    'a person’s word that nobody gave',
    all(ofType('agent.verified'), ({ event }) => event.payload.agentId !== OVERRIDE),
    'agentId',
    OVERRIDE,
  ),
  changed('L24k', 'another word than the person’s', word, event => {
    event.payload.verdict = event.payload.verdict === 'pass' ? 'fail' : 'pass'
  }),
  changed('L24k', 'the word of another person', word, event => {
    Object.assign(event.secret ?? {}, { by: 'eve' })
  }),
  changed('L24k', 'an override that is not told as one', word, event => {
    event.payload.criteria = keysOf(event).map(key => (key === 'human-override' ? 'human-confirmed' : key))
  }),
  lost(
    'L24k',
    'an answer that is not told',
    all(word, ({ event }) => event.payload.verdict === 'pass'),
  ),
  mutation('L24k', 'a word without an answer', word, spot => {
    const answer = before(spot, ({ type, nodeId }) => type === 'interrupt.resolved' && nodeId === spot.event.nodeId)
    if (answer !== undefined) remove(spot.run, answer)
  }),
]

const contents: readonly Mutation[] = [
  changed('L31', 'an event of another framework', ofType(FINDING), event => {
    event.type = 'dws.phase.started'
  }),
  changed('L31a', 'a verdict with prose for a key', ofType(VERIFICATION_STARTED), event => {
    event.payload.criteria = ['It does not say why']
  }),
  changed('L31a', 'a criterion that is told twice', ofType('agent.verified'), event => {
    event.payload.criteria = [...keysOf(event), ...keysOf(event)]
  }),
  setsField('L31b', 'a finding that says what was found', ofType(FINDING), 'description', 'no'),
  setsField('L31b', 'a verdict that says why', ofType('agent.verified'), 'reason', 'no'),
  setsField('L31f', 'a target with room for prose', ofType('agent.verified'), 'target', 'x'.repeat(600)),
]

export const GATE_MUTATIONS: readonly Mutation[] = [...findings, ...again, ...people, ...contents]
