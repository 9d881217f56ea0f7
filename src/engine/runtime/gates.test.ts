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

const standingIn = ({ store, clock }: Rig, hash: string) =>
  createRecords({ store, clock, readRecord: readVerdictIn(store), readTrial: readTrialIn(store) }).standing(
    't1',
    'g1',
    hash,
  )

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
    expect(await standingIn(rig, licensed.hash)).toMatchObject({ goodPassed: { n: 1 } })
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

  test('V2 R-DWS-7: its verifiers are shown the sources that it was given, which its log does not tell', async () => {
    const rig = engineRig()
    const agents = agentsSaying('x')
    const sourced = gate(onWork, { context: ['inputs.log'] })
    const engine = await rig.host({ agents, standards: standardsDouble({ w: [sourced] }) })
    const context = { 'inputs.log': 'THE-LOG' }
    const runId = await startRun(engine, 'assay-judge', { inputs: { gateId: 'g1', output: 'x', context } })
    const events = await told(rig, runId)
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { outputs: { verdict: 'pass' } } })
    expect(agents.thoughts.map(({ brief }) => brief.user)).toEqual([expect.stringContaining('THE-LOG')])
    expect(events[0]!.payload).toMatchObject({ inputs: { gateId: 'g1' }, withheld: ['output', 'context'] })
    expect(JSON.stringify(events)).not.toContain('THE-LOG')
  })

  test('V2 R-DWS-36: whose sources it was not given could not be checked: nobody is asked, and it shows nothing', async () => {
    const rig = engineRig()
    const agents = agentsSaying('x')
    const sourced = gate(onWork, { context: ['inputs.log', 'inputs.more'] })
    const engine = await rig.host({ agents, standards: standardsDouble({ w: [sourced] }) })
    const given = { gateId: 'g1', output: 'x', context: { 'inputs.log': 'one' }, planted: { truth: 'good' } }
    const runId = await startRun(engine, 'assay-judge', { inputs: given, tags: ['planted:g1'] })
    const events = await told(rig, runId)
    expect(events.filter(({ type }) => type === 'assay.verifier.ended')).toMatchObject([
      { payload: { vote: 'none', fault: 'context_missing' } },
    ])
    expect([events.at(-1)!.type, agents.thoughts]).toEqual(['run.completed', []])
    expect(await standingIn(rig, sourced.hash)).toMatchObject({ goodPassed: { n: 0 }, badStopped: { n: 0 } })
  })

  test.each([
    ['prompt', { promptHash: 'sha256:2' }, 'openai:gpt-test sha256:2'],
    ['model', { promptHash: 'sha256:1', model: 'gpt-cheap' }, 'openai:gpt-cheap sha256:1'],
  ])(
    'R-DWS-26: another %s of a verifier is another judge, and what the old one has shown is not the new one’s',
    async (_, changed, now) => {
      const rig = engineRig()
      const standards = standardsDouble({ w: [gate(onWork)] })
      const judge = (brief: object) => {
        const think = () => ({ said: answered(GOOD) })
        return agentsDouble({ agents: { 'assay.verifier': brief }, think })
      }
      const bring = async (agents: ReturnType<typeof judge>, outputs: readonly string[]) => {
        const engine = await rig.host({ agents, standards })
        for (const output of outputs) {
          const inputs = { gateId: 'g1', output, planted: { truth: 'good' } }
          await startRun(engine, 'assay-judge', { inputs, tags: ['planted:g1'] })
          await rig.clock.advance(1)
        }
        await engine.stop(0)
      }
      await bring(judge({ promptHash: 'sha256:1' }), ['a', 'b', 'c'])
      const before = await standingIn(rig, gate(onWork).hash)
      expect(before).toMatchObject({
        goodPassed: { n: 3 },
        judges: { 'assay.verifier': 'openai:gpt-test sha256:1' },
      })
      await bring(judge(changed), ['d'])
      const after = await standingIn(rig, gate(onWork).hash)
      expect(after).toMatchObject({ goodPassed: { n: 1 }, judges: { 'assay.verifier': now } })
      expect(after.goodPassed.lower).toBeLessThan(before.goodPassed.lower)
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
