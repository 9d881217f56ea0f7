import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect } from 'vitest'
import { crashPoints, SEED } from '../../support/crash-points.js'
import { type Crash, HostProcess, until } from '../../support/host-process.js'
import { expectChildrenHandedTo, findingsOf, storedRuns, storyOf, unordered } from '../../support/stored-runs.js'
import type { Play, Scenario } from './scenarios.js'
import { writeProject } from './workflows.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-crash-'))
let points = 0

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Where the tellings are kept: a new database for each, and of so many points of a story one. */
export type Swept = {
  readonly kind: 'SQLite' | 'PostgreSQL'
  readonly databaseIn: (data: string) => Promise<string>
  readonly every: number
}

type Ending = { story: unknown[]; writes: number; effects: { id: string }[]; crashed: boolean }

/** One story from the first request to the last end, the host being killed on the way if asked. */
async function tell(scenario: Scenario, { kind, databaseIn }: Swept, crash?: Crash): Promise<Ending> {
  points += 1
  const { name, counted, settings = {} } = scenario
  const data = path.join(scratch, `${kind}-${name}-${points}`)
  const database = await databaseIn(data)
  const telling = { data, database, key: `once-${points}` }
  const play: Play = (await scenario.prepare?.(telling)) ?? { play: scenario.play! }
  try {
    const hosted = { data, database, project: writeProject(scratch, name), counted, settings }
    const crashed =
      crash !== undefined && (await doom(await HostProcess.spawn({ ...hosted, crash }), play, telling.key))
    const host = await HostProcess.spawn(hosted)
    await play.play(host, telling.key)
    const writes = await host.handOver()
    const runs = await storedRuns(database)
    expect(findingsOf(runs)).toEqual([])
    expectChildrenHandedTo(runs)
    await play.check?.(telling)
    const story = storyOf(runs)
    return { story: scenario.anyOrder ? unordered(story) : story, writes, effects: effectsIn(data), crashed }
  } finally {
    await play.close?.()
  }
}

/** Lets a host run into its crash. False when the story was over before it came to that. */
async function doom(host: HostProcess, { play }: Play, key: string): Promise<boolean> {
  await host.url()
  let signal: string | null | undefined
  void host.exited.then(death => {
    signal = death.signal
  })
  const tellAll = async () => {
    await play(host, key)
    await host.handOver()
  }
  // The connection breaks when the host dies, which is what this is about; anything else is a failure of its own.
  await tellAll().catch(async error => {
    await until('the host to die', () => signal !== undefined, 5_000).catch(() => Promise.reject(error))
  })
  return signal === 'SIGKILL'
}

function effectsIn(data: string): { id: string }[] {
  try {
    return readFileSync(path.join(data, 'side-effects.log'), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Kills the host at points of a story, two tellings at a time, and says how often. */
export async function sweep(scenario: Scenario, swept: Swept): Promise<number> {
  const { name } = scenario
  const calm = await tell(scenario, swept)
  expect(calm.writes).toBeGreaterThan(1)
  const crashes = crashPoints(calm.writes, swept.every * (scenario.loose ? 2 : 1))
  const queue = [...crashes]
  let kills = 0
  let misses = 0
  const goOn = async () => {
    for (let crash = queue.shift(); crash; crash = queue.shift()) {
      const ending = await tell(scenario, swept, crash)
      if (!ending.crashed && !scenario.loose) {
        // Two timers fell into one step on a busy machine, so there was no such write; the point is tried again.
        misses += 1
        expect(misses, `no kill at write ${crash.at} (${crash.when})`).toBeLessThan(10)
        queue.push(crash)
        continue
      }
      if (ending.crashed) kills += 1
      expect(ending.story, `killed ${crash.when} write ${crash.at} of ${name}, seed ${SEED}`).toEqual(calm.story)
      expect(new Set(ending.effects.map(({ id }) => id)).size).toBe(calm.effects.length)
    }
  }
  await Promise.all([goOn(), goOn()])
  if (scenario.loose) expect(kills).toBeGreaterThan(crashes.length / 2)
  else expect(kills).toBe(crashes.length)
  console.log(`${swept.kind} ${name}: ${kills} kills over ${calm.writes} transactions, story unchanged, seed ${SEED}`)
  return kills
}
