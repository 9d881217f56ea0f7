import { describe, expect, test } from 'vitest'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow, answered } from '../../testing/invocations.js'
import { sketch } from '../../testing/workflow.js'

const INPUTS = {
  agentId: 'assay.verifier',
  bundle: { output: 'x', intents: [], constraints: [], knowledge: [], evidence: [], criteria: [] },
  schema: { type: 'object' },
}
const FEEDBACK = { gateId: 'g', attempt: 1, dimensions: ['d'], findings: [] }

describe('the workflow of a verifier', () => {
  test('is there without anybody having registered it, for every tenant, and leaves a verdict', async () => {
    const agents = agentsDouble({ think: () => ({ said: answered({ scores: {}, findings: [] }, 0.3) }) })
    const engine = await engineRig().host({ agents })
    for (const tenant of ['t1', 't2']) {
      const answer = await engine.create({
        tenant,
        principal: 'p',
        workflowId: 'assay-verifier',
        inputs: INPUTS,
        transport: 'rest',
      })
      if (!answer.ok) throw new Error('refused')
    }
    const runId = await startRun(engine, 'assay-verifier', { inputs: INPUTS })
    expect((await engine.inspect('t1', runId))!.state).toMatchObject({
      outcome: { status: 'completed' },
      variables: { verification: { result: { scores: {}, findings: [] }, confidence: 0.3 } },
    })
    expect(agents.briefs[0]).toMatchObject({ role: 'verifier', task: INPUTS.bundle, returnSchema: INPUTS.schema })
  })

  test.each([null, 't1'])('R-DWS-12: has a name that is reserved: another under it is refused to %s', async tenant => {
    const engine = await engineRig().host()
    const definition = sketch({ id: 'assay-verifier', nodes: { mine: 'core.noop' } })
    for (const answer of [await engine.putWorkflow(tenant, definition), await engine.checkWorkflow(tenant, definition)])
      expect(answer).toMatchObject({ ok: false, refusal: { code: 'validation_error', details: { field: 'id' } } })
  })
})

describe('R-DWS-19 R-DWS-20: a run that does again what was sent back', () => {
  test('tells its agent what was found, beside the task and not in it', async () => {
    const agents = agentsDouble()
    const engine = await engineRig().host({ agents })
    await register(engine, agentFlow({}, { id: 'w' }))
    await startRun(engine, 'w', { inputs: { topic: 'cats', verificationFeedback: FEEDBACK } })
    expect(agents.briefs).toMatchObject([{ agent: { agentId: AGENT }, task: { topic: 'cats' }, feedback: FEEDBACK }])
    expect(agents.briefs[0]!.task).toEqual({ topic: 'cats' })
  })

  test.each(['what a user gave', 7, { findings: 'none' }])('takes nothing else for feedback: %j', async given => {
    const agents = agentsDouble()
    const engine = await engineRig().host({ agents })
    await register(engine, agentFlow({}, { id: 'w' }))
    await startRun(engine, 'w', { inputs: { task: 'x', verificationFeedback: given } })
    expect(agents.briefs[0]).not.toHaveProperty('feedback')
  })
})
