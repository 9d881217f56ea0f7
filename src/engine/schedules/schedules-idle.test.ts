import { expect, test } from 'vitest'
import { engineRig } from '../../testing/engine-rig.js'
import { sketch } from '../../testing/workflow.js'
import type { Store } from '../ports/store.js'

const MINUTE = 60_000

/** Calls of the store, and rows that came back, while `many` schedules wait for a far time and three are due each minute. */
async function costOf(many: number): Promise<{ readonly calls: number; readonly due: number; readonly runs: number }> {
  const rig = engineRig()
  const seen = { calls: 0, due: 0 }
  const store = new Proxy(rig.store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'onHint') return value?.bind?.(target) ?? value
      return async (...parameters: unknown[]) => {
        seen.calls += 1
        const result = await value.apply(target, parameters)
        if (name === 'dueRuns') seen.due += result.length
        return result
      }
    },
  }) as Store
  const engine = await rig.host({ store, cachedRuns: 10 })
  const put = async (id: string, cron: string) => {
    const triggers = [{ id: 'tick', type: 'schedule', config: { cron } }]
    expect((await engine.putWorkflow('t1', { ...sketch({ id, nodes: { a: 'core.noop' } }), triggers })).ok).toBe(true)
  }
  for (let i = 0; i < many; i++) await put(`far${i}`, '0 0 1 12 *')
  for (let i = 0; i < 3; i++) await put(`near${i}`, '* * * * *')
  await rig.clock.advance(2 * MINUTE)
  seen.calls = 0
  seen.due = 0
  await rig.clock.advance(3 * MINUTE)
  const runs = (await engine.list({ tenant: 't1', limit: 100 })).length
  return { ...seen, runs }
}

test('only what is due is looked at: what waits for later costs no query and no look', async () => {
  const few = await costOf(0)
  expect(few.runs).toBe(15)
  expect(few.due).toBeGreaterThan(0)
  expect(await costOf(40)).toEqual(few)
  expect(await costOf(400)).toEqual(few)
}, 120_000)
