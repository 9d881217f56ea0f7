import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answer, createRun, ended } from '../../support/client.js'
import { type HostProcess, until } from '../../support/host-process.js'
import { startPostgres } from '../../support/postgres.js'
import '../../support/seed.js'
import { storedRuns } from '../../support/stored-runs.js'
import { silentAt } from './judges.js'
import { ALL, named, type Story, settled } from './stories.js'
import { boundariesOf, Sweep } from './sweep.js'
import { hosted, soundRuns } from './telling.js'

const KILLS = 8
const RIVALS = 20
const MOST_RACES = 20

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-gates-postgres-'))
const sweep = new Sweep(scratch)
let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

/** Two hosts on one database. */
async function twoHosts(story: Story, leaseMs?: number) {
  const database = await postgres.createDatabase()
  const place = sweep.place(database)
  const { model, spawn } = await hosted(story, place)
  const start = async (hostName: string) => {
    const host = await spawn({
      hostName,
      data: path.join(place.folder, hostName),
      ...(leaseMs === undefined ? {} : { leaseMs }),
    })
    await host.url()
    return host
  }
  return { database, model, hosts: [await start('one'), await start('two')] as const }
}

const toldIn = async (database: string, runId: string) =>
  (await storedRuns(database)).find(run => run.runId === runId)!.events

describe('gates on PostgreSQL', () => {
  it('F1, R-VERIFY-10: killed around some transactions, runs end as they would have on SQLite without a kill', async () => {
    const { seed } = fc.readConfigureGlobal()
    const chosen = fc.sample(fc.tuple(fc.constantFrom(...ALL), fc.nat()), KILLS)
    for (const [story, n] of chosen) {
      const calm = await sweep.calm(story)
      const boundaries = boundariesOf(calm)
      await sweep.kill(story, calm, boundaries[n % boundaries.length]!, await postgres.createDatabase())
    }
    expect(sweep.counted.kills).toBe(KILLS)
    expect(sweep.counted.merges).toBeGreaterThan(0)
    console.log(`seed ${seed}: ${sweep.counted.kills} kills, ${sweep.counted.merges} merges`)
  })

  it('R-VERIFY-21: many say at once whether to merge, to two hosts: one is heard, and the log tells that one', async () => {
    const { database, model, hosts } = await twoHosts(named('escalated'))
    const outcomes = { accept: 0, reject: 0 }
    let races = 0
    for (; Math.min(...Object.values(outcomes)) === 0 && races < MOST_RACES; races += 1)
      outcomes[await race(hosts, database, races)] += 1
    for (const host of hosts) await host.finish()
    expect((await soundRuns(database)).merges).toBe(outcomes.accept)
    expect(Math.min(...Object.values(outcomes)), JSON.stringify(outcomes)).toBeGreaterThan(0)
    await model.close()
  })

  it('F2, R-VERIFY-2: a host that comes back after its verifier was asked by another adds no verdict', async () => {
    const { database, model, hosts } = await twoHosts({ ...named('revised'), plan: silentAt(0) }, 2_000)
    const [zombie, peer] = hosts
    const runId = await createRun(zombie, 'revised')
    await until('the call', () => model.requests().length > 0)
    zombie.child.kill('SIGSTOP')
    await ended(peer, runId)
    const before = await toldIn(database, runId)
    zombie.child.kill('SIGCONT')
    await until('the zombie to notice', () => zombie.errors.includes('fenced by another host'))
    expect(await toldIn(database, runId)).toEqual(before)
    expect(before.flatMap(({ type, payload }) => (type === 'agent.verified' ? [payload] : []))).toMatchObject([
      { verdict: 'revise' },
      { verdict: 'pass' },
    ])
    for (const host of hosts) await host.finish()
    expect((await soundRuns(database)).merges).toBe(1)
    await model.close()
  })
})

/** A result that its gate has failed is put to a person, and many answer. */
async function race(hosts: readonly HostProcess[], database: string, round: number): Promise<'accept' | 'reject'> {
  const runId = await createRun(hosts[0]!, 'escalated')
  await settled(hosts[0]!, runId)
  const action = (i: number) => ((i + round) % 2 === 0 ? 'accept' : 'reject')
  const answers = await Promise.all(
    Array.from({ length: RIVALS }, (_, i) => answer(hosts[i % 2]!, runId, 'ask', { action: action(i) })),
  )
  const taken = answers.flatMap(({ status }, i) => (status === 200 ? [action(i)] : []))
  expect(taken, JSON.stringify(answers.map(({ status }) => status))).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(RIVALS - 1)
  await ended(hosts[1]!, runId)
  const events = await toldIn(database, runId)
  expect(events.filter(({ type }) => type === 'interrupt.resolved')).toHaveLength(1)
  const verdicts = events.flatMap(({ type, payload }) => (type === 'agent.verified' ? [payload] : []))
  const override = { agentId: 'host:human-override', verdict: 'pass' }
  expect(verdicts).toMatchObject([{ verdict: 'fail' }, ...(taken[0] === 'accept' ? [override] : [])])
  expect(events.at(-1)!.type).toBe(taken[0] === 'accept' ? 'run.completed' : 'run.failed')
  return taken[0] as 'accept' | 'reject'
}
