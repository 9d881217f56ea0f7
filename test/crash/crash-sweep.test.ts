import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Crash, HostProcess, until } from '../support/host-process.js'
import { startPostgres } from '../support/postgres.js'
import { findingsOf, storedRuns, storyOf } from '../support/stored-runs.js'
import { type Play, SCENARIOS, type Scenario } from './scenarios.js'
import { writeProject } from './workflows.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-crash-'))
const project = writeProject(scratch)
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
    const hosted = { data, database, project, counted, settings }
    const crashed =
      crash !== undefined && (await doom(await HostProcess.spawn({ ...hosted, crash }), play, telling.key))
    const host = await HostProcess.spawn(hosted)
    await play.play(host, telling.key)
    const writes = await host.finish()
    const runs = await storedRuns(database)
    expect(findingsOf(runs)).toEqual([])
    await play.check?.(telling)
    return { story: storyOf(runs), writes, effects: effectsIn(data), crashed }
  } finally {
    await play.close?.()
  }
}

/** Lets a host run into its crash. False when the story was over before it came to that. */
async function doom(host: HostProcess, { play }: Play, key: string): Promise<boolean> {
  await host.url()
  let gone = false
  void host.exited.then(() => {
    gone = true
  })
  const isOver = async () => {
    await play(host, key)
    host.child.kill('SIGTERM')
  }
  // The connection breaks when the host dies, which is what this is about; anything else is a failure of its own.
  await isOver().catch(async error => {
    await until('the host to die', () => gone, 5_000).catch(() => Promise.reject(error))
  })
  return (await host.exited).signal === 'SIGKILL'
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

/** Before and after every write; `sampled`: before the first, after the second, and so on. */
function crashesOver(writes: number, sampled: boolean): Crash[] {
  const ats = Array.from({ length: writes }, (_, i) => i + 1)
  return ats.flatMap((at): Crash[] => {
    const both: Crash[] = [
      { at, when: 'before' },
      { at, when: 'after' },
    ]
    return sampled ? [both[(at - 1) % 2]!] : both
  })
}

describe.each(['SQLite', 'PostgreSQL'] as const)('F1: SIGKILL before and after every store transaction, %s', kind => {
  it.each(SCENARIOS)('$name: all ends, the checker is silent, the story is the crash-free one', async scenario => {
    const { name } = scenario
    const calm = await tell(scenario, kind)
    expect(calm.writes).toBeGreaterThan(1)
    // One database in full, the other sampled, as is the longest story, so that the whole can be run often.
    const crashes = crashesOver(calm.writes, kind === 'PostgreSQL' || scenario.loose === true)
    const queue = [...crashes]
    let kills = 0
    let misses = 0
    const sweep = async () => {
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
    await Promise.all([sweep(), sweep()])
    if (scenario.loose) expect(kills).toBeGreaterThan(crashes.length / 2)
    else expect(kills).toBe(crashes.length)
    console.log(`${kind} ${name}: ${kills} kills over ${calm.writes} transactions, story unchanged`)
  })
})
