import { settled } from '../../../src/testing/manual-clock.js'
import { JOURNAL_WORKFLOWS, journalWorld, SCENES } from '../../support/journal-scenes.js'
import { rigWorld, start, untilOver, type World } from '../world.js'
import { register } from './doubles.js'
import type { Story } from './index.js'

async function fork({ engine, tenant }: World, runId: string, mode: 'branch' | 'replay', fromSeq: number) {
  const answer = await engine.fork({ tenant, runId, mode, fromSeq })
  if (!answer.ok) throw new Error(JSON.stringify(answer))
  await settled()
  return answer.value.runId
}

/** Past its first writes, in the middle of an agent at work. */
const MIDDLE = 14

/**
 * Nodes and agents that write into memory and workspace, read, search, forget and remove; two that edit one file; writes
 * that a gate passes, sends back, rejects, or holds until the run ends or a worker is merged; children that share a memory
 * or have their own; an orchestrator whose turns read what its workers wrote; branches and replays of all that.
 */
export const journals: Story = {
  open: rigWorld(journalWorld),
  async tell(world) {
    await register(world, ...JOURNAL_WORKFLOWS)
    for (const scene of Object.keys(SCENES)) {
      // Who leads begins with a memory in which nothing is noted yet.
      const more = scene === 'led' ? {} : { scopeId: 'team' }
      const runId = await start(world, scene, more)
      if (scene === 'edited') await start(world, 'written', more)
      await untilOver(world)
      if (scene !== 'both' && scene !== 'nodes') continue
      const branch = await fork(world, runId, 'branch', scene === 'both' ? MIDDLE : 0)
      await untilOver(world)
      await fork(world, runId, 'replay', 0)
      await fork(world, branch, 'replay', 0)
      await fork(world, branch, 'branch', 1)
      await untilOver(world)
    }
  },
}
