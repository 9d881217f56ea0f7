import { expect, test } from 'vitest'
import { boundGate } from '../testing/gates.js'
import { standardsDouble } from '../testing/verification.js'
import { onceLoaded } from './once-loaded.js'

test('a run that comes before the standards of the project are read waits for them', async () => {
  const gate = boundGate()
  const standards = onceLoaded(standardsDouble({ w: [gate] }))
  const told: string[] = []
  const asked = standards.gatesFor('t1', 'w').then(gates => {
    told.push('gates')
    return gates
  })
  const found = standards.gate('t1', 'g1')
  expect(standards.knownFor('t1', 'w')).toBeUndefined()
  await Promise.resolve()
  expect(told).toEqual([])
  standards.loaded()
  expect(await asked).toEqual([gate])
  expect(await found).toEqual(gate)
  expect(standards.knownFor('t1', 'w')).toEqual([gate])
})
