import { expect, test } from 'vitest'
import { detailsOf, subjectOf } from '../../test/e2e/probes/rig.js'
import type { ProbeOf } from './probe.js'
import { probeRegex } from './regex.js'

const probe = (more: Partial<ProbeOf<'regex'>>): ProbeOf<'regex'> => ({
  probe_id: 'p',
  type: 'regex',
  pattern: 'sk-\\d+',
  absent: false,
  ...more,
})
const outcome = (more: Partial<ProbeOf<'regex'>>, output: Parameters<typeof subjectOf>[0]) =>
  probeRegex(probe(more), subjectOf(output)).outcome

test('a pattern must be there, or must not', () => {
  expect(outcome({}, 'a sk-1')).toBe('held')
  expect(outcome({}, 'a')).toBe('failed')
  expect(outcome({ absent: true }, 'a')).toBe('held')
  expect(outcome({ absent: true }, 'a sk-1')).toBe('failed')
  expect(outcome({ pattern: '"n":\\[1,2\\]' }, { n: [1, 2] })).toBe('held')
})

test('R-DWS-14: evidence says where, and does not repeat what was found', () => {
  const { evidence } = probeRegex(probe({ absent: true, path: '/a' }), subjectOf({ a: 'my sk-12345' }))
  expect(evidence).toEqual([
    {
      evidence_type: 'comparison',
      ref: '/a',
      detail: 'the pattern, which must not be there, is found at character 3',
    },
  ])
})

test('a path that leads nowhere finds nothing out, also where nothing must be found, and says what is there', () => {
  const result = probeRegex(probe({ absent: true, path: '/a/b' }), subjectOf({ a: 1 }))
  expect([result.outcome, detailsOf(result)]).toEqual(['unavailable', 'nothing at /a/b; /a has no names'])
  expect(result.lasting).toBe(true)
})

test('what cannot be searched is not known, also where nothing must be found', () => {
  expect(outcome({ absent: true, pattern: '(' }, 'a')).toBe('unavailable')
  expect(outcome({ absent: true, pattern: '[a-z]{1,900}@' }, 'x'.repeat(200_000))).toBe('unavailable')
})
