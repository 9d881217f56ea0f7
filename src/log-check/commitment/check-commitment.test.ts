import { describe, expect, test } from 'vitest'
import { type CommitmentInput, decideCommitment } from '../../core/commitment/decide.js'
import type { CommitmentRecorded } from '../../core/commitment/events.js'
import type { CommitmentState } from '../../core/commitment/state.js'
import {
  checkCommitment,
  COMMITMENT_RULES,
  type CommitmentLogEvent,
  type CommitmentRuleId,
} from './check-commitment.js'

const MADE: CommitmentInput = {
  type: 'MakeCommitment',
  commitmentId: 'commitment-1',
  arm: { kind: 'time', at: 2_000 },
  tenant: 't1',
  principal: 'p',
  entry: { scope: 'team', ref: 'what was promised', id: 'call them', position: 1 },
  work: { workflowId: 'remind', inputs: {} },
}

function told(...inputs: readonly (CommitmentInput & { now: number })[]): CommitmentLogEvent[] {
  let state: CommitmentState = { phase: 'absent' }
  const log: CommitmentRecorded[] = []
  for (const input of inputs) {
    const decision = decideCommitment(state, input)
    if (!decision.ok) throw new Error(decision.refusal.message)
    log.push(...decision.events)
    state = decision.state
  }
  return log.map(event => ({ ...event, payload: event.payload as CommitmentLogEvent['payload'] }))
}

const FIRED = told(
  { ...MADE, now: 1_000 },
  { type: 'TimeCame', now: 2_000 },
  { type: 'RunRefused', code: 'quota_exceeded', mayHelpLater: true, now: 2_000 },
  { type: 'RunReady', runId: 'run-1', now: 3_500 },
)
const DROPPED = told({ ...MADE, now: 1_000 }, { type: 'EntryGone', reason: 'forgotten', now: 1_500 })

const at = (type: string): number => FIRED.findIndex(event => event.type === type)
const numbered = (log: readonly CommitmentLogEvent[]) => log.map((event, sequence) => ({ ...event, sequence }))
const without = (type: string) => numbered(FIRED.toSpliced(at(type), 1))
const changed = (type: string, change: object) =>
  FIRED.map((event, i) => (i === at(type) ? { ...event, payload: { ...event.payload, ...change } } : event))

const MUTANTS: readonly [CommitmentRuleId, string, CommitmentLogEvent[]][] = [
  ['Y1', 'a gap', FIRED.toSpliced(1, 1)],
  ['Y1', 'time that falls', FIRED.map((event, i) => (i === 3 ? { ...event, at: 0 } : event))],
  ['Y1', 'another beginning', without('assay.commitment.made')],
  ['Y1', 'something after its end', numbered([...FIRED, FIRED[1]!])],
  ['Y2', 'a run before its time', without('assay.arm.ticked')],
  ['Y2', 'a run of another time', changed('assay.stream.run.began', { tick: '2026-01-01T00:00:00.000Z' })],
  ['Y2', 'a second run', numbered(FIRED.toSpliced(at('commitment.fired'), 0, FIRED[at('assay.stream.run.began')]!))],
  ['Y2', 'a run that it does not name', changed('commitment.fired', { enqueuedRunId: 'run-2' })],
  ['Y2', 'firing without a run', without('assay.stream.run.began')],
  ['Y3', 'an end for nothing', without('commitment.fired')],
  [
    'Y3',
    'fired and dropped',
    numbered(FIRED.toSpliced(-1, 0, DROPPED.find(({ type }) => type.endsWith('dropped'))!)).map(event => ({
      ...event,
      at: 3_500,
    })),
  ],
  ['Y4', 'words', changed('assay.commitment.made', { note: 'call them back' })],
]

describe('the checker of commitments', () => {
  test('is silent on legal logs', () => {
    expect([checkCommitment(FIRED), checkCommitment(DROPPED)]).toEqual([[], []])
    expect(FIRED.at(-1)?.type).toBe('assay.stream.ended')
  })

  test.each(MUTANTS)('%s catches %s', (rule, _, log) => {
    expect(checkCommitment(log).map(finding => finding.rule)).toContain(rule)
  })

  test('every rule has a mutant', () => {
    expect([...new Set(MUTANTS.map(([rule]) => rule))]).toEqual(Object.keys(COMMITMENT_RULES))
  })
})
