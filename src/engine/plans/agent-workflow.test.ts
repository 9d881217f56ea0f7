import { describe, expect, it } from 'vitest'
import type { WorkflowDefinition } from '../../core/workflow/definition.js'
import { HOST_WORKFLOW_IDS } from '../../core/workflow/host-workflow-ids.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig } from '../../testing/engine-rig.js'
import { AGENT } from '../../testing/invocations.js'
import { sketch } from '../../testing/workflow.js'
import { agentWorkflow, RESERVED } from './agent-workflow.js'
import { hostWorkflow } from './host-workflows.js'

const MINE = { mine: 'core.noop' }

const runOf = (agentId: string) => ({
  tenant: 't1',
  principal: 'p',
  inputs: {},
  transport: 'rest' as const,
  agentId,
  source: 'run-api' as const,
})

describe('the workflow that is one agent', () => {
  it('R-LIVE-24: takes no name that a project can give its own, and leaves those alone', async () => {
    const rig = engineRig()
    const engine = await rig.host({ agents: agentsDouble() })
    for (const id of ['agent-local-test-agent', 'local-test-agent'])
      for (const tenant of [null, 't1']) await engine.putWorkflow(tenant, sketch({ id, nodes: MINE }))
    const answer = await engine.create(runOf(AGENT))
    if (!answer.ok) throw new Error('refused')
    expect(answer.value.plan.definition.id).toBe('assay-agent-local-test-agent')
    for (const id of ['agent-local-test-agent', 'local-test-agent']) {
      const kept = JSON.parse((await engine.getWorkflow('t1', id))!.definition) as WorkflowDefinition
      expect(kept.nodes.map(node => node.id)).toEqual(['mine'])
    }
  })

  it.each([null, 't1'])('has a name that is reserved: another workflow under it is refused to %s', async tenant => {
    const engine = await engineRig().host({ agents: agentsDouble() })
    const definitions = [`${RESERVED}local-test-agent`, ...HOST_WORKFLOW_IDS].map(id => sketch({ id, nodes: MINE }))
    for (const definition of definitions)
      for (const answer of [
        await engine.putWorkflow(tenant, definition),
        await engine.checkWorkflow(tenant, definition),
      ])
        expect(answer).toMatchObject({ ok: false, refusal: { code: 'validation_error', details: { field: 'id' } } })
  })

  it('the host has a workflow for each of its ids: judges of goals, too, are no work of a tenant', () => {
    expect(HOST_WORKFLOW_IDS).toEqual(['assay-verifier', 'assay-judge', 'assay-goal-judge'])
    for (const id of HOST_WORKFLOW_IDS) expect(hostWorkflow(id)?.id).toBe(id)
  })

  it('has a name of its own for each agent, also where they differ only in dots, dashes or case', () => {
    const agentIds = ['a.b.c', 'a.b-c', 'a-b.c', 'a.B.c', 'A.b.c', `a.${'x'.repeat(150)}`, `a.${'x'.repeat(151)}`]
    const ids = agentIds.map(agentId => agentWorkflow(agentId).id)
    expect(new Set(ids).size).toBe(agentIds.length)
    for (const id of ids) expect(id.startsWith(RESERVED)).toBe(true)
  })
})
