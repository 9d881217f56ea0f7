import { expect, test } from 'vitest'
import { Turns } from './turns.js'

const loopTurn = () => new Promise<void>(resolve => setImmediate(resolve))

test('whoever asks again stands behind all the others', async () => {
  const turns = new Turns()
  const order: string[] = []
  const taker = async (name: string, times: number) => {
    for (let i = 0; i < times; i += 1) {
      await turns.next(name)
      order.push(name)
    }
  }
  await Promise.all([taker('a', 3), taker('b', 2), taker('c', 1)])
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a'])
})

test('one turn for each turn of the event loop, so that everything else gets its own', async () => {
  const turns = new Turns()
  let taken = 0
  for (let i = 0; i < 10; i += 1) void turns.next('a').then(() => (taken += 1))
  const seen: number[] = []
  for (let i = 0; i < 12; i += 1) {
    await loopTurn()
    seen.push(taken)
  }
  expect(seen.slice(1).map((now, i) => now - seen[i]!)).not.toContain(2)
  expect(taken).toBe(10)
})
