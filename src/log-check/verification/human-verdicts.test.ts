import { expect, it } from 'vitest'
import { gateAt, judged, subFlow, works } from '../../testing/gate-stories.js'
import { given } from '../../testing/given-when-then.js'
import { answer } from '../../testing/orchestration.js'
import { checkLog } from '../check-log.js'

const flow = subFlow({}, { variables: [{ name: 'key', type: 'string', sensitive: true }] })

it.each(['accept', 'reject'])(
  'L24k: a result that its verifiers could not see is shown to a person, who says %s',
  action => {
    const gates = [gateAt('a', 'phase_exit')]
    const run = judged(works(given(flow).start({ key: 'hunter2' }, undefined, gates), 'child-1', { x: 'hunter2' }))
    run.when(answer('a', { action }))
    const events = run.log.map(({ sequence, type, nodeId, payload, secret, cause, at }) => ({
      sequence,
      type,
      nodeId: nodeId ?? null,
      payload,
      secret,
      causationId: cause === undefined ? null : `run-1:${cause}`,
      at,
    }))
    const findings = checkLog({ runs: [{ runId: 'run-1', events }] })
    expect(findings.filter(({ rule }) => rule === 'L24k')).toEqual([])
  },
)
