import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import { CRASH_WORKFLOWS } from '../../crash/process/workflows.js'
import { answerAll, rigWorld, start, untilOver } from '../world.js'
import { performers, register } from './doubles.js'
import type { Story } from './index.js'

const OWN = [
  loopOf({ rules: [{ decide: next('noop') }] }, { id: 'restless' }),
  loopOf(
    { rules: [{ when: 'iteration == 1', decide: { kind: 'escalate', reason: 'I cannot' } }, { decide: terminate }] },
    { id: 'escalating' },
  ),
]

/** Supervisors that decide by rules and by a provider, hand work to one or many, ask, doubt, give up, never stop. */
export const supervisors: Story = {
  open: rigWorld(() => ({ performers: performers() })),
  async tell(world) {
    await register(world, ...CRASH_WORKFLOWS, ...OWN)
    for (const workflowId of ['errands', 'doubted', 'fanned', 'attested', 'escalating']) {
      await start(world, workflowId)
      await untilOver(world)
    }
    await start(world, 'attested')
    await world.pass(50)
    await answerAll(world, 'reject')
    await start(world, 'restless', { configurable: { maxLoopIterations: 3 } })
    await untilOver(world)
  },
}
