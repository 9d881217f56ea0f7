import { afterAll, describe, expect, test } from 'vitest'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { findingsOf, runsIn } from '../support/stored-runs.js'
import { load } from './history.js'
import { record } from './record.js'
import { replaysOf } from './replays.js'
import { STORIES } from './stories/index.js'

/** Every example as it is today: told offline, and told again where there is neither a model nor a tool. */

const examples = Object.entries(STORIES).filter(([name]) => name.startsWith('example-'))
const counted = { runs: 0, events: 0, calls: 0, writes: 0 }

const CALLS: ReadonlySet<string> = new Set(['agent.invocation.started', 'agent.toolReturned'])
const WRITES: ReadonlySet<string> = new Set(['memory.written', 'assay.file.written'])

describe('every example', () => {
  test.each(examples)(
    'R-REPLAY-12: the runs of %s are legal, and their replays say the same, byte for byte',
    async (name, story) => {
      const history = await record(name, story)
      const store = new MemoryStore()
      await load(history, store)
      expect(findingsOf(await runsIn(store))).toEqual([])
      const replays = await replaysOf(history)
      expect(replays.length).toBeGreaterThan(0)
      for (const { runId, own, source, partsWithCancel } of replays) {
        if (!partsWithCancel) expect(own, runId).toEqual(source)
        const types = source.map(said => (JSON.parse(said) as [string])[0])
        counted.runs += 1
        counted.events += types.length
        counted.calls += types.filter(type => CALLS.has(type)).length
        counted.writes += types.filter(type => WRITES.has(type)).length
      }
    },
  )

  afterAll(() => {
    console.log(`examples told again without a model or a tool: ${JSON.stringify(counted)}`)
    for (const [what, count] of Object.entries(counted)) expect(count, what).toBeGreaterThan(0)
  })
})
