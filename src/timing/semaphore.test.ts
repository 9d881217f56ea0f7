import { expect, test } from 'vitest'
import { settled } from '../testing/manual-clock.js'
import { createSemaphore } from './semaphore.js'

test('so much work at a time, in order of arrival, whether it ends well or not', async () => {
  const semaphore = createSemaphore(2)
  const begun: number[] = []
  const ends: (() => void)[] = []
  const work = (n: number) =>
    semaphore(async () => {
      begun.push(n)
      await new Promise<void>(resolve => ends.push(resolve))
      if (n === 0) throw new Error('no good')
      return n
    })
  const all = Promise.allSettled([0, 1, 2, 3].map(work))
  await settled()
  expect(begun).toEqual([0, 1])
  ends[0]?.()
  await settled()
  expect(begun).toEqual([0, 1, 2])
  for (const end of ends) end()
  await settled()
  expect(begun).toEqual([0, 1, 2, 3])
  for (const end of ends) end()
  expect((await all).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
})
