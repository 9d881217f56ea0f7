import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../support/postgres.js'
import { errandWorld, LONG, PRICE, SHORT, type Stage, stuckIn, USAGE } from './errands.js'
import { crashesOver, type Ending, type Tale, tell, twice } from './mortal.js'
import { only } from './talk.js'
import type { World } from './world.js'

/** Agents whose hosts are killed: between their calls, and during them, with and without bounds on what they may spend. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-live-crash-'))
let worlds = 0
const counted = { kills: 0, lost: 0, modelCalls: 0, toolCalls: 0, repeated: 0 }

let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  console.log(`agents and the deaths of their hosts: ${JSON.stringify(counted)}`)
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const databases = {
  SQLite: async (folder: string) => `sqlite:${folder}/data/assay.db`,
  PostgreSQL: async () => postgres.createDatabase(),
}
type Kind = keyof typeof databases

type Killing = Omit<Tale, 'world' | 'killWhen'> & {
  readonly kind: Kind
  readonly stages: readonly Stage[]
  /** Killed while the first request of this stage is not answered. */
  readonly during?: number
  readonly killWhen?: (world: World) => boolean
}

async function kill({ kind, stages, during, killWhen, ...tale }: Killing): Promise<Ending> {
  worlds += 1
  const folder = path.join(scratch, String(worlds))
  const world = await errandWorld(folder, await databases[kind](folder), stages, during)
  const isTime = killWhen ?? (during === undefined ? undefined : ({ model }) => model.requests().length > during)
  try {
    const ending = await tell({ ...tale, world, ...(isTime ? { killWhen: () => isTime(world) } : {}) })
    counted.kills += ending.killed ? 1 : 0
    counted.lost += ending.lost.length
    counted.modelCalls += sum(ending.asked)
    counted.toolCalls += sum(ending.used)
    counted.repeated += twice(ending.asked) + twice(ending.used)
    expectWithin(ending, tale.configurable)
    return ending
  } finally {
    await world.close()
  }
}

const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((all, one) => all + one, 0)

type Budget = { readonly maxTokens: number; readonly maxCostUsd: number }
const SERVED_USD = (USAGE.prompt_tokens * PRICE.input + USAGE.completion_tokens * PRICE.output) / 1_000_000

/** R-BUDGET-4: neither by the provider's own count, every request taken as served, nor by the log's. */
function expectWithin({ asked, snapshot, events }: Ending, configurable: object | undefined): void {
  const { budget } = (configurable ?? {}) as { readonly budget?: Budget }
  if (budget === undefined) return
  const { tokens, costUsd } = snapshot.assay!.spend!
  expect(sum(asked) * USAGE.total_tokens).toBeLessThanOrEqual(budget.maxTokens)
  expect(sum(asked) * SERVED_USD).toBeLessThanOrEqual(budget.maxCostUsd)
  expect(tokens).toBeGreaterThanOrEqual(sum(asked) * USAGE.total_tokens)
  expect(tokens).toBeLessThanOrEqual(budget.maxTokens)
  expect(costUsd).toBeLessThanOrEqual(budget.maxCostUsd)
  for (const { payload } of only(events, 'budget.consumed')) expect(payload.consumed).toBeLessThanOrEqual(payload.limit)
}

function expectDone({ snapshot, asked, used }: Ending, [modelCalls, toolCalls]: readonly [number, number]): void {
  const done = { status: 'completed', variables: { result: { title: 'done' } } }
  expect(snapshot, JSON.stringify(snapshot)).toMatchObject(done)
  expect([asked.size, used.size]).toEqual([modelCalls, toolCalls])
}

/** Kills at every point, or at some, two hosts at a time. */
async function sweep(
  killing: Omit<Killing, 'crash'>,
  every: number,
  check: (ending: Ending) => void,
): Promise<void> {
  const calm = await kill({ ...killing, once: true })
  expect([twice(calm.asked), twice(calm.used), calm.lost.length]).toEqual([0, 0, 0])
  const points = crashesOver(calm.writes, every)
  const queue = [...points]
  let died = 0
  const goOn = async () => {
    for (let crash = queue.shift(); crash; crash = queue.shift()) {
      const ending = await kill({ ...killing, crash })
      if (ending.killed) died += 1
      check(ending)
    }
  }
  await Promise.all([goOn(), goOn()])
  expect(died).toBe(points.length)
  console.log(`${killing.kind}: ${died} kills over ${calm.writes} transactions`)
}

/** Enough for the errand and for one call that nobody heard the answer of. */
const AMPLE = { budget: { maxTokens: 9_000, maxCostUsd: 0.03 } }
/** Enough for the errand alone. */
const TIGHT = { budget: { maxTokens: 4_200, maxCostUsd: 0.03 } }
const CHEAP = { budget: { maxTokens: 9_000, maxCostUsd: 0.0115 } }

describe('F1: SIGKILL between any two calls of an agent', () => {
  it('SQLite: before and after every transaction, no recorded call is made again, no ceiling is crossed', () =>
    sweep({ kind: 'SQLite', workflowId: 'errand', stages: SHORT, configurable: AMPLE }, 1, ending =>
      expectDone(ending, [2, 1]),
    ))

  it('PostgreSQL: the same, sampled, with an answer that had to be mended', () =>
    sweep({ kind: 'PostgreSQL', workflowId: 'errand', stages: LONG }, 7, ending => expectDone(ending, [3, 2])))
})
