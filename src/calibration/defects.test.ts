import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, sameJson } from '../core/json.js'
import { type Defect, defectsOf } from './defects.js'

const REPORT: Json = {
  title: 'Harbour traffic',
  summary: 'Traffic fell by a tenth.',
  ships: 412,
  change: -0.1,
  final: true,
  sections: [
    { name: 'North', text: 'Calls were down. [port-1]' },
    { name: 'South', text: 'Calls were up. [port-2]' },
  ],
}

const KINDS = [
  'missing',
  'number',
  'type',
  'swapped',
  'blank',
  'repeated',
  'contradiction',
  'injection',
  'dead-citation',
]

const json = fc.jsonValue({ noUnicodeString: false }) as fc.Arbitrary<Json>
const of = (kind: string, defects: readonly Defect[]) => defects.find(defect => defect.kind === kind)

describe('R-DWS-26: planted defects', () => {
  it('a document with text, numbers and lists can be spoilt in every way', () => {
    expect(defectsOf(REPORT, 1).map(({ kind }) => kind)).toEqual(KINDS)
  })

  it('every output can be spoilt, no defect leaves it as it was, and it is itself not touched', () => {
    fc.assert(
      fc.property(json, fc.integer(), (output, seed) => {
        const before = structuredClone(output)
        const defects = defectsOf(output, seed)
        expect(defects.length).toBeGreaterThan(0)
        for (const defect of defects) expect(sameJson(defect.output, output)).toBe(false)
        expect(output).toEqual(before)
      }),
      { numRuns: 300 },
    )
  })

  it('what is planted is JSON, and the same for the same seed', () => {
    fc.assert(
      fc.property(json, fc.integer(), (output, seed) => {
        const defects = defectsOf(output, seed)
        expect(defectsOf(output, seed)).toEqual(defects)
        for (const defect of defects) {
          expect(sameJson(JSON.parse(JSON.stringify(defect.output)), defect.output)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('a wrong number is another number, however odd the right one is', () => {
    const numbers = fc.oneof(
      fc.constantFrom(0, -0, 5e-324, 1e21, 1.7e308),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    )
    fc.assert(
      fc.property(numbers, fc.integer(), (value, seed) => {
        const wrong = of('number', defectsOf(value, seed))?.output
        expect(Number.isFinite(wrong)).toBe(true)
        expect(wrong === value).toBe(false)
      }),
    )
  })

  it('another seed spoils another place', () => {
    const missing = Array.from({ length: 30 }, (_, seed) => of('missing', defectsOf(REPORT, seed))?.description)
    expect(new Set(missing).size).toBeGreaterThan(5)
  })

  it('values trade places only with their like, and never within one list, where order may mean nothing', () => {
    expect(of('swapped', defectsOf(['a', 'b', 'c'], 1))).toBeUndefined()
    expect(of('swapped', defectsOf({ from: 'Oslo', to: 'Bergen' }, 1))?.output).toEqual({ from: 'Bergen', to: 'Oslo' })
  })

  it('says where the defect is, by JSON pointer', () => {
    expect(of('blank', defectsOf({ 'a/b': { '~c': 'text' } }, 1))?.description).toBe('/a~1b/~0c is empty')
  })

  it('names that objects inherit are ordinary names', () => {
    const output = JSON.parse('{"__proto__":{"constructor":"text"}}') as Json
    const spoilt = of('blank', defectsOf(output, 1))?.output
    expect(JSON.stringify(spoilt)).toBe('{"__proto__":{"constructor":""}}')
    for (let seed = 0; seed < 20; seed += 1) {
      const text = JSON.stringify(of('missing', defectsOf(output, seed))?.output)
      expect(['{}', '{"__proto__":{}}']).toContain(text)
    }
  })
})
