import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { engineRig } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import type { ScheduleShown } from '../api.js'
import type { Engine } from '../runtime/engine.js'

const MINUTE = 60_000
const QUICK: Sketch = { id: 'report', nodes: { a: 'core.noop' }, variables: [{ name: 'n', type: 'number' }] }
const SLOW: Sketch = { id: 'report', nodes: { a: { type: 'core.delay', config: { delayMs: 150_000 } } } }

const trigger = (config: JsonObject = {}, id = 'tick'): JsonObject => ({
  id,
  type: 'schedule',
  config: { cron: '* * * * *', ...config },
})
const scheduled = (workflow: Sketch, ...triggers: JsonObject[]) => ({ ...sketch(workflow), triggers })

async function put(engine: Engine, definition: unknown, tenant: string | null = 't1'): Promise<string | undefined> {
  const answer = await engine.putWorkflow(tenant, definition, { principal: 'ada', scopes: ['runs:create'] })
  await settled()
  return answer.ok || !('refusal' in answer) ? undefined : `${answer.refusal.code}: ${answer.refusal.message}`
}

const runsOf = async (engine: Engine, tenant = 't1') =>
  (await engine.list({ tenant, limit: 100 })).toSorted((a, b) => (a.runId < b.runId ? -1 : 1))
const schedulesOf = async (engine: Engine, tenant = 't1') =>
  (await engine.schedules.list(tenant, { limit: 10 })).schedules
const only = async (engine: Engine, tenant = 't1'): Promise<ScheduleShown> => (await schedulesOf(engine, tenant))[0]!
const startOf = async (engine: Engine, runId: string) =>
  JSON.parse((await engine.readEvents('t1', runId, 0, 1))![0]!.payload)

describe('a workflow with a schedule', () => {
  test('R-ARM-1 R-ARM-6: has one run for each tick, which says what has started it and for when', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    expect(await put(engine, scheduled(QUICK, trigger({ inputs: { n: 7 } })))).toBeUndefined()
    await rig.clock.advance(3 * MINUTE + 500)
    const runs = await runsOf(engine)
    const { scheduleId, ...shown } = await only(engine)
    expect(runs.map(({ status, tags }) => [status, tags])).toEqual(Array(3).fill(['completed', [scheduleId]]))
    const starts = await Promise.all(runs.map(({ runId }) => startOf(engine, runId)))
    const begin = rig.clock.now() - 3 * MINUTE - 500
    expect(starts.map(({ metadata }) => metadata)).toEqual(
      [1, 2, 3].map(i => ({ armRef: scheduleId, tick: new Date(begin + i * MINUTE).toISOString() })),
    )
    expect(starts[0]).toMatchObject({ inputs: { n: 7 }, stream: scheduleId, owner: { tenant: 't1', principal: 'ada' } })
    expect(shown).toMatchObject({ workflowId: 'report', triggerId: 'tick', state: 'armed', begun: 3, run: null })
    expect(shown.latest).toMatchObject({ runId: runs[2]!.runId, outcome: 'completed' })
    // At the tick itself, not at the next sweep after it.
    expect(runs.map(({ createdAt }) => createdAt - begin)).toEqual([MINUTE, 2 * MINUTE, 3 * MINUTE])
  })

  test('R-ARM-1: never has two runs at once; what was missed meanwhile is made up for by one', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await put(engine, scheduled(SLOW, trigger()))
    await rig.clock.advance(10 * MINUTE)
    const runs = await runsOf(engine)
    const begin = rig.clock.now() - 10 * MINUTE
    expect(runs.map(({ createdAt }) => (createdAt - begin) / MINUTE)).toEqual([1, 3.5, 6, 8.5])
    const ticks = await Promise.all(runs.map(async ({ runId }) => (await startOf(engine, runId)).metadata.tick))
    expect(ticks.map(tick => (Date.parse(tick) - begin) / MINUTE)).toEqual([1, 3, 6, 8])
  })

  test('registered anew without it, or with it switched off, it has no more', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await put(engine, scheduled(QUICK, trigger(), trigger({}, 'other')))
    expect(await schedulesOf(engine)).toHaveLength(2)
    await put(engine, scheduled(QUICK, { ...trigger(), enabled: false }, trigger({}, 'other')))
    const [left, ...none] = await schedulesOf(engine)
    expect([left?.triggerId, none]).toEqual(['other', []])
    await put(engine, sketch(QUICK))
    await rig.clock.advance(5 * MINUTE)
    expect([await runsOf(engine), await schedulesOf(engine)]).toEqual([[], []])
    // The same trigger, again: from now on.
    await put(engine, scheduled(QUICK, trigger()))
    await rig.clock.advance(MINUTE)
    expect(await runsOf(engine)).toHaveLength(1)
  })

  test('whose host died before its schedules were told: they see by themselves what the workflow says', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await put(engine, scheduled(QUICK, trigger(), trigger({ inputs: { n: 1 } }, 'other')))
    const text = JSON.stringify(scheduled(QUICK, trigger({ inputs: { n: 2 } }, 'other')))
    const { sha256 } = await import('../../digest.js')
    const record = { tenant: 't1', workflowId: 'report', digest: sha256(text), definition: text, updatedAt: 0 }
    await rig.store.putWorkflow(record)
    await rig.clock.advance(2 * MINUTE)
    const runs = await runsOf(engine)
    const starts = await Promise.all(runs.map(({ runId }) => startOf(engine, runId)))
    expect(starts.map(({ inputs }) => inputs)).toEqual([{ n: 2 }, { n: 2 }])
    expect((await schedulesOf(engine)).map(({ triggerId }) => triggerId)).toEqual(['other'])
  })

  test('of the project belongs to the tenant that is set for it, and to nobody else', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await put(engine, scheduled(QUICK, trigger()), null)
    await rig.clock.advance(MINUTE)
    expect([await runsOf(engine, 'default'), await runsOf(engine, 't1')].map(({ length }) => length)).toEqual([1, 0])
    const { scheduleId } = await only(engine, 'default')
    expect(await engine.schedules.get('t1', scheduleId)).toBeUndefined()
    for (const command of ['pause', 'resume', 'run'] as const)
      expect(await engine.schedules[command]('t1', scheduleId)).toMatchObject({ refusal: { code: 'not_found' } })
  })

  test.each<[JsonObject, string, string]>([
    [
      { timezone: 'Europe/Berln' },
      'validation_error',
      'is no time zone that this host knows; did you mean Europe/Berlin?',
    ],
    [{ cron: '0 0 30 2 *' }, 'schedule_horizon_exceeded', 'matches no time within ten years'],
    [
      { cron: '0 0 29 2 *' },
      'schedule_horizon_exceeded',
      'first matches at 2028-02-29T00:00:00.000Z; this host plans 366 days ahead',
    ],
    [{ cron: '0 0 * *' }, 'validation_error', 'triggers["tick"].config.cron must have five fields'],
  ])('%j is refused, and nothing of it is kept', async (config, code, problem) => {
    const engine = await engineRig().host()
    const refused = await put(engine, scheduled(QUICK, trigger(config)))
    expect(refused).toContain(`${code}: `)
    expect(refused).toContain(problem)
    const checked = await engine.checkWorkflow('t1', scheduled(QUICK, trigger(config)))
    expect(checked.ok).toBe(false)
    expect([await engine.listWorkflows('t1'), await schedulesOf(engine)]).toEqual([[], []])
  })

  test('beyond the quota it is refused; one that is there already may be changed', async () => {
    const rig = engineRig()
    const { noQuotas } = await import('../../core/quotas.js')
    const engine = await rig.host({ quotas: tenant => ({ ...noQuotas(tenant), schedules: 2 }) })
    await put(engine, scheduled(QUICK, trigger(), trigger({}, 'other')))
    expect(await put(engine, scheduled(QUICK, trigger(), trigger({}, 'third')))).toMatch(
      /quota_exceeded.*quota schedules/,
    )
    expect(await put(engine, scheduled(QUICK, trigger({ cron: '0 * * * *' }), trigger({}, 'other')))).toBeUndefined()
    expect(await put(engine, scheduled({ ...QUICK, id: 'more' }, trigger()))).toMatch(/quota_exceeded/)
    expect(await put(engine, scheduled(QUICK, trigger()))).toBeUndefined()
    expect(await put(engine, scheduled({ ...QUICK, id: 'more' }, trigger()))).toBeUndefined()
  })
})

describe('a schedule', () => {
  test('paused starts nothing; resumed it goes on; by hand it starts a run meanwhile', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await put(engine, scheduled(SLOW, trigger()))
    const { scheduleId } = await only(engine)
    expect(await engine.schedules.pause('t1', scheduleId)).toMatchObject({ ok: true, value: { state: 'paused' } })
    await rig.clock.advance(5 * MINUTE)
    expect(await runsOf(engine)).toHaveLength(0)
    expect(await engine.schedules.run('t1', scheduleId)).toMatchObject({ ok: true })
    await settled()
    expect(await engine.schedules.run('t1', scheduleId)).toMatchObject({ refusal: { code: 'schedule_busy' } })
    const [byHand] = await runsOf(engine)
    expect((await startOf(engine, byHand!.runId)).metadata).toEqual({ armRef: scheduleId, tick: 'hand:1' })
    await rig.clock.advance(5 * MINUTE)
    await engine.schedules.resume('t1', scheduleId)
    await rig.clock.advance(MINUTE)
    expect(await runsOf(engine)).toHaveLength(2)
  })

  test('goes on after an outage by its policy, and one host takes over from another', async () => {
    const rig = engineRig()
    const first = await rig.host()
    for (const missed of ['skip', 'once', 'all'])
      await put(
        first,
        scheduled({ ...QUICK, id: missed }, trigger({ missed, ...(missed === 'all' && { maxMissed: 3 }) })),
      )
    await rig.clock.advance(MINUTE)
    await first.stop(0)
    await rig.clock.advance(30.5 * MINUTE + 61_000)
    const second = await rig.host()
    await rig.clock.advance(20_000)
    const runs = await runsOf(second)
    const count = (workflowId: string) => runs.filter(run => run.workflowId === workflowId).length
    expect([count('skip'), count('once'), count('all')]).toEqual([2, 2, 4])
  })

  test('whose run cannot be started now starts it later', async () => {
    const rig = engineRig()
    const { noQuotas } = await import('../../core/quotas.js')
    let activeRuns = 0
    const engine = await rig.host({ quotas: tenant => ({ ...noQuotas(tenant), activeRuns }) })
    await put(engine, scheduled(SLOW, trigger({ cron: '0 * * * *' })))
    await rig.clock.advance(60 * MINUTE)
    expect(await runsOf(engine)).toHaveLength(0)
    await rig.clock.advance(10 * MINUTE)
    activeRuns = 1
    await rig.clock.advance(5 * MINUTE)
    const [run, ...others] = await runsOf(engine)
    expect([run?.status, others]).toEqual(['completed', []])
  })

  test('is no run: it is not listed, read, commanded or forked as one', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await put(engine, scheduled(QUICK, trigger()))
    const { scheduleId } = await only(engine)
    expect(await runsOf(engine)).toEqual([])
    expect(await engine.inspect('t1', scheduleId)).toBeUndefined()
    expect(await engine.command('t1', scheduleId, { type: 'cancel', by: 'x' })).toMatchObject({ ok: false })
    const fork = { tenant: 't1', runId: scheduleId, mode: 'replay', fromSeq: 0 } as const
    expect(await engine.fork(fork)).toMatchObject({ ok: false })
  })
})
