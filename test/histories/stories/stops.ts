import { CRASH_WORKFLOWS } from '../../crash/process/workflows.js'
import { command, rigWorld, start, untilOver } from '../world.js'
import { performers, register } from './doubles.js'
import type { Story } from './index.js'

const OWN = [
  { id: 'parent', nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'sleeper' } } } },
  {
    id: 'endless',
    nodes: {
      loop: { type: 'core.loop', config: { condition: 'true', maxIterations: 3 } },
      body: 'core.noop',
      end: 'core.noop',
    },
    edges: ['loop.body > body', 'body > loop', 'loop.done > end'],
  },
]

/** Pause and resume in both ways, cancelled families, and every bound that a run is held to. */
export const stops: Story = {
  open: rigWorld(() => ({ performers: performers() })),
  async tell(world) {
    await register(world, ...CRASH_WORKFLOWS, ...OWN)
    for (const drainPolicy of ['immediate', 'drain-current-node'] as const) {
      const runId = await start(world, 'linear')
      await command(world, runId, { type: 'pause', drainPolicy, reason: 'lunch' })
      await world.pass(1_000)
      await command(world, runId, { type: 'resume', reason: 'back' })
      await untilOver(world)
    }
    for (const workflowId of ['sleeper', 'parent']) {
      const runId = await start(world, workflowId)
      await command(world, runId, { type: 'cancel', reason: 'enough', by: 'p' })
    }
    await start(world, 'sleeper', { configurable: { runTimeoutMs: 1_000 } })
    await start(world, 'linear', { configurable: { recursionLimit: 2 } })
    await start(world, 'endless')
    await untilOver(world)
  },
}
