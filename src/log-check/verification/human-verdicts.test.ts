import { describe, expect, it } from 'vitest'
import { gateAt, judged, subFlow, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { answer } from '../../testing/orchestration.js'
import { checkLog } from '../check-log.js'

/** As it is stored, under the rules of a version. */
const stored = (run: Scenario, engineVersion?: string) =>
  run.log.map(({ sequence, type, nodeId, payload, secret, cause, at }) => ({
    sequence,
    type,
    nodeId: nodeId ?? null,
    payload: { ...payload, ...(type === 'run.started' && engineVersion !== undefined ? { engineVersion } : {}) },
    secret,
    causationId: cause === undefined ? null : `run-1:${cause}`,
    at,
  }))

const flow = subFlow({}, { variables: [{ name: 'key', type: 'string', sensitive: true }] })

it.each(['accept', 'reject'])(
  'L24k: a result that its verifiers could not see is shown to a person, who says %s',
  action => {
    const gates = [gateAt('a', 'phase_exit')]
    const run = judged(works(given(flow).start({ key: 'hunter2' }, undefined, gates), 'child-1', { x: 'hunter2' }))
    run.when(answer('a', { action }))
    const events = stored(run)
    const findings = checkLog({ runs: [{ runId: 'run-1', events }] })
    expect(findings.filter(({ rule }) => rule === 'L24k')).toEqual([])
  },
)

describe('L24e: a person who has the last word', () => {
  const named = (engineVersion: string, label?: string) => {
    const run = judged(works(given(flow).start({}, undefined, [gateAt('a', 'phase_exit')]), 'child-1'), {
      confidence: 0.2,
    })
    const events = stored(run.when(answer('a', { action: 'reject' })), engineVersion)
    for (const { type, payload } of events)
      if (type === 'dws.verification.verdict_rendered' && label !== undefined)
        Object.assign(payload, { label, judged: undefined })
    return checkLog({ runs: [{ runId: 'run-1', events }] })
      .filter(({ rule }) => rule === 'L24e')
      .map(({ message }) => message)
  }

  it('is told what was judged, and nothing is called verified yet', () => {
    expect(named('4')).toEqual([])
    expect(named('4', 'verified')).toContainEqual(expect.stringContaining('a person has yet to let it pass'))
  })

  it('runs of older rules told the label with the verdict', () => {
    expect(named('3')).toEqual([])
    expect(named('3', 'verified')).toEqual([])
    expect(named('3', 'conditional')).toEqual([expect.stringContaining('it is verified')])
  })
})
