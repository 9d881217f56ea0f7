import { expect } from 'vitest'
import { openStore } from '../../src/store/open-store.js'
import { type Crash, type HostProcess, until } from '../support/host-process.js'
import { findingsOf, storedRuns } from '../support/stored-runs.js'
import { type Event, ended, eventsOf, expectReplayEqual, only, type Snapshot, startRun } from './talk.js'
import { byEffect, countsByEffect, kill, type World } from './world.js'

/** One run, its host being killed on the way. */
export type Tale = {
  readonly world: World
  readonly workflowId: string
  readonly configurable?: object
  /** At a write to the store. */
  readonly crash?: Crash
  /** Or when this comes true, such as that a request has arrived which nobody answers. */
  readonly killWhen?: () => boolean
  /** What the world is like for the next host. */
  readonly afterwards?: () => void
  /** Leave out the replay, whose writes would be counted too. */
  readonly once?: true
}

export type Ending = {
  readonly snapshot: Snapshot
  readonly events: readonly Event[]
  readonly killed: boolean
  /** Counted writes of the host that finished it. */
  readonly writes: number
  readonly lost: readonly Event[]
  /** How often each call was received, by effect. */
  readonly asked: ReadonlyMap<string, number>
  readonly used: ReadonlyMap<string, number>
}

export async function tell(tale: Tale): Promise<Ending> {
  const { world } = tale
  const killed = tale.crash !== undefined || tale.killWhen !== undefined ? await doom(tale) : false
  const kept = await recordedIn(world)
  tale.afterwards?.()
  const host = await world.start()
  const runId = await begin(tale, host)
  const snapshot = await ended(host, runId)
  const events = await eventsOf(host, runId)
  const lost = only(events, 'assay.model.lost')
  const [asked, used] = [askedIn(world), countsByEffect(world.toolCalls())]

  // F1, F8: what was recorded before the kill is not done again; what was not, once more at most.
  for (const counts of [asked, used])
    for (const [id, count] of counts) expect(count).toBeLessThanOrEqual(kept.has(id) ? 1 : 2)
  expect(twice(asked)).toBeLessThanOrEqual(lost.length)
  expect(lost.length).toBeLessThanOrEqual(killed ? 1 : 0)

  // R-REPLAY-12: told again, it is the same, and nobody is called.
  if (!tale.once) await expectReplayEqual(host, runId)
  expect(askedIn(world)).toEqual(asked)
  expect(countsByEffect(world.toolCalls())).toEqual(used)
  const writes = await host.handOver()
  expect(findingsOf(await storedRuns(world.database))).toEqual([])
  return { snapshot, events, killed, writes, lost, asked, used }
}

const begin = ({ workflowId, configurable }: Tale, host: HostProcess): Promise<string> =>
  startRun(host, workflowId, 'do the errand', { key: 'once', ...(configurable ? { configurable } : {}) })

/** Lets a host run into its death. False when the run was over before it came to that. */
async function doom(tale: Tale): Promise<boolean> {
  const { world, crash, killWhen } = tale
  const host = await world.start(crash ? { crash } : {})
  let signal: string | null | undefined
  void host.exited.then(death => {
    signal = death.signal
  })
  const goOn = async () => {
    const runId = await begin(tale, host)
    if (killWhen === undefined) return ended(host, runId)
    await until('the moment to kill', killWhen)
    return kill(host)
  }
  // The connection breaks when the host dies, which is what this is about; anything else is a failure of its own.
  await goOn().catch(async error => {
    await until('the host to die', () => signal !== undefined, 5_000).catch(() => Promise.reject(error))
  })
  if (signal === undefined) await host.handOver()
  return signal === 'SIGKILL'
}

/** Effects whose outcome is stored. */
async function recordedIn(world: World): Promise<ReadonlySet<string>> {
  const ids = [...askedIn(world).keys(), ...countsByEffect(world.toolCalls()).keys()]
  if (ids.length === 0) return new Set()
  const store = await openStore(world.database)
  try {
    const outcomes = await Promise.all(ids.map(id => store.readInvocation(id)))
    return new Set(ids.filter((_, i) => outcomes[i] !== undefined))
  } finally {
    await store.close()
  }
}

const askedIn = ({ model }: World): ReadonlyMap<string, number> =>
  new Map([...byEffect(model.requests())].map(([id, requests]) => [id, requests.length]))

export const twice = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count - 1, 0)

/** Before and after each of so many writes; of `every` such points one. */
export function crashesOver(writes: number, every = 1): Crash[] {
  const points = Array.from({ length: writes }, (_, i): Crash[] => [
    { at: i + 1, when: 'before' },
    { at: i + 1, when: 'after' },
  ])
  return points.flat().filter((_, i) => i % every === 0)
}
