import fc from 'fast-check'
import { expect, test } from 'vitest'
import { journalRuns } from '../../test/support/journal-runs.js'
import { gatedRuns } from '../testing/gated-runs.js'
import { STORY_KINDS, type StoryKind } from '../testing/stories/story.js'
import { toldRuns } from '../testing/stories/tell-story.js'
import { checkLog } from './check-log.js'
import type { CheckInput } from './checked.js'
import { GATE_SHAPES } from './structure/gate-shapes.js'
import { JOURNAL_SHAPES } from './structure/journal-shapes.js'
import { fromSeed } from './testing/choice.js'
import { TYPES_TOLD } from './testing/mutations/required-fields.js'
import '../../test/support/seed.js'

const PER_KIND = 45
const GATED = 100
const JOURNALS = 15

/** As a store holds them, and as a reader of one run sees it: the less is known of a log, the less is asked of it. */
function expectLegal(input: CheckInput): void {
  expect(checkLog(input)).toEqual([])
  expect(checkLog({ ...input, dialect: 'openwop' })).toEqual([])
  for (const { runId, row, events } of input.runs) {
    // Without its row nobody knows that a run is a fork.
    if (row?.fork) continue
    const seen = events.map(({ secret: _secret, link: _link, ...event }) => event)
    const run = { runId, events: seen, views: { stored: events } }
    expect(checkLog({ runs: [run] })).toEqual([])
    expect(checkLog({ runs: [run], dialect: 'openwop' })).toEqual([])
  }
}

const typesTold = new Set<string>()

test.each(Object.keys(STORY_KINDS) as StoryKind[])(
  'L1 R-LOG-1 R-LOG-2 R-LOG-3–L33: a story of %s that the engine has told has no findings',
  async kind => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async seed => {
        const input = await toldRuns(kind, fromSeed(seed))
        for (const { type } of input.runs.flatMap(({ events }) => events)) typesTold.add(type)
        expectLegal(input)
      }),
      // A smaller seed makes no smaller log.
      { numRuns: PER_KIND, endOnFailure: true },
    )
  },
)

test('every type of event that is mutated is told in some story', () => {
  expect([...typesTold]).toEqual(expect.arrayContaining([...TYPES_TOLD]))
})

test('L1–L33: logs of gated runs that the core has told have no findings, whole or as readers see them', () => {
  fc.assert(
    fc.property(fc.nat(), seed => expectLegal(gatedRuns(fromSeed(seed)))),
    { numRuns: GATED, endOnFailure: true },
  )
})

test('L34 R-MEM-21: logs of runs that write down and read, and of their forks, have no findings', async () => {
  const told = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(fc.nat(), async seed => {
      const input = await journalRuns(fromSeed(seed))
      for (const { type } of input.runs.flatMap(({ events }) => events)) told.set(type, (told.get(type) ?? 0) + 1)
      expectLegal(input)
    }),
    { numRuns: JOURNALS, endOnFailure: true },
  )
  for (const type of Object.keys(JOURNAL_SHAPES)) expect(told.get(type), type).toBeGreaterThan(JOURNALS)
})

test('gated runs tell everything that a gate can tell', () => {
  const told = new Set<string>()
  const said = new Set<unknown>()
  for (let seed = 0; seed < 400; seed += 1)
    for (const { events } of gatedRuns(fromSeed(seed * 31 + 7)).runs)
      for (const { type, payload } of events) {
        told.add(type)
        for (const value of Object.values(payload as object).flat()) said.add(value)
      }
  expect([...told]).toEqual(
    expect.arrayContaining([...Object.keys(GATE_SHAPES), 'interrupt.resolved', 'run.completed']),
  )
  const words = [
    'pass',
    'conditional_pass',
    'revise',
    'fail',
    'none',
    'harvest',
    'node',
    'tool',
    'run',
    'host:human-override',
  ]
  expect([...said]).toEqual(expect.arrayContaining([...words, 'self-verification', 'gate.on-fail.conditional-pass']))
})
