import { CRASH_WORKFLOWS } from '../../crash/process/workflows.js'
import { answerAll, command, rigWorld, start, untilOver } from '../world.js'
import { performers, register } from './doubles.js'
import type { Story } from './index.js'

const OWN = [
  {
    id: 'voting',
    nodes: {
      gate: {
        type: 'core.approvalGate',
        config: { approversList: ['ann', 'bob', 'cleo'], requiredApprovals: 2, actions: ['accept', 'reject', 'ask'] },
      },
    },
  },
  {
    id: 'clarifying',
    nodes: { q: { type: 'core.clarificationGate', config: { questions: [{ id: 'where', question: 'Where?' }] } } },
  },
]

/** Approvals, votes, clarifications, a question back, time that runs out, a child that asks through its parent. */
export const interrupts: Story = {
  open: rigWorld(() => ({ performers: performers() })),
  async tell(world) {
    await register(world, ...CRASH_WORKFLOWS, ...OWN)
    for (const workflowId of ['approval', 'timeout', 'mirror', 'clarifying']) {
      await start(world, workflowId)
      if (workflowId !== 'timeout') await answerAll(world)
      await untilOver(world)
    }
    const voting = await start(world, 'voting')
    const by = (who: string, action: string) =>
      command(world, voting, { type: 'resolve', nodeId: 'gate', value: { action }, via: 'key', by: who })
    await by('ann', 'ask')
    await by('ann', 'accept')
    await by('bob', 'accept')
    await start(world, 'approval')
    await answerAll(world, 'refine')
    await answerAll(world, 'reject')
    await untilOver(world)
  },
}
