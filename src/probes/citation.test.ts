import { expect, test } from 'vitest'
import { detailsOf, meansOf, subjectOf } from '../../test/e2e/probes/rig.js'
import type { Json } from '../core/json.js'
import { probeCitation } from './citation.js'
import type { ProbeOf } from './probe.js'

const knowledge = [
  { entry_id: 'handbook', title: 'Handbook', text: '' },
  { entry_id: 'rfc-8785', title: 'JCS', text: '', url: 'https://www.rfc-editor.org/rfc/rfc8785/' },
]
const cite = (output: Json, more: Partial<ProbeOf<'citation'>> = {}) =>
  probeCitation({ probe_id: 'p', type: 'citation', ...more }, subjectOf(output, { knowledge }), meansOf())

test.each([
  'As the [handbook] says.',
  'As [@handbook; @rfc-8785] say [in a remark].',
  'See [the RFC](https://www.rfc-editor.org/rfc/rfc8785).',
  'See https://www.rfc-editor.org/rfc/rfc8785#section-3, and https://WWW.rfc-editor.org/rfc/rfc8785/.',
])('every citation is alive in: %s', text => {
  const result = cite(text)
  expect([result.outcome, result.evidence.length]).toEqual(['held', 1])
})

test('dead citations are evidence, each by its name', () => {
  const result = cite('[handbook], [@nobody], [7] and https://made.up/paper.')
  expect(result.outcome).toBe('failed')
  expect(result.evidence.map(({ evidence_type, ref }) => `${evidence_type} ${ref}`)).toEqual([
    'artifact_reference https://made.up/paper',
    'artifact_reference nobody',
    'artifact_reference 7',
  ])
})

test('a text without a citation fails', () => {
  for (const text of ['Trust me.', '- [ ] to do', 'See [two words].', '']) {
    const result = cite(text)
    expect([result.outcome, detailsOf(result)]).toEqual(['failed', 'nothing is cited'])
  }
})

test("the output's own sources count where the gate says so", () => {
  const output = {
    answer: 'By [s1], [s2], https://a.example/x/ and [three].',
    sources: ['three', { id: 's1' }, { entry_id: 's2' }, { url: 'https://a.example/x', title: 'not a name' }],
  }
  expect(cite(output, { path: '/answer', sources_path: '/sources' }).outcome).toBe('held')
  expect(cite(output, { path: '/answer' }).evidence).toHaveLength(4)
  expect(detailsOf(cite(output, { path: '/answer', sources_path: '/references' }))).toBe(
    'nothing at /references; the output has answer, sources',
  )
  expect(detailsOf(cite(output, { path: '/text' }))).toBe('nothing at /text; the output has answer, sources')
})

test("a gate's own pattern takes the place of markers, not of addresses", () => {
  const pattern = '\\{cite:([^}]+)\\}'
  expect(cite('{cite:handbook} [not a citation here]', { pattern }).outcome).toBe('held')
  expect(cite('{cite:nobody} https://made.up', { pattern }).evidence.map(({ ref }) => ref)).toEqual([
    'https://made.up',
    'nobody',
  ])
  expect(cite('[handbook]', { pattern: '(' }).outcome).toBe('unavailable')
  expect(cite('x'.repeat(200_000), { pattern: '[a-z]{1,900}@' }).outcome).toBe('unavailable')
  expect(detailsOf(cite('abc', { pattern: 'x*' }))).toBe('nothing is cited')
})

test('a thousand dead citations are counted, not listed', () => {
  const { outcome, evidence } = cite(Array.from({ length: 1_000 }, (_, i) => `[s${i}]`).join(' '))
  expect([outcome, evidence.length]).toEqual(['failed', 20])
  expect(evidence.at(-1)?.detail).toBe('981 more are cited and are not among the sources')
})

test('what the gate names of the run is a source: whatever its pattern, or a word of it, finds there', () => {
  const context = [{ ref: 'inputs.log', value: 'a1b2c3d Fix the pump\ne4f5a6b: Tidy' }]
  const look = (text: string, more: Partial<ProbeOf<'citation'>>, given = context) => {
    const subject = subjectOf(text, { knowledge: [], context: given })
    return probeCitation({ probe_id: 'p', type: 'citation', sources: ['inputs.log'], ...more }, subject, meansOf())
  }
  const pattern = '\\b([0-9a-f]{7})\\b'
  expect(look('Fixed in a1b2c3d and e4f5a6b.', { pattern }).outcome).toBe('held')
  expect(look('New: badf00d, a1b2c3d.', { pattern }).evidence.map(({ ref }) => ref)).toEqual(['badf00d'])
  expect(look('See [e4f5a6b].', {}).outcome).toBe('held')
  expect(look('See [a1b2c3d].', {}, [])).toMatchObject({ outcome: 'unavailable', lasting: true })
})
