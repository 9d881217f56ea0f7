import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CheckedRun } from '../../src/log-check/checked.js'
import { answerGate, asked, createRun, ended } from '../support/client.js'
import { HostProcess } from '../support/host-process.js'
import { startPostgres } from '../support/postgres.js'
import { findingsOf, storedRuns } from '../support/stored-runs.js'
import { writeProject } from './workflows.js'

const RIVALS = 50
const ROUNDS = 20

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-races-'))
const project = writeProject(scratch)
let postgres: Awaited<ReturnType<typeof startPostgres>>
let database: string
let hosts: readonly HostProcess[]

beforeAll(async () => {
  postgres = await startPostgres()
  database = await postgres.createDatabase()
  const spawn = (hostName: string) =>
    HostProcess.spawn({ data: path.join(scratch, hostName), database, project, hostName })
  hosts = [await spawn('one'), await spawn('two')]
  for (const host of hosts) await host.url()
})

afterAll(async () => {
  for (const host of hosts) await host.finish()
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const times = (counts: Map<string, number>, what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)

const eventsOf = async (runId: string): Promise<CheckedRun['events']> =>
  (await storedRuns(database)).find(run => run.runId === runId)!.events

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

  it('an answer against a cancellation: the log tells one outcome, and the client was told the same', async () => {
    const outcomes = new Map<string, number>()
    for (let round = 0; round < ROUNDS; round += 1) {
      const runId = await createRun(hosts[0]!, 'approval')
      await asked(hosts[0]!, runId)
      const answer = () => answerGate(hosts[round % 2]!, runId, 'reject')
      const cancel = () => hosts[(round + 1) % 2]!.call('POST', `/v1/runs/${runId}/cancel`, {})
      // Whoever sends first usually wins, so they take turns at that.
      const [answered, cancelled] =
        round % 4 < 2
          ? await Promise.all([answer(), cancel()])
          : await Promise.all([cancel(), answer()]).then(both => both.reverse() as typeof both)
      await ended(hosts[0]!, runId)
      const events = await eventsOf(runId)
      const isTaken = answered!.status === 200
      expect([200, 409, 422], JSON.stringify(answered!.body)).toContain(answered!.status)
      expect(resolutions(events)).toHaveLength(isTaken ? 1 : 0)
      expect(events.at(-1)?.type).toBe(isTaken ? 'run.failed' : 'run.cancelled')
      expect(cancelled!.status, JSON.stringify(cancelled!.body)).toBeLessThan(500)
      times(outcomes, isTaken ? 'answered' : 'cancelled')
    }
    console.log(`answer against cancellation: ${JSON.stringify(Object.fromEntries(outcomes))}`)
    expect(outcomes.get('answered')).toBeGreaterThan(0)
    expect(outcomes.get('cancelled')).toBeGreaterThan(0)
  })

  it('answers against the end of the time to answer: exactly one of them in the log', async () => {
    const outcomes = new Map<string, number>()
    const race = async (round: number) => {
      const runId = await createRun(hosts[0]!, 'timeout')
      // The first rounds answer at once; the later ones keep sending something useless until the time is over.
      if (round >= ROUNDS / 2)
        for (let status = 400; status === 400; ) status = (await answerGate(hosts[0]!, runId, 'shrug')).status
      const answers = await Promise.all(hosts.map(host => answerGate(host, runId, 'accept')))
      await ended(hosts[1]!, runId)
      const events = await eventsOf(runId)
      const taken = answers.filter(({ status }) => status === 200)
      expect(resolutions(events)).toHaveLength(1)
      expect(taken.length).toBeLessThan(2)
      expect(resolutions(events)[0]?.payload).toMatchObject(
        taken.length === 1 ? { resumeValue: { action: 'accept' } } : { outcome: 'rejected', reason: 'timeout' },
      )
      times(outcomes, taken.length === 1 ? 'answered' : 'timed out')
    }
    for (let round = 0; round < ROUNDS; round += 1) await race(round)
    console.log(`answers against the time: ${JSON.stringify(Object.fromEntries(outcomes))}`)
    expect(outcomes.get('answered')).toBeGreaterThan(0)
    expect(outcomes.get('timed out')).toBeGreaterThan(0)
    expect(findingsOf(await storedRuns(database))).toEqual([])
  })
})
