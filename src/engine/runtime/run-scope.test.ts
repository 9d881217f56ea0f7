import { describe, expect, it } from 'vitest'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'

const asks = { id: 'w', nodes: { gate: 'core.approvalGate' } }

describe('a scope that is to have one run at a time', () => {
  it('takes no other: the refusal names the one there is, and nothing is written', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await register(engine, asks)
    const activeRunId = await startRun(engine, 'w', { scopeId: 's' })
    const again = {
      tenant: 't1',
      principal: 'p',
      workflowId: 'w',
      inputs: {},
      transport: 'rest',
      scopeId: 's',
      exclusiveScope: true,
    } as const
    expect(await engine.create(again)).toMatchObject({
      ok: false,
      refusal: { code: 'run_already_active', details: { activeRunId, retryAfter: 5 } },
    })
    expect(await rig.store.listRuns({ tenant: 't1', limit: 10 })).toHaveLength(1)
  })

  it('takes the next when that one has ended, and one of another scope at any time', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await register(engine, asks)
    const first = await startRun(engine, 'w', { scopeId: 's' })
    await startRun(engine, 'w', { scopeId: 'other', exclusiveScope: true })
    await engine.command('t1', first, { type: 'cancel', by: 'p' })
    await startRun(engine, 'w', { scopeId: 's', exclusiveScope: true })
    expect(await rig.store.listRuns({ tenant: 't1', limit: 10 })).toHaveLength(3)
  })
})
