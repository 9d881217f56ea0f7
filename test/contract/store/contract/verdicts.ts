import { expect, it } from 'vitest'
import type { Store } from '../../../../src/engine/ports/store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import * as g from '../gate-fixtures.js'

const at = (time: number, verdict: 'pass' | 'fail' | 'revise', gateId = 'g'): g.Loose =>
  g.judged(verdict, { gateId, at: f.T0 + time })

export function verdictContract(open: () => Promise<Opened>): void {
  const written = async (store: Store, hostId: string, tenant: string, ...events: g.Loose[]) => {
    const run = await g.gatedRun(store, hostId, [], { tenant })
    await run.together(...events)
    return run.runId
  }

  it('S6 lists a tenant’s verdicts, newest first', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const a = await written(store, hostId, 'acme', at(1, 'revise'), at(3, 'pass'), at(3, 'fail', 'g2'))
    const b = await written(store, hostId, 'acme', at(2, 'pass', 'g2'))
    await written(store, hostId, 'other', at(9, 'fail'))
    const row = (runId: string, sequence: number, gateId: string, verdict: string, time: number) => ({
      runId,
      sequence,
      gateId,
      verdict,
      at: f.T0 + time,
    })
    const all = [
      row(a, 4, 'g2', 'fail', 3),
      row(a, 3, 'g', 'pass', 3),
      row(b, 2, 'g2', 'pass', 2),
      row(a, 2, 'g', 'revise', 1),
    ]
    const list = (query: object = {}) => store.listVerdicts({ tenant: 'acme', limit: 10, ...query })
    expect(await list()).toEqual(all)
    expect(await list({ limit: 2 })).toEqual(all.slice(0, 2))
    expect(await list({ since: f.T0 + 2 })).toEqual(all.slice(0, 3))
    expect(await list({ gateId: 'g2' })).toEqual([all[0], all[2]])
    expect(await list({ gateId: 'g', since: f.T0 + 2, limit: 1 })).toEqual([all[1]])
    expect(await list({ gateId: 'none' })).toEqual([])
    expect(await list({ tenant: 'nobody' })).toEqual([])
  })

  it('lists verdicts of the same time by run, in the same order every time', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runIds: string[] = []
    for (let i = 0; i < 5; i += 1) runIds.push(await written(store, hostId, 'acme', at(1, 'pass'), at(1, 'fail')))
    const listed = await store.listVerdicts({ tenant: 'acme', limit: 10 })
    const expected = runIds
      .sort()
      .reverse()
      .flatMap(runId => [
        [runId, 3],
        [runId, 2],
      ])
    expect(listed.map(({ runId, sequence }) => [runId, sequence])).toEqual(expected)
  })

  it('lists a verdict that a fork shares once, with the run that was judged, and the fork’s own with the fork', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const source = await written(store, hostId, 'acme', at(1, 'pass'))
    const fork = f.fork(f.id('fork'), source, 3, g.placed(3, [at(2, 'fail')]))
    await store.commit(f.commit(hostId, [fork]))
    const listed = await store.listVerdicts({ tenant: 'acme', limit: 10 })
    expect(listed.map(({ runId, sequence }) => [runId, sequence])).toEqual([
      [fork.runId, 3],
      [source, 2],
    ])
  })

  it('leaves out verdicts that are no gate’s', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    await written(store, hostId, 'acme', sequence => ({ ...at(1, 'pass')(sequence), secret: null }))
    expect(await store.listVerdicts({ tenant: 'acme', limit: 10 })).toEqual([])
  })
}
