import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/json.js'
import { agentsDouble } from '../../../src/testing/agents.js'
import type { Rig } from '../../../src/testing/engine-rig.js'
import { settled } from '../../../src/testing/manual-clock.js'
import { findingsOf, runsIn } from '../../support/stored-runs.js'
import { countShared, counts, countTold } from './counts.js'
import { billedTooMuch, budgetOf, ledgerOf, repeated } from './laws.js'
import { ManyStory, many } from './many.js'
import { type Foreseen, foresee } from './model.js'
import { setup } from './setup.js'
import { Story } from './story.js'
import '../../support/seed.js'

/** fast-check prints the seed and the shrunk story on failure; give it here to see it again. */
const SEEDS = { one: 500, many: 150 }
const seen = counts()

/** Types whose number the model foresees. */
const FORESEEN = [
  'agent.invocation.started',
  'agent.invocation.completed',
  'assay.model.requested',
  'assay.model.lost',
  'provider.usage',
  'agent.reasoned',
  'agent.decided',
  'interrupt.requested',
  'agent.toolCalled',
  'agent.toolReturned',
  'envelope.retry.attempted',
  'envelope.retry.exhausted',
  'envelope.refusal',
  'envelope.truncated',
  'budget.exhausted',
  'node.failed',
  'node.retried',
]

async function found(story: Story): Promise<Foreseen> {
  const log = await story.log()
  const row = (await story.rig.store.readRun(null, story.runId))!
  const payloads = log.map(({ type, payload }) => ({ type, payload: JSON.parse(payload) as JsonObject }))
  const { error } = payloads.at(-1)!.payload as { readonly error?: { readonly code: string } }
  const { spent, held } = ledgerOf(log)
  const told = Object.fromEntries(
    FORESEEN.flatMap(type => {
      const { length } = log.filter(event => event.type === type)
      return length > 0 ? [[type, length]] : []
    }),
  )
  return {
    status: row.status as Foreseen['status'],
    code: error?.code,
    outcomes: payloads.flatMap(({ type, payload }) =>
      type === 'agent.invocation.completed' ? [String(payload.outcome)] : [],
    ),
    ...spent,
    heldTokens: held.tokens,
    heldNano: held.nano,
    told,
    thoughts: story.thoughts,
    uses: story.uses,
  }
}

/** What providers have said that all calls of all runs took, of those that were answered. */
async function settledIn({ store }: Rig): Promise<[number, number]> {
  const sums: [number, number] = [0, 0]
  for (const { runId } of await store.listRuns({ tenant: 't1', limit: 100 }))
    for (const { type, payload } of await store.readEvents(runId, 0)) {
      const { totalTokens, costEstimateUsd = 0, cacheHit } = JSON.parse(payload) as JsonObject
      if (type !== 'provider.usage' || cacheHit === true) continue
      sums[0] += Number(totalTokens)
      sums[1] += Math.round(Number(costEstimateUsd) * 1e9)
    }
  return sums
}

const findings = async ({ store }: Rig) => findingsOf(await runsIn(store))

/** A replay of every run that was not cancelled says the same, and calls nobody. */
async function expectRetold(rig: Rig): Promise<void> {
  const nobody = agentsDouble({ agents: {} })
  const engine = await rig.host({ agents: nobody })
  for (const { runId, status, parentRunId } of await rig.store.listRuns({ tenant: 't1', limit: 100 })) {
    if (status === 'cancelled' || parentRunId !== null) continue
    const answer = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
    if (!answer.ok) throw new Error('refused')
    await settled()
    const said = (text: string) => text.replaceAll(answer.value.runId, runId)
    const [own, again] = [await rig.store.readEvents(runId, 0), await rig.store.readEvents(answer.value.runId, 0)]
    expect(
      again.map(({ type, payload, secret, cause }) => said(JSON.stringify([type, payload, secret, cause]))),
    ).toEqual(own.map(({ type, payload, secret, cause }) => JSON.stringify([type, payload, secret, cause])))
    seen['replays equal'] += 1
  }
  expect([nobody.briefs, nobody.thoughts, nobody.uses]).toEqual([[], [], []])
}

describe('agents do what the model of the contract foresees', { timeout: 300_000 }, () => {
  it('R-LIVE-2 R-LIVE-16 R-ENV-2 R-BUDGET-4 R-REPLAY-11 R-REPLAY-12: one agent, whatever its model, its tools, its host and people do', async () => {
    await fc.assert(
      fc.asyncProperty(setup, async given => {
        const story = new Story(given, seen)
        await story.tell()
        const log = await story.log()
        countTold(seen, log)
        expect(await found(story)).toEqual(foresee(given))
        expect(ledgerOf(log).broken).toEqual([])
        expect(billedTooMuch(story.happened, budgetOf(log))).toEqual([])
        expect(repeated(story.happened)).toEqual([])
        expect(await findings(story.rig)).toEqual([])
        await expectRetold(story.rig)
      }),
      { numRuns: SEEDS.one },
    )
  })

  it('R-BUDGET-3 R-BUDGET-4 R-BUDGET-7 R-REPLAY-11: several agents and their workers under one budget never spend more than it, whoever dies', async () => {
    await fc.assert(
      fc.asyncProperty(many, async given => {
        const story = new ManyStory(given, seen)
        await story.tell()
        const runs = await story.rig.store.listRuns({ tenant: 't1', limit: 100 })
        let allowed: JsonObject = {}
        const settled = await settledIn(story.rig)
        for (const { runId, parentRunId } of runs) {
          const log = await story.rig.store.readEvents(runId, 0)
          countTold(seen, log)
          countShared(seen, log)
          const { broken, spent, held } = ledgerOf(log)
          expect(broken, runId).toEqual([])
          if (parentRunId !== null) continue
          allowed = budgetOf(log)
          const really = story.happened.reduce((sum, each) => sum + each.tokens, 0)
          // R-BUDGET-7: what anybody was billed for, the root has spent, or holds; its cost is what was answered.
          expect(spent.tokens + held.tokens).toBeGreaterThanOrEqual(really)
          expect([spent.tokens, spent.nano]).toEqual(settled)
        }
        expect(billedTooMuch(story.happened, allowed)).toEqual([])
        expect(repeated(story.happened)).toEqual([])
        expect(await findings(story.rig)).toEqual([])
        await expectRetold(story.rig)
      }),
      { numRuns: SEEDS.many },
    )
  })

  it('all of it has happened', () => {
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
  })

  afterAll(() => {
    const seeds = Object.values(SEEDS).reduce((sum, each) => sum + each)
    console.log(`agents, ${seeds} stories: ${JSON.stringify(seen)}`)
  })
})
