import { expect } from 'vitest'
import { sameEvent } from '../../src/core/replay/compare.js'
import type { Performer } from '../../src/engine/ports/performer.js'
import type { CheckedRun } from '../../src/log-check/checked.js'
import { openStore } from '../../src/store/open-store.js'
import { engineRig } from '../../src/testing/engine-rig.js'
import { until } from './host-process.js'
import { runsIn } from './stored-runs.js'

const LEASE_MS = 30 * 24 * 3_600_000

const saidIn = ({ events }: CheckedRun) =>
  events.map(({ type, nodeId, payload }) => ({ type, nodeId: nodeId ?? undefined, payload }))

/** Tells every run of a store that is nobody's child again: each says the same once more, without a call to anyone and without a child. */
export async function expectRetold(database: string): Promise<void> {
  const store = await openStore(database)
  const calls: string[] = []
  const performer: Performer = {
    perform: async ({ id }) => {
      calls.push(id)
      return { ok: false, code: 'effect_failed', message: 'nobody may be called', retryable: false }
    },
  }
  const names = ['decider', 'conformance.side-effect']
  const performers = new Map(names.map(name => [name, performer]))
  const engine = await engineRig(store).host({ leaseMs: LEASE_MS, performers })
  try {
    const before = await runsIn(store)
    const sources = before.filter(({ row }) => (row?.parentRunId ?? null) === null)
    const replays = new Map<string, string>()
    for (const { runId, tenant } of sources) {
      const answer = await engine.fork({ tenant: tenant!, runId, mode: 'replay', fromSeq: 0 })
      if (!answer.ok) throw new Error(JSON.stringify(answer))
      replays.set(runId, answer.value.runId)
    }
    const rows = () => store.listRuns({ tenant: null, limit: 1_000 })
    await until('every replay to end', async () => (await rows()).every(({ endedAt }) => endedAt !== null))
    expect(await rows()).toHaveLength(before.length + sources.length)
    expect(calls).toEqual([])
    const logs = new Map((await runsIn(store)).map(run => [run.runId, saidIn(run)]))
    for (const source of sources) {
      const [own, again] = [saidIn(source), logs.get(replays.get(source.runId)!)!]
      expect(again.map(({ type }) => type)).toEqual(own.map(({ type }) => type))
      for (const [i, event] of own.entries())
        expect(sameEvent(again[i]!, event), `${source.runId}:${i} ${event.type}`).toBe(true)
    }
  } finally {
    await engine.stop(0)
    await store.close()
  }
}
