import { describe, expect, it } from 'vitest'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { agentFlow, answered } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'

/** One effect at a time: the first run's model does not answer before it is let to, and the second run has to wait. */
async function crowded() {
  const rig = engineRig()
  let answer: () => void = () => undefined
  const said = new Promise<void>(resolve => {
    answer = resolve
  })
  const agents = agentsDouble({
    think: async () => {
      await said
      return { said: answered('done') }
    },
  })
  const engine = await rig.host({ agents, maxConcurrentEffects: 1 })
  await register(engine, agentFlow({}, { id: 'w' }))
  await startRun(engine, 'w')
  const waiting = await startRun(engine, 'w')
  expect([agents.briefs.length, agents.thoughts.length]).toEqual([1, 1])
  return { rig, engine, agents, answer, waiting }
}

describe('an effect that waits for its turn', () => {
  it('is performed when it comes', async () => {
    const { engine, agents, answer, waiting } = await crowded()
    answer()
    await settled()
    expect(agents.briefs).toHaveLength(2)
    expect((await engine.inspect('t1', waiting))?.status).toBe('completed')
  })

  it('is not performed when its run wants it no more', async () => {
    const { engine, agents, answer, waiting } = await crowded()
    expect((await engine.command('t1', waiting, { type: 'cancel', by: 'p' })).ok).toBe(true)
    await settled()
    answer()
    await settled()
    expect((await engine.inspect('t1', waiting))?.status).toBe('cancelled')
    expect(agents.briefs).toHaveLength(1)
  })

  it('is not performed by a host that has stopped', async () => {
    const { rig, engine, agents, answer, waiting } = await crowded()
    const before = await rig.store.readEvents(waiting, 0, 100)
    await engine.stop(0)
    answer()
    await settled()
    expect(agents.briefs).toHaveLength(1)
    expect(await rig.store.readEvents(waiting, 0, 100)).toEqual(before)
  })
})
