import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import type { Sketch } from '../../testing/workflow.js'
import type { Store } from '../ports/store.js'

/** A store whose hints are all lost. */
const deaf = (store: Store): Store =>
  new Proxy(store, {
    get: (target, name) => {
      if (name === 'onHint') return () => () => undefined
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

const ACCEPT = { type: 'resolve', nodeId: 'gate', value: { action: 'accept' }, by: 'ann', via: 'key' } as const
const MONTH = 30 * 24 * 3_600_000
const pause = (ms: number) => ({ type: 'core.delay', config: { ms } })
const sub = (workflowId: string) => ({ type: 'core.subWorkflow', config: { workflowId } })

/** One host holds the runs, the other takes the answer, and neither ever hears of the other. */
async function answeredElsewhere(workflows: readonly Sketch[], asker: string) {
  const rig = engineRig(deaf(new MemoryStore()))
  const holder = await rig.host({ hostName: 'holder', leaseMs: MONTH })
  const other = await rig.host({ hostName: 'other', leaseMs: MONTH })
  await register(holder, ...workflows)
  const runId = await startRun(holder, 'flow')
  await rig.clock.advance(1_000)
  const [asking] = await rig.store.listRuns({ tenant: 't1', workflowId: asker, limit: 1 })
  expect(await other.command('t1', asking!.runId, ACCEPT)).toMatchObject({ ok: true })
  await rig.clock.advance(60_000)
  return (await holder.inspect('t1', runId))?.status
}

describe('a run that another host has written to, when no hint says so', () => {
  it('is seen to have ended', async () => {
    expect(await answeredElsewhere([{ id: 'flow', nodes: { gate: 'core.approvalGate' } }], 'flow')).toBe('completed')
  })

  it('wakes its parent', async () => {
    const asker = { id: 'asker', nodes: { gate: 'core.approvalGate' } }
    expect(await answeredElsewhere([asker, { id: 'flow', nodes: { s: sub('asker') } }], 'asker')).toBe('completed')
  })

  it('has its timers kept', async () => {
    const flow = { id: 'flow', nodes: { gate: 'core.approvalGate', d: pause(10_000) }, edges: ['gate > d'] }
    expect(await answeredElsewhere([flow], 'flow')).toBe('completed')
  })

  it('has its work done', async () => {
    const child = { id: 'child', nodes: { d: pause(10) } }
    const flow = { id: 'flow', nodes: { gate: 'core.approvalGate', s: sub('child') }, edges: ['gate > s'] }
    expect(await answeredElsewhere([child, flow], 'flow')).toBe('completed')
  })
})
