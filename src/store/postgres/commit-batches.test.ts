import { expect, test } from 'vitest'
import type { Commit } from '../../engine/ports/event-log.js'
import { CommitBatches } from './commit-batches.js'
import type { Connections } from './connections.js'

/** A database that answers when it is told to, and the commits of each call. */
function desk(maxCalls = 1) {
  const calls: Commit[][] = []
  const answers: (() => void)[] = []
  const connections = {
    query: (_statement: unknown, [commits]: [string]) => {
      const batch = JSON.parse(commits) as Commit[]
      calls.push(batch)
      return new Promise(resolve =>
        answers.push(() => resolve([{ reply: { answers: batch.map(() => null), peers: false } }])),
      )
    },
  }
  const batches = new CommitBatches(connections as unknown as Connections, maxCalls, () => undefined)
  let made = 0
  const commit = (tenant: string, characters: number, wakes: readonly string[] = []) => {
    made += 1
    const event = { payload: 'x'.repeat(characters), secret: null, input: null }
    const streams = [{ runId: `${tenant}${made}`, events: [event] }]
    return batches.run({ appendId: `${tenant}${made}`, hostId: 'h', tenant, streams, wakes } as unknown as Commit)
  }
  const drain = async (): Promise<string[][]> => {
    for (let answer = answers.shift(); answer !== undefined; answer = answers.shift()) {
      answer()
      await new Promise(resolve => setImmediate(resolve))
    }
    return calls.map(batch => batch.map(({ appendId }) => appendId))
  }
  return { commit, drain, calls }
}

const MIB = 1_048_576

test('T2: a flood of large commits of one tenant delays a small one of another by one call', async () => {
  const { commit, drain } = desk()
  const all = [...Array.from({ length: 20 }, () => commit('a', MIB)), commit('b', 300), commit('b', 300)]
  const calls = await drain()
  await Promise.all(all)
  expect(calls[0]).toEqual(['a1'])
  expect(calls[1]?.slice(0, 2)).toEqual(['b21', 'b22'])
  expect(calls.flat()).toHaveLength(22)
})

test('a call carries no more than its characters; what is longer is a call of its own', async () => {
  const { commit, drain, calls } = desk()
  const all = Array.from({ length: 40 }, (_, i) => commit('abc'[i % 3]!, [100, 50_000, 100, 2 * MIB][i % 4]!))
  await drain()
  await Promise.all(all)
  const sizes = calls.map(batch => batch.map(({ streams }) => streams[0]!.events[0]!.payload.length))
  for (const batch of sizes)
    if (batch.length > 1) expect(batch.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(768 * 1_024)
  expect(sizes.flat()).toHaveLength(40)
  expect(sizes.some(batch => batch.length > 3)).toBe(true)
})
