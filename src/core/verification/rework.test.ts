import { describe, expect, it } from 'vitest'
import { gateAt, judged, poor, verdicts, wantedOf } from '../../testing/gate-stories.js'
import { given } from '../../testing/given-when-then.js'
import { agentNode, answered, briefs, owedTo, says } from '../../testing/invocations.js'
import { payloads, scripted, terminate } from '../../testing/orchestration.js'
import type { Placement } from './gate.js'

/** A supervisor that leads out at once, and an agent after it: its work is no worker's, and nobody hands it over. */
const workflow = scripted([terminate], {
  nodes: { a: agentNode({ config: { resultVariable: 'got' } }) },
  edges: ['sup > dispatch', 'dispatch > sup', 'sup > a'],
})

/** The gate leaves it to the supervisor who works again; what the agent brings first is poor. */
const sentBack = (placement: Placement) => {
  const gate = gateAt('a', placement, { behaviour: { rework: 'supervisor' } })
  const run = briefs(given(workflow).start({}, undefined, [gate]))
  return judged(says(run, answered('first')), poor())
}

describe('rework: supervisor where no supervisor hands the work over', () => {
  it.each([
    ['an agent', 'phase_exit', 'node'],
    ['the run itself', 'workflow_exit', 'run'],
  ] as const)('R-DWS-20 R-VERIFY-14: what %s brought is sent back by the host', (_, placement, point) => {
    const run = sentBack(placement)
    expect(verdicts(run)).toMatchObject([{ verdict: 'revise' }])
    expect(payloads(run, 'assay.result.withheld')).toEqual([])
    expect(payloads(run, 'assay.rework.began')).toEqual([{ gateId: 'g1', attempt: 2, point, scope: 'targeted' }])
    expect(owedTo(run, 'prepare-agent')!.feedback).toMatchObject({ gateId: 'g1', attempt: 1 })
    says(briefs(run), answered('second'))
    expect(wantedOf(run)).toMatchObject({ attempt: 2 })
    judged(run)
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(1)
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 'second' } })
  })
})
