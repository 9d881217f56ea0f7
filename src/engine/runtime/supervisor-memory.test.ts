import { expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { logOf } from '../../testing/run-logs.js'
import type { Sketch } from '../../testing/workflow.js'
import type { PrepareAgentRequest } from '../ports/agents.js'
import { entryIn } from '../queries/journal-view.js'

const put = (id: string, memoryId: string): Sketch => ({
  id,
  nodes: { a: { type: 'core.memoryPut', config: { memoryRef: 'notes', memoryId, content: id } } },
})

const BOSS: Sketch = {
  id: 'boss',
  nodes: {
    sup: { type: 'core.orchestrator.supervisor', config: { prompt: 'Lead.' } },
    disp: { type: 'core.dispatch', config: {} },
  },
  edges: ['sup > disp', 'disp > sup'],
}

/** A loop whose turns are an agent's: `decide` is asked for each, and `seen` says which entries of memory it saw. */
async function loop(decide: (turn: number) => Promise<JsonObject>) {
  const agents = agentsDouble({
    agents: {},
    think: async (_ask, nth) => ({ said: { kind: 'answered', result: await decide(nth) } }),
  })
  const rig = engineRig()
  const engine = await rig.host({ agents })
  await register(engine, put('worker', 'w'), put('other', 'o'), put('third', 'x'), BOSS)
  const seen = async ({ seat }: PrepareAgentRequest) => {
    const view = seat?.desk.memory?.view ?? []
    const found = []
    for (const id of ['w', 'o', 'x'])
      if (await entryIn(rig.store, 't1', 'memory', view, { ref: 'notes', id })) found.push(id)
    return found.join(' ')
  }
  return { rig, engine, agents, seen }
}

it('R-STATE-5 R-STATE-8 R-MEM-4: a turn sees what was written before it began, by its workers and by others, and nothing later', async () => {
  let after: () => Promise<unknown> = async () => undefined
  const { rig, engine, agents, seen } = await loop(async turn => {
    await after()
    return turn <= 2
      ? { kind: 'next-worker', nextWorkerIds: ['worker'] }
      : { kind: 'terminate', reason: 'goal-reached' }
  })
  const others = ['other', 'third']
  // While a turn is taken, somebody else writes into the same scope.
  after = async () => {
    const next = others.shift()
    if (next !== undefined) await startRun(engine, next, { scopeId: 's' })
  }
  const runId = await startRun(engine, 'boss', { scopeId: 's' })
  await rig.clock.advance(10_000)
  expect(await engine.inspect('t1', runId)).toMatchObject({ status: 'completed' })
  expect(await Promise.all(agents.briefs.map(seen))).toEqual(['', 'w o', 'w o x'])
})

it('R-STATE-5: what a turn goes by is in the log, so that it is found again from there', async () => {
  const { rig, engine, agents } = await loop(async turn =>
    turn === 1 ? { kind: 'next-worker', nextWorkerIds: ['worker'] } : { kind: 'terminate', reason: 'goal-reached' },
  )
  await startRun(engine, 'other', { scopeId: 's' })
  const runId = await startRun(engine, 'boss', { scopeId: 's' })
  await rig.clock.advance(10_000)
  const rows = await rig.store.readEvents(runId, 0)
  const begun = rows.filter(({ type }) => type === 'agent.invocation.started')
  const anchors = begun.map(({ secret }) => JSON.parse(secret ?? '{}').anchors.memory)
  expect(anchors).toEqual([1, 2])
  expect(agents.briefs.map(({ seat }) => seat?.desk.memory?.view[0]?.upTo)).toEqual(anchors)
  const replay = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
  if (!replay.ok) throw new Error('refused')
  await rig.clock.advance(1_000)
  expect(await logOf(rig, replay.value.runId)).toEqual(await logOf(rig, runId))
})

it('R-MEM-11: a fork that is refused says from which event on it would not be', async () => {
  const { rig, engine } = await loop(async turn =>
    turn === 1 ? { kind: 'next-worker', nextWorkerIds: ['worker'] } : { kind: 'terminate', reason: 'goal-reached' },
  )
  await startRun(engine, 'worker', { scopeId: 's' })
  const runId = await startRun(engine, 'boss', { scopeId: 's' })
  await rig.clock.advance(10_000)
  // The worker wrote over what was there when the run began; that is deleted.
  expect(await rig.store.collectJournal(rig.clock.now() + 1, 100)).toBe(1)
  const forkAt = (fromSeq: number) => engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq })
  const refused = await forkAt(1)
  const details = 'refusal' in refused ? refused.refusal.details : undefined
  expect(details).toMatchObject({ reason: 'retention_expired', oldestAvailableIdx: expect.any(Number) })
  const oldest = Number(details?.oldestAvailableIdx)
  expect((await forkAt(oldest - 1)).ok).toBe(false)
  expect((await forkAt(oldest)).ok).toBe(true)
})
