import { mkdirSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect } from 'vitest'
import { verifyDatabase } from '../../../src/audit/data-folder.js'
import type { CheckedRun } from '../../../src/log-check/checked.js'
import { type Crash, HostProcess, until } from '../../support/host-process.js'
import { startModelServer } from '../../support/openai-server.js'
import { findingsOf, storedRuns, storyOf, unordered } from '../../support/stored-runs.js'
import { auditMerges } from './merges.js'
import { writeProject } from './project.js'
import { play, type Story } from './stories.js'

/** Where a story is told: a new folder, a database, and the build that the hosts run. */
export type Place = { readonly folder: string; readonly database: string; readonly build?: string }

export type Ending = {
  /** Results that were merged past a gate. */
  readonly merges: number
  readonly story: readonly Tale[]
  /** What each write of the last host was. */
  readonly trace: readonly string[]
  readonly crashed: boolean
}

/** One run: all that it told, or, where a call was lost on the way and made again, only what happened. */
type Tale = { readonly all: unknown; readonly types: readonly string[]; readonly hasLost: boolean }

/** Hosts of one telling: each has the same project, database and provider, which outlives them. */
export async function hosted(story: Story, { folder, database, build }: Place) {
  const data = path.join(folder, 'data')
  mkdirSync(data, { recursive: true })
  const project = writeProject(folder, story.name)
  const model = await startModelServer({ plan: story.plan })
  const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-gates-0123456789abcdef01234567', OPENAI_MODEL: 'm-1' }
  const settings = { data, database, project, env, ...(build === undefined ? {} : { build }) }
  return {
    model,
    async spawn(more: Partial<typeof settings> & { readonly crash?: Crash; readonly hostName?: string } = {}) {
      return HostProcess.spawn({ ...settings, ...more })
    },
  }
}

/** Everything in a database, in which the checker of logs, the check of merges and the audit find nothing wrong. */
export async function soundRuns(
  database: string,
): Promise<{ readonly runs: readonly CheckedRun[]; readonly merges: number }> {
  const runs = await storedRuns(database)
  expect(findingsOf(runs)).toEqual([])
  const { merges, problems } = await auditMerges(database)
  expect(problems).toEqual([])
  // Whose signatures are believed is not asked here.
  const { anomalies } = await verifyDatabase(database, os.tmpdir(), 'all')
  expect(anomalies.filter(({ kind }) => kind !== 'key-unknown')).toEqual([])
  return { runs, merges }
}

/** One story from the first request to the last end, the host being killed on the way if asked. */
export async function tell(story: Story, place: Place, crash?: Crash): Promise<Ending> {
  const { model, spawn } = await hosted(story, place)
  try {
    const crashed = crash !== undefined && (await doom(await spawn({ crash }), story))
    const host = await spawn()
    await play(story, host, 'once')
    await host.handOver()
    const { runs, merges } = await soundRuns(place.database)
    return { merges, story: talesOf(runs, story.anyOrder), trace: host.trace, crashed }
  } finally {
    await model.close()
  }
}

/** Lets a host run into its crash. False when the story was over before it came to that. */
async function doom(host: HostProcess, story: Story): Promise<boolean> {
  await host.url()
  let signal: string | null | undefined
  void host.exited.then(death => {
    signal = death.signal
  })
  const tellAll = async () => {
    await play(story, host, 'once')
    await host.handOver()
  }
  // The connection breaks when the host dies, which is what this is about; anything else is a failure of its own.
  await tellAll().catch(async error => {
    await until('the host to die', () => signal !== undefined, 5_000).catch(() => Promise.reject(error))
  })
  return signal === 'SIGKILL'
}

/** How much of the record of earlier verdicts a host has read by then. */
const JUDGES = /"judges":\{[^}]*\}/g
/** What a call has cost that nobody heard the answer of is held, and it is made again. */
const HELD = /,"held":\{[^{}]*\}/g
const COSTS = /"(spent|cost|execution|verification)":\{[^{}]*"tokens"[^{}]*\}/g
/** Each verifier is given marks of its own, and what is kept sealed has a name from ids. */
const RANDOM = /"(hash":"sha256|contents":")[^"]*"/g

function talesOf(runs: readonly CheckedRun[], anyOrder = false): Tale[] {
  const text = JSON.stringify(storyOf(runs))
    .replace(HELD, '')
    .replace(COSTS, '"$1":"-"')
    .replace(RANDOM, '"$1-"')
    .replace(JUDGES, '"judges":"-"')
  const story = JSON.parse(text) as ReturnType<typeof storyOf>
  const told = anyOrder ? unordered(story) : story
  return runs.map(({ events }, i) => {
    const types = events.map(({ type }) => type)
    return {
      all: told[i],
      types: types.filter(type => !type.startsWith('assay.model.')),
      hasLost: types.includes('assay.model.lost'),
    }
  })
}

/** The same runs with the same logs. */
export function expectSame(told: Ending, calm: Ending, when: string): void {
  expect(
    told.story.map(({ types }) => types),
    when,
  ).toEqual(calm.story.map(({ types }) => types))
  const differences = told.story.flatMap(({ all, hasLost }, i) =>
    hasLost ? [] : differenceOf(all, calm.story[i]!.all, i),
  )
  expect(differences, when).toEqual([])
  expect(told.merges).toBe(calm.merges)
}

type Said = { readonly status: unknown; readonly events: readonly unknown[] }

/** The first event that is not the same, both ways: a report in one line. */
function differenceOf(told: unknown, calm: unknown, run: number): string[] {
  const [a, b] = [told, calm].map(all => {
    const { status, events } = all as Said
    return [...events, { status }].map(event => JSON.stringify(event))
  }) as [string[], string[]]
  const at = a.findIndex((event, k) => event !== b[k])
  return at < 0 ? [] : [`run ${run}, event ${at}: ${a[at]} and not ${b[at]}`]
}
