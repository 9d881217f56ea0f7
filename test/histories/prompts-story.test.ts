import { expect, test } from 'vitest'
import { findingsOf, runsIn } from '../support/stored-runs.js'
import { prompts } from './stories/prompts.js'
import { untilOver } from './world.js'

test('R-REPLAY-9 R-ENV-4: the story of prompts is legal as it is told today, and has what only it can tell', async () => {
  const world = await prompts.open()
  try {
    await prompts.tell(world)
    await untilOver(world)
    const runs = await runsIn(world.store)
    expect(findingsOf(runs)).toEqual([])
    const told = await Promise.all(
      (await world.store.listRuns({ tenant: world.tenant, limit: 100 })).map(({ runId }) =>
        world.store.readEvents(runId, 0),
      ),
    )
    const events = told.flat()
    const types = new Set(events.map(({ type }) => type))
    for (const type of ['model.capability.insufficient', 'model.capability.substituted', 'replay.divergedAtRefusal'])
      expect(types).toContain(type)
    const started = events
      .filter(({ type }) => type === 'node.started')
      .map(({ payload }) => JSON.parse(payload).typeId)
    for (const typeId of ['core.ai.callPrompt', 'core.ai.structuredOutput', 'conformance.modelCapability.insufficient'])
      expect(started).toContain(typeId)
    expect(events.filter(({ type }) => type === 'replay.divergedAtRefusal')).toHaveLength(1)
  } finally {
    await world.stop()
  }
})
