import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Crash, HostProcess, until } from '../support/host-process.js'
import { startPostgres } from '../support/postgres.js'
import { findingsOf, storedRuns, storyOf } from '../support/stored-runs.js'
import { writeProject } from './workflows.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-crash-'))
const project = writeProject(scratch)
const WORKFLOWS = ['linear', 'parallel', 'retrying', 'channel', 'family', 'effect']
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

/** One run from creation to its end, the host being killed on the way if asked; the client retries like a client. */
async function tell(workflowId: string, kind: keyof typeof databases, crash?: Crash): Promise<Ending> {
  points += 1
  const data = path.join(scratch, `${kind}-${workflowId}-${points}`)
  const database = await databases[kind](data)
  const create = (host: HostProcess) =>
    host.call('POST', '/v1/runs', { workflowId }, { 'idempotency-key': `once-${points}` })
  const crashed =
    crash !== undefined && (await doom(await HostProcess.spawn({ data, database, project, crash }), create))
  const host = await HostProcess.spawn({ data, database, project })
  const created = await create(host)
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  const { runId } = created.body
  await until(`run ${runId} of ${workflowId} to end`, async () =>
    isTerminal((await host.call('GET', `/v1/runs/${runId}`)).body.status),
  )
  const writes = await host.finish()
  const runs = await storedRuns(database)
  expect(findingsOf(runs)).toEqual([])
  return { story: storyOf(runs), writes, effects: effectsIn(data), crashed }
}

/** Lets a host run into its crash. False when the run was over before it came to that. */
async function doom(
  host: HostProcess,
  create: (host: HostProcess) => Promise<{ body: { runId: string } }>,
): Promise<boolean> {
  await host.url()
  const isOver = async () => {
    const { runId } = (await create(host)).body
    await until('the crash or the end', async () =>
      isTerminal((await host.call('GET', `/v1/runs/${runId}`)).body.status),
    )
    host.child.kill('SIGTERM')
  }
  // The connection breaks when the host dies, which is what this is about.
  await isOver().catch(() => undefined)
  return (await host.exited).signal === 'SIGKILL'
}

const isTerminal = (status: string): boolean => ['completed', 'failed', 'cancelled'].includes(status)

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

describe.each(['SQLite', 'PostgreSQL'] as const)('F1: SIGKILL before and after every store transaction, %s', kind => {
  it.each(WORKFLOWS)('%s: every run ends, the checker is silent, the story is the crash-free one', async workflowId => {
    const calm = await tell(workflowId, kind)
    expect(calm.writes).toBeGreaterThan(1)
    const crashes: Crash[] = []
    for (let at = 1; at <= calm.writes; at += 1) crashes.push({ at, when: 'before' }, { at, when: 'after' })
    let kills = 0
    let tries = 0
    const queue = [...crashes]
    const sweep = async () => {
      for (let crash = queue.shift(); crash; crash = queue.shift()) {
        const ending = await tell(workflowId, kind, crash)
        if (!ending.crashed) {
          // Two timers fell into one step on a busy machine, so there was no such write; the point is tried again.
          tries += 1
          expect(tries, `no kill at write ${crash.at} (${crash.when})`).toBeLessThan(10)
          queue.push(crash)
          continue
        }
        kills += 1
        expect(ending.story, `killed ${crash.when} write ${crash.at} of ${workflowId}`).toEqual(calm.story)
        expect(new Set(ending.effects.map(({ id }) => id)).size).toBe(calm.effects.length)
      }
    }
    await Promise.all([sweep(), sweep()])
    expect(kills).toBe(calm.writes * 2)
    console.log(`${kind} ${workflowId}: ${kills} kills over ${calm.writes} transactions, story unchanged`)
  })
})
