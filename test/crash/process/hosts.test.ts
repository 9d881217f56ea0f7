import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ended, createRun as start, statusOf } from '../../support/client.js'
import { HostProcess, until } from '../../support/host-process.js'
import { startPostgres } from '../../support/postgres.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { writeProject } from './workflows.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-hosts-'))
const project = writeProject(scratch, 'linear', 'parallel', 'family', 'effect', 'poison', 'sleeper', 'noop')
let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres({ durable: false })
})
afterAll(async () => {
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const folder = (name: string) => path.join(scratch, name)

describe('hosts as processes', () => {
  it('F2: a host that was paused past its lease and continued writes nothing; its runs are finished by a peer, once', async () => {
    const database = await postgres.createDatabase()
    const leaseMs = 600
    const zombie = await HostProcess.spawn({ data: folder('zombie'), database, project, leaseMs, hostName: 'zombie' })
    await zombie.url()
    const runs = await Promise.all(Array.from({ length: 10 }, () => start(zombie, 'parallel')))
    zombie.child.kill('SIGSTOP')
    const peer = await HostProcess.spawn({ data: folder('peer'), database, project, leaseMs, hostName: 'peer' })
    await peer.url()
    for (const runId of runs) await ended(peer, runId)
    const before = await storedRuns(database)
    zombie.child.kill('SIGCONT')
    await until('the zombie to notice', () => zombie.errors.includes('fenced by another host'))
    const after = await storedRuns(database)
    expect(after.map(run => run.events)).toEqual(before.map(run => run.events))
    expect(findingsOf(after)).toEqual([])
    // It is of use again, under a new identity.
    await ended(zombie, await start(zombie, 'linear'))
    await Promise.all([zombie.finish(), peer.finish()])
  })

  it('F3: hosts that share a database survive each other: half are killed, every run ends exactly once', async () => {
    const database = await postgres.createDatabase()
    const host = (name: string) =>
      HostProcess.spawn({ data: folder(name), database, project, leaseMs: 600, hostName: name })
    const [a, b, c] = await Promise.all([host('a'), host('b'), host('c')])
    await Promise.all([a!.url(), b!.url(), c!.url()])
    const runs: string[] = []
    for (const each of [a!, b!, c!])
      for (const id of ['linear', 'parallel', 'family', 'effect']) runs.push(await start(each, id))
    let kills = 0
    for (const victim of [a!, b!]) {
      victim.child.kill('SIGKILL')
      kills += 1
      expect((await victim.exited).signal).toBe('SIGKILL')
    }
    for (const runId of runs) await ended(c!, runId)
    await c!.finish()
    expect(findingsOf(await storedRuns(database))).toEqual([])
    expect(kills).toBe(2)
  })

  it('F10: a run that kills its host each time is stopped after a finite number of attempts; others are not harmed', async () => {
    const data = folder('poison')
    const database = `sqlite:${data}/assay.db`
    const settings = { data, database, project, limits: { maxPoisonAttempts: 2 } }
    let host = await HostProcess.spawn(settings)
    await host.url()
    const healthy = await start(host, 'sleeper')
    await start(host, 'poison').catch(() => undefined)
    let deaths = 0
    for (;;) {
      const died = await Promise.race([host.exited.then(() => true), settledPoison(host).then(() => false)])
      if (!died) break
      deaths += 1
      expect(deaths).toBeLessThan(10)
      host = await HostProcess.spawn(settings)
      await host.url()
    }
    expect(deaths).toBe(3)
    const { runs } = (await host.call('GET', '/v1/runs?workflowId=poison')).body
    const { body } = await host.call('GET', `/v1/runs/${runs[0]!.runId}`)
    expect(body.error).toMatchObject({ code: 'run_quarantined' })
    expect(await statusOf(host, healthy)).toBe('running')
    expect(await statusOf(host, await start(host, 'noop'))).toBe('completed')
    await host.finish()
    expect(findingsOf(await storedRuns(database))).toEqual([])
    expect(readFileSync(path.join(data, 'side-effects.log'), 'utf8').trim().split('\n')).toHaveLength(3)
  })

  it('core §4.1: a create that was answered before a kill is answered the same after it', async () => {
    const data = folder('accepted')
    const database = `sqlite:${data}/assay.db`
    const first = await HostProcess.spawn({ data, database, project })
    await first.url()
    const runId = await start(first, 'linear', 'my-key')
    first.child.kill('SIGKILL')
    await first.exited
    const second = await HostProcess.spawn({ data, database, project })
    await second.url()
    await ended(second, runId)
    expect(await start(second, 'linear', 'my-key')).toBe(runId)
    expect((await second.call('GET', '/v1/runs')).body.runs).toHaveLength(1)
    await second.finish()
  })

  it('a data folder belongs to one host at a time, and the message says so', async () => {
    const data = folder('taken')
    const database = `sqlite:${data}/assay.db`
    const first = await HostProcess.spawn({ data, database, project })
    await first.url()
    const second = await HostProcess.spawn({ data, database, project })
    expect(await second.url()).toBeUndefined()
    expect(second.errors).toContain('is in use by another Assay host')
    await first.finish()
  })

  it('a host told to stop lets what it has in hand finish, and leaves the rest to the next one at once', async () => {
    const data = folder('drain')
    const database = `sqlite:${data}/assay.db`
    const first = await HostProcess.spawn({ data, database, project })
    await first.url()
    const runId = await start(first, 'parallel')
    await first.finish()
    const second = await HostProcess.spawn({ data, database, project })
    await second.url()
    await ended(second, runId)
    await second.finish()
    expect(findingsOf(await storedRuns(database))).toEqual([])
  })
})

const settledPoison = (host: HostProcess) =>
  until('the poison to be stopped', async () => {
    const answer = await host.call('GET', '/v1/runs?workflowId=poison&status=failed').catch(() => undefined)
    return answer?.body?.runs?.length === 1
  }).catch(() => new Promise<never>(() => undefined))
