import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CheckedRun } from '../../../src/log-check/checked.js'
import { startAssay } from '../../cli/assay-process.js'
import { createRun } from '../../support/client.js'
import { crashPoints, SEED } from '../../support/crash-points.js'
import { type HostProcess, until } from '../../support/host-process.js'
import { startPostgres } from '../../support/postgres.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { isThorough } from '../../support/thorough.js'
import { type Event, ended, eventsOf } from '../agents/talk.js'
import { kill } from '../agents/world.js'
import { handedTo, handoffsIn, plotOf } from './plot.js'
import { TwoProcesses } from './processes.js'
import { HOST_ID } from './two-hosts.js'

/** Host A on SQLite, host B on PostgreSQL, a tool server that B has started: three processes, and one story. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peer-processes-'))
let postgres: Awaited<ReturnType<typeof startPostgres>>
let two: TwoProcesses

beforeAll(async () => {
  postgres = await startPostgres()
  two = await TwoProcesses.start(scratch, await postgres.createDatabase())
})
afterAll(async () => {
  await two?.close()
  await postgres?.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const traceOf = (traceparent: unknown): string => String(traceparent).split('-')[1]!
const startedOf = (events: readonly Event[]) => events[0]!.payload as { readonly traceparent: string }

describe('three processes', () => {
  let runId: string
  let onA: readonly Event[]
  let onB: readonly Event[]
  let runOfB: string

  beforeAll(async () => {
    runId = await createRun(two.a, 'errand', 'chain')
    expect(await ended(two.a, runId)).toMatchObject({
      status: 'completed',
      variables: { draft: expect.stringContaining('written') },
    })
    onA = await eventsOf(two.a, runId)
    runOfB = String(onA.find(({ payload }) => payload.phase === 'dispatch.succeeded')!.payload.childRunId).slice(
      'peer:beta/'.length,
    )
    onB = await eventsOf(two.b, runOfB)
  })

  it('R-XHOST-2, R-HANDOFF-3: from the last event on B with a cause, the causes lead to the decision on A', async () => {
    const logs = new Map([...onA, ...onB].map(event => [(event as unknown as { eventId: string }).eventId, event]))
    const foreign = onB.filter(({ payload }) => 'causationHostId' in payload)
    expect(foreign).toHaveLength(1)
    expect(foreign[0]!.payload.causationHostId).toBe(HOST_ID.a)
    const began = logs.get(foreign[0]!.causationId!)!
    expect(began.payload.phase).toBe('dispatch.began')
    expect(logs.get(began.causationId!)!.type).toBe('runOrchestrator.decided')
    // R-XHOST-3: of all other causes on B none leaves it.
    for (const { causationId } of onB) {
      if (causationId === undefined || causationId === foreign[0]!.causationId) continue
      expect(causationId.startsWith(`${runOfB}:`)).toBe(true)
    }
  })

  it('R-XHOST-9, R-XHOST-11: `assay runs ancestry --walk` leads from B to A, from the last event to the first decision, and no further', async () => {
    const data = two.b.settings.data
    const { code, stdout, stderr } = await startAssay(
      ['runs', 'ancestry', runOfB, '--walk', '--json', '--data', data],
      { env: { ...two.envOfB }, cwd: two.projectOfB },
    ).done
    expect([code, stderr]).toEqual([0, ''])
    const { ancestry, causes } = JSON.parse(stdout) as {
      readonly ancestry: readonly object[]
      readonly causes: readonly { hostId: string; runId: string; eventId: string; type: string; phase?: string }[]
    }
    // From the last event there that has a cause to the decision here, and to what that was due to.
    const last = onB.findLast(({ causationId }) => causationId)! as unknown as { readonly eventId: string }
    expect(causes[0]).toMatchObject({ hostId: HOST_ID.b, runId: runOfB, eventId: last.eventId })
    expect(causes.map(({ hostId }) => hostId).filter((host, k, all) => host !== all[k - 1])).toEqual([
      HOST_ID.b,
      HOST_ID.a,
    ])
    expect(causes.filter(({ hostId }) => hostId === HOST_ID.a)).toMatchObject([
      { runId, type: 'core.workflowChain.event', phase: 'dispatch.began' },
      { runId, type: 'runOrchestrator.decided' },
      { runId, type: 'node.started' },
      { runId, type: 'run.started' },
    ])
    expect(ancestry).toEqual([
      {
        runId: runOfB,
        hostId: HOST_ID.b,
        parent: {
          runId,
          hostId: HOST_ID.a,
          cause: 'core.dispatch',
          wellKnownUrl: `${two.toA.url}/.well-known/openwop`,
        },
      },
      { runId, hostId: HOST_ID.a, parent: null },
    ])
  })

  it('R-XHOST-5: one trace in both logs, at the provider, and at the tool server', async () => {
    const trace = traceOf(startedOf(onA).traceparent)
    expect(trace).toMatch(/^[0-9a-f]{32}$/)
    expect(traceOf(startedOf(onB).traceparent)).toBe(trace)
    const calls = two.world.toolCalls()
    expect(calls.map(({ name }) => name)).toEqual(['read'])
    expect(traceOf(calls[0]!.meta!.traceparent)).toBe(trace)
    const asked = two.world.model.requests()
    expect(asked.length).toBeGreaterThanOrEqual(2)
    for (const { headers } of asked) expect(traceOf(headers.traceparent)).toBe(trace)
    const created = two.toB.passed.filter(({ method, url }) => method === 'POST' && url === '/v1/runs')
    expect(created.map(({ headers }) => traceOf(headers.traceparent))).toEqual([trace])
  })
})

describe('F1, P1: killed at a write, on either side', () => {
  const POINTS = isThorough ? 60 : 6
  let known: Set<string>
  let calm: ReturnType<typeof plotOf>
  let writes: { readonly a: number; readonly b: number }
  let deaths = 0

  const both = async (): Promise<readonly CheckedRun[]> => [
    ...(await storedRuns(two.database)),
    ...(await storedRuns(two.world.database)),
  ]
  const news = async () => {
    const runs = (await both()).filter(({ runId }) => !known.has(runId))
    for (const { runId } of runs) known.add(runId)
    return runs
  }

  beforeAll(async () => {
    known = new Set((await both()).map(({ runId }) => runId))
    await two.a.finish()
    await two.b.finish()
    await two.startB()
    await two.startA()
    await ended(two.a, await createRun(two.a, 'errand', 'calm'))
    writes = { a: await two.a.finish(), b: await two.b.finish() }
    calm = plotOf(await news())
    await two.startB()
    await two.startA()
  })

  it('the story is the one without it, with one run on B', async () => {
    const points = (['a', 'b'] as const).flatMap(side =>
      crashPoints(writes[side], Math.max(1, Math.round((2 * writes[side]) / (POINTS / 2)))).map(crash => ({
        side,
        crash,
      })),
    )
    for (const [i, { side, crash }] of points.entries()) {
      const host = two[side]
      await host.arm(crash)
      let isDead = false
      void host.exited.then(() => {
        isDead = true
      })
      const key = `killed-${i}`
      // Whoever dies may take the answer along.
      let runId = await createRun(two.a, 'errand', key).catch(() => undefined)
      const isOver = async () =>
        isDead ||
        (runId !== undefined &&
          (await two.a.call('GET', `/v1/runs/${runId}`).catch(() => undefined))?.body.status === 'completed')
      await until('the end of the run or of the host', isOver)
      if (isDead) {
        deaths += 1
        expect((await host.exited).signal).toBe('SIGKILL')
        if (side === 'a') await two.startA()
        else await two.startB()
      } else {
        await restart(host)
      }
      runId = await createRun(two.a, 'errand', key)
      expect((await ended(two.a, runId)).status, JSON.stringify([side, crash])).toBe('completed')
      const runs = await news()
      expect(runs.filter(({ definition }) => (definition as { readonly id: string }).id === 'writer')).toHaveLength(1)
      expect(handedTo(runs)).toHaveLength(1)
      expect(chainsOf(runs), JSON.stringify([side, crash])).toEqual(chainsOf(undefined, calm))
    }
    console.log(`${deaths} deaths of ${points.length} points, seed ${SEED}`)
    expect(deaths).toBeGreaterThanOrEqual(POINTS / 2)
  })

  const restart = async (host: HostProcess): Promise<void> => {
    await kill(host)
    if (host === two.a) await two.startA()
    else await two.startB()
  }

  /** What each log tells, in its order, without the notes of silence and of calls that were lost. */
  function chainsOf(runs: readonly CheckedRun[] | undefined, plot = plotOf(runs ?? [])) {
    return Object.fromEntries(
      Object.entries(plot).map(([name, beats]) => [
        name,
        beats
          .map(({ type }) => type)
          .filter(type => !/^assay\.(model\.lost|model\.requested|budget)|^budget\./.test(type)),
      ]),
    )
  }

  it('the checker is silent on both logs, and no hand-off was lost', async () => {
    const runs = await both()
    expect(findingsOf(await storedRuns(two.database))).toEqual([])
    expect(findingsOf(await storedRuns(two.world.database))).toEqual([])
    expect(runs.flatMap(({ events }) => handoffsIn(events)).filter(step => step.startsWith('peer.lost'))).toEqual([])
  })
})
