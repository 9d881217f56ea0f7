import { afterEach, expect, test } from 'vitest'
import { criterion, inspectorRig } from '../../test/e2e/probes/rig.js'
import type { Probe } from '../core/verification/gate.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import { settled } from '../testing/manual-clock.js'

let rig: ReturnType<typeof inspectorRig>
afterEach(() => rig.close())

const equals = (probe_id: string, value: number): Probe => ({ probe_id, type: 'equals', value })
const schema = (probe_id: string): Probe => ({ probe_id, type: 'json-schema', schema: {} })

/** Checks end when the test says so. */
function slowChecker() {
  const ends: (() => void)[] = []
  const schemas: SchemaChecker = {
    inspect: async () => undefined,
    check: () => new Promise(resolve => ends.push(() => resolve(undefined))),
    violation: async () => undefined,
    close: async () => undefined,
  }
  return { schemas, ends }
}

test('results stand in the order of criteria and probes, for the dimensions that are asked', async () => {
  const { schemas, ends } = slowChecker()
  rig = inspectorRig({ schemas })
  const criteria = [
    criterion('b', [schema('slow'), equals('one', 1)]),
    criterion('left-out', [equals('never', 1)]),
    criterion('a', [equals('two', 2)]),
    criterion('none', []),
  ]
  const result = rig.inspect(criteria, 1, { dimensions: ['a', 'b', 'none'] })
  await settled()
  for (const end of ends) end()
  expect((await result).map(({ probeId, dimension, outcome }) => [dimension, probeId, outcome])).toEqual([
    ['b', 'slow', 'held'],
    ['b', 'one', 'held'],
    ['a', 'two', 'failed'],
  ])
})

test('four probes at a time', async () => {
  const { schemas, ends } = slowChecker()
  rig = inspectorRig({ schemas })
  const result = rig.inspect(
    [
      criterion(
        'd',
        Array.from({ length: 9 }, (_, i) => schema(`p${i}`)),
      ),
    ],
    1,
  )
  const begun: number[] = []
  for (let done = 0; done < 9; done += 1) {
    await settled()
    begun.push(ends.length)
    ends[done]?.()
  }
  expect(begun).toEqual([4, 5, 6, 7, 8, 9, 9, 9, 9])
  expect(await result).toHaveLength(9)
})

test('a probe that breaks has found nothing out; others go on, and no word of the output is logged', async () => {
  let broken = 0
  const schemas: SchemaChecker = {
    inspect: async () => undefined,
    check: async () => {
      broken += 1
      throw new TypeError('my secret words')
    },
    violation: async () => undefined,
    close: async () => undefined,
  }
  rig = inspectorRig({ schemas })
  const result = await rig.inspect([criterion('d', [schema('x'), equals('y', 1)])], 1)
  expect(broken).toBe(1)
  expect(result.map(({ outcome }) => outcome)).toEqual(['unavailable', 'held'])
  expect(result[0]?.evidence).toEqual([{ evidence_type: 'artifact_reference', ref: 'x', detail: 'TypeError' }])
  expect(rig.logged).toEqual([{ runId: 'r', probe: 'x', type: 'json-schema', kind: 'TypeError' }])
})

test('what is called off is not known, and nothing more is begun', async () => {
  const { schemas, ends } = slowChecker()
  rig = inspectorRig({ schemas })
  const caller = new AbortController()
  const probes = [...Array.from({ length: 4 }, (_, i) => schema(`p${i}`)), schema('later'), equals('last', 1)]
  const result = rig.inspect([criterion('d', probes)], 1, { signal: caller.signal })
  await settled()
  caller.abort()
  for (const end of ends) end()
  expect((await result).slice(4).map(({ outcome }) => outcome)).toEqual(['unavailable', 'unavailable'])
  expect(ends).toHaveLength(4)
})

test('R-DWS-7: what must not be seen is looked at by the host itself, and not quoted', async () => {
  rig = inspectorRig()
  const hidden = { key: 'hunter2', n: 7 }
  const probes: Probe[] = [
    { probe_id: 'equals', type: 'equals', path: '/key', value: 'hunter2' },
    { probe_id: 'other', type: 'equals', path: '/key', value: 'x' },
    { probe_id: 'regex', type: 'regex', path: '/key', pattern: '^hunter', absent: true },
    { probe_id: 'numeric', type: 'numeric', path: '/n', min: 8 },
  ]
  const results = await rig.inspect([criterion('a', probes)], { key: '[REDACTED]', n: '[REDACTED]' }, { hidden })
  expect(results.map(({ probeId, outcome }) => [probeId, outcome])).toEqual([
    ['equals', 'held'],
    ['other', 'failed'],
    ['regex', 'failed'],
    ['numeric', 'failed'],
  ])
  expect(results.flatMap(({ evidence }) => evidence).length).toBeGreaterThanOrEqual(4)
  expect(JSON.stringify(results)).not.toMatch(/hunter2|7/)
})

test('R-DWS-7: it is given neither to programs nor to other hosts', async () => {
  rig = inspectorRig({ project: process.cwd(), workspace: process.cwd() })
  const hidden = { key: 'hunter2', urls: 'http://127.0.0.1:9/hunter2' }
  const probes: Probe[] = [
    { probe_id: 'program', type: 'command', command: ['grep', '-q', 'hunter2'], exit_code: 1, timeout_ms: 10_000 },
    { probe_id: 'host', type: 'http', path: '/urls', status: [200] },
  ]
  const shown = { key: '[REDACTED]', urls: '[REDACTED]' }
  const results = await rig.inspect([criterion('a', probes)], shown, { hidden })
  expect(results[0]).toMatchObject({ probeId: 'program', outcome: 'held' })
  expect(JSON.stringify([results, rig.logged])).not.toContain('hunter2')
})
