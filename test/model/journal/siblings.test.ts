import { describe, expect, it } from 'vitest'
import { createRunDesk } from '../../../src/engine/journal/run-desk.js'
import type { WriteRow } from '../../../src/engine/ports/journal.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { glassVault } from '../../../src/testing/agents.js'
import { DESK_SETTINGS, engineRig, register, startRun } from '../../../src/testing/engine-rig.js'
import { NO_TURNS } from '../../../src/timing/turns.js'
import { until } from '../../support/host-process.js'
import { cast } from './cast.js'
import { STORE_NAMES, storesForTests } from './stores.js'
import { type Flow, ROOT, type Story, workflowsOf } from './story.js'

const open = storesForTests()
const SCOPE = 'team'
const HOSTS = ['one', 'two']

const writer: Flow = {
  exitGate: false,
  isolated: false,
  steps: [
    { is: 'put', key: 'a', word: 'red', ttl: undefined },
    {
      is: 'agent',
      acts: [
        { do: 'put', key: 'a', word: 'green', ttl: undefined },
        { do: 'write', path: 'x.md', word: 'green' },
        { do: 'put', key: 'b', word: 'blue', ttl: undefined },
        { do: 'write', path: 'x.md', word: 'blue' },
      ],
      says: 'good',
      gated: false,
    },
    { is: 'put', key: 'b', word: 'red', ttl: undefined },
  ],
}

/** A supervisor hands the same work to two workers at once, twice. */
const RACE: Story = {
  shape: 'loop',
  scope: SCOPE,
  root: { ...writer, steps: [] },
  children: [writer, writer],
  fanOut: 'parallel',
  before: [],
  during: [],
  after: [],
}

/** The row that each position was given to. */
async function rowsByPosition(store: Store, space: 'memory' | 'workspace'): Promise<WriteRow[]> {
  const scope = space === 'memory' ? SCOPE : ''
  const head = (await store.heads('t1', SCOPE))[space]
  const rows: WriteRow[] = []
  for (let upTo = 1; upTo <= head; upTo += 1) {
    const page = await store.entriesAt('t1', space, { scope, upTo, runs: [] }, { limit: 100 })
    const [row, ...others] = page.rows.filter(({ position }) => position === upTo)
    expect([row?.position, others], `${space} at ${upTo}`).toEqual([upTo, []])
    if (row) rows.push(row)
  }
  return rows
}

describe.each(STORE_NAMES)('siblings on two hosts that write the same, %s', name => {
  it('R-MEM-6: each write has one position and no position is left out; writes of one run are in the order of its log', async () => {
    const rig = engineRig(await open(name))
    const { store } = rig
    const desk = createRunDesk({
      turns: NO_TURNS,
      store,
      vault: glassVault,
      redact: { text: text => text },
      settings: DESK_SETTINGS,
    })
    const agents = cast(RACE, desk, () => undefined)
    const options = { agents, leaseMs: 365 * 24 * 3_600_000 }
    const hosts = await Promise.all(HOSTS.map(hostName => rig.host({ ...options, hostName })))
    for (const engine of hosts.slice(0, 1)) await register(engine, ...workflowsOf(RACE))
    await Promise.all([...hosts, ...hosts, ...hosts].map(engine => startRun(engine, ROOT, { scopeId: SCOPE })))
    await until('every run to end', async () => {
      await rig.clock.advance(500)
      return (await store.listRuns({ tenant: 't1', limit: 1_000 })).every(({ endedAt }) => endedAt !== null)
    })
    const runs = await store.listRuns({ tenant: 't1', limit: 1_000 })
    const logs = await Promise.all(
      runs.map(async ({ runId }) => (await store.readEvents(runId, 0)).map(event => ({ runId, ...event }))),
    )
    const names = (type: string) =>
      logs.flat().flatMap(event => (event.type === type ? `${event.runId}:${event.sequence}` : []))
    for (const [space, type] of [
      ['memory', 'memory.written'],
      ['workspace', 'assay.file.written'],
    ] as const) {
      const rows = await rowsByPosition(store, space)
      expect(rows.map(({ runId, sequence }) => `${runId}:${sequence}`).sort()).toEqual(names(type).sort())
      for (const { runId } of runs) {
        const own = rows.filter(row => row.runId === runId).map(({ sequence }) => sequence)
        expect(own).toEqual([...own].sort((a, b) => a - b))
      }
      if (space === 'workspace')
        expect(rows.filter(({ id }) => id === 'x.md').map(({ version }) => version)).toEqual(rows.map((_, i) => i + 1))
      expect(rows.length).toBeGreaterThan(40)
    }
    // They did race: what one run wrote is not all in one piece.
    const order = (await rowsByPosition(store, 'memory')).map(({ runId }) => runId)
    const pieces = order.filter((runId, i) => runId !== order[i - 1]).length
    console.log(`siblings, ${name}: ${order.length} writes of ${new Set(order).size} runs in ${pieces} pieces`)
    expect(pieces).toBeGreaterThan(new Set(order).size)
    for (const engine of hosts) await engine.stop(0)
    await store.close()
  })
})
