import { expect, test } from 'vitest'
import { ManualClock, settled } from '../testing/manual-clock.js'
import { Rounds } from './rounds.js'

function rig(work: (round: number) => Promise<number>) {
  const clock = new ManualClock()
  const failures: unknown[] = []
  let begun = 0
  const rounds = new Rounds(
    clock,
    () => {
      begun += 1
      return work(begun)
    },
    error => failures.push(error),
  )
  return { clock, failures, rounds, begun: () => begun }
}

test('rounds are one at a time, each after those that were asked for before', async () => {
  const ends: (() => void)[] = []
  const { rounds, begun } = rig(round => new Promise(resolve => ends.push(() => resolve(round))))
  const both = [rounds.next(), rounds.next()]
  await settled()
  expect(begun()).toBe(1)
  ends[0]?.()
  await settled()
  expect(begun()).toBe(2)
  ends[1]?.()
  expect(await Promise.all(both)).toEqual([1, 2])
})

test('who asked for a round hears of its failure, the next one is made all the same', async () => {
  const { rounds, failures } = rig(async round => {
    if (round === 1) throw new Error('full')
    return round
  })
  const [first, second] = [rounds.next(), rounds.next()]
  await expect(first).rejects.toThrow('full')
  expect(await second).toBe(2)
  expect(failures).toEqual([])
})

test('it goes on after a failure that nobody asked for, until it is stopped', async () => {
  const { clock, rounds, failures, begun } = rig(async () => {
    throw new Error('full')
  })
  rounds.start(1_000)
  await clock.advance(2_500)
  expect(begun()).toBe(2)
  expect(failures).toHaveLength(2)
  await rounds.stop()
  expect(rounds.isStopped).toBe(true)
  await clock.advance(5_000)
  expect(begun()).toBe(2)
})
