import { expect, it } from 'vitest'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { type Commit, UnverifiedMerge } from '../ports/event-log.js'
import type { Store } from '../ports/store.js'

const parent = {
  id: 'parent',
  nodes: { ask: { type: 'core.subWorkflow', config: { workflowId: 'child', outputMapping: { mine: 'x' } } } },
  variables: [{ name: 'mine', type: 'string' as const, defaultValue: 'old' }],
}
const child = {
  id: 'child',
  nodes: { x: { type: 'core.setVariable', config: { name: 'x', value: 'new' } } },
}

const merges = ({ streams }: Commit): boolean =>
  streams.some(({ events }) => events.some(({ payload }) => payload.includes('output.harvested')))

it('R-VERIFY-10, S10: a run whose merge the store refuses ends there, says why, and is not tried for ever', async () => {
  const rig = engineRig()
  let refused = 0
  const store: Store = new Proxy(rig.store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (name !== 'commit') return typeof value === 'function' ? value.bind(target) : value
      return (commit: Commit) => {
        if (!merges(commit)) return target.commit(commit)
        refused += 1
        return Promise.reject(new UnverifiedMerge('no pass'))
      }
    },
  })
  const engine = await rig.host({ store })
  await register(engine, child, parent)
  const runId = await startRun(engine, 'parent')
  await rig.clock.advance(5_000)
  const view = (await engine.inspect('t1', runId))!
  expect(view.state).toMatchObject({
    variables: { mine: 'old' },
    outcome: {
      status: 'failed',
      error: { code: 'run_quarantined', message: expect.stringContaining('no gate has passed') },
    },
  })
  expect(refused).toBe(1)
})
