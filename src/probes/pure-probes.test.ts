import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { subjectOf } from '../../test/e2e/probes/rig.js'
import { systemClock } from '../system.js'
import type { PureProbe } from './probe.js'
import { createPureProbes, MOST_STEPS_HERE, pureProbesHere } from './pure-probes.js'

/** Probes that this thread runs itself. */
const ranHere = vi.hoisted(() => vi.fn())
vi.mock('./run-pure.js', async original => {
  const { runPure } = await original<typeof import('./run-pure.js')>()
  return {
    runPure: (...given: Parameters<typeof runPure>) => {
      ranHere(...given)
      return runPure(...given)
    },
  }
})
beforeEach(() => ranHere.mockClear())

const pool = createPureProbes(systemClock)
afterAll(() => pool.close())

const regex = (pattern: string): PureProbe => ({ probe_id: 'p', type: 'regex', pattern, absent: false })

test('a probe finds the same, wherever it is run', async () => {
  const here = pureProbesHere(systemClock)
  const long = 'lorem ipsum '.repeat(20_000)
  const probes: PureProbe[] = [regex('ipsum$'), regex('dolor'), regex('('), { probe_id: 'c', type: 'citation' }]
  for (const probe of probes)
    for (const output of ['lorem ipsum', long, { a: long, b: [1, 'ipsum'] }])
      expect(await pool.run(probe, subjectOf(output))).toEqual(await here.run(probe, subjectOf(output)))
})

test('parts of the pattern times characters: a long search is never made in the thread that everything shares', async () => {
  // 8 of these held a host up for 8.5 seconds.
  const attack = regex('(a?){900}[yz]')
  const found = await Promise.all(Array.from({ length: 8 }, () => pool.run(attack, subjectOf('a'.repeat(5_500)))))
  expect(found.map(({ outcome }) => outcome)).toEqual(Array(8).fill('failed'))
  await pool.run(regex('a{1000}'.repeat(100)), subjectOf('a'))
  await pool.run(regex('b'), subjectOf('a'.repeat(MOST_STEPS_HERE)))
  await pool.run(
    { probe_id: 'c', type: 'citation' },
    subjectOf('a', { knowledge: [{ entry_id: 'k', title: '', text: 'a'.repeat(MOST_STEPS_HERE) }] }),
  )
  const value = 'a'.repeat(MOST_STEPS_HERE)
  await pool.run({ probe_id: 'c', type: 'citation' }, subjectOf('a', { context: [{ ref: 'run.source', value }] }))
  expect(ranHere).not.toHaveBeenCalled()
})

test('a short search is made at once', async () => {
  expect((await pool.run(regex('b+'), subjectOf('aabb'))).outcome).toBe('held')
  expect(ranHere).toHaveBeenCalledOnce()
})
