import type { JsonObject } from '../../../src/core/json.js'
import type { Fork } from '../../../src/core/replay/events.js'
import { settled } from '../../../src/testing/manual-clock.js'
import { CRASH_WORKFLOWS } from '../../crash/process/workflows.js'
import { command, rigWorld, start, untilOver, type World } from '../world.js'
import { performers, register } from './doubles.js'
import type { Story } from './index.js'

async function fork(
  { engine, tenant }: World,
  runId: string,
  mode: Fork['mode'],
  fromSeq: number,
  set?: JsonObject,
): Promise<string> {
  const answer = await engine.fork({ tenant, runId, mode, fromSeq, ...(set && { set }) })
  if (!answer.ok) throw new Error(JSON.stringify(answer))
  await settled()
  return answer.value.runId
}

/** Branches and replays of runs that ended, of one that was cancelled, and of a fork; branches that change a node. */
export const forks: Story = {
  open: rigWorld(() => ({ performers: performers() })),
  async tell(world) {
    await register(world, ...CRASH_WORKFLOWS)
    const source = await start(world, 'family')
    await untilOver(world)
    await fork(world, source, 'replay', 0)
    const branch = await fork(world, source, 'branch', 3)
    await untilOver(world)
    await fork(world, branch, 'branch', 6)
    await fork(world, branch, 'replay', 2)
    const sleeper = await start(world, 'sleeper')
    await command(world, sleeper, { type: 'cancel', by: 'p' })
    await fork(world, sleeper, 'replay', 0)
    await fork(world, sleeper, 'branch', 2)
    await untilOver(world)
    // Shorter from here on, by a definition of its own; then told again, by both.
    const shorter = await fork(world, sleeper, 'branch', 1, { 'nodes.d.config.ms': 1_000 })
    await untilOver(world)
    await fork(world, shorter, 'replay', 0)
    await fork(world, sleeper, 'branch', 0, { 'nodes.d.config.ms': 2_000 })
    await untilOver(world)
  },
}
