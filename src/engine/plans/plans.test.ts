import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { blocker } from '../../testing/gate-stories.js'
import { boundGate } from '../../testing/gates.js'
import { AGENT, agentFlow, answered } from '../../testing/invocations.js'
import { standardsDouble } from '../../testing/verification.js'
import type { WorkflowRecord } from '../ports/workflows.js'

/** Finds a workflow under more names than its own, as a database does that cuts text at a NUL or folds its case. */
class LenientStore extends MemoryStore {
  override getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined> {
    return super.getWorkflow(tenant, workflowId.split('\0')[0]!.replace(/-copy$/, ''))
  }
}

const BAD = { scores: { correctness: 0 }, findings: [blocker()] }

const agents = agentsDouble({
  agents: { [AGENT]: {}, 'assay.verifier': {} },
  think: ({ role }) => ({ said: answered(role === 'verifier' ? BAD : 'unverified') }),
})

const gated = agentFlow({ config: { resultVariable: 'got' } }, { id: 'gated' })
const position = { workflow_id: 'gated', phase_id: 'a', placement: 'phase_exit' } as const
const standards = standardsDouble({
  gated: [boundGate({ position, behaviour: { max_attempts: 1, on_fail: 'reject' } })],
})

const host = (rig: Rig) => rig.host({ agents, standards })

const lastOf = async (rig: Rig, runId: string) => {
  const { type, payload } = (await rig.store.readEvents(runId, 0)).at(-1)!
  return { type, ...(JSON.parse(payload) as JsonObject) }
}

describe('a workflow is what was asked for', () => {
  test('positive control: the gate refuses the result under the workflow’s own name', async () => {
    const rig = engineRig(new LenientStore())
    const engine = await host(rig)
    await register(engine, gated)
    const runId = await startRun(engine, 'gated')
    expect(await lastOf(rig, runId)).toMatchObject({ type: 'run.failed', error: { code: 'verification_failed' } })
  })

  test.each(['gated\0', 'gated\0x', '\0gated', 'gated-copy', 'GATED', 'gated '])(
    'as a run, %j is not "gated": nothing starts',
    async workflowId => {
      const rig = engineRig(new LenientStore())
      const engine = await host(rig)
      await register(engine, gated)
      const request = { tenant: 't1', principal: 'p', workflowId, inputs: {}, transport: 'rest' as const }
      expect(await engine.create(request)).toMatchObject({ ok: false, refusal: { code: 'unknown_workflow' } })
      expect(await engine.list({ tenant: 't1', limit: 10 })).toEqual([])
    },
  )

  test.each(['gated\0', 'gated-copy'])('as a child, %j is not "gated": nothing is merged', async workflowId => {
    const rig = engineRig(new LenientStore())
    const engine = await host(rig)
    await register(engine, gated)
    const config = { workflowId, outputMapping: { got: 'got' } }
    const definition = { id: 'parent', nodes: { s: { type: 'core.subWorkflow', config } } }
    if (workflowId === 'gated\0') {
      await expect(register(engine, definition)).rejects.toThrow('config.workflowId')
      return
    }
    await register(engine, definition)
    const runId = await startRun(engine, 'parent')
    expect(await lastOf(rig, runId)).toMatchObject({ type: 'run.failed', error: { code: 'unknown_child_workflow' } })
    expect(await engine.list({ tenant: 't1', limit: 10 })).toHaveLength(1)
  })

  test('a definition that is not the one its digest names is not run', async () => {
    class ExchangingStore extends MemoryStore {
      override async getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined> {
        const record = await super.getWorkflow(tenant, workflowId)
        return record && { ...record, definition: record.definition.replace('"gated"', '"gated" '), digest: 'd' }
      }
    }
    const rig = engineRig(new ExchangingStore())
    const engine = await host(rig)
    await register(engine, gated)
    await expect(startRun(engine, 'gated')).rejects.toThrow('is another one')
    expect(await engine.list({ tenant: 't1', limit: 10 })).toEqual([])
  })

  test('where an agent is asked for, no workflow of that name will do', async () => {
    const rig = engineRig()
    const engine = await host(rig)
    await register(engine, gated)
    const request = { tenant: 't1', principal: 'p', inputs: {}, transport: 'rest' as const, source: 'run-api' as const }
    expect(await engine.create({ ...request, agentId: 'gated' })).toMatchObject({ ok: false })
    expect(await engine.create({ ...request, agentId: AGENT })).toMatchObject({ ok: true })
  })

  test('a trial is told from work by what runs, not by what was asked for', async () => {
    const rig = engineRig(new LenientStore())
    const engine = await host(rig)
    const request = { tenant: 't1', principal: 'p', workflowId: 'assay-judge\0', transport: 'rest' as const }
    expect(await engine.create({ ...request, inputs: { gateId: 'g1', output: 1 } })).toMatchObject({ ok: false })
  })
})
