import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { checkSchedule } from '../../log-check/schedule/check-schedule.js'
import { engineRig, type Rig } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { createPredicates } from '../../standards/predicates.js'
import { inspectorDouble, predicatesDouble } from '../../testing/verification.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import type { PredicateAnswer, Predicates } from '../ports/verification.js'
import type { Engine } from '../runtime/engine.js'

const QUICK: Sketch = { id: 'react', nodes: { a: 'core.noop' } }
const ASKING = { id: 'react', nodes: { a: { type: 'core.approvalGate', config: { title: 'Is it so?' } } } } as never
const SECOND = 1_000

const beating = (workflow: Sketch, config: JsonObject = {}) => ({
  ...sketch(workflow),
  triggers: [
    {
      id: 'beat',
      type: 'event',
      eventType: 'heartbeat.stateChanged',
      config: { intervalSeconds: 10, probes: [{ type: 'http', url: 'https://example.com/CANARY' }], ...config },
    },
  ],
})

const said = (answer: boolean | 'timeout' | 'error'): PredicateAnswer =>
  typeof answer === 'boolean' ? { status: 'ok', holds: answer } : { status: answer, holds: null }

/** Answers one after the other; the last stays. */
function scripted(...answers: readonly (boolean | 'timeout' | 'error')[]) {
  const asked: Parameters<Predicates['ask']>[0][] = []
  const predicates = predicatesDouble(async given => {
    asked.push(given)
    return said(answers[Math.min(asked.length, answers.length) - 1]!)
  })
  return { predicates, asked }
}

async function put(engine: Engine, definition: unknown): Promise<string> {
  expect(await engine.putWorkflow('t1', definition)).toMatchObject({ ok: true })
  await settled()
  return (await engine.schedules.list('t1', { limit: 10 })).schedules[0]!.scheduleId
}

async function logOf(rig: Rig, id: string) {
  const log = (await rig.store.readEvents(id, 0, 10_000)).map(event => ({
    ...event,
    payload: JSON.parse(event.payload) as JsonObject,
  }))
  if (id.startsWith('schedule-')) expect(checkSchedule(log)).toEqual([])
  return log
}

const runsOf = (engine: Engine) => engine.list({ tenant: 't1', limit: 100 })

describe('a heartbeat', () => {
  test('R-ARM-2 R-ARM-6: looks every interval, and starts a run only where the answer is another one than the last', async () => {
    const rig = engineRig()
    const { predicates, asked } = scripted(false, false, true, true, false)
    const engine = await rig.host({ predicates })
    const id = await put(engine, beating(QUICK))
    await rig.clock.advance(60 * SECOND)
    expect(asked.length).toBe(7)
    const log = await logOf(rig, id)
    const [evaluated, changed] = ['heartbeat.evaluated', 'heartbeat.stateChanged'].map(type =>
      log.filter(event => event.type === type).map(({ payload }) => payload),
    )
    expect(evaluated).toEqual(
      [false, false, true, false, true, false, false].map(isNew => ({ heartbeatId: id, status: 'ok', changed: isNew })),
    )
    expect(changed).toEqual([
      { heartbeatId: id, from: { holds: false }, to: { holds: true } },
      { heartbeatId: id, from: { holds: true }, to: { holds: false } },
    ])
    const runs = (await runsOf(engine)).toReversed()
    const begin = rig.clock.now() - 60 * SECOND
    expect(runs.map(({ createdAt }) => (createdAt - begin) / SECOND)).toEqual([20, 40])
    const [started] = await logOf(rig, runs[0]!.runId)
    expect(started?.payload).toMatchObject({
      metadata: { armRef: id, tick: new Date(begin + 20 * SECOND).toISOString() },
    })
  })

  test('R-ARM-2: never overlaps itself: what passes while it looks is not made up for', async () => {
    const rig = engineRig()
    let [atOnce, most, looks] = [0, 0, 0]
    const predicates = predicatesDouble(async () => {
      looks += 1
      most = Math.max(most, ++atOnce)
      await new Promise<void>(resolve => rig.clock.after(25 * SECOND, resolve))
      atOnce -= 1
      return said(true)
    })
    const engine = await rig.host({ predicates })
    await put(engine, beating(QUICK))
    for (let i = 0; i < 24; i++) await rig.clock.advance(5 * SECOND)
    expect(most).toBe(1)
    // From 0 to 25, from 30 to 55, from 60 to 85, from 90 to 115, from 120 on.
    expect(looks).toBe(5)
  })

  test('R-ARM-2: what could not be found out, or not in time, is told and changes nothing', async () => {
    const rig = engineRig()
    const { predicates } = scripted(true, 'timeout', 'error', true, false)
    const engine = await rig.host({ predicates })
    const id = await put(engine, beating(QUICK))
    await rig.clock.advance(30 * SECOND)
    expect(await runsOf(engine)).toEqual([])
    const statuses = (await logOf(rig, id)).flatMap(({ type, payload }) =>
      type === 'heartbeat.evaluated' ? [payload.status] : [],
    )
    expect(statuses).toEqual(['ok', 'timeout', 'error', 'ok'])
    await rig.clock.advance(10 * SECOND)
    expect(await runsOf(engine)).toHaveLength(1)
  })

  test('R-ARM-3 R-STATE-10: while its run waits for somebody nothing is looked at, and the run stays exactly where it is', async () => {
    const rig = engineRig()
    const { predicates, asked } = scripted(false, true, false, true)
    const engine = await rig.host({ predicates })
    await put(engine, beating(ASKING))
    await rig.clock.advance(15 * SECOND)
    const [waiting, ...others] = await runsOf(engine)
    expect([waiting?.status, others, asked.length]).toEqual(['waiting-approval', [], 2])
    const before = await logOf(rig, waiting!.runId)
    await rig.clock.advance(300 * SECOND)
    expect(await logOf(rig, waiting!.runId)).toEqual(before)
    expect([await runsOf(engine), asked.length]).toEqual([[waiting], 2])
    await engine.command('t1', waiting!.runId, {
      type: 'resolve',
      nodeId: 'a',
      value: { action: 'accept' },
      by: 'ann',
      via: 'key',
    })
    await settled()
    await rig.clock.advance(SECOND)
    // The tick that was set is looked at as soon as may be, and compared with the last answer there was.
    expect(asked.length).toBeGreaterThan(2)
    expect(await runsOf(engine)).toHaveLength(2)
  })

  test('R-ARM-1: two hosts that look at once start one run for a change', async () => {
    const rig = engineRig()
    const world = { holds: false }
    const predicates = predicatesDouble(async () => said(world.holds))
    const one = await rig.host({ predicates, hostName: 'one' })
    const two = await rig.host({ predicates, hostName: 'two' })
    const id = await put(one, beating(QUICK))
    await put(two, beating(QUICK))
    for (let i = 0; i < 10; i++) {
      world.holds = !world.holds
      await rig.clock.advance(10 * SECOND)
      await Promise.all([one, two].map(engine => engine.schedules.get('t1', id)))
    }
    const ticks = (await logOf(rig, id)).flatMap(({ type, payload }) =>
      type === 'assay.arm.ticked' ? payload.ticks : [],
    )
    const runs = await runsOf(one)
    expect(ticks.length).toBeGreaterThan(7)
    expect(runs.length).toBe(ticks.length)
  })

  test('R-ARM-5: what it keeps of what it has seen is whether it holds; no event has a word of where it looks', async () => {
    const rig = engineRig()
    const { predicates } = scripted(false, true)
    const engine = await rig.host({ predicates })
    const id = await put(engine, beating(QUICK))
    await rig.clock.advance(30 * SECOND)
    const rows = await rig.store.readEvents(id, 0, 10_000)
    for (const { payload } of rows) expect(payload).not.toContain('CANARY')
    const kept = rows.flatMap(({ type, secret }) =>
      type === 'heartbeat.evaluated' ? Object.keys(JSON.parse(secret!)) : [],
    )
    expect(new Set(kept)).toEqual(new Set(['tick', 'holds']))
  })

  test('paused it does not look; it is shown, and what it looks at may be changed', async () => {
    const rig = engineRig()
    const { predicates, asked } = scripted(false, true)
    const engine = await rig.host({ predicates })
    const id = await put(engine, beating(QUICK))
    expect(await engine.schedules.get('t1', id)).toMatchObject({
      arm: { kind: 'heartbeat', everyMs: 10_000, maxRuntimeMs: 30_000 },
      holds: false,
      state: 'armed',
    })
    await engine.schedules.pause('t1', id)
    await rig.clock.advance(60 * SECOND)
    expect(asked.length).toBe(1)
    await engine.schedules.resume('t1', id)
    await rig.clock.advance(10 * SECOND)
    expect(await runsOf(engine)).toHaveLength(1)
    await put(engine, beating(QUICK, { intervalSeconds: 60 }))
    expect(await engine.schedules.get('t1', id)).toMatchObject({ arm: { everyMs: 60_000 } })
  })

  test('looks at what whoever registered it may have looked at: commands are for workflows of the project', async () => {
    const rig = engineRig()
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const predicates = createPredicates({ inspector: inspectorDouble(), clock: rig.clock, log })
    const engine = await rig.host({ predicates })
    const command = beating(QUICK, { probes: [{ type: 'command', command: ['make'] }] })
    const refused = await engine.putWorkflow('t1', command)
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'validation_error' } })
    expect(JSON.stringify(refused)).toContain('put the workflow into workflows/ there')
    expect((await engine.schedules.list('t1', { limit: 10 })).schedules).toEqual([])
    expect(await engine.putWorkflow('t1', beating(QUICK, { probes: [{ type: 'equals', value: 1 }] }))).toMatchObject({
      ok: false,
    })
    expect(await engine.putWorkflow(null, command)).toMatchObject({ ok: true })
    await settled()
    const [kept] = (await engine.schedules.list('default', { limit: 10 })).schedules
    expect(kept).toMatchObject({ arm: { kind: 'heartbeat' } })
  })
})
