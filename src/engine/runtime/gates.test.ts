import { describe, expect, test } from 'vitest'
import { createRecords } from '../../calibration/records.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { BoundGate } from '../../core/verification/gate.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { boundGate } from '../../testing/gates.js'
import { AGENT, agentFlow, answered } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'
import { standardsDouble } from '../../testing/verification.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import type { Standards } from '../ports/verification.js'
import { readTrialIn, readVerdictIn } from '../queries/verdicts.js'
import type { Engine } from './engine.js'

const GOOD = { scores: { correctness: 10 }, findings: [] }

const agentsSaying = (result: Json) =>
  agentsDouble({
    agents: { [AGENT]: {}, 'assay.verifier': {} },
    think: ({ role }) => ({ said: answered(role === 'verifier' ? GOOD : result) }),
  })

const work = agentFlow({ config: { resultVariable: 'got' } }, { id: 'w' })

/** Hands the work to another workflow. */
const parentOf = (workflowId: string, inputs: Record<string, Json> = {}): Sketch => ({
  id: 'p',
  nodes: {
    s: {
      type: 'core.subWorkflow',
      config: { workflowId, outputMapping: { got: 'got' } },
      inputs: Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, { type: 'static', value }])),
    },
  },
})

const gate = (position: BoundGate['gate']['position'], more: Parameters<typeof boundGate>[0] = {}) =>
  boundGate({ ...more, position })
const onWork = { workflow_id: 'w', phase_id: 'a', placement: 'phase_exit' } as const
const onWorker = { workflow_id: 'p', phase_id: 's', placement: 'phase_exit' } as const

async function told(rig: Rig, runId: string) {
  const events = await rig.store.readEvents(runId, 0, 1_000)
  return events.map(({ type, payload }) => ({ type, payload: JSON.parse(payload) as JsonObject }))
}

const typesOf = async (rig: Rig, runId: string) => (await told(rig, runId)).map(({ type }) => type)

const accept = (engine: Engine, runId: string, nodeId: string) =>
  engine.command('t1', runId, { type: 'resolve', nodeId, value: { action: 'accept' }, by: 'ann', via: 'key' })

describe('a licence', () => {
  test('R-VERIFY-22: is earned by one result once, however often it is replayed or branched', async () => {
    const rig = engineRig()
    const licensed = gate(onWork, { behaviour: { auto_commit: 'licensed' } })
    const standards = standardsDouble({ w: [licensed] })
    const engine = await rig.host({ agents: agentsSaying('the work'), standards })
    await register(engine, work)
    const runId = await startRun(engine, 'w')
    expect((await accept(engine, runId, 'a')).ok).toBe(true)
    await settled()
    const events = await typesOf(rig, runId)
    expect(events.at(-1)).toBe('run.completed')
    const forks = [0, 3, events.indexOf('dws.verification.started')].flatMap(fromSeq =>
      (['replay', 'branch'] as const).map(mode => ({ fromSeq, mode })),
    )
    for (const fork of forks) {
      const made = await engine.fork({ tenant: 't1', runId, ...fork })
      if (!made.ok) throw new Error('refused')
      await settled()
      if (fork.mode === 'branch') expect((await accept(engine, made.value.runId, 'a')).ok).toBe(true)
      await settled()
    }
    const verdicts = await rig.store.listVerdicts({ tenant: 't1', limit: 500 })
    expect(new Set(verdicts.map(row => row.runId)).size).toBe(forks.length + 1)
    const { store, clock } = rig
    const records = createRecords({ store, clock, readRecord: readVerdictIn(store), readTrial: readTrialIn(store) })
    expect(await records.standing('t1', 'g1', licensed.hash)).toMatchObject({ goodPassed: { n: 1 } })
  })
})

describe('a trial', () => {
  test.each(['phase_exit', 'workflow_exit', 'checkpoint'] as const)(
    'R-DWS-2 §23.2: of a gate at a %s ends with its verdict, and nothing is made of the result',
    async placement => {
      const rig = engineRig()
      const standards = standardsDouble({ w: [gate({ ...onWork, placement })] })
      const engine = await rig.host({ agents: agentsSaying('x'), standards })
      const runId = await startRun(engine, 'assay-judge', { inputs: { gateId: 'g1', output: { x: 1 } } })
      expect((await told(rig, runId)).at(-1)).toMatchObject({
        type: 'run.completed',
        payload: { outputs: { verdict: 'pass' } },
      })
      expect(await typesOf(rig, runId)).not.toContain('agent.verified')
    },
  )

  test('R-VERIFY-16: is nobody’s worker: what is handed to it would be judged by no gate', async () => {
    const rig = engineRig()
    const engine = await rig.host({ agents: agentsSaying('x'), standards: standardsDouble({ w: [gate(onWork)] }) })
    await register(engine, parentOf('assay-judge', { output: 1, gateId: 'g1' }))
    const last = (await told(rig, await startRun(engine, 'p'))).at(-1)
    expect(last).toMatchObject({ type: 'run.failed', payload: { error: { code: 'gate_unbound' } } })
  })
})

describe('a workflow that changes while a run of it starts', () => {
  test('R-VERIFY-10 R-DWS-35: a gate whose phase is not in the plan that is run keeps the run from starting', async () => {
    const rig = engineRig()
    const late = gate({ ...onWork, phase_id: 'b' })
    let changes = 0
    const standards: Standards = {
      gatesFor: async () => {
        const answer = await engine.putWorkflow('t1', sketch({ id: 'w', nodes: { b: work.nodes.a! } }))
        if (answer.ok) changes += 1
        return [late]
      },
      knownFor: () => undefined,
      gate: async () => late,
    }
    const engine: Engine = await rig.host({ agents: agentsSaying('x'), standards })
    await register(engine, work)
    const answer = await engine.create({ tenant: 't1', principal: 'p', workflowId: 'w', inputs: {}, transport: 'rest' })
    expect(changes).toBeGreaterThan(0)
    expect(answer).toMatchObject({
      ok: false,
      refusal: { code: 'validation_error', message: expect.stringContaining('gate "g1" stands at node "b"') },
    })
  })
})

describe('who judges what a worker brings', () => {
  test('R-VERIFY-7 A13: not the agent that worked in its run', async () => {
    const rig = engineRig()
    const standards = standardsDouble({ p: [gate(onWorker, { verifiers: [{ agent_id: AGENT }] })] })
    const agents = agentsSaying('the work')
    const engine = await rig.host({ agents, standards })
    await register(engine, work, parentOf('w'))
    const events = await told(rig, await startRun(engine, 'p'))
    expect(events.find(({ type }) => type === 'assay.verifier.ended')!.payload).toMatchObject({
      agentId: AGENT,
      fault: 'self_verification',
    })
    expect(agents.thoughts.map(({ role }) => role)).toEqual(['worker'])
    expect(events.at(-1)!.type).toBe('node.suspended')
  })
})

describe('the name of a result', () => {
  /** How the log calls what was judged, where the worker brought this. */
  async function nameOf(result: string, isHidden: boolean): Promise<Json | undefined> {
    const rig = engineRig()
    const engine = await rig.host({ agents: agentsSaying(result), standards: standardsDouble({ p: [gate(onWorker)] }) })
    const variables = [{ name: 'got', type: 'string' as const, ...(isHidden ? { sensitive: true } : {}) }]
    await register(engine, { ...work, variables }, { ...parentOf('w'), variables })
    const events = await told(rig, await startRun(engine, 'p'))
    return events.find(({ type }) => type === 'dws.verification.started')?.payload.resultHash
  }

  test('R-VERIFY-5 R-DWS-31: says nothing of what is hidden, so that nobody finds it out by trying', async () => {
    const [one, other] = [await nameOf('hunter2', true), await nameOf('hunter3', true)]
    expect(one).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(other).toBe(one)
  })

  test('R-DWS-31: is made of all the rest', async () => {
    const [one, other] = [await nameOf('hunter2', false), await nameOf('hunter3', false)]
    expect(one).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(other).not.toBe(one)
    expect(await nameOf('hunter2', false)).toBe(one)
  })
})
