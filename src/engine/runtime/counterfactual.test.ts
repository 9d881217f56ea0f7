import { describe, expect, it } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { BoundGate } from '../../core/verification/gate.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { boundGate } from '../../testing/gates.js'
import { AGENT, answered } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'
import { standardsDouble } from '../../testing/verification.js'
import type { Sketch } from '../../testing/workflow.js'
import type { Engine } from './engine.js'

const variable = (name: string, value: Json) => ({ type: 'core.setVariable', config: { name, value } })

/** Several steps in one decision, a delay between two, a loop around some. */
const FLOW: Sketch = {
  id: 'flow',
  nodes: {
    first: variable('x', 1),
    loop: { type: 'core.loop', config: { maxIterations: 2 } },
    inside: variable('y', 'then'),
    wait: { type: 'core.delay', config: { ms: 1_000 } },
    last: variable('z', 'then'),
    end: 'core.noop',
  },
  edges: ['first > loop', 'loop.body > inside', 'inside > wait', 'wait > loop', 'loop.done > last', 'last > end'],
}

async function ended(sketch = FLOW) {
  const rig = engineRig()
  const engine = await rig.host()
  await register(engine, sketch)
  const runId = await startRun(engine, sketch.id ?? '')
  await rig.clock.advance(5_000)
  const rows = await rig.store.readEvents(runId, 0)
  expect(rows.at(-1)?.type).toBe('run.completed')
  return { rig, engine, runId, rows }
}

const branch = (engine: Engine, runId: string, fromSeq: number, set: JsonObject) =>
  engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq, set })

type Row = Awaited<ReturnType<Rig['store']['readEvents']>>[number]

const said = ({ type, nodeId, payload, secret, cause, at }: Row) =>
  JSON.stringify([type, nodeId, JSON.parse(payload), secret && JSON.parse(secret), cause, at])

const valuesOf = (rows: readonly Row[], name: string): Json[] =>
  rows
    .filter(({ type }) => type === 'variable.changed')
    .map(({ payload }) => JSON.parse(payload) as JsonObject)
    .flatMap(payload => (payload.name === name ? [payload.next ?? null] : []))

describe('a branch that changes a node', () => {
  it('R-FORK-5 R-REPLAY-11: has the same past at every cut, goes by the change after it, and is told again byte for byte', async () => {
    const { rig, engine, runId, rows } = await ended()
    let [made, refused] = [0, 0]
    for (let fromSeq = 0; fromSeq < rows.length; fromSeq += 1) {
      const answer = await branch(engine, runId, fromSeq, { 'nodes.inside.config.value': 'now' })
      if (!answer.ok) {
        refused += 1
        expect(answer).toMatchObject({ refusal: { code: 'validation_error', message: /node "inside" is at work/ } })
        const message = 'refusal' in answer ? answer.refusal.message : ''
        const elsewhere = Number(/fork at (\d+)$/.exec(message)?.[1])
        expect(elsewhere).toBeLessThan(fromSeq)
        expect(await branch(engine, runId, elsewhere, { 'nodes.inside.config.value': 'now' })).toMatchObject({
          ok: true,
        })
        continue
      }
      made += 1
      await rig.clock.advance(5_000)
      const own = await rig.store.readEvents(answer.value.runId, 0)
      expect(own.slice(0, fromSeq).map(said), `from ${fromSeq}`).toEqual(rows.slice(0, fromSeq).map(said))
      const before = valuesOf(rows.slice(0, fromSeq), 'y')
      expect(valuesOf(own, 'y'), `from ${fromSeq}`).toEqual([...before, 'now', 'now'].slice(0, 2))
      expect(own.at(-1)?.type).toBe('run.completed')
      // Told again from every event, with nobody to say what was changed but the log.
      for (const from of [0, 1, fromSeq, fromSeq + 1, own.length - 1]) {
        const replay = await engine.fork({ tenant: 't1', runId: answer.value.runId, mode: 'replay', fromSeq: from })
        if (!replay.ok) throw new Error('refused')
        await settled()
        const again = await rig.store.readEvents(replay.value.runId, 0)
        expect(again.map(said), `branch at ${fromSeq}, replay from ${from}`).toEqual(own.map(said))
      }
    }
    expect([made > 10, refused > 3]).toEqual([true, true])
  })

  it('says by name what it changes, never the value, and goes by a definition of its own', async () => {
    const { rig, engine, runId, rows } = await ended()
    const at = rows.findIndex(({ type, nodeId }) => type === 'node.started' && nodeId === 'last')
    const answer = await branch(engine, runId, at, { 'nodes.last.config.value': 'CANARY' })
    if (!answer.ok) throw new Error('refused')
    await settled()
    const [source, row] = [await rig.store.readRun('t1', runId), await rig.store.readRun('t1', answer.value.runId)]
    const forked = (await rig.store.readEvents(answer.value.runId, 0)).find(({ type }) => type === 'assay.run.forked')
    expect(JSON.parse(forked?.payload ?? '')).toEqual({
      sourceRunId: runId,
      fromSeq: at,
      traceparent: expect.any(String),
      changed: ['nodes.last.config.value'],
      workflowDigest: row?.workflowDigest,
    })
    expect(JSON.stringify(forked)).not.toContain('CANARY')
    expect(row?.workflowDigest).not.toBe(source?.workflowDigest)
    expect(await rig.store.getDefinition(row?.workflowDigest ?? '')).toContain('CANARY')
    // New runs go by the workflow as it is registered, and nobody sees another.
    expect((await engine.listWorkflows('t1')).map(({ workflowId }) => workflowId)).toEqual(['flow'])
    const fresh = await engine.inspect('t1', await startRun(engine, 'flow'))
    expect(fresh?.plan.digest).toBe(source?.workflowDigest)
  })

  it('from the very beginning, the first event says it', async () => {
    const { rig, engine, runId } = await ended()
    const answer = await branch(engine, runId, 0, { 'nodes.first.config.value': 2 })
    if (!answer.ok) throw new Error('refused')
    const rows = await rig.store.readEvents(answer.value.runId, 0)
    const row = await rig.store.readRun('t1', answer.value.runId)
    expect(JSON.parse(rows[0]?.payload ?? '')).toMatchObject({
      changed: ['nodes.first.config.value'],
      workflowDigest: row?.workflowDigest,
    })
    expect(valuesOf(rows, 'x')).toEqual([2])
  })

  it('a branch of it goes by the definition that was in force where it is cut', async () => {
    const { rig, engine, runId, rows } = await ended()
    const at = rows.findIndex(({ type, nodeId }) => type === 'node.started' && nodeId === 'last')
    const once = await branch(engine, runId, at, { 'nodes.last.config.value': 'now' })
    if (!once.ok) throw new Error('refused')
    const own = await rig.store.readEvents(once.value.runId, 0)
    const finals = new Set<string>()
    for (let fromSeq = 1; fromSeq < own.length; fromSeq += 1) {
      const twice = await engine.fork({ tenant: 't1', runId: once.value.runId, mode: 'branch', fromSeq })
      if (!twice.ok) throw new Error('refused')
      await rig.clock.advance(5_000)
      const [z] = valuesOf(await rig.store.readEvents(twice.value.runId, 0), 'z')
      expect(z, `from ${fromSeq}`).toBe(fromSeq <= at ? 'then' : 'now')
      finals.add(String(z))
    }
    expect(finals.size).toBe(2)
  })

  it('I7 I8: is told again the same however little of it is read at a time, and so is a branch of it', async () => {
    const { rig, engine, runId, rows } = await ended()
    const read = rig.store.readEvents
    const again = async (source: string, from: number) => {
      const replay = await engine.fork({ tenant: 't1', runId: source, mode: 'replay', fromSeq: from })
      if (!replay.ok) throw new Error('refused')
      await settled()
      return (await read.call(rig.store, replay.value.runId, 0)).map(said)
    }
    for (const size of [1, 3]) {
      // What is read for a fork names how many bytes it may be.
      rig.store.readEvents = (id, from, limit, bytes) =>
        read.call(rig.store, id, from, bytes === undefined ? limit : Math.min(size, limit ?? size), bytes)
      for (let fromSeq = 0; fromSeq < rows.length; fromSeq += 1) {
        const once = await branch(engine, runId, fromSeq, { 'nodes.inside.config.value': 'now' })
        if (!once.ok) continue
        await rig.clock.advance(5_000)
        const own = await read.call(rig.store, once.value.runId, 0)
        expect(own.at(-1)?.type).toBe('run.completed')
        for (const from of [0, fromSeq, fromSeq + 1])
          expect(await again(once.value.runId, from), `branch at ${fromSeq}, replay from ${from}`).toEqual(
            own.map(said),
          )
        // Cut where the branch has just said what it changes.
        const twice = await engine.fork({ tenant: 't1', runId: once.value.runId, mode: 'branch', fromSeq: fromSeq + 1 })
        if (!twice.ok) throw new Error('refused')
        await rig.clock.advance(5_000)
        const second = await read.call(rig.store, twice.value.runId, 0)
        for (const from of [0, fromSeq + 1])
          expect(await again(twice.value.runId, from), `branches at ${fromSeq}, replay from ${from}`).toEqual(
            second.map(said),
          )
      }
    }
    rig.store.readEvents = read
  })

  it('lives on after its host has died, by its own definition', async () => {
    const { rig, engine, runId, rows } = await ended()
    const at = rows.findIndex(({ type, nodeId }) => type === 'node.started' && nodeId === 'inside')
    const answer = await branch(engine, runId, at, { 'nodes.last.config.value': 'now' })
    if (!answer.ok) throw new Error('refused')
    const later = await rig.host({ hostName: 'host' })
    for (let i = 0; i < 10 && (await later.inspect('t1', answer.value.runId))?.status !== 'completed'; i += 1)
      await rig.clock.advance(1_000)
    expect(valuesOf(await rig.store.readEvents(answer.value.runId, 0), 'z')).toEqual(['now'])
  })

  it.each<[string, JsonObject, RegExp]>([
    [
      'a node that is not there',
      { 'nodes.nobody.config.value': 1 },
      /NODE one of first, loop, inside, wait, last, end$/,
    ],
    ['anything but a config', { 'nodes.last.typeId': 'core.noop' }, /must be nodes\.NODE\.config\.FIELD/],
    ['what is neither node nor agent', { 'settings.timeout': 1 }, /give agents\.AGENT\.model/],
    ['a path with a hole', { 'nodes.last.config.a..b': 1 }, /with a dot between/],
    ['a path through a text', { 'nodes.last.config.name.x': 1 }, /has no fields of its own/],
    [
      'a field that the node does not have',
      { 'nodes.last.config.valeu': 1 },
      /^assay\.set \(nodes\.last\.config\.valeu\): .*valeu/,
    ],
    ['a value that does not fit', { 'nodes.wait.config.ms': 'soon' }, /nodes\.wait\.config\.ms/],
    ['an agent that nobody knows', { 'agents.local.test.nobody.model': 'x' }, /names no agent of this host/],
    ['an agent’s prompt', { 'agents.local.test.agent.systemPrompt': 'x' }, /give agents\.AGENT\.model/],
    ['a model that is none', { 'agents.local.test.agent.model': 7 }, /must be a model, such as .*; got 7$/],
    [
      'a class that is none',
      { 'agents.local.test.agent.modelClass': 'best' },
      /must be one of reasoning, .*; got "best"$/,
    ],
    [
      'too much',
      Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`nodes.last.config.f${i}`, i])),
      /51 names; give at most 50/,
    ],
  ])('refuses %s', async (_what, set, message) => {
    const { engine, runId } = await ended()
    const answer = await branch(engine, runId, 1, set)
    expect(answer).toMatchObject({ ok: false, refusal: { code: 'validation_error' } })
    expect('refusal' in answer && answer.refusal.message).toMatch(message)
  })

  it('refuses to change what has ended', async () => {
    const { engine, runId, rows } = await ended()
    const answer = await branch(engine, runId, rows.length, { 'nodes.last.config.value': 1 })
    expect('refusal' in answer && answer.refusal.message).toMatch(
      /changes nothing: the run has ended by event \d+; fork it earlier/,
    )
  })
})

const OTHER = 'local.test.other'

/** Two agents of one class, one after the other; then one that is handed work, as a run of its own. */
const AGENTS: Sketch = {
  id: 'agents',
  nodes: {
    a: { type: 'core.agent', config: { agentId: AGENT } },
    b: { type: 'core.agent', config: { agentId: OTHER } },
    c: { type: 'core.subWorkflow', config: { workflowId: AGENT } },
  },
  edges: ['a > b', 'b > c'],
}

describe('a branch that changes a model', () => {
  it('R-LIVE-3: this agent has it from the cut on, here and in the runs it is hired in; the others keep theirs', async () => {
    const rig = engineRig()
    const agents = agentsDouble({ agents: { [AGENT]: {}, [OTHER]: {} } })
    const engine = await rig.host({ agents })
    await register(engine, AGENTS)
    const runId = await startRun(engine, 'agents')
    await settled()
    const rows = await rig.store.readEvents(runId, 0)
    const at = rows.findIndex(({ type, nodeId }) => type === 'node.started' && nodeId === 'b')
    agents.briefs.length = 0
    const answer = await branch(engine, runId, at, {
      [`agents.${AGENT}.model`]: 'openai:gpt-other',
      [`agents.${OTHER}.modelClass`]: 'writing',
    })
    if (!answer.ok) throw new Error('refused')
    await settled()
    expect(agents.briefs.map(({ agent, ai }) => [agent.agentId, ai.agents])).toEqual([
      [OTHER, { [AGENT]: { model: 'openai:gpt-other' }, [OTHER]: { modelClass: 'writing' } }],
      [AGENT, { [AGENT]: { model: 'openai:gpt-other' }, [OTHER]: { modelClass: 'writing' } }],
    ])
    const own = await rig.store.readEvents(answer.value.runId, 0)
    const forked = JSON.parse(own.find(({ type }) => type === 'assay.run.forked')?.payload ?? '') as JsonObject
    expect(forked.changed).toEqual([`agents.${AGENT}.model`, `agents.${OTHER}.modelClass`])
    expect(forked.workflowDigest).toBeUndefined()
    const again = await engine.fork({ tenant: 't1', runId: answer.value.runId, mode: 'replay', fromSeq: 0 })
    if (!again.ok) throw new Error('refused')
    await settled()
    expect((await rig.store.readEvents(again.value.runId, 0)).map(said)).toEqual(own.map(said))
  })

  it('an agent at work ends with the model it began with: the refusal says where to fork instead', async () => {
    const rig = engineRig()
    const engine = await rig.host({ agents: agentsDouble({ agents: { [AGENT]: {}, [OTHER]: {} } }) })
    await register(engine, AGENTS)
    const runId = await startRun(engine, 'agents')
    await settled()
    const rows = await rig.store.readEvents(runId, 0)
    const set = { [`agents.${AGENT}.model`]: 'openai:gpt-other' }
    const at = rows.findIndex(({ type }) => type === 'assay.model.requested') + 1
    const answer = await branch(engine, runId, at, set)
    const message = 'refusal' in answer ? answer.refusal.message : ''
    expect(message).toMatch(/the agent is at work in node "a" at event \d+, and ends with the model it began with/)
    const elsewhere = Number(/fork at (\d+)$/.exec(message)?.[1])
    expect(rows[elsewhere]).toMatchObject({ type: 'node.started', nodeId: 'a' })
    expect(await branch(engine, runId, elsewhere, set)).toMatchObject({ ok: true })
  })
})

const JUDGE = 'local.test.judge'

/** A supervisor hands work over; a person is asked at the end. */
const GATED: Sketch = {
  id: 'gated',
  nodes: {
    a: { type: 'core.agent', config: { agentId: AGENT, resultVariable: 'got' } },
    s: { type: 'core.subWorkflow', config: { workflowId: OTHER, outputMapping: { had: 'result' } } },
    end: 'core.noop',
    person: 'core.approvalGate',
  },
  edges: ['a > s', 's > end', 'end > person'],
}

const at = (phase_id: string, more: Partial<BoundGate['gate']['position']> = {}): BoundGate =>
  boundGate({
    gate_id: `at-${phase_id}`,
    position: { workflow_id: 'gated', phase_id, placement: 'phase_exit', ...more },
  })

describe('gates', () => {
  const judgedBy = (bound: BoundGate): BoundGate => ({
    ...bound,
    gate: {
      ...bound.gate,
      verifier_requirements: { ...bound.gate.verifier_requirements, verifiers: [{ agent_id: JUDGE, weight: 1 }] },
    },
  })

  async function gated() {
    const rig = engineRig()
    const agents = agentsDouble({
      agents: { [AGENT]: {}, [OTHER]: {}, [JUDGE]: {}, 'assay.verifier': {} },
      think: ({ role }) => ({
        said: answered(role === 'verifier' ? { scores: { correctness: 10 }, findings: [] } : 'x'),
      }),
    })
    const standards = standardsDouble({ gated: [judgedBy(at('a')), at('s', { worker_id: OTHER })] })
    const engine = await rig.host({ agents, standards })
    await register(engine, GATED)
    const runId = await startRun(engine, 'gated')
    await settled()
    return { rig, engine, runId, agents }
  }

  it.each<[string, JsonObject]>([
    ['who works', { 'nodes.a.config.agentId': OTHER }],
    ['who works at another node', { 'nodes.s.config.workflowId': AGENT }],
    ['what of the work is judged', { 'nodes.s.config.outputMapping': {} }],
    ['anything where a gate is for one worker', { 'nodes.s.config.inputMapping': {} }],
    ['how people are asked', { 'nodes.person.config.title': 'never mind' }],
    ['what must be attested', { 'nodes.s.config.outputAttestation.requireApproval': false }],
    ['the model of its verifier', { [`agents.${JUDGE}.model`]: 'openai:weak' }],
    ['the model of the host’s verifier', { 'agents.assay.verifier.model': 'openai:weak' }],
  ])('R-VERIFY-1 R-DWS-10: no branch changes %s', async (_what, set) => {
    const { engine, runId } = await gated()
    for (const fromSeq of [0, 1]) {
      const answer = await branch(engine, runId, fromSeq, set)
      expect('refusal' in answer && answer.refusal.message, `from ${fromSeq}`).toMatch(
        /branch (keeps|cannot)|by a branch/,
      )
    }
  })

  it('R-VERIFY-1: what a branch changes elsewhere is held to the same gates, judged by the same model', async () => {
    const { rig, engine, runId, agents } = await gated()
    for (const fromSeq of [0, 1]) {
      agents.briefs.length = 0
      const answer = await branch(engine, runId, fromSeq, {
        [`agents.${AGENT}.model`]: 'openai:gpt-other',
        'nodes.a.config.resultVariable': 'other',
      })
      if (!answer.ok) throw new Error('refused')
      for (let step = 0; step < 20; step += 1) await rig.clock.advance(1_000)
      const rows = await rig.store.readEvents(answer.value.runId, 0)
      const first = JSON.parse(rows[0]?.payload ?? '') as JsonObject
      expect(first.gates).toMatchObject([{ gateId: 'at-a' }, { gateId: 'at-s' }])
      expect(rows.map(({ type }) => type)).toContain('dws.verification.verdict_rendered')
      expect(valuesOf(rows, 'other')).toEqual(['x'])
      const judging = agents.briefs.filter(({ role }) => role === 'verifier')
      expect(judging.length).toBeGreaterThan(0)
      for (const { ai } of judging) expect(isObject(ai) && ai.agents).toBeFalsy()
      const working = agents.briefs.filter(({ role }) => role === 'worker')
      for (const { ai } of working) expect(ai.agents).toEqual({ [AGENT]: { model: 'openai:gpt-other' } })
    }
  })
})
