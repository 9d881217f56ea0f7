import { expect, test } from 'vitest'
import { JOURNAL_SHAPES } from '../../src/log-check/structure/journal-shapes.js'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { findingsOf, runsIn } from '../support/stored-runs.js'
import { load } from './history.js'
import { record } from './record.js'
import { replaysOf } from './replays.js'
import { journals } from './stories/journals.js'

test('R-MEM-21: the story of journals is legal, is held by a history with all it needs, and is replayed byte for byte', async () => {
  const history = JSON.parse(JSON.stringify(await record('journals', journals))) as Awaited<ReturnType<typeof record>>
  const store = new MemoryStore()
  await load(history, store)
  const runs = await runsIn(store)
  expect(findingsOf(runs)).toEqual([])
  const events = runs.flatMap(run => run.events)
  const count = (type: string, fits: (payload: Record<string, unknown>) => boolean = () => true) =>
    events.filter(event => event.type === type && fits(event.payload as Record<string, unknown>)).length
  for (const type of Object.keys(JOURNAL_SHAPES)) expect(count(type), type).toBeGreaterThan(0)
  // An edit that came too late, what a gate never let through, and what waited at an exit.
  const failedBy = (code: string) => count('node.failed', ({ error }) => (error as { code: string }).code === code)
  expect(failedBy('workspace_conflict')).toBeGreaterThan(0)
  expect(failedBy('verification_failed')).toBeGreaterThan(0)
  expect(count('assay.result.staged', ({ point }) => point === 'run')).toBeGreaterThan(0)
  // A memory apart, that of a branch, and turns that read how far theirs had come.
  const scopes = events.map(({ payload }) => String((payload as { memoryScope?: string }).memoryScope))
  expect(
    scopes.some(
      scope => scope.startsWith('run:') && runs.some(run => `run:${run.runId}` === scope && run.row?.parentRunId),
    ),
  ).toBe(true)
  expect(scopes.some(scope => scope.startsWith('fork:'))).toBe(true)
  const turns = events.filter(({ secret }) => (secret as { anchors?: unknown } | undefined)?.anchors !== undefined)
  expect(turns.length).toBeGreaterThan(1)
  const replays = await replaysOf(history)
  expect(replays.length).toBeGreaterThan(20)
  for (const { runId, own, source } of replays) expect(own, runId).toEqual(source)
})
