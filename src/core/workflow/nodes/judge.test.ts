import { describe, expect, it } from 'vitest'
import { hostWorkflow } from '../../../engine/plans/host-workflows.js'
import {
  convenes,
  faults,
  gateAt,
  inspects,
  judged,
  poor,
  recordsOf,
  verdicts,
  wantedOf,
} from '../../../testing/gate-stories.js'
import { Scenario } from '../../../testing/given-when-then.js'
import { eventsOf } from '../../../testing/invocations.js'
import { LIMITS } from '../../../testing/limits.js'
import { payloads } from '../../../testing/orchestration.js'
import { sketch } from '../../../testing/workflow.js'
import type { JsonObject } from '../../json.js'
import type { GateBehaviour } from '../../verification/gate.js'
import { compile, isPlan } from '../compile.js'
import { JUDGE_WORKFLOW } from './judge.js'
import { coreNodeTypes } from './registry.js'

const nodeTypes = new Map(coreNodeTypes.map(type => [type.typeId, type]))
const capabilities = new Set<string>()

function trial(behaviour: Partial<GateBehaviour> = {}, inputs: JsonObject = { gateId: 'g1', output: { text: 'x' } }) {
  const plan = compile(hostWorkflow(JUDGE_WORKFLOW)!, 'digest', { nodeTypes, capabilities, accepted: true })
  if (!isPlan(plan)) throw new Error(plan.message)
  return new Scenario({ plan, limits: LIMITS, capabilities }).start(inputs, undefined, [
    gateAt('judge', 'checkpoint', { behaviour }),
  ])
}

const outcome = (run: Scenario) => (run.state.phase === 'ended' ? run.state.outcome : undefined)

describe('a trial of a gate', () => {
  it('puts the result to the gate', () => {
    expect(wantedOf(trial())).toMatchObject({ nodeId: 'judge', attempt: 1, result: { text: 'x' } })
  })

  it('R-VERIFY-16: ends with the verdict, and says nothing that would gate anything', () => {
    const run = judged(trial(), poor())
    expect(verdicts(run)).toEqual([])
    expect(payloads(run, 'dws.verification.started')).toMatchObject([
      { placement: 'trial', point: 'none', blocking: false },
    ])
    const artifactId = `art-${eventsOf(run, 'artifact.created')[0]!.sequence}`
    expect(outcome(run)).toMatchObject({ status: 'completed', outputs: { verdict: 'fail', artifactId } })
    expect(outcome(run)).not.toHaveProperty('goalSatisfied')
    expect(recordsOf(run.log)).toMatchObject([{ placement: 'trial', verdict: 'fail', output: { text: 'x' } }])
  })

  it('has nobody work again, and asks no person', () => {
    const wary = { max_attempts: 5, on_fail: 'escalate', auto_commit: 'licensed', min_confidence: 1 } as const
    for (const said of [poor(), { confidence: 0.1 }]) {
      const run = judged(trial(wary), said)
      expect(eventsOf(run, 'interrupt.requested')).toEqual([])
      expect(eventsOf(run, 'assay.rework.began')).toEqual([])
      expect(outcome(run)).toMatchObject({ status: 'completed' })
    }
  })

  it('R-DWS-36: ends with none where nobody could judge it, after asking again', () => {
    const run = faults(convenes(inspects(trial({ retries: 1 }))), 0)
    faults(convenes(run.after(2_000)), 0)
    expect(payloads(run, 'assay.verification.held')).toHaveLength(1)
    expect(outcome(run)).toMatchObject({ status: 'completed', outputs: { verdict: 'none' } })
    expect(recordsOf(run.log)).toEqual([])
  })

  it.each([true, false])('is the same whether or not the gate blocks: %s', blocking => {
    const run = faults(convenes(inspects(trial({ retries: 0, blocking }))), 0)
    expect(outcome(run)).toMatchObject({ outputs: { verdict: 'none' } })
    expect(outcome(judged(trial({ blocking })))).toMatchObject({ outputs: { verdict: 'pass' } })
  })

  it('needs something to judge', () => {
    expect(outcome(trial({}, { gateId: 'g1' }))).toMatchObject({ status: 'failed', error: { code: 'invalid_input' } })
  })

  it('is the host’s alone to make', () => {
    const plan = compile(sketch({ nodes: { j: 'assay.judge' } }), 'digest', { nodeTypes, capabilities })
    expect(isPlan(plan)).toBe(false)
    expect(plan).toMatchObject({ message: expect.stringContaining('assay.judge is for the host alone') })
  })
})
