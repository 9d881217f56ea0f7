import { CRASH_WORKFLOWS } from '../../crash/process/workflows.js'
import { rigWorld, start, untilOver } from '../world.js'
import { performers, register } from './doubles.js'
import type { Story } from './index.js'

const OWN = [
  {
    id: 'skipping',
    nodes: {
      pick: { type: 'core.conditional', config: { expression: 'false' } },
      yes: 'core.noop',
      no: { type: 'core.setVariable', config: { name: 'secret', value: 'hidden' } },
      end: 'core.end',
    },
    edges: ['pick.true > yes', 'pick.false > no', 'yes > end', 'no > end'],
    variables: [{ name: 'secret', type: 'string' as const, sensitive: true }],
  },
  {
    id: 'failing',
    nodes: { f: { type: 'core.fail', config: { failures: 9 } }, after: 'core.noop' },
    edges: ['f > after'],
  },
]

const TOLD = ['linear', 'parallel', 'retrying', 'channel', 'family', 'effect', 'noop', 'skipping', 'failing']

/** Graphs, timers, retries, channels, sub-workflows, effects, and a node that fails for good. */
export const flow: Story = {
  open: rigWorld(() => ({ performers: performers() })),
  async tell(world) {
    await register(world, ...CRASH_WORKFLOWS, ...OWN)
    for (const workflowId of TOLD) {
      await start(world, workflowId)
      await untilOver(world)
    }
  },
}
