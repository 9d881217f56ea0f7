import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROBLEMS, type ProblemCode } from '../../src/core/problem.js'
import { type LiveHost, type Reply, startLiveHost } from './live-host.js'
import { Chance, mutated } from './mutation.js'
import { fillPool, GOOD, type Good, type Pool } from './operations.js'

/** Optional parts of the protocol that this host answers with 501, as documented. */
const ABSENT = [
  'listAnnotations',
  'annotateRun',
  'listPrompts',
  'createPrompt',
  'renderPrompt',
  'getPrompt',
  'replacePrompt',
  'removePrompt',
]

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 1)
const REQUESTS = 10_000
const AT_ONCE = 16
const LEAST_OF_EACH = 20
const LEAST_SHARE = 0.3

type Operation = { readonly operation: string; readonly responses: { readonly [status: string]: unknown } }

let live: LiveHost
const errors: unknown[] = []
const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => void errors.push(fields) }
const resolve = async (name: string) => (name.endsWith('.example') ? ['93.184.216.34'] : [])
beforeAll(async () => {
  live = await startLiveHost({ database: 'memory:' }, { log, resolve })
})
afterAll(() => live.stop())

test('whatever is asked in the words of the OpenAPI document has a documented answer, and the host goes on', async () => {
  console.log(`fuzz: seed ${SEED} (ASSAY_TEST_SEED), ${REQUESTS} requests`)
  const operations = await operationsOf()
  const pool = await fillPool(live)
  const asked = operations.filter(({ operation }) => !ABSENT.includes(operation))
  expect(asked.map(({ operation }) => operation).sort()).toEqual(Object.keys(GOOD).sort())
  const tally = await fuzz(pool, asked, new Chance(SEED))
  console.log(
    `fuzz: ${live.sent()} sent, of ${tally.sent} judged ones ${tally.good} 2xx, least of one operation ${Math.min(...tally.by.values())}`,
  )
  expect(tally.wrong.slice(0, 10)).toEqual([])
  expect(live.sent()).toBeGreaterThanOrEqual(REQUESTS)
  expect(tally.good / tally.sent).toBeGreaterThanOrEqual(LEAST_SHARE)
  const seldom = asked
    .map(({ operation }) => [operation, tally.by.get(operation) ?? 0])
    .filter(([, n]) => Number(n) < LEAST_OF_EACH)
  expect(seldom).toEqual([])
  expect(errors).toEqual([])
  expect(Object.keys(Object.prototype)).toEqual([])
  expect((await live.call(null, '/healthz')).status).toBe(200)
})

async function operationsOf(): Promise<readonly Operation[]> {
  const { paths } = (await live.call(null, '/v1/openapi.json')).json as {
    paths: { [path: string]: { [method: string]: { operationId: string; responses: Operation['responses'] } } }
  }
  return Object.values(paths).flatMap(item =>
    Object.values(item).map(({ operationId, responses }) => ({ operation: operationId, responses })),
  )
}

async function fuzz(pool: Pool, operations: readonly Operation[], chance: Chance) {
  const tally = { sent: 0, good: 0, by: new Map<string, number>(), wrong: [] as string[] }
  const one = async (turn: number) => {
    const { operation, responses } = operations[turn % operations.length]!
    const good = await GOOD[operation]!(pool)
    const whole: Required<Good> = {
      url: good.url,
      ask: good.ask ?? {},
      who: good.who === undefined ? 'alice' : good.who,
    }
    const isChanged = turn >= operations.length * LEAST_OF_EACH && chance.next() < MUTATED
    const request = isChanged ? mutated(whole, chance) : whole
    const reply = await live.call(request.who, request.url, request.ask)
    tally.sent += 1
    const isGood = reply.status >= 200 && reply.status < 300
    if (isGood) {
      tally.good += 1
      if (!isChanged) tally.by.set(operation, (tally.by.get(operation) ?? 0) + 1)
    }
    const problem = problemWith(reply, isChanged ? undefined : responses)
    if (problem !== undefined)
      tally.wrong.push(
        `${problem}: ${operation} ${request.ask.method ?? 'GET'} ${request.url.slice(0, 200)} → ${reply.status} ${reply.text.slice(0, 200)}`,
      )
  }
  for (let turn = 0; live.sent() < REQUESTS; turn += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => one(turn + i)))
  return tally
}

const MUTATED = 0.75

/** What of an answer is not as documented. `responses`: those of a request that was not changed. */
function problemWith(
  { status, json, headers }: Reply,
  responses: Operation['responses'] | undefined,
): string | undefined {
  if (responses !== undefined && !(String(status) in responses)) return 'undocumented status'
  if (status < 400) return undefined
  if (status >= 500 && status !== 501) return 'server error'
  if (!String(headers['content-type']).startsWith('application/json')) return 'no envelope'
  const { error, message, details, ...more } = (json ?? {}) as { [name: string]: unknown }
  if (Object.keys(more).length > 0 || typeof message !== 'string' || message === '') return 'another envelope'
  if (details !== undefined && (typeof details !== 'object' || details === null)) return 'another envelope'
  if (PROBLEMS[error as ProblemCode]?.status !== status) return 'a code that is not in the table, or not of this status'
  return undefined
}
