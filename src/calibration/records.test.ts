import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../engine/ports/event-log.js'
import type { RunRow, VerdictQuery, VerdictRow } from '../engine/ports/run-index.js'
import { ManualClock } from '../testing/manual-clock.js'
import type { Entry, Planted } from './labels.js'
import { createRecords } from './records.js'
import { entryOf } from './testing/entry.js'

const accepted = (runId: string): Entry =>
  entryOf({ runId, result: `result of ${runId}`, votes: [{ scores: { correctness: 9 } }], by: 'ada', verdict: 'pass' })

const UNSHOWN = { badStopped: { n: 0, lower: 0 }, goodPassed: { n: 0, lower: 0 } }

function setup(entries: Entry[], planted: Planted[] = []) {
  const clock = new ManualClock()
  const asked: VerdictQuery[] = []
  const reads: string[] = []
  const faults = { left: 0, met: 0 }
  const store = {
    async listVerdicts(query: VerdictQuery): Promise<VerdictRow[]> {
      asked.push(query)
      if (faults.left > 0) {
        faults.left -= 1
        faults.met += 1
        throw new StoreUnavailable('away')
      }
      const rows = entries.map(({ runId, verified }, i) => {
        return { runId, sequence: i, gateId: 'facts', verdict: verified!.verdict, at: i }
      })
      return rows.toReversed().slice(0, query.limit)
    },
  }
  const listRuns = async () => planted.map(({ runId }) => ({ runId }) as RunRow)
  const readTrial = async (runId: string) => planted.find(one => one.runId === runId)
  const readRecord = async (runId: string, sequence: number) => {
    reads.push(runId)
    return runId === 'lost' ? undefined : entries[sequence]
  }
  return {
    records: createRecords({ store: { ...store, listRuns }, clock, readRecord, readTrial }),
    clock,
    asked,
    reads,
    faults,
  }
}

describe('R-DWS-26: what is known of a gate’s verifiers', () => {
  it('nothing, when it has never judged', async () => {
    expect(await setup([]).records.standing('acme', 'facts', 'gate')).toEqual({ ...UNSHOWN, judges: {} })
  })

  it('asks for the latest 500 verdicts of that gate and tenant', async () => {
    const { records, asked } = setup(Array.from({ length: 510 }, (_, i) => accepted(`run-${i}`)))
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(500)
    expect(asked).toEqual([{ tenant: 'acme', gateId: 'facts', limit: 500 }])
  })

  it('counts an attempt once that a person overruled', async () => {
    const votes = [{ scores: { correctness: 2 } }]
    const { records } = setup([entryOf({ votes }), entryOf({ votes, by: 'ada', verdict: 'pass' })])
    expect(await records.standing('acme', 'facts', 'gate')).toMatchObject({ goodPassed: { n: 1, lower: 0 } })
  })

  it('takes attempts in the order of time, although the store tells the newest first', async () => {
    const failed = entryOf({ votes: [{ scores: { correctness: 2 } }] })
    const { records } = setup([failed, entryOf({ votes: [{ scores: { correctness: 9 } }], attempt: 2 })])
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(1)
  })

  it('tells what several verifiers are worth together', async () => {
    const votes = ['a', 'b', 'c'].map(agentId => ({ agentId, scores: { correctness: 9 } }))
    const { records } = setup(
      Array.from({ length: 12 }, (_, i) => entryOf({ runId: `run-${i}`, result: `result ${i}`, votes })),
    )
    expect(await records.standing('acme', 'facts', 'gate')).toMatchObject({ effectiveVotes: 1 })
  })

  it('is looked up once by any number who ask within five seconds, and no record is ever read twice', async () => {
    const entries = [accepted('run-0'), accepted('run-1')]
    const { records, clock, asked, reads } = setup(entries)
    await Promise.all(Array.from({ length: 10 }, () => records.standing('acme', 'facts', 'gate')))
    clock.skip(4_999)
    entries.push(accepted('run-2'))
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(2)
    expect(asked.length).toBe(1)
    clock.skip(1)
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(3)
    expect(reads).toEqual(['run-1', 'run-0', 'run-2'])
  })

  it('a gate that was changed has to earn its licence anew', async () => {
    const { records } = setup([accepted('run-0')])
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(1)
    expect(await records.standing('acme', 'facts', 'changed')).toEqual({ ...UNSHOWN, judges: {} })
  })

  it.each([
    ['another model', { model: 'p:new', prompt: 'sha256:1' }],
    ['another prompt', { model: 'p:old', prompt: 'sha256:2' }],
  ])(
    '%s of a verifier has to earn its licence anew, and with the old one the old one is back',
    async (_what, changed) => {
      const old = { model: 'p:old', prompt: 'sha256:1' }
      const by = (judge: typeof old, i: number): Entry => {
        const votes = [{ scores: { correctness: 9 }, ...judge }]
        const entry = entryOf({ runId: `run-${i}`, result: `${i}`, votes, by: 'ada', verdict: 'pass' })
        return { ...entry, verified: { ...entry.verified!, at: i } }
      }
      const entries = [by(old, 0), by(old, 1)]
      const { records, clock } = setup(entries)
      const standing = () => records.standing('acme', 'facts', 'gate')
      expect(await standing()).toMatchObject({ goodPassed: { n: 2 }, judges: { judge: 'p:old sha256:1' } })
      entries.push(by(changed, 2))
      clock.skip(5_000)
      expect(await standing()).toMatchObject({
        goodPassed: { n: 1 },
        judges: { judge: `${changed.model} ${changed.prompt}` },
      })
      entries.push(by(old, 3))
      clock.skip(5_000)
      expect(await standing()).toMatchObject({ goodPassed: { n: 3 } })
    },
  )

  it('planted trials count, each output once, and only those of the gate as it is', async () => {
    const trial = (i: number, result: string, gateHash = 'gate'): Planted => {
      const entry = entryOf({ runId: `trial-${i}`, result, votes: [{ scores: { correctness: 2 } }] })
      return { ...entry, record: { ...entry.record, gateHash }, truth: 'bad' }
    }
    const { records } = setup([], [trial(1, 'a'), trial(2, 'b'), trial(3, 'b'), trial(4, 'c', 'older')])
    expect(await records.standing('acme', 'facts', 'gate')).toMatchObject({
      badStopped: { n: 2 },
      goodPassed: { n: 0 },
    })
  })

  it('a result that is judged again in a replay or a branch counts once', async () => {
    const again = { result: 'one', votes: [{ scores: { correctness: 9 } }], by: 'ada', verdict: 'pass' as const }
    const { records } = setup(Array.from({ length: 40 }, (_, i) => entryOf({ runId: `run-${i}`, ...again })))
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(1)
  })

  it('a result that is held against other sources is another case', async () => {
    const same = { result: 'one', votes: [{ scores: { correctness: 9 } }], by: 'ada', verdict: 'pass' as const }
    const sources = [undefined, 'sha256:1', 'sha256:2', 'sha256:2']
    const { records } = setup(
      sources.map((one, i) => entryOf({ runId: `run-${i}`, ...same, ...(one === undefined ? {} : { sources: one }) })),
    )
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(3)
  })

  it('keeps tenants apart', async () => {
    const { records, asked } = setup([accepted('run-0')])
    await Promise.all([records.standing('acme', 'facts', 'gate'), records.standing('other', 'facts', 'gate')])
    expect(asked.map(({ tenant }) => tenant)).toEqual(['acme', 'other'])
  })

  it('leaves out a verdict without a record, and asks for it again', async () => {
    const { records, clock, reads } = setup([accepted('run-0'), accepted('lost')])
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(1)
    clock.skip(5_000)
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(1)
    expect(reads).toEqual(['lost', 'run-0', 'lost'])
  })

  it('a store that cannot be reached is not remembered', async () => {
    const { records, faults } = setup([accepted('run-0')])
    faults.left = 1
    await expect(records.standing('acme', 'facts', 'gate')).rejects.toThrow(StoreUnavailable)
    expect((await records.standing('acme', 'facts', 'gate')).goodPassed.n).toBe(1)
    expect(faults.met).toBe(1)
  })
})
