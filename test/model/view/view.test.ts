import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { About } from '../../../src/core/view/run-view.js'
import { UNTOLD } from '../../../src/core/view/untold.js'
import { fromSeed } from '../../../src/log-check/testing/choice.js'
import { gatedRuns } from '../../../src/testing/gated-runs.js'
import { type Asking, askedOnce } from '../../../src/testing/model-runs.js'
import { compareView } from '../../../src/testing/view-comparison.js'
import { counts as simulationCounts } from '../../simulation/counts.js'
import { happenings } from '../../simulation/happenings.js'
import { randomWorkflow } from '../../simulation/random-workflow.js'
import { Story as SimulatedStory } from '../../simulation/story.js'
import { journalRuns } from '../../support/journal-runs.js'
import { runsIn } from '../../support/stored-runs.js'
import { counts as agentCounts } from '../agents/counts.js'
import { ManyStory, many } from '../agents/many.js'
import { setup as agentSetup } from '../agents/setup.js'
import { Story as AgentStory } from '../agents/story.js'
import { counts as loopCounts } from '../orchestrator/counts.js'
import { Story as LoopStory } from '../orchestrator/driver.js'
import { moves as loopMoves } from '../orchestrator/moves.js'
import { SETUPS } from '../orchestrator/random-setup.js'
import { counts as gateCounts } from '../verification/counts.js'
import { moves as gateMoves, setup as gateSetup } from '../verification/setup.js'
import { Story as GateStory } from '../verification/story.js'
import * as BY_HAND from './by-hand.js'
import { EVENT_TYPES } from './event-types.js'
import { type Served, served, servedRun } from './served.js'
import '../../support/seed.js'

/** Left out always. */
const NEVER_TOLD = [
  'agent',
  'assay.gates.*.attemptCosts',
  'assay.gates.*.blocking',
  'assay.gates.*.cost',
  'childRuns',
  'eventLogSchemaVersion',
  'interrupt.callbackUrl',
  'interrupt.expiresAt',
  'interrupt.interruptToken',
  'interrupt.shownHash',
]

/** Everything that has been told in any story, and every path that was compared or left out. */
const types = new Set<string>()
const told = new Set<string>()
const untold = new Set<string>()

function expectSame({ events, snapshots }: Served, about?: About): void {
  const compared = compareView(events, snapshots, about)
  for (const { type } of events) types.add(type)
  for (const path of compared.told.keys()) told.add(path)
  for (const path of compared.untold.keys()) untold.add(path)
  expect(compared.differences.slice(0, 5)).toEqual([])
}

describe('what readers fold from public events is what the server shows, after every event', {
  timeout: 300_000,
}, () => {
  it('of results at gates, and what was forked off', () => {
    for (let seed = 0; seed < 300; seed += 1)
      for (const run of gatedRuns(fromSeed(seed)).runs) expectSame(servedRun(run))
  })

  it('of gates that are asked again, paused and cancelled', () => {
    fc.assert(
      fc.property(gateSetup, gateMoves, (setup, moves) => {
        const story = new GateStory(setup, gateCounts())
        story.tell(moves)
        expectSame(served(story.rules.plan, 'run-1', story.log))
      }),
      { numRuns: 200 },
    )
  })

  it('of orchestrators and their workers', () => {
    fc.assert(
      fc.property(fc.oneof(...Object.values(SETUPS)), loopMoves, (setup, moves) => {
        const story = new LoopStory(setup, loopCounts())
        story.tell(moves)
        expectSame(served(story.rules.plan, 'run-1', story.log))
      }),
      { numRuns: 300 },
    )
  })

  it('of agents, their models and tools, and their budgets', async () => {
    const seen = agentCounts()
    await fc.assert(
      fc.asyncProperty(agentSetup, async setup => {
        const story = new AgentStory(setup, seen)
        await story.tell()
        for (const run of await runsIn(story.rig.store)) expectSame(servedRun(run))
      }),
      { numRuns: 100 },
    )
    await fc.assert(
      fc.asyncProperty(many, async setup => {
        const story = new ManyStory(setup, seen)
        await story.tell()
        for (const run of await runsIn(story.rig.store)) expectSame(servedRun(run))
      }),
      { numRuns: 40 },
    )
  })

  it('of random workflows whose hosts die, with their children, people and forks', async () => {
    await fc.assert(
      fc.asyncProperty(randomWorkflow, happenings, async (workflow, story) => {
        for (const run of await new SimulatedStory(simulationCounts()).tell(workflow, story)) expectSame(servedRun(run))
      }),
      { numRuns: 200 },
    )
  })

  it('of runs that write into memory and workspace, read, and are forked', async () => {
    for (let seed = 0; seed < 10; seed += 1)
      for (const run of (await journalRuns(fromSeed(seed))).runs) expectSame(servedRun(run))
  })

  it('of models that lack something, and of a replay of a call that would be refused by now', async () => {
    const lacked = { provider: 'openai', model: 'small', missing: ['vision-input'] }
    const stories: readonly Asking[] = [
      { today: 'refusal' },
      { brief: { substituted: lacked } },
      { brief: { lacks: { ...lacked, fallbackAttempted: true } } },
    ]
    for (const story of stories)
      for (const run of await runsIn((await askedOnce(story)).rig.store)) expectSame(servedRun(run))
  })

  it('of what random stories seldom come to', () => {
    for (const story of Object.values(BY_HAND)) {
      const told = story()
      const { rules, log } = told
      expectSame(served(rules.plan, 'run-1', log, 'fork' in told ? { fork: told.fork } : {}))
    }
  })

  it('also to readers who know of the run nothing but its events, and to those who may answer', () => {
    const { rules, log } = BY_HAND.editedDecision()
    const fork = { sourceRunId: 'run-0', fromSeq: log.length, mode: 'branch', sourceLength: log.length } as const
    const children = [{ runId: 'c', status: 'running' as const, parentNodeId: 'dispatch' }]
    const link = { interruptToken: 'token', callbackUrl: 'https://host/link' }
    expectSame(served(rules.plan, 'run-1', log, { fork, children, link }), {})
  })

  it('every type of event has been told', () => {
    expect(Object.entries(EVENT_TYPES).flatMap(([type, never]) => (never || types.has(type) ? [] : [type]))).toEqual([])
  })

  it('what is called untold is left out somewhere, and told wherever events do tell it', () => {
    const paths = Object.keys(UNTOLD)
    expect(paths.filter(path => !untold.has(path))).toEqual([])
    expect(paths.filter(path => !told.has(path)).sort()).toEqual([...NEVER_TOLD].sort())
  })
})
