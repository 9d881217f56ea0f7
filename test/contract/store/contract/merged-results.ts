import { expect, it } from 'vitest'
import { UnverifiedMerge } from '../../../../src/engine/ports/event-log.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import * as g from '../gate-fixtures.js'
import { LEGAL_MERGES, MERGE_ATTACKS } from '../merge-attacks.js'

/** S10 by content: which result is merged, how much of it was judged, and what is made and said of it. */
export function mergedResultContract(open: () => Promise<Opened>): void {
  const opened = async () => {
    const { store } = await open()
    return { store, hostId: await f.host(store) }
  }

  it('S10 refuses what a merge leaves out, and writes nothing of its commit, in one commit or one by one', async () => {
    const { store, hostId } = await opened()
    for (const { what, gated, log } of MERGE_ATTACKS) {
      const [together, stepwise] = [await g.gatedRun(store, hostId, gated), await g.gatedRun(store, hostId, gated)]
      await expect(together.together(...log), what).rejects.toBeInstanceOf(UnverifiedMerge)
      expect(await together.length(), what).toBe(2)
      await stepwise.oneByOne(...log.slice(0, -1))
      await expect(stepwise.together(log.at(-1)!), what).rejects.toBeInstanceOf(UnverifiedMerge)
      expect(await stepwise.length(), what).toBe(1 + log.length)
    }
  })

  it('S10 takes what only looks like it, and runs of version 2 of the rules as they are', async () => {
    const { store, hostId } = await opened()
    for (const [what, { gated, log }] of Object.entries(LEGAL_MERGES)) {
      for (const way of ['together', 'oneByOne'] as const) {
        const run = await g.gatedRun(store, hostId, gated)
        await run[way](...log)
        expect(await run.length(), what).toBe(2 + log.length)
      }
    }
  })

  it('S9 S10 a fork is held to the same, by what it shares', async () => {
    const { store, hostId } = await opened()
    for (const { what, gated, log } of MERGE_ATTACKS) {
      const source = await g.gatedRun(store, hostId, gated)
      await source.oneByOne(...log.slice(0, -1))
      const last = log.at(-1)!
      const stream = f.fork(f.id('fork'), source.runId, 1 + log.length, [], { run: { gated } })
      await store.commit(f.commit(hostId, [stream]))
      const fork = g.writing(store, hostId, stream.runId)
      await expect(fork.together(last), what).rejects.toBeInstanceOf(UnverifiedMerge)
    }
  })

  it('tells the rows that it holds S10 by, as they follow from the log', async () => {
    const { store, hostId } = await opened()
    const gated = [g.gatedPoint('harvest', { workerId: 'w', confirm: 'none' })]
    const run = await g.gatedRun(store, hostId, gated)
    const label = 'verified in part'
    await run.together(g.staged('harvest', { workerId: 'w' }), g.judged('pass', { label }), g.merge('harvest'))
    const judged = { gateId: 'g', target: 't', resultHash: 'h' }
    const staged = { sequence: 2, ...judged, attempt: 1, point: 'harvest', place: 't', nodeId: 'n1', workerId: 'w' }
    const verdict = { sequence: 3, ...judged, verdict: 'pass', label, tenant: 'acme', at: f.T0 }
    const pass = { staged: 2, judged: 3, verdict: 'pass', label, confirm: 'none', eventHash: 'h' }
    const merge = { sequence: 4, ...judged, ...pass }
    const rows = { gated, staged: [staged], verdicts: [verdict], merges: [merge] }
    expect(await store.readGateRows(run.runId)).toEqual(rows)

    const stream = f.fork(f.id('fork'), run.runId, 5, [], { run: { gated } })
    await store.commit(f.commit(hostId, [stream]))
    const shared = { ...rows, verdicts: [{ ...verdict, tenant: null }] }
    expect(await store.readGateRows(stream.runId)).toEqual(shared)
    expect(await store.readGateRows('nobody')).toEqual({ gated: [], staged: [], verdicts: [], merges: [] })
  })
}
