import { expect, test } from 'vitest'
import { checkGoal } from '../../log-check/goal/check-goal.js'
import { engineRig } from '../../testing/engine-rig.js'
import { goalHost, made, stateOf, toldIn } from '../../testing/goal-rig.js'
import { agentFlow } from '../../testing/invocations.js'
import { predicatesDouble } from '../../testing/verification.js'

const step = agentFlow({ config: { resultVariable: 'got' } }, { id: 'step' })
const waiting = { id: 'step', nodes: { a: { type: 'core.approvalGate', config: { title: 'May I?' } } } } as never

const beating = {
  continuation: {
    mode: 'heartbeat',
    armRef: 'the build',
    arm: { kind: 'heartbeat', everyMs: 10_000, maxRuntimeMs: 5_000, predicate: { probes: [] } },
  },
  bounds: { maxLoopIterations: 9 },
} as const

/** What there is to see, and how often it was looked at. */
function world() {
  const seen = { holds: false, looks: 0 }
  const predicates = predicatesDouble(async () => {
    seen.looks += 1
    return { status: 'ok', holds: seen.holds }
  })
  return { seen, predicates }
}

test('R-ARM-2 R-ARM-6 R-GOAL-14: a goal on a heartbeat has a run for each change that is seen, until it is reached', async () => {
  const rig = engineRig()
  const { seen, predicates } = world()
  const host = await goalHost(rig, ['fail', 'pass'], { workflow: step, predicates })
  const { goalId } = await made(host, beating)
  await rig.clock.advance(30_000)
  expect(await stateOf(host, goalId)).toMatchObject({ reserved: 0 })
  seen.holds = true
  await rig.clock.advance(20_000)
  expect(await stateOf(host, goalId)).toMatchObject({ reserved: 1, finished: 1, mode: { is: 'active' } })
  await rig.clock.advance(60_000)
  expect(await stateOf(host, goalId)).toMatchObject({ reserved: 1 })
  seen.holds = false
  await rig.clock.advance(20_000)
  const goal = await stateOf(host, goalId)
  expect(goal).toMatchObject({ reserved: 2, mode: { is: 'closed', final: 'satisfied' } })
  const [first] = await rig.store.readEvents(goal.contributing[0]!, 0, 1)
  expect(JSON.parse(first!.payload).metadata).toMatchObject({ goalId, armRef: 'the build', startedBy: 'tick' })
  const { looks } = seen
  await rig.clock.advance(60_000)
  expect(seen.looks).toBe(looks)
  const rows = await rig.store.readEvents(goalId, 0, 10_000)
  const log = rows.map(row => ({ ...row, payload: JSON.parse(row.payload), secret: JSON.parse(row.secret ?? '{}') }))
  expect(checkGoal(log)).toEqual([])
})

test('R-ARM-3 R-STATE-10: while a contributing run waits the tick is skipped, and the run stays where it is', async () => {
  const rig = engineRig()
  const { seen, predicates } = world()
  const host = await goalHost(rig, ['fail'], { workflow: waiting, predicates })
  const { goalId } = await made(host, beating)
  await rig.clock.advance(5_000)
  seen.holds = true
  await rig.clock.advance(10_000)
  const { contributing } = await stateOf(host, goalId)
  const before = await toldIn(rig, contributing[0]!)
  const { looks } = seen
  for (let i = 0; i < 30; i++) {
    seen.holds = !seen.holds
    await rig.clock.advance(10_000)
  }
  expect(seen.looks).toBe(looks)
  expect(await stateOf(host, goalId)).toMatchObject({ reserved: 1, contributing, work: { is: 'working' } })
  expect(await toldIn(rig, contributing[0]!)).toEqual(before)
})
