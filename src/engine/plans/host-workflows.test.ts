import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../core/json.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { boundGate } from '../../testing/gates.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, owedTo } from '../../testing/invocations.js'
import { standardsDouble } from '../../testing/verification.js'
import { sketch } from '../../testing/workflow.js'

const INPUTS = {
  agentId: 'assay.verifier',
  bundle: { output: 'x', intents: [], constraints: [], knowledge: [], evidence: [], criteria: [] },
  schema: { type: 'object' },
}
const FEEDBACK = { gateId: 'the-gate', attempt: 1, dimensions: ['d'], findings: [] }

type Given = { readonly inputs?: JsonObject; readonly withheld?: JsonObject }

const start = ({ inputs = {}, withheld = {} }: Given) => {
  const owner = { tenant: 't1' }
  const about = { workflowId: 'w', workflowDigest: 'digest', transport: 'rest' as const, engineVersion: '3', owner }
  return { type: 'StartRun' as const, runId: 'run-1', started: { ...about, inputs }, withheld }
}

const started = (how: Given): Scenario => given(agentFlow()).when(start(how))

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
  test('tells its agent what was found, beside the task and not in it', () => {
    const given = { inputs: { topic: 'cats' }, withheld: { verificationFeedback: FEEDBACK as unknown as Json } }
    expect(owedTo(started(given), 'prepare-agent')).toMatchObject({
      wait: { task: { topic: 'cats' } },
      feedback: FEEDBACK,
    })
    expect(owedTo(started(given), 'prepare-agent')!.wait.task).toEqual({ topic: 'cats' })
    const told = started({ ...given, withheld: { verificationFeedback: { findings: 'none' } } })
    expect(owedTo(told, 'prepare-agent')).not.toHaveProperty('feedback')
  })

  test('R-SEC-1: keeps it out of its log, and of its variables', () => {
    const run = started({ inputs: { topic: 'cats' }, withheld: { verificationFeedback: FEEDBACK as unknown as Json } })
    expect(run.log[0]).toMatchObject({
      payload: { inputs: { topic: 'cats' }, withheld: ['verificationFeedback'] },
      secret: { withheld: { verificationFeedback: FEEDBACK } },
    })
    expect(run.log.map(({ payload }) => JSON.stringify(payload)).join()).not.toContain(FEEDBACK.gateId)
    expect(run.state).toMatchObject({ variables: { topic: 'cats' }, hidden: { variables: [] } })
  })

  test('lets its workflow read it by name, also where no agent is at work', () => {
    const read = {
      type: 'expression' as const,
      expression: 'has(variables.verificationFeedback) && has(inputs.verificationFeedback)',
    }
    const port = { type: 'variable' as const, variableName: 'verificationFeedback', optional: true }
    const config = { name: 'told' }
    const a = { type: 'core.setVariable', config, inputs: { value: read, all: port } }
    const run = given({ nodes: { a } }).when(start({ withheld: { verificationFeedback: FEEDBACK as unknown as Json } }))
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { told: true } })
  })

  test.each(['what a user gave', 7, { findings: 'none' }, FEEDBACK])(
    'R-DWS-19: what somebody gives under that name is an input, never feedback: %j',
    async given => {
      const agents = agentsDouble()
      const engine = await engineRig().host({ agents })
      await register(engine, agentFlow({}, { id: 'w' }))
      const inputs = { topic: 'x', verificationFeedback: given as Json }
      await startRun(engine, 'w', { inputs })
      expect(agents.briefs[0]).not.toHaveProperty('feedback')
      expect(agents.briefs[0]!.task).toEqual(inputs)
    },
  )
})

describe('runs of the host’s own', () => {
  test.each([
    ['assay-verifier', INPUTS],
    ['assay-judge', { gateId: 'g1', output: { x: 1 } }],
  ])('R-SEC-1: %s is announced to nobody, nor is what it starts', async (workflowId, inputs) => {
    const announced: string[] = []
    const announcer = {
      deliveriesFor: ({ runId }: { runId: string }, events: readonly unknown[]) => {
        announced.push(...events.map(() => runId))
        return []
      },
      committed: () => undefined,
    }
    const think = () => ({ said: answered({ scores: { correctness: 9 }, findings: [] }) })
    const agents = agentsDouble({ agents: { 'assay.verifier': {} }, think })
    const engine = await engineRig().host({ agents, announcer, standards: standardsDouble({ w: [boundGate()] }) })
    await register(engine, { id: 'flow', nodes: { a: 'core.noop' } })
    const hosts = await startRun(engine, workflowId, { inputs })
    expect((await engine.inspect('t1', hosts))!.status).toBe('completed')
    expect(announced).toEqual([])
    // Somebody listens all the same.
    const own = await startRun(engine, 'flow')
    expect(new Set(announced)).toEqual(new Set([own]))
  })
})
