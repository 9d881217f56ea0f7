import { afterEach, expect, test } from 'vitest'
import { subjectOf } from '../../test/e2e/probes/rig.js'
import { systemClock } from '../system.js'
import type { PureProbe } from './probe.js'
import { createPureProbes, pureProbesHere } from './pure-probes.js'

const pool = createPureProbes(systemClock)
afterEach(() => undefined)

const regex = (pattern: string): PureProbe => ({ probe_id: 'p', type: 'regex', pattern, absent: false })

test('a probe finds the same, wherever it is run', async () => {
  const here = pureProbesHere(systemClock)
  const long = 'lorem ipsum '.repeat(20_000)
  const probes: PureProbe[] = [regex('ipsum$'), regex('dolor'), regex('('), { probe_id: 'c', type: 'citation' }]
  for (const probe of probes)
    for (const output of ['lorem ipsum', long, { a: long, b: [1, 'ipsum'] }])
      expect(await pool.run(probe, subjectOf(output))).toEqual(await here.run(probe, subjectOf(output)))
})
