import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerGate, asked, createRun, ended, forkRun, statusOf } from '../../support/client.js'
import { type Crash, HostProcess } from '../../support/host-process.js'
import { startPostgres } from '../../support/postgres.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { writeProject } from './workflows.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-approval-'))
const project = writeProject(scratch, 'approval')
let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres({ durable: false })
})
afterAll(async () => {
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const databases = {
  SQLite: async (data: string) => `sqlite:${data}/assay.db`,
  PostgreSQL: async () => postgres.createDatabase(),
}

/** A host, and a count of how often it was killed. */
class Mortal {
  kills = 0

  constructor(
    private readonly data: string,
    private readonly database: string,
  ) {}

  async start(crash?: Crash): Promise<HostProcess> {
    const settings = { data: this.data, database: this.database, project, counted: ['commit'] }
    const host = await HostProcess.spawn(crash ? { ...settings, crash } : settings)
    await host.url()
    return host
  }

  async died(host: HostProcess): Promise<void> {
    expect((await host.exited).signal).toBe('SIGKILL')
    this.kills += 1
  }

  async kill(host: HostProcess): Promise<void> {
    host.child.kill('SIGKILL')
    await this.died(host)
  }
}

describe.each(['SQLite', 'PostgreSQL'] as const)('E21: an approval and the deaths of its host, %s', kind => {
  it('waits through two kills, is answered once through a third, and can be replayed', async () => {
    const data = path.join(scratch, kind)
    const database = await databases[kind](data)
    const mortal = new Mortal(data, database)

    const first = await mortal.start()
    const runId = await createRun(first, 'approval', 'create')
    await asked(first, runId)
    await mortal.kill(first)
    const second = await mortal.start()
    expect(await statusOf(second, runId)).toBe('waiting-approval')
    await mortal.kill(second)

    // The first commit of this host is the answer; it is durable and the client never hears of it.
    const third = await mortal.start({ at: 1, when: 'after' })
    expect(await statusOf(third, runId)).toBe('waiting-approval')
    await expect(answerGate(third, runId, 'accept', 'answer')).rejects.toThrow()
    await mortal.died(third)

    const last = await mortal.start()
    await ended(last, runId)
    const again = await answerGate(last, runId, 'accept', 'answer')
    expect(again).toMatchObject({ status: 200, body: { runId, nodeId: 'gate' } })
    const other = await answerGate(last, runId, 'reject', 'another-answer')
    expect(other).toMatchObject({ status: 409, body: { error: 'interrupt_already_resolved' } })
    expect(await statusOf(last, runId)).toBe('completed')

    const replay = await forkRun(last, runId, { mode: 'replay' }, 'replay')
    await ended(last, replay)
    const diff = await last.call('GET', `/v1/runs/${runId}:diff?against=${replay}`)
    expect(diff).toMatchObject({ status: 200, body: { divergedAtSeq: null } })
    await last.finish()

    expect(mortal.kills).toBe(3)
    const runs = await storedRuns(database)
    const told = (type: string) =>
      runs.find(run => run.runId === runId)!.events.filter(event => event.type === type && event.nodeId === 'gate')
    expect(told('interrupt.requested')).toHaveLength(1)
    expect(told('interrupt.resolved')).toHaveLength(1)
    expect(told('node.completed')).toHaveLength(1)
    expect(findingsOf(runs)).toEqual([])
  })
})
