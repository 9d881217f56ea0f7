import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAssay } from '../../cli/assay-process.js'
import { crashPoints, SEED } from '../../support/crash-points.js'
import { startPostgres } from '../../support/postgres.js'
import { errandWorld, LONG, PRICE, planOf, SHORT, type Stage, stuckIn, USAGE } from './errands.js'
import { type Ending, Mortals, sum, type Tale, twice } from './mortal.js'
import { only } from './talk.js'

/** Agents whose hosts are killed: between their calls, and during them, with and without bounds on what they may spend. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-live-crash-'))
let worlds = 0
const counted = { runs: 0, kills: 0, lost: 0, modelCalls: 0, toolCalls: 0, repeated: 0 }

let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres({ durable: false })
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

async function mortals(kind: Kind, stages: readonly Stage[]): Promise<Mortals> {
  worlds += 1
  const folder = path.join(scratch, String(worlds))
  return new Mortals(await errandWorld(folder, await databases[kind](folder), stages))
}

async function tell(line: Mortals, tale: Tale): Promise<Ending> {
  const ending = await line.tell(tale)
  counted.runs += 1
  counted.kills += ending.killed ? 1 : 0
  counted.lost += ending.lost.length
  counted.modelCalls += sum(ending.asked)
  counted.toolCalls += sum(ending.used)
  counted.repeated += twice(ending.asked) + twice(ending.used)
  expectWithin(ending, tale.configurable)
  return ending
}

type Budget = { readonly maxTokens: number; readonly maxCostUsd: number }
const SERVED_USD = (USAGE.prompt_tokens * PRICE.input + USAGE.completion_tokens * PRICE.output) / 1_000_000

/** R-BUDGET-4: neither by the provider's own count, every request taken as served, nor by the log's. */
function expectWithin({ asked, snapshot, events }: Ending, configurable: object | undefined): void {
  const { budget } = (configurable ?? {}) as { readonly budget?: Budget }
  if (budget === undefined) return
  const { spend, held } = snapshot.assay!
  // What was lost is no cost, and not to be spent again.
  const tokens = spend!.tokens + (held?.tokens ?? 0)
  const costUsd = spend!.costUsd + (held?.costUsd ?? 0)
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

/** Kills at one of `every` points, in two lines of hosts. */
async function sweep(
  kind: Kind,
  stages: readonly Stage[],
  tale: Tale,
  every: number,
  check: (ending: Ending) => void,
): Promise<void> {
  const calm = await mortals(kind, stages)
  const ending = await tell(calm, tale)
  expect([twice(ending.asked), twice(ending.used), ending.lost.length]).toEqual([0, 0, 0])
  const writes = await calm.finish({ replay: false })
  const points = crashPoints(writes, every)
  const queue = [...points]
  let died = 0
  const goOn = async () => {
    const line = await mortals(kind, stages)
    for (let crash = queue.shift(); crash; crash = queue.shift()) {
      const killed = await tell(line, { ...tale, crash })
      if (killed.killed) died += 1
      check(killed)
    }
    await line.finish()
  }
  await Promise.all([goOn(), goOn()])
  expect(died).toBe(points.length)
  console.log(`${kind}: ${died} kills over ${writes} transactions, seed ${SEED}`)
}

/** Enough for the errand and for one call that nobody heard the answer of. */
const AMPLE = { budget: { maxTokens: 9_000, maxCostUsd: 0.03 } }

/** Exactly enough for the errand alone: what its first call takes, and what is set aside for the second. */
async function exactly(): Promise<Budget> {
  const line = await mortals('SQLite', SHORT)
  const { events } = await tell(line, { workflowId: 'errand' })
  const { reservedTokens, reservedCostUsd } = only(events, 'assay.model.requested')[1]!.payload
  await line.finish()
  return { maxTokens: USAGE.total_tokens + reservedTokens, maxCostUsd: SERVED_USD + reservedCostUsd }
}
let found: Promise<Budget> | undefined
const tight = (): Promise<Budget> => {
  found ??= exactly()
  return found
}

/** In the words of the program itself: the log is legal, and told again it is the same, without a call to anybody. */
async function expectSound({ world }: Mortals, { snapshot }: Ending): Promise<void> {
  const calls = () => [world.model.requests().length, world.toolCalls().length]
  const before = calls()
  const assay = (...line: readonly string[]) => startAssay(['--data', world.data, ...line]).done
  const [verified, replayed] = await Promise.all([
    assay('verify', snapshot.runId),
    assay('runs', 'replay', snapshot.runId, '--check'),
  ])
  expect([verified.code, verified.stdout], verified.stderr).toEqual([0, expect.stringContaining('no findings')])
  expect([replayed.code, replayed.stdout], replayed.stderr).toEqual([0, expect.stringContaining('replay is equal')])
  expect(calls()).toEqual(before)
}

const isExhausted = ({ snapshot }: Ending): boolean => snapshot.error?.code === 'budget_exhausted'

describe('F1: SIGKILL between any two calls of an agent', () => {
  it('SQLite: before and after transactions, no recorded call is made again, no ceiling is crossed', () =>
    sweep('SQLite', SHORT, { workflowId: 'errand', configurable: AMPLE }, 2, ending => expectDone(ending, [2, 1])))

  it('PostgreSQL, R-BUDGET-4: sampled, with exactly enough tokens: what a lost call may have cost is held, so the run ends there', async () => {
    const { maxTokens } = await tight()
    const configurable = { budget: { ...AMPLE.budget, maxTokens } }
    await sweep('PostgreSQL', SHORT, { workflowId: 'errand', configurable }, 5, ending => {
      if (ending.lost.length > 0) expect(isExhausted(ending)).toBe(true)
      else expectDone(ending, [2, 1])
    })
  })
})

describe.concurrent('F8: SIGKILL during the calls of an agent', () => {
  it.each(['SQLite', 'PostgreSQL'] as const)(
    '%s: a model call that nobody heard the answer of is held as if it were spent, is said to be lost and made once more',
    async kind => {
      const line = await mortals(kind, LONG)
      for (const stage of kind === 'SQLite' ? LONG.keys() : [1]) {
        line.world.model.plan(planOf(LONG, stage))
        const ending = await tell(line, { workflowId: 'errand', killWhen: ({ asked }) => asked.size > stage })
        expectDone(ending, [3, 2])
        expect(ending.lost.map(({ payload }) => [payload.call, payload.attempt])).toEqual([[stage + 1, 1]])
        expect([...ending.asked.values()]).toEqual([1, 1, 1].map((one, i) => (i === stage ? 2 : one)))
        expect(twice(ending.used)).toBe(0)
        if (stage === 0) await expectSound(line, ending)
      }
      await line.finish()
    },
  )

  it('F9: a tool that may be called twice is, one that may not be is not, and the run says that nobody knows', async () => {
    const [wired, piped] = await Promise.all([
      mortals('SQLite', stuckIn('mcp_web_hang')),
      mortals('SQLite', stuckIn('mcp_files_hang')),
    ])
    const killWhen: Tale['killWhen'] = ({ used }) => used.size > 0
    const [again, once] = await Promise.all([
      tell(wired, { workflowId: 'wired', killWhen }),
      tell(piped, { workflowId: 'piped', killWhen }),
    ])
    expect(again.snapshot, JSON.stringify(again.snapshot)).toMatchObject({ status: 'completed' })
    expect([...again.used.values()]).toEqual([2])
    const [returned] = only(again.events, 'agent.toolReturned')
    expect(returned!.payload).toMatchObject({ status: 'error', error: { code: 'tool_timeout' } })
    expect(once.snapshot).toMatchObject({ status: 'failed', error: { code: 'effect_outcome_unknown' } })
    expect([...once.used.values()]).toEqual([1])
    await Promise.all([wired.finish(), piped.finish()])
  })

  it.each<keyof Budget>(['maxTokens', 'maxCostUsd'])(
    'R-BUDGET-4: no kill makes a run spend more than %s',
    async name => {
      const budget = { ...AMPLE.budget, [name]: (await tight())[name] }
      const line = await mortals('SQLite', SHORT)
      for (const stage of SHORT.keys()) {
        line.world.model.plan(planOf(SHORT, stage))
        const killWhen: Tale['killWhen'] = ({ asked }) => asked.size > stage
        const ending = await tell(line, { workflowId: 'errand', configurable: { budget }, killWhen })
        expect(ending.lost).toHaveLength(1)
        // A dearer call of the same length may still be paid for when it is told to say less.
        if (name === 'maxTokens' || stage > 0) expect(isExhausted(ending), JSON.stringify(ending.snapshot)).toBe(true)
      }
      await line.finish()
    },
  )
})
