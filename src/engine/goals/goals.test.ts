import { describe, expect, test } from 'vitest'
import { engineRig } from '../../testing/engine-rig.js'
import { goalHost, made, ranOnce, stateOf, toldIn } from '../../testing/goal-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { agentFlow } from '../../testing/invocations.js'

const step = agentFlow({ config: { resultVariable: 'got' } }, { id: 'step' })

describe('a goal', () => {
  test('R-GOAL-2 R-GOAL-8 R-GOAL-10: is judged after each contributing run, and closes when its judge says so', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['fail', 'pass'], { workflow: step })
    const { goalId } = await made(host)
    const first = await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({
      mode: { is: 'active' },
      finished: 1,
      verdict: { satisfied: false },
    })
    const second = await ranOnce(host, goalId)
    const goal = await stateOf(host, goalId)
    expect(goal).toMatchObject({
      phase: 'ended',
      mode: { is: 'closed', final: 'satisfied' },
      contributing: [first, second],
    })
    const log = await toldIn(rig, goalId)
    expect(log.filter(({ type }) => type.startsWith('goal.'))).toMatchObject([
      { payload: { goalId, satisfied: false, runId: first, iterations: 1 } },
      { payload: { goalId, satisfied: true, runId: second, iterations: 2 } },
      { payload: { goalId, finalState: 'satisfied' } },
    ])
    expect(await ranOnce(host, goalId)).toBeUndefined()
  })

  test('R-DWS-37: the judge is a run of its own, whose log holds the verdict over the run it judged', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['pass'], { workflow: step })
    const { goalId } = await made(host)
    const judged = await ranOnce(host, goalId)
    const begun = (await toldIn(rig, goalId)).filter(({ type }) => type === 'assay.stream.run.began')
    expect(begun).toMatchObject([
      { payload: { role: 'work', runId: judged } },
      { payload: { role: 'judge', ordinal: 1 } },
    ])
    const judge = await toldIn(rig, String(begun[1]?.payload.runId))
    expect(judge.filter(({ type }) => type === 'agent.verified')).toMatchObject([
      { payload: { target: judged, verdict: 'pass' } },
    ])
    expect(judge.filter(({ type }) => type.startsWith('goal.'))).toEqual([])
  })

  test('R-GOAL-5 R-GOAL-6 R-GOAL-16: stops exactly at its bound, and says so once', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['fail'], { workflow: step })
    const { goalId } = await made(host, { bounds: { maxLoopIterations: 2 } })
    for (let i = 0; i < 5; i++) await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { final: 'bound-exceeded' }, reserved: 2, finished: 2 })
    const closings = (await toldIn(rig, goalId)).filter(({ type }) => type === 'goal.closed')
    expect(closings).toMatchObject([{ payload: { finalState: 'bound-exceeded' } }])
  })

  test('R-GOAL-16: satisfied counts before the bound that is reached with it', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['pass'], { workflow: step })
    const { goalId } = await made(host, { bounds: { maxLoopIterations: 1 } })
    await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { final: 'satisfied' } })
  })

  test('a judge that cannot evaluate costs no iteration: the goal is held, and a person is asked in the end', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['none'], { workflow: step })
    const { goalId } = await made(host)
    await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ work: { is: 'judging', judge: { is: 'held', tries: 1 } } })
    for (let i = 0; i < 30; i++) {
      await rig.clock.advance(60_000)
      await settled()
    }
    expect(await stateOf(host, goalId)).toMatchObject({
      mode: { is: 'escalated', why: { reason: 'judge-unavailable' } },
      reserved: 1,
      finished: 1,
      verdict: null,
    })
    expect((await toldIn(rig, goalId)).filter(({ type }) => type === 'goal.evaluated')).toEqual([])
  })

  test('R-GOAL-18: nothing begins at the deadline, and what is open is told to stop in that same step', async () => {
    const rig = engineRig()
    const waiting = { id: 'step', nodes: { a: { type: 'core.delay', config: { delayMs: 3_600_000 } } } } as never
    const host = await goalHost(rig, ['fail'], { workflow: waiting })
    const { goalId } = await made(host, { bounds: { runTimeoutMs: 60_000 } })
    const runId = await ranOnce(host, goalId)
    await rig.clock.advance(59_999)
    await settled()
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { is: 'active' }, work: { is: 'working' } })
    await rig.clock.advance(1)
    await settled()
    expect(await stateOf(host, goalId)).toMatchObject({
      phase: 'ended',
      mode: { final: 'bound-exceeded' },
      finished: 1,
    })
    const log = await toldIn(rig, goalId)
    const [closing] = log.filter(({ type }) => type === 'goal.closed')
    const [stopping] = log.filter(({ type }) => type === 'assay.goal.run.stopping')
    expect(stopping).toMatchObject({ payload: { runId }, at: closing?.at })
    expect((await toldIn(rig, String(runId))).at(-1)?.type).toMatch(/run\.(cancelled|failed)/)
    expect(await ranOnce(host, goalId)).toBeUndefined()
  })

  test('R-GOAL-3 R-GOAL-5: a bound of nothing closes it at once', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['pass'], { workflow: step })
    for (const bounds of [{ maxCostUsd: 0 }, { runTimeoutMs: 0 }]) {
      const { goalId } = await made(host, { bounds })
      expect(await stateOf(host, goalId)).toMatchObject({
        phase: 'ended',
        mode: { final: 'bound-exceeded' },
        reserved: 0,
      })
    }
  })

  test('R-GOAL-11: paused it starts nothing, and pausing resets nothing', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['fail'], { workflow: step })
    const { goalId } = await made(host)
    await ranOnce(host, goalId)
    await host.goals.command('t1', goalId, 'pause')
    expect(await host.goals.run('t1', goalId)).toMatchObject({ ok: false, refusal: { code: 'goal_not_active' } })
    await host.goals.command('t1', goalId, 'resume')
    await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ reserved: 2, finished: 2 })
  })

  test('a run that names the goal is one of its iterations, or is refused', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['fail'], { workflow: step })
    const { goalId } = await made(host, { bounds: { maxLoopIterations: 1 } })
    const request = { tenant: 't1', principal: 'p', workflowId: 'step', inputs: {}, transport: 'rest' } as const
    const answer = await host.goals.contribute(goalId, request)
    await settled()
    if (!answer.ok) throw new Error('refused')
    expect(await stateOf(host, goalId)).toMatchObject({
      contributing: [answer.value.runId],
      mode: { final: 'bound-exceeded' },
    })
    expect(await host.goals.contribute(goalId, request)).toMatchObject({ ok: false, refusal: { code: 'goal_closed' } })
    expect(await host.goals.contribute(goalId, { ...request, tenant: 't2' })).toMatchObject({ ok: false })
  })

  test('the same outcome three times in a row escalates; taken up again it goes on', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['fail'], { workflow: step, result: () => 'the same' })
    const { goalId } = await made(host, { bounds: { maxLoopIterations: 9 }, breaker: 3 })
    for (let i = 0; i < 4; i++) await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({
      mode: { is: 'escalated', why: { reason: 'no-progress' } },
      reserved: 3,
    })
    await host.goals.command('t1', goalId, 'resume')
    await settled()
    await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { is: 'active' }, reserved: 4, finished: 4 })
  })
})
