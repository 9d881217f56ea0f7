import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../../src/engine/ports/store.js'
import type { CheckedRun } from '../../../src/log-check/checked.js'
import { fromRows } from '../../../src/log-check/read-log.js'
import { openStore } from '../../../src/store/open-store.js'
import { answerGate, asked, createRun, ended } from '../../support/client.js'
import { HostProcess } from '../../support/host-process.js'
import { startPostgres } from '../../support/postgres.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { writeProject } from './workflows.js'

const RIVALS = 50
const ROUNDS = 60
const MOST_ROUNDS = 600

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-races-'))
const project = writeProject(scratch, 'approval', 'timeout')
let postgres: Awaited<ReturnType<typeof startPostgres>>
let database: string
let store: Store
let hosts: readonly HostProcess[]

beforeAll(async () => {
  postgres = await startPostgres({ durable: false })
  database = await postgres.createDatabase()
  const spawn = (hostName: string) =>
    HostProcess.spawn({ data: path.join(scratch, hostName), database, project, hostName })
  hosts = [await spawn('one'), await spawn('two')]
  for (const host of hosts) await host.url()
  store = await openStore(database)
})

afterAll(async () => {
  await store.close()
  for (const host of hosts) await host.finish()
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const eventsOf = async (runId: string): Promise<CheckedRun['events']> =>
  fromRows(runId, await store.readEvents(runId, 0))

const resolutions = (events: CheckedRun['events']) => events.filter(({ type }) => type === 'interrupt.resolved')

describe('E21: many answers to one question, two hosts on one PostgreSQL', () => {
  it(`${RIVALS} at once: one is taken, the others get 409`, async () => {
    const runId = await createRun(hosts[0]!, 'approval')
    await asked(hosts[0]!, runId)
    const action = (i: number) => (i % 3 === 0 ? 'reject' : 'accept')
    const answers = await Promise.all(
      Array.from({ length: RIVALS }, (_, i) => answerGate(hosts[i % 2]!, runId, action(i))),
    )
    const taken = answers.flatMap(({ status }, i) => (status === 200 ? [i] : []))
    expect(taken, JSON.stringify(answers.map(({ status }) => status))).toHaveLength(1)
    const refused = answers.filter(({ status }) => status === 409)
    expect(refused).toHaveLength(RIVALS - 1)
    for (const { body } of refused) expect(body).toMatchObject({ error: 'interrupt_already_resolved' })
    await ended(hosts[1]!, runId)
    const [resolved, ...others] = resolutions(await eventsOf(runId))
    expect(others).toEqual([])
    expect(resolved?.payload).toMatchObject({ resumeValue: { action: action(taken[0]!) } })
  })

  it('an answer, a cancellation and the end of the time to answer: one of them in the log, and clients were told the same', async () => {
    const outcomes = { answered: 0, cancelled: 0, 'timed out': 0 }
    const isEnough = (rounds: number) => rounds >= ROUNDS && Object.values(outcomes).every(count => count > 0)
    let rounds = 0
    for (; !isEnough(rounds) && rounds < MOST_ROUNDS; rounds += 1) outcomes[await race(rounds)] += 1
    console.log(`${rounds} races: ${JSON.stringify(outcomes)}`)
    expect(isEnough(rounds), JSON.stringify(outcomes)).toBe(true)
    expect(findingsOf(await storedRuns(database))).toEqual([])
  })
})

async function race(round: number): Promise<'answered' | 'cancelled' | 'timed out'> {
  const runId = await createRun(hosts[0]!, 'timeout')
  // Each round begins a little later, so that together they cover the end of the time and what is before and after.
  for (let i = 0; i < round * 2; i += 1) if ((await answerGate(hosts[0]!, runId, 'shrug')).status !== 400) break
  const answer = () => answerGate(hosts[round % 2]!, runId, 'accept')
  const cancel = () => hosts[(round + 1) % 2]!.call('POST', `/v1/runs/${runId}/cancel`, {})
  // Whoever sends first usually wins, so they take turns at that.
  const [answered] =
    round % 4 < 2 ? await Promise.all([answer(), cancel()]) : (await Promise.all([cancel(), answer()])).reverse()
  await ended(hosts[0]!, runId)
  const events = await eventsOf(runId)
  const isTaken = answered!.status === 200
  expect([200, 409, 410, 422], JSON.stringify(answered!.body)).toContain(answered!.status)
  const isCancelled = events.at(-1)?.type === 'run.cancelled'
  if (isCancelled) {
    expect(isTaken).toBe(false)
    expect(resolutions(events)).toEqual([])
    return 'cancelled'
  }
  expect(resolutions(events)).toHaveLength(1)
  const timedOut = { outcome: 'rejected', reason: 'timeout' }
  expect(resolutions(events)[0]?.payload).toMatchObject(isTaken ? { resumeValue: { action: 'accept' } } : timedOut)
  expect(events.at(-1)?.type).toBe(isTaken ? 'run.completed' : 'run.failed')
  return isTaken ? 'answered' : 'timed out'
}
