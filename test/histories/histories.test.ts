import { describe, expect, test } from 'vitest'
import { ENGINE_VERSION } from '../../src/core/run/version.js'
import { CHAIN_START, chainHash } from '../../src/engine/log/chain.js'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { compareView } from '../../src/testing/view-comparison.js'
import { renderEvent } from '../../src/wire/render.js'
import { SEED } from '../support/crash-points.js'
import { findingsOf, runsIn } from '../support/stored-runs.js'
import { isThorough } from '../support/thorough.js'
import { EVENT_TYPES } from './event-types.js'
import { departuresOf, type History, load, readHistories, runsOf } from './history.js'
import { replaysOf } from './replays.js'
import { snapshotsFrom, snapshotsOf, wholeLog } from './snapshots.js'
import { STORIES } from './stories/index.js'
import { untilOver } from './world.js'

const histories = readHistories()
const isPresent = ({ engineVersion }: History) => engineVersion === ENGINE_VERSION
const present = [...histories.values()].filter(isPresent)

const CUTS = 6

/** Every cut if it is to be thorough, else some: each run of the tests takes others. */
function cutsOf({ commits }: History): readonly number[] {
  const step = isThorough ? 1 : Math.max(1, Math.floor(commits.length / CUTS))
  return commits.map((_, i) => i + 1).filter(cut => (cut + SEED) % step === 0)
}

describe('every rule of today has been recorded', () => {
  test.each(Object.keys(STORIES))(
    '%s has a history of this engine; `node scripts/record-history.mjs` makes one',
    name => {
      expect(present.map(({ story }) => story)).toContain(name)
    },
  )

  test('every type of event occurs in one', () => {
    const wanted = Object.entries(EVENT_TYPES).flatMap(([type, how]) => (how === 'recorded' ? [type] : []))
    const recorded = present.flatMap(history => runsOf(history).flatMap(({ events }) => events.map(({ type }) => type)))
    expect([...new Set(recorded)].sort()).toEqual(wanted.sort())
  })
})

describe.each([...histories])('%s', (name, history) => {
  const runs = runsOf(history)
  const departures = departuresOf(name)
  const mayDepart = (runId: string, sequence: number, what: 'snapshot' | 'replay') =>
    departures.some(one => one.runId === runId && one.sequence === sequence && one.what === what)

  test('what departs from it is of an older engine, and has a reason', () => {
    if (isPresent(history)) expect(departures).toEqual([])
    for (const { reason } of departures) expect(reason).not.toBe('')
  })

  test('L33: its hashes are those of its events', () => {
    for (const run of runs) {
      let head = CHAIN_START
      for (const event of wholeLog(history, run)) {
        head = chainHash(head, event)
        expect(event.hash, `${run.runId}:${event.sequence}`).toBe(head)
      }
    }
  })

  test('a reader sees after each event what was seen when it was recorded', () => {
    for (const run of runs) {
      const recorded = snapshotsFrom(history.snapshots[run.runId]!)
      const today = snapshotsOf(history, run)
      expect(today, run.runId).toHaveLength(recorded.length)
      for (const [sequence, snapshot] of today.entries())
        if (!mayDepart(run.runId, sequence, 'snapshot'))
          expect(snapshot, `${run.runId} after event ${sequence}`).toEqual(recorded[sequence])
    }
  })

  test('whoever folds its public events sees what the server shows, after each of them', () => {
    for (const run of runs) {
      const events = wholeLog(history, run).map(row => JSON.parse(renderEvent(run.runId, row, { engineVersion: '1' })))
      expect(compareView(events, snapshotsOf(history, run)).differences, run.runId).toEqual([])
    }
  })

  test('it is legal', async () => {
    const store = new MemoryStore()
    await load(history, store)
    expect(findingsOf(await runsIn(store))).toEqual([])
  })

  test('R-REPLAY-12: its replays say the same, byte for byte', async () => {
    const replays = await replaysOf(history)
    expect(replays.length).toBeGreaterThan(0)
    expect(replays.some(({ isEqual }) => isEqual)).toBe(true)
    for (const { runId, own, source, partsWithCancel } of replays)
      for (const [sequence, said] of partsWithCancel ? [] : source.entries())
        if (!mayDepart(runId, sequence, 'replay')) expect(own[sequence], `${runId}:${sequence}`).toBe(said)
  })

  test('S1: a host goes on from wherever the recording host may have died, to a legal end', {
    timeout: 600_000,
  }, async () => {
    const { open } = STORIES[history.story]!
    const cuts = cutsOf(history)
    expect(cuts.length).toBeGreaterThan(0)
    for (const cut of cuts) {
      const world = await open(store => load(history, store, cut))
      try {
        await untilOver(world)
        const ended = await runsIn(world.store)
        expect(findingsOf(ended), `cut after commit ${cut}, seed ${SEED}`).toEqual([])
        for (const { runId, events } of runsOf({ ...history, commits: history.commits.slice(0, cut) }))
          expect((await world.store.readEvents(runId, events[0]?.sequence ?? 0)).slice(0, events.length)).toEqual(
            events,
          )
      } finally {
        await world.stop()
      }
    }
  })
})
