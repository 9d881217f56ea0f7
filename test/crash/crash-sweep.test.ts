import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Crash, HostProcess, until } from '../support/host-process.js'
import { startPostgres } from '../support/postgres.js'
import { expectChildrenHandedTo, findingsOf, storedRuns, storyOf, unordered } from '../support/stored-runs.js'
import { ORCHESTRATED } from './orchestrated.js'
import { type Play, SCENARIOS, type Scenario } from './scenarios.js'
import { writeProject } from './workflows.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-crash-'))
let points = 0

let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const databases = {
  SQLite: async (data: string) => `sqlite:${data}/assay.db`,
  PostgreSQL: async () => postgres.createDatabase(),
}

type Ending = { story: unknown[]; writes: number; effects: { id: string }[]; crashed: boolean }

/** One story from the first request to the last end, the host being killed on the way if asked. */
async function tell(scenario: Scenario, kind: keyof typeof databases, crash?: Crash): Promise<Ending> {
  points += 1
  const { name, counted, settings = {} } = scenario
  const data = path.join(scratch, `${kind}-${name}-${points}`)
  const database = await databases[kind](data)
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

/** Before and after every write; `every`: only so many of these points, now before a write and now after one. */
function crashesOver(writes: number, every: number): Crash[] {
  const points = Array.from({ length: writes }, (_, i): Crash[] => [
    { at: i + 1, when: 'before' },
    { at: i + 1, when: 'after' },
  ])
  return points.flat().filter((_, i) => i % every === 0)
}

/** Kills the host at each point of a story, two tellings at a time. */
async function sweep(scenario: Scenario, kind: keyof typeof databases): Promise<void> {
  const { name } = scenario
  const calm = await tell(scenario, kind)
  expect(calm.writes).toBeGreaterThan(1)
  // One database in full but for the longest story, the other sampled, so that the whole can be run often.
  const crashes = crashesOver(calm.writes, kind === 'PostgreSQL' ? 5 : scenario.loose ? 3 : 1)
  const queue = [...crashes]
  let kills = 0
  let misses = 0
  const goOn = async () => {
    for (let crash = queue.shift(); crash; crash = queue.shift()) {
      const ending = await tell(scenario, kind, crash)
      if (!ending.crashed && !scenario.loose) {
        // Two timers fell into one step on a busy machine, so there was no such write; the point is tried again.
        misses += 1
        expect(misses, `no kill at write ${crash.at} (${crash.when})`).toBeLessThan(10)
        queue.push(crash)
        continue
      }
      if (ending.crashed) kills += 1
      expect(ending.story, `killed ${crash.when} write ${crash.at} of ${name}`).toEqual(calm.story)
      expect(new Set(ending.effects.map(({ id }) => id)).size).toBe(calm.effects.length)
    }
  }
  await Promise.all([goOn(), goOn()])
  if (scenario.loose) expect(kills).toBeGreaterThan(crashes.length / 2)
  else expect(kills).toBe(crashes.length)
  console.log(`${kind} ${name}: ${kills} kills over ${calm.writes} transactions, story unchanged`)
}

describe.each(['SQLite', 'PostgreSQL'] as const)('F1: SIGKILL before and after every store transaction, %s', kind => {
  it.each(SCENARIOS)('$name: all ends, the checker is silent, the story is the crash-free one', scenario =>
    sweep(scenario, kind),
  )

  it.each(ORCHESTRATED)(
    'R-ORCH-7, R-REPLAY-12: $name: so does an orchestrator, and told again it calls and starts nobody',
    scenario => sweep(scenario, kind),
  )
})
