import fs from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { test } from 'vitest'
import { type Departure, departuresFileOf, departuresOf, type History, readHistories, runsOf } from './history.js'
import { replaysOf } from './replays.js'
import { snapshotsFrom, snapshotsOf } from './snapshots.js'

/**
 * Run by `node scripts/record-history.mjs --departures NAME REASON`, never with the tests: adds to the departures of a
 * history every event that is shown or replayed otherwise today and has no reason yet.
 */
const name = process.env.ASSAY_DEPARTURES ?? ''
const reason = process.env.ASSAY_REASON ?? ''
const AFTER_A_DIVERGENCE = 'after a divergence everything stands one event later'

test(`lists the departures from ${name}`, async () => {
  const history = readHistories().get(name)
  if (history === undefined)
    throw new Error(`no history "${name}"; there are: ${[...readHistories().keys()].join(', ')}`)
  const listed = departuresOf(name)
  const isNew = (one: Departure) =>
    !listed.some(({ runId, sequence, what }) => runId === one.runId && sequence === one.sequence && what === one.what)
  const added = [...shownOtherwise(history), ...(await replayedOtherwise(history))].filter(isNew)
  if (added.length > 0)
    fs.writeFileSync(departuresFileOf(name), `${JSON.stringify([...listed, ...added], undefined, 2)}\n`)
  process.stdout.write(`${name}: ${added.length} departures added to ${listed.length}\n`)
})

const shownOtherwise = (history: History): readonly Departure[] =>
  runsOf(history).flatMap(run => {
    const recorded = snapshotsFrom(history.snapshots[run.runId]!)
    return snapshotsOf(history, run).flatMap((snapshot, sequence) =>
      isDeepStrictEqual(snapshot, recorded[sequence])
        ? []
        : [{ runId: run.runId, sequence, what: 'snapshot' as const, reason }],
    )
  })

const replayedOtherwise = async (history: History): Promise<readonly Departure[]> =>
  (await replaysOf(history)).flatMap(({ runId, own, source, partsWithCancel }) => {
    let hasDiverged = false
    return (partsWithCancel ? [] : source).flatMap((said, sequence) => {
      if (own[sequence] === said) return []
      const why = hasDiverged ? AFTER_A_DIVERGENCE : reason
      hasDiverged ||= own[sequence]?.startsWith('["replay.diverged"') ?? false
      return [{ runId, sequence, what: 'replay' as const, reason: why }]
    })
  })
