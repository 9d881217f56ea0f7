import type { StoredEvent } from '../../src/engine/ports/event-log.js'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { CountingIds, engineRig } from '../../src/testing/engine-rig.js'
import { type History, load, runsOf } from './history.js'

type Replay = {
  readonly runId: string
  readonly own: readonly string[]
  readonly source: readonly string[]
  readonly isEqual: boolean
  /** Nobody cancels a replay: where its source was cancelled it may go another way, and then it says so. */
  readonly partsWithCancel: boolean
}

/** Replays every run of a history from its beginning; nobody is there to be asked anything. */
export async function replaysOf(history: History): Promise<Replay[]> {
  const store = new MemoryStore()
  const at = await load(history, store)
  const rig = engineRig(store, new CountingIds('replay-'))
  rig.clock.skip(Math.max(0, at - rig.clock.now()))
  const engine = await rig.host({ leaseMs: 30 * 24 * 3_600_000 })
  const replays: Replay[] = []
  for (const { runId, create } of runsOf(history)) {
    const answer = await engine.fork({ tenant: create!.tenant, runId, mode: 'replay', fromSeq: 0 })
    if (!answer.ok) throw new Error(`${runId}: ${JSON.stringify(answer)}`)
    await rig.clock.advance(5_000)
    const [replay, recorded] = [await store.readEvents(answer.value.runId, 0), await store.readEvents(runId, 0)]
    const own = replay.map(event => said(event).replaceAll(answer.value.runId, runId))
    const source = recorded.map(said)
    const wasCancelled = recorded.at(-1)?.type === 'run.cancelled'
    const partsWithCancel = wasCancelled && replay.some(({ type }) => type === 'replay.diverged')
    replays.push({ runId, own, source, isEqual: own.join() === source.join(), partsWithCancel })
  }
  await engine.stop(0)
  return replays
}

/** What an event says, to readers and to the fold. */
const said = ({ type, nodeId, payload, secret, cause }: StoredEvent): string =>
  JSON.stringify([type, nodeId, payload, secret, cause])
