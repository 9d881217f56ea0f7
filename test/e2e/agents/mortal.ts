import { expect } from 'vitest'
import { openStore } from '../../../src/store/open-store.js'
import { type Crash, type HostProcess, until } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { type Event, ended, eventsOf, expectReplayEqual, only, type Snapshot, startRun } from './talk.js'
import { byEffect, countsByEffect, kill, type World } from './world.js'

/** One run, and how its host is killed on the way, if it is. */
export type Tale = {
  readonly workflowId: string
  readonly configurable?: object
  /** At a write to the store, counted from the beginning of this run. */
  readonly crash?: Crash
  /** Or when this comes true, such as that a request has arrived which nobody answers. */
  readonly killWhen?: (calls: Calls) => boolean
}

/** How often each call of the run was received, by effect. */
type Calls = { readonly asked: ReadonlyMap<string, number>; readonly used: ReadonlyMap<string, number> }

export type Ending = Calls & {
  readonly snapshot: Snapshot
  readonly events: readonly Event[]
  readonly killed: boolean
  readonly lost: readonly Event[]
}

/** A world whose hosts die one after the other: each finishes what the last one left, then goes to its own death. */
export class Mortals {
  #host: HostProcess | undefined
  #runs = 0

  constructor(readonly world: World) {}

  /** Tells one run from its first request to its end. */
  async tell(tale: Tale): Promise<Ending> {
    const { world } = this
    this.#runs += 1
    this.#host ??= await world.start()
    const [asked, used] = [world.model.requests().length, world.toolCalls().length]
    const calls = (): Calls => ({
      asked: countsOf(world.model.requests().slice(asked)),
      used: countsByEffect(world.toolCalls().slice(used)),
    })
    const killed = await this.#doom(tale, this.#host, calls)
    const kept = killed ? await recordedIn(world, calls()) : new Set<string>()
    if (killed) this.#host = await world.start()
    const runId = await this.#begin(tale, this.#host)
    const snapshot = await ended(this.#host, runId)
    const events = await eventsOf(this.#host, runId)
    const ending = { ...calls(), snapshot, events, killed, lost: only(events, 'assay.model.lost') }
    expectNothingTwice(ending, kept)
    return ending
  }

  /** R-REPLAY-12: told again, every run is the same, and nobody is called. Returns the counted writes of the last host. */
  async finish({ replay = true } = {}): Promise<number> {
    const { world } = this
    const host = this.#host!
    const before = [world.model.requests().length, world.toolCalls().length]
    for (const { runId } of replay ? (await host.call('GET', '/v1/runs?limit=100')).body.runs : [])
      await expectReplayEqual(host, runId)
    expect([world.model.requests().length, world.toolCalls().length]).toEqual(before)
    const writes = await host.handOver()
    expect(findingsOf(await storedRuns(world.database))).toEqual([])
    await world.close()
    return writes
  }

  #begin({ workflowId, configurable }: Tale, host: HostProcess): Promise<string> {
    return startRun(host, workflowId, 'do the errand', {
      key: `run-${this.#runs}`,
      ...(configurable && { configurable }),
    })
  }

  /** Lets a host run into its death. False when the run was over before it came to that. */
  async #doom(tale: Tale, host: HostProcess, calls: () => Calls): Promise<boolean> {
    const { crash, killWhen } = tale
    if (crash === undefined && killWhen === undefined) return false
    if (crash !== undefined) await host.arm(crash)
    let signal: string | null | undefined
    void host.exited.then(death => {
      signal = death.signal
    })
    const goOn = async () => {
      const runId = await this.#begin(tale, host)
      if (killWhen === undefined) return ended(host, runId)
      await until('the moment to kill', () => killWhen(calls()))
      return kill(host)
    }
    // The connection breaks when the host dies, which is what this is about; anything else is a failure of its own.
    await goOn().catch(async error => {
      await until('the host to die', () => signal !== undefined, 5_000).catch(() => Promise.reject(error))
    })
    return signal === 'SIGKILL'
  }
}

/** F1, F8: what was recorded before the kill is not done again; what was not, once more at most, and the log says so. */
function expectNothingTwice({ asked, used, lost, killed }: Ending, kept: ReadonlySet<string>): void {
  for (const counts of [asked, used])
    for (const [id, count] of counts) expect(count).toBeLessThanOrEqual(killed && !kept.has(id) ? 2 : 1)
  expect(twice(asked)).toBeLessThanOrEqual(lost.length)
  expect(lost.length).toBeLessThanOrEqual(killed ? 1 : 0)
}

/** Effects whose outcome is stored. */
async function recordedIn({ database }: World, { asked, used }: Calls): Promise<ReadonlySet<string>> {
  const ids = [...asked.keys(), ...used.keys()]
  if (ids.length === 0) return new Set()
  const store = await openStore(database)
  try {
    const outcomes = await Promise.all(ids.map(id => store.readEffect(id)))
    return new Set(ids.filter((_, i) => outcomes[i] !== undefined))
  } finally {
    await store.close()
  }
}

const countsOf = (requests: Parameters<typeof byEffect>[0]): ReadonlyMap<string, number> =>
  new Map([...byEffect(requests)].map(([id, all]) => [id, all.length]))

export const sum = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((all, one) => all + one, 0)

/** Calls beyond the first of each effect. */
export const twice = (counts: ReadonlyMap<string, number>): number => sum(counts) - counts.size
