import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../json.js'
import { readGoal, readGoalEdit } from './goal-document.js'

const WANTED = {
  objective: 'the checklist is complete',
  completion: { check: 'verifier', verifierRef: 'done' },
  bounds: { maxLoopIterations: 3 },
}
const made = (more: JsonObject = {}) =>
  readGoal({ ...WANTED, ...more }, () => ({ ok: false, problems: ['assay.judge.probes[0] is not known'] }))
const code = (read: object) => ('code' in read ? read.code : 'ok')
const message = (read: object) => ('message' in read ? String(read.message) : '')

describe('a goal as somebody wants it', () => {
  test('is started by hand where it does not say how it goes on, and escalates after three of the same', () => {
    expect(made()).toEqual({
      objective: 'the checklist is complete',
      completion: { check: 'verifier', verifierRef: 'done' },
      continuation: { mode: 'manual', armRef: null, arm: { kind: 'manual' } },
      bounds: { maxLoopIterations: 3 },
      breaker: 3,
    })
  })

  test('says what is run, when, and after how many of the same somebody is asked', () => {
    const assay = {
      run: { workflowId: 'step', inputs: { word: 1 } },
      arm: { cron: '0 9 * * *', missed: 'all', jitterSeconds: 5 },
      judge: { escalateAfterSame: 0 },
    }
    expect(made({ continuation: { mode: 'schedule', armRef: 'daily' }, assay })).toMatchObject({
      work: { workflowId: 'step', inputs: { word: 1 } },
      continuation: {
        mode: 'schedule',
        armRef: 'daily',
        arm: { kind: 'schedule', timezone: 'UTC', missed: { policy: 'all', most: 10 }, jitterMs: 5_000 },
      },
      breaker: 0,
    })
  })

  test.each<[string, JsonObject, RegExp]>([
    ['R-GOAL-4: no bounds', { bounds: {} }, /bounds is empty; give at least one of maxLoopIterations/],
    ['R-GOAL-4: bounds left out', { bounds: null }, /bounds must be/],
    ['a near miss of a bound', { bounds: { maxIterations: 3 } }, /did you mean bounds\.maxLoopIterations\?/],
    ['another near miss', { bounds: { maxCost: 3 } }, /did you mean bounds\.maxCostUsd\?/],
    [
      'no iterations',
      { bounds: { maxLoopIterations: 0 } },
      /bounds\.maxLoopIterations must be .*from 1 to 10000; got 0/,
    ],
    [
      'part of an iteration',
      { bounds: { maxLoopIterations: 1.5 } },
      /bounds\.maxLoopIterations must be a whole number/,
    ],
    ['less than no time', { bounds: { runTimeoutMs: -1 } }, /bounds\.runTimeoutMs must be/],
    ['less than no money', { bounds: { maxCostUsd: -0.1 } }, /bounds\.maxCostUsd must be/],
    ['too many iterations', { bounds: { maxLoopIterations: 10_001 } }, /bounds\.maxLoopIterations must be/],
    ['R-GOAL-3: a state', { state: 'satisfied' }, /^state follows from what the judge says/],
    ['R-GOAL-3: even the state it begins with', { state: 'active' }, /^state follows/],
    ['R-GOAL-3: progress', { progress: { iterations: 0, contributingRunIds: [] } }, /^progress is counted by the host/],
    ['R-GOAL-3: a verdict', { lastVerdict: { satisfied: true } }, /^lastVerdict is the judge's/],
    [
      'R-GOAL-3: a verdict where the protocol has it',
      { completion: { check: 'verifier', verifierRef: 'done', lastVerdict: { satisfied: true } } },
      /completion\.lastVerdict is not a known field/,
    ],
    ['an owner', { owner: { tenant: 'acme' } }, /^owner is whoever the key belongs to/],
    ['an unknown member', { goal: 'x' }, /goal is not a known field/],
    ['a misspelt member', { objectiv: 'x' }, /did you mean objective\?/],
    ['no objective', { objective: ' ' }, /objective must be text that is not blank/],
    ['a schedule without times', { continuation: { mode: 'schedule' } }, /assay\.arm is missing/],
    ['times without a schedule', { assay: { arm: { cron: '* * * * *' } } }, /assay\.arm is for continuation\.mode/],
    [
      'no cron expression',
      { continuation: { mode: 'schedule' }, assay: { arm: { cron: '61 * * * *' } } },
      /assay\.arm\.cron has "61" as its minute/,
    ],
    [
      'a contradiction',
      { continuation: { mode: 'schedule' }, assay: { arm: { cron: '* * * * *', maxMissed: 3 } } },
      /assay\.arm\.maxMissed says nothing/,
    ],
    [
      'two things to run',
      { assay: { run: { workflowId: 'a', agentId: 'a.b' } } },
      /assay\.run must name a workflowId or/,
    ],
    ['a probe that nobody knows', { assay: { judge: { probes: [{}] } } }, /assay\.judge\.probes\[0\] is not known/],
    ['nothing to run', { assay: { run: { inputs: {} } } }, /assay\.run must name a workflowId or/],
  ])('is refused with %s', (_, more, said) => {
    const read = made(more)
    expect([code(read), message(read)]).toEqual(['goal_invalid', expect.stringMatching(said)])
  })

  test.each(['heartbeat', 'commitment'])('R-GOAL-20: a mode that is not offered is another refusal: %s', mode => {
    const read = made({ continuation: { mode } })
    expect([code(read), message(read)]).toEqual([
      'validation_error',
      expect.stringMatching(/use one of schedule, manual/),
    ])
  })

  test.each([{ maxCostUsd: 0 }, { runTimeoutMs: 0 }])('a bound of nothing is a bound: %j', bounds => {
    expect(made({ bounds })).toMatchObject({ bounds })
  })
})

describe('a change of a goal', () => {
  test('is of what it is after, who judges, how it goes on and what is run', () => {
    expect(readGoalEdit({ objective: 'another' })).toEqual({ objective: 'another' })
    expect(readGoalEdit({ completion: { check: 'verifier', verifierRef: 'other' } })).toEqual({
      completion: { check: 'verifier', verifierRef: 'other' },
    })
    expect(readGoalEdit({ assay: { run: { agentId: 'local.a' } } })).toEqual({
      work: { agentId: 'local.a', inputs: {} },
    })
  })

  test.each<[string, JsonObject, RegExp]>([
    ['bounds', { bounds: { maxLoopIterations: 99 } }, /^bounds are fixed when a goal is made/],
    ['R-GOAL-3: its state', { state: 'satisfied' }, /^state follows/],
    ['R-GOAL-3: its progress', { progress: { iterations: 0 } }, /^progress is counted/],
    ['its owner', { owner: { tenant: 'other' } }, /^owner is whoever made the goal/],
    ['its breaker', { assay: { judge: { escalateAfterSame: 0 } } }, /assay\.judge is not a known field/],
    ['nothing', {}, /changes nothing/],
    ['nothing, in more words', { assay: {} }, /changes nothing/],
  ])('is refused where it is of %s', (_, edit, said) => {
    const read = readGoalEdit(edit)
    expect([code(read), message(read)]).toEqual(['goal_invalid', expect.stringMatching(said)])
  })
})
