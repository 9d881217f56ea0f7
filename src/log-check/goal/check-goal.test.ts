import { describe, expect, test } from 'vitest'
import { decideGoal } from '../../core/goal/decide.js'
import type { RecordedGoalEvent } from '../../core/goal/events.js'
import type { GoalInput } from '../../core/goal/input.js'
import { judgeGrantNano, workGrantNano } from '../../core/goal/money.js'
import type { Goal, GoalState } from '../../core/goal/state.js'
import { checkGoal, GOAL_RULES, type GoalLogEvent, type GoalRuleId } from './check-goal.js'

/** The log of a goal that is escalated once, judged twice and closed with a judge at work. */
function legalLog(): GoalLogEvent[] {
  let state: GoalState = { phase: 'absent' }
  const log: RecordedGoalEvent[] = []
  let now = 1_000
  const put = (input: GoalInput) => {
    now += 10
    const decision = decideGoal(state, { ...input, now })
    if (!decision.ok) throw new Error(decision.refusal.message)
    log.push(...decision.events)
    state = decision.state
  }
  const goal = () => state as Goal
  const ended = (runId: string, verdict: 'pass' | 'fail' | 'none' = 'fail') =>
    put({
      type: 'RunEnded',
      runId,
      outcome: 'completed',
      judgeable: true,
      spentNano: 5,
      heldNano: 0,
      fingerprint: runId,
      said: { verdict },
    })
  const work = (runId: string) =>
    put({ type: 'BeginWork', runId, cause: { by: 'hand' }, grantNano: workGrantNano(goal()) })
  const judge = (runId: string, of: string) => put({ type: 'BeginJudge', runId, of, grantNano: judgeGrantNano(goal()) })
  put({
    type: 'CreateGoal',
    goalId: 'goal-1',
    check: 'verifier',
    mode: 'manual',
    bounds: { maxLoopIterations: 3, maxCostUsd: 1, runTimeoutMs: 60_000 },
    breaker: 3,
    owner: { tenant: 't1', principal: 'p' },
    objective: 'words',
    completion: { check: 'verifier', verifierRef: 'done' },
    continuation: { mode: 'manual', armRef: null, arm: { kind: 'manual' } },
  })
  work('w1')
  put({ type: 'RunEscalates', runId: 'w1', reason: 'gate', depth: 1 })
  ended('w1')
  put({ type: 'ResumeGoal' })
  judge('j1', 'w1')
  ended('j1')
  put({ type: 'PauseGoal' })
  put({ type: 'ResumeGoal' })
  work('w2')
  ended('w2')
  put({ type: 'EditGoal', objective: 'others' })
  judge('j2', 'w2')
  put({ type: 'AbandonGoal' })
  ended('j2')
  return log.map(event => ({
    ...event,
    payload: event.payload as GoalLogEvent['payload'],
    secret: (event as { secret?: GoalLogEvent['secret'] }).secret,
  }))
}

type Change = (log: GoalLogEvent[]) => GoalLogEvent[]

const at = (log: readonly GoalLogEvent[], type: string, nth = 0): number =>
  log.map((event, index) => (event.type === type ? index : -1)).filter(index => index >= 0)[nth] ?? -1

const numbered = (log: readonly GoalLogEvent[]): GoalLogEvent[] =>
  log.map((event, sequence) => ({ ...event, sequence }))
const without =
  (type: string, nth = 0): Change =>
  log =>
    numbered(log.toSpliced(at(log, type, nth), 1))
const twice =
  (type: string, nth = 0): Change =>
  log => {
    const index = at(log, type, nth)
    return numbered(log.toSpliced(index, 0, log[index]!))
  }
const told =
  (type: string, payload: object, nth = 0): Change =>
  log =>
    log.map((event, index) =>
      index === at(log, type, nth) ? { ...event, payload: { ...event.payload, ...payload } } : event,
    )
const kept =
  (type: string, secret: object, nth = 0): Change =>
  log =>
    log.map((event, index) =>
      index === at(log, type, nth) ? { ...event, secret: { ...event.secret, ...secret } } : event,
    )
const inserted =
  (before: string, event: Pick<GoalLogEvent, 'type' | 'payload'>, nth = 0): Change =>
  log => {
    const index = at(log, before, nth)
    return numbered(log.toSpliced(index, 0, { sequence: 0, at: log[index]!.at, ...event }))
  }

const BEGAN = 'assay.stream.run.began'
const RUN_ENDED = 'assay.goal.run.ended'

const MUTANTS: readonly [GoalRuleId, string, Change][] = [
  ['G1', 'an event is missing', log => log.toSpliced(3, 1)],
  ['G1', 'time falls', log => log.map((event, index) => (index === 4 ? { ...event, at: 0 } : event))],
  ['G1', 'something follows the end', log => numbered([...log, log[1]!])],
  ['G1', 'it begins otherwise', without('assay.goal.created')],
  ['G2', 'a number is left out', told(BEGAN, { ordinal: 3 }, 2)],
  ['G2', 'a run begins twice', told(BEGAN, { runId: 'w1' }, 2)],
  ['G2', 'a run more than allowed', log => told('assay.goal.created', { bounds: { maxLoopIterations: 1 } })(log)],
  ['G3', 'a run begins beside another', log => without(RUN_ENDED)(log)],
  ['G3', 'a judge of another run', kept(BEGAN, { judges: { runId: 'w9', version: 1 } }, 1)],
  ['G3', 'a judge of a run that failed', told(RUN_ENDED, { judgeable: false })],
  ['G4', 'a run begins while the goal is paused', without('assay.goal.unpaused')],
  ['G4', 'a judge begins while the goal is escalated', without('assay.goal.resumed')],
  ['G4', 'a run begins at the deadline', log => told('assay.goal.created', { bounds: { runTimeoutMs: 10 } })(log)],
  ['G5', 'more is granted than is left', kept(BEGAN, { grantNano: 2_000_000_000 })],
  [
    'G5',
    'a run has no grant',
    log => log.map((event, index) => (index === at(log, BEGAN) ? { ...event, secret: {} } : event)),
  ],
  ['G6', 'the judgement is of another run', told('goal.evaluated', { runId: 'w2' })],
  ['G6', 'it counts another number', told('goal.evaluated', { iterations: 2 })],
  ['G6', 'it is told twice', twice('goal.evaluated')],
  ['G7', 'the closing is told twice', twice('goal.closed', 1)],
  ['G7', 'escalated, and nothing was', without('assay.goal.escalated')],
  ['G7', 'satisfied, and no judgement says so', told('goal.closed', { finalState: 'satisfied' }, 1)],
  ['G7', 'judged satisfied, and it goes on', told('goal.evaluated', { satisfied: true })],
  ['G8', 'an open run is not told to stop', without('assay.goal.run.stopping')],
  ['G8', 'the log does not end', without('assay.stream.ended')],
  ['G8', 'it ends with a run open', without(RUN_ENDED, 3)],
  ['G9', 'a tick has not come', told(BEGAN, { tick: '1700000000000' })],
  ['G9', 'a tick has two runs', told(BEGAN, { tick: 'hand-1' }, 2)],
  ['G10', 'an old version is judged', kept('goal.evaluated', { version: 7 })],
  ['G11', 'words in a payload', told('goal.evaluated', { note: 'the release is late' })],
  ['G11', 'words deep in a payload', told('assay.goal.created', { bounds: { note: 'some words' } })],
  ['G7', 'paused after a final closing', inserted(RUN_ENDED, { type: 'assay.goal.paused', payload: {} }, 3)],
]

describe('the checker of goals', () => {
  test('is silent on a legal log', () => {
    expect(checkGoal(legalLog())).toEqual([])
  })

  test.each(MUTANTS)('%s: finds that %s', (rule, _, change) => {
    expect(checkGoal(change(legalLog())).map(found => found.rule)).toContain(rule)
  })

  test('every rule has a mutant that it finds', () => {
    expect(new Set(MUTANTS.map(([rule]) => rule))).toEqual(new Set(Object.keys(GOAL_RULES)))
  })
})
