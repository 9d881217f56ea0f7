import { describe, expect, test } from 'vitest'
import { cronCalendar } from '../../calendar/cron-calendar.js'
import { checkGoal } from '../../log-check/goal/check-goal.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, type Rig } from '../../testing/engine-rig.js'
import { goalHost, MET, made, ranOnce, stateOf, toldIn } from '../../testing/goal-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { AGENT, agentFlow, answered } from '../../testing/invocations.js'
import { sketch } from '../../testing/workflow.js'

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

  test('R-GOAL-18: a deadline that came while no host was there is met by the next one, also where somebody reads first', async () => {
    const rig = engineRig()
    const first = await goalHost(rig, ['fail'], { workflow: step })
    const { goalId } = await made(first, { bounds: { runTimeoutMs: 60_000 } })
    await rig.clock.advance(50_000)
    await first.engine.stop(0)
    await rig.clock.advance(20_000)
    const next = await goalHost(rig, ['fail'])
    expect(await stateOf(next, goalId)).toMatchObject({ phase: 'open', mode: { is: 'active' } })
    await rig.clock.advance(2_000)
    await settled()
    expect(await stateOf(next, goalId)).toMatchObject({ phase: 'ended', mode: { final: 'bound-exceeded' } })
  })

  test('R-GOAL-5: a bound of nothing closes it at once', async () => {
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

describe('a goal and whoever is asked', () => {
  const unsure = (confidence: number) =>
    agentsDouble({
      agents: { [AGENT]: {}, 'assay.verifier': {} },
      think: ({ role }) => ({ said: role === 'verifier' ? answered(MET) : answered('a guess', confidence) }),
    })
  const interruptOf = async (rig: Rig, runId: string) =>
    (await toldIn(rig, runId)).find(({ type }) => type === 'interrupt.requested' || type === 'node.suspended')?.payload

  test('R-GOAL-7: a run that asks for lack of confidence sets it to escalated until a person has answered', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, [], { workflow: step, agents: unsure(0.1) })
    const { goalId } = await made(host, { work: { workflowId: 'step', inputs: {} } })
    const runId = String(await ranOnce(host, goalId))
    expect(await interruptOf(rig, runId)).toBeDefined()
    expect(await stateOf(host, goalId)).toMatchObject({
      mode: { is: 'escalated', why: { reason: 'confidence', runId, depth: 0 } },
      open: [{ runId }],
    })
    // Until somebody has answered it is not taken up again, and it starts nothing.
    expect(await host.goals.command('t1', goalId, 'resume')).toMatchObject({
      ok: false,
      refusal: { code: 'goal_not_active' },
    })
    expect(await ranOnce(host, goalId)).toBeUndefined()
    await host.engine.command('t1', runId, {
      type: 'resolve',
      nodeId: 'a',
      value: { action: 'accept' },
      by: 'ann',
      via: 'key',
    })
    await settled()
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { is: 'escalated' }, finished: 1, verdict: null })
    expect(await host.goals.command('t1', goalId, 'resume')).toMatchObject({ ok: true })
    await settled()
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { is: 'closed', final: 'satisfied' } })
    const closings = (await toldIn(rig, goalId)).filter(({ type }) => type === 'goal.closed')
    expect(closings.map(({ payload }) => payload.finalState)).toEqual(['escalated', 'satisfied'])
  })

  test('a plain question escalates nothing, and consumes no iteration while it waits', async () => {
    const rig = engineRig()
    const asking = { id: 'step', nodes: { a: { type: 'core.approvalGate', config: { title: 'May I?' } } } } as never
    const host = await goalHost(rig, ['pass'], { workflow: asking })
    const { goalId } = await made(host)
    const runId = String(await ranOnce(host, goalId))
    expect(await interruptOf(rig, runId)).toBeDefined()
    await rig.clock.advance(120_000)
    expect(await stateOf(host, goalId)).toMatchObject({
      mode: { is: 'active' },
      work: { is: 'working' },
      finished: 0,
      reserved: 1,
    })
  })

  test('R-GOAL-17: a run that failed reaches no goal, and no judge is asked', async () => {
    const rig = engineRig()
    const agents = agentsDouble({
      agents: { [AGENT]: {}, 'assay.verifier': {} },
      think: () => ({ ok: false, code: 'provider_error', message: 'no', retryable: false }),
    })
    const host = await goalHost(rig, ['pass'], { workflow: step, agents })
    const { goalId } = await made(host, { bounds: { maxLoopIterations: 2 } })
    await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ finished: 1, judged: 0, verdict: { satisfied: false } })
  })
})

describe('a goal on a schedule', () => {
  const EVERY_MINUTE = {
    kind: 'schedule',
    cron: '* * * * *',
    timezone: 'UTC',
    missed: { policy: 'once' },
    jitterMs: 0,
  } as const
  const scheduled = { continuation: { mode: 'schedule', armRef: 'minutely', arm: EVERY_MINUTE } } as const

  test('R-ARM-1 R-ARM-6 R-GOAL-14: each tick starts one run, which says what started it, until the goal closes', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['fail', 'fail', 'pass'], { workflow: step, calendar: cronCalendar() })
    const { goalId } = await made(host, { ...scheduled, bounds: { maxLoopIterations: 9 } })
    expect(await stateOf(host, goalId)).toMatchObject({ reserved: 0 })
    await rig.clock.advance(600_000)
    const goal = await stateOf(host, goalId)
    expect(goal).toMatchObject({ mode: { is: 'closed', final: 'satisfied' }, reserved: 3, phase: 'ended' })
    const [first] = await rig.store.readEvents(goal.contributing[0]!, 0, 1)
    expect(JSON.parse(first!.payload).metadata).toMatchObject({ goalId, armRef: 'minutely', startedBy: 'tick' })
  })

  test('R-ARM-1: two hosts that race for the same ticks start one run for each', async () => {
    const rig = engineRig()
    const one = await goalHost(rig, ['fail'], { workflow: step, calendar: cronCalendar(), hostName: 'one' })
    const two = await goalHost(rig, ['fail'], { calendar: cronCalendar(), hostName: 'two' })
    const { goalId } = await made(one, { ...scheduled, bounds: { maxLoopIterations: 5 } })
    for (let i = 0; i < 12; i++) {
      await rig.clock.advance(30_000)
      // Both are asked by hand as well: of all of them one has its run at a time.
      await Promise.all([one.goals.run('t1', goalId), two.goals.run('t1', goalId)])
      await settled()
    }
    const goal = await stateOf(one, goalId)
    expect(goal).toMatchObject({ mode: { final: 'bound-exceeded' }, reserved: 5, finished: 5 })
    const runs = await rig.store.listRuns({ tenant: 't1', workflowId: 'step', limit: 100 })
    expect(runs.length).toBe(5)
    const rows = await rig.store.readEvents(goalId, 0, 10_000)
    expect(
      checkGoal(
        rows.map(row => ({ ...row, payload: JSON.parse(row.payload), secret: JSON.parse(row.secret ?? '{}') })),
      ),
    ).toEqual([])
  })

  test('R-GOAL-11: paused, ticks never happened; a waiting run is never moved, and has no second one beside it', async () => {
    const rig = engineRig()
    const waiting = { id: 'step', nodes: { a: { type: 'core.delay', config: { delayMs: 3_600_000 } } } } as never
    const host = await goalHost(rig, ['fail'], { workflow: waiting, calendar: cronCalendar() })
    const { goalId } = await made(host, { ...scheduled, bounds: { maxLoopIterations: 5 } })
    await rig.clock.advance(600_000)
    expect(await stateOf(host, goalId)).toMatchObject({ reserved: 1, finished: 0, work: { is: 'working' } })
    await host.goals.command('t1', goalId, 'pause')
    await rig.clock.advance(3_600_000)
    expect(await stateOf(host, goalId)).toMatchObject({ reserved: 1, finished: 1 })
    await host.goals.command('t1', goalId, 'resume')
    await rig.clock.advance(60_000)
    expect(await stateOf(host, goalId)).toMatchObject({ reserved: 2 })
  })
})

describe('what a goal says', () => {
  test('R-GOAL-9: no event has a word of the objective, and neither has a run that works for it', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['fail', 'pass'], { workflow: step })
    const { goalId } = await made(host, { objective: 'CANARY-OBJECTIVE' })
    await host.goals.edit('t1', goalId, () => ({ objective: 'CANARY-EDITED' }))
    await ranOnce(host, goalId)
    await ranOnce(host, goalId)
    const runs = await rig.store.listRuns({ tenant: 't1', limit: 100 })
    expect(runs.length).toBeGreaterThan(4)
    for (const { runId } of runs)
      for (const { payload } of await rig.store.readEvents(runId, 0, 10_000)) expect(payload).not.toContain('CANARY')
  })

  test('a standing stream is no run: nobody reads, lists, cancels or forks it as one', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, ['fail'], { workflow: step })
    const { goalId } = await made(host)
    const { engine } = host
    expect(await engine.inspect('t1', goalId)).toBeUndefined()
    expect(await engine.readEvents('t1', goalId, 0)).toBeUndefined()
    expect(await engine.follow('t1', goalId, 0, new AbortController().signal)).toBeUndefined()
    expect(await engine.tenantOf(goalId)).toBeUndefined()
    expect(await engine.list({ tenant: 't1', limit: 10 })).toEqual([])
    expect(await engine.command('t1', goalId, { type: 'cancel', by: 'ann' })).toMatchObject({ ok: false })
    expect(await engine.fork({ tenant: 't1', runId: goalId, mode: 'branch', fromSeq: 0 })).toMatchObject({ ok: false })
    expect(await host.goals.find('t2', goalId)).toBeUndefined()
    expect(await host.goals.command('t2', goalId, 'abandon')).toBeUndefined()
    expect(await engine.putWorkflow('t1', { ...sketch(step), id: 'assay-goal' })).toMatchObject({ ok: false })
    const judge = {
      tenant: 't1',
      principal: 'p',
      workflowId: 'assay-goal-judge',
      inputs: {},
      transport: 'rest',
    } as const
    expect(await engine.create(judge)).toMatchObject({ ok: false })
  })
})
