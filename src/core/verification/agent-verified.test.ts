import { describe, expect, it } from 'vitest'
import { gateAt, judged, poor, subFlow, works } from '../../testing/gate-stories.js'
import { given } from '../../testing/given-when-then.js'
import { payloads } from '../../testing/orchestration.js'

const FIELDS = ['agentId', 'confidence', 'criteria', 'target', 'verdict']
const KEY = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** Sent back once, and given up. */
function told() {
  const criteria = [{ dimension: 'correctness' }, { dimension: 'style' }]
  const run = given(subFlow())
  run.start({}, undefined, [gateAt('a', 'phase_exit', { criteria, behaviour: { max_attempts: 2 } })])
  const said = [{ ...poor(), confidence: 0.8 }, poor()]
  for (const [i, one] of said.entries()) judged(works(run, `child-${i}`), one)
  return payloads(run, 'agent.verified')
}

describe('agent.verified on the wire', () => {
  it('R-VERIFY-3: has exactly the fields of its table; who, what and the verdict are always there', () => {
    const all = told()
    expect(all.length).toBe(2)
    for (const payload of all) {
      expect(FIELDS).toEqual(expect.arrayContaining(Object.keys(payload)))
      expect(Object.keys(payload)).toEqual(expect.arrayContaining(['agentId', 'target', 'verdict']))
      expect(String(payload.agentId).length).toBeGreaterThanOrEqual(3)
    }
  })

  it('R-VERIFY-4: says pass, fail or revise', () => {
    expect(told().map(({ verdict }) => verdict)).toEqual(['revise', 'fail'])
    const passed = given(subFlow()).start({}, undefined, [gateAt('a', 'phase_exit')])
    expect(payloads(judged(works(passed, 'child')), 'agent.verified')).toMatchObject([{ verdict: 'pass' }])
  })

  it('R-VERIFY-6: names keys of the gate, each once, and no words', () => {
    for (const { criteria } of told()) {
      const keys = criteria as string[]
      expect(keys.every(key => KEY.test(key))).toBe(true)
      expect(new Set(keys).size).toBe(keys.length)
    }
  })
})
