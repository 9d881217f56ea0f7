import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createRunDesk } from '../../../src/engine/journal/run-desk.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { openStore } from '../../../src/store/open-store.js'
import { glassVault } from '../../../src/testing/agents.js'
import { DESK_SETTINGS, engineRig, type Rig, register, startRun } from '../../../src/testing/engine-rig.js'
import { MortalHost } from '../../../src/testing/mortal-host.js'
import { standardsDouble } from '../../../src/testing/verification.js'
import { NO_TURNS } from '../../../src/timing/turns.js'
import { until } from '../../support/host-process.js'
import { findingsOf, runsIn } from '../../support/stored-runs.js'
import { isThorough } from '../../support/thorough.js'
import { cast } from './cast.js'
import { arrangementOf, type Flow, gatesOf, ROOT, type Step, type Story, workflowsOf } from './story.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-journal-rejected-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const SCOPE = 'team'
const WORD = 'red'
const LATER = { is: 'get', by: 'list', key: 'a', word: WORD } as const

const working = (says: 'good' | 'bad', gated: boolean): Step => ({
  is: 'agent',
  acts: [
    { do: 'put', key: 'a', word: WORD, ttl: undefined },
    { do: 'write', path: 'x.md', word: WORD },
  ],
  says,
  gated,
})

const flow = (steps: readonly Step[], exitGate = false): Flow => ({ steps, exitGate, isolated: false })

const telling = (root: Flow, child: Flow = flow([])): Story => ({
  shape: 'chain',
  scope: SCOPE,
  root,
  children: [child, flow([LATER])],
  fanOut: 'sequential',
  before: [],
  during: [],
  after: [],
})

/** A node writes, too, so that there is more than one attempt's worth; the writes of all of it are `writes`. */
const STORIES = {
  'a worker': (says: 'good' | 'bad') => ({
    told: telling(
      flow([{ is: 'sub', child: 0, gated: true }, LATER]),
      flow([{ is: 'put', key: 'b', word: WORD, ttl: undefined }, working(says, false)]),
    ),
    writes: { memory: 2, workspace: 1 },
  }),
  'an agent': (says: 'good' | 'bad') => ({
    told: telling(flow([working(says, true), LATER])),
    writes: { memory: 1, workspace: 1 },
  }),
  'a run at its exit': (says: 'good' | 'bad') => ({
    told: telling(flow([{ is: 'put', key: 'b', word: WORD, ttl: undefined }, working(says, false)], true)),
    writes: { memory: 2, workspace: 1 },
  }),
} as const

const STORES: { readonly [name: string]: { open(): Promise<Store>; every: number } } = {
  memory: { open: () => openStore('memory:'), every: 1 },
  SQLite: { open: () => openStore(`sqlite:${mkdtempSync(path.join(scratch, 'run-'))}/assay.db`), every: 5 },
}

async function booted(rig: Rig, told: Story): Promise<MortalHost> {
  const host = new MortalHost(rig)
  const desk = createRunDesk({
    turns: NO_TURNS,
    store: host.store,
    vault: glassVault,
    redact: { text: text => text },
    settings: DESK_SETTINGS,
  })
  const standards = standardsDouble(gatesOf(arrangementOf(told)))
  return host.boot(
    cast(told, desk, () => undefined),
    { standards, leaseMs: 365 * 24 * 3_600_000 },
  )
}

/** Time passes until everything has ended, or whoever works at it is dead. */
async function passed(rig: Rig, host: MortalHost): Promise<void> {
  await until('every run to end', async () => {
    if (host.isDead) return true
    const runs = await rig.store.listRuns({ tenant: 't1', limit: 100 })
    if (runs.length > 0 && runs.every(({ endedAt }) => endedAt !== null)) return true
    await rig.clock.advance(500)
    return false
  })
}

async function begun(rig: Rig, told: Story, before: (host: MortalHost) => void): Promise<MortalHost> {
  const host = await booted(rig, told)
  await register(host.engine, ...workflowsOf(told))
  host.writes = []
  before(host)
  // The process may die before it answers; the run is there all the same once its first commit is.
  startRun(host.engine, ROOT, { scopeId: SCOPE }).catch(error => expect(String(error)).toContain('unavailable'))
  await passed(rig, host)
  return host
}

/** All that anybody could find of it, and what those who wrote it see. */
async function found({ store }: Rig) {
  const everything = { scope: SCOPE, upTo: 1_000_000, runs: [] }
  const listed = async (space: 'memory' | 'workspace') =>
    (await store.entriesAt('t1', space, { ...everything, scope: space === 'memory' ? SCOPE : '' }, { limit: 100 })).rows
  const runs = await store.listRuns({ tenant: 't1', limit: 100 })
  const later = await Promise.all(
    runs.map(async ({ runId }) =>
      (await store.readEvents(runId, 0)).flatMap(({ type, payload }) => {
        const { outputs } = JSON.parse(payload) as { outputs?: { entries?: readonly unknown[] } }
        return type === 'node.completed' && outputs?.entries ? [outputs.entries.length] : []
      }),
    ),
  )
  return {
    memory: (await listed('memory')).length,
    workspace: (await listed('workspace')).length,
    words: (await store.searchAt('t1', 'memory', everything, { words: [WORD], limit: 100 })).length,
    heads: await store.heads('t1', SCOPE),
    told: (await store.readTenantEvents('t1', 0, 100)).length,
    later: later.flat(),
    written: (await Promise.all(runs.map(({ runId }) => store.readEvents(runId, 0))))
      .flat()
      .filter(({ type }) => type === 'memory.written' || type === 'assay.file.written').length,
  }
}

const NOTHING = { memory: 0, workspace: 0, words: 0, heads: { memory: 0, workspace: 0 }, told: 0 }

describe.each(Object.entries(STORES))('what a gate does not let pass, %s', (name, { open, every }) => {
  it.each(Object.entries(STORIES))(
    'S15: %s leaves nothing in memory, workspace or index when it is rejected, and all of it once when it is not, wherever the host dies',
    async (what, storyOf) => {
      const counts = { crashes: 0, rejected: 0, passed: 0 }
      for (const says of ['bad', 'good'] as const) {
        const { told, writes } = storyOf(says)
        const calm = engineRig(await open())
        const { writes: boundaries } = await begun(calm, told, () => undefined)
        expect(boundaries).toContain('keepContent')
        await calm.store.close()
        for (const when of ['before', 'after'] as const)
          for (let at = says === 'bad' ? 2 : 3; at <= boundaries.length; at += says === 'bad' ? 1 : 3) {
            if (!isThorough && at % every !== (when === 'before' ? 0 : every - 1)) continue
            const where = `${says}, dead ${when} write ${at} (${boundaries[at - 1]})`
            const rig = engineRig(await open())
            const first = await begun(rig, told, host => host.dieAt(at, when))
            if (first.isDead) {
              counts.crashes += 1
              await passed(rig, await booted(rig, told))
            }
            const { later, written, ...rest } = await found(rig)
            expect(written, where).toBeGreaterThanOrEqual(writes.memory + writes.workspace)
            if (says === 'bad') {
              expect(rest, where).toEqual(NOTHING)
              expect(
                later.filter(entries => entries > 0),
                where,
              ).toEqual([])
              counts.rejected += 1
            } else {
              const { memory, workspace } = writes
              expect(rest, where).toEqual({ ...writes, words: memory, heads: writes, told: workspace })
              counts.passed += 1
            }
            expect(findingsOf(await runsIn(rig.store)), where).toEqual([])
            await rig.store.close()
          }
      }
      console.log(`rejected, ${name}, ${what}: ${JSON.stringify(counts)}`)
      expect(counts.crashes).toBeGreaterThan(60 / every)
      expect(counts.rejected).toBeGreaterThan(40 / every)
      expect(counts.passed).toBeGreaterThan(10 / every)
    },
  )
})
