import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/core/json.js'
import { completeDefinition } from '../../src/project/complete.js'
import { parseDocument } from '../../src/project/document.js'
import { loadProject } from '../../src/project/load-project.js'
import { node, type Reply, startHttp, type TestHost, workflow } from './harness.js'
import { hasProtocolSchemas, schemaErrors } from './protocol-schemas.js'

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Any = any

/** A supervisor that takes these decisions, and what it decides about. */
const led = (id: string, decisions: readonly object[], config: object = {}, agent?: object) =>
  workflow(
    id,
    [
      node('lead', 'core.orchestrator.supervisor', {
        config: {
          rules: decisions.map((decide, i) =>
            i === decisions.length - 1 ? { decide } : { when: `iteration == ${i + 1}`, decide },
          ),
        },
        ...(agent && { agent }),
      }),
      node('hand', 'core.dispatch', { config }),
    ],
    {
      edges: [
        { id: 'there', sourceNodeId: 'lead', targetNodeId: 'hand' },
        { id: 'back', sourceNodeId: 'hand', targetNodeId: 'lead' },
      ],
    },
  )

const hand = (...nextWorkerIds: string[]) => ({ kind: 'next-worker', nextWorkerIds })
const END = { kind: 'terminate' }

const WORKFLOWS = [
  led('busy', [hand('slow', 'noop', 'noop'), END], { fanOutPolicy: 'parallel' }),
  led('unsure', [
    { ...hand('noop'), confidence: 0.3 },
    { ...END, confidence: 0.9 },
  ]),
  led('hesitant', [{ ...END, confidence: 0.4 }, END]),
  led('pinned', [END], {}, { agentId: 'core.chief', name: 'Chief', memoryRef: 'notes' }),
  led('endless', [hand('noop')]),
]

const hosts: TestHost[] = []
async function hostWith(orchestrator: object = {}): Promise<TestHost> {
  const host = await startHttp({ config: { orchestrator } })
  hosts.push(host)
  for (const payload of WORKFLOWS) {
    const reply = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })
    expect(reply.status, reply.text).toBe(201)
  }
  return host
}

let host: TestHost
beforeAll(async () => {
  host = await hostWith()
  await registerExamples(host)
  for (const definition of [guideWorkflow('guide'), guideWorkflow('guide-failing', { 'write-draft': 'nobody' })])
    expect(await host.engine.putWorkflow(null, definition)).toMatchObject({ ok: true })
})
afterAll(async () => {
  for (const one of hosts) await one.close()
})

async function start(on: TestHost, workflowId: string, configurable?: object): Promise<string> {
  const payload = { workflowId, ...(configurable && { configurable }) }
  const reply = await on.call('alice', { method: 'POST', url: '/v1/runs', payload })
  expect(reply.status, reply.text).toBe(201)
  return reply.json.runId
}

const snapshot = async (on: TestHost, runId: string): Promise<Any> =>
  (await on.call('alice', { url: `/v1/runs/${runId}` })).json

/** The log once it holds such an event. */
async function until(on: TestHost, runId: string, holds: (event: Any) => boolean): Promise<Any[]> {
  const events: Any[] = []
  while (!events.some(holds)) {
    const url = `/v1/runs/${runId}/events/poll?timeout=5${events.length > 0 ? `&lastSequence=${events.length - 1}` : ''}`
    const { json } = await on.call('alice', { url })
    events.push(...json.events)
    if (json.isComplete && !events.some(holds)) throw new Error(`the run ended: ${JSON.stringify(events.at(-1))}`)
  }
  return events
}

/** The workflow of the guide, its workers replaced if need be. */
const GUIDE = path.resolve(import.meta.dirname, '../../docs/guides/orchestrator.md')
function guideWorkflow(id: string, replaced: { readonly [workerId: string]: string } = {}): object {
  const [, text = ''] = /```yaml\n(id: newsroom[\s\S]*?)```/.exec(readFileSync(GUIDE, 'utf8')) ?? []
  const named = Object.entries(replaced).reduce((yaml, [from, to]) => yaml.replaceAll(from, to), text)
  return { ...completeDefinition(parseDocument(named, 'newsroom.yaml') as JsonObject, id), id }
}

async function registerExamples(on: TestHost): Promise<void> {
  const { workflows } = await loadProject(path.resolve(import.meta.dirname, '../../examples/hello'))
  const wanted = workflows.filter(({ id }) => ['orchestrator', 'write-draft', 'review-draft'].includes(id))
  for (const { definition } of wanted) expect((await on.engine.putWorkflow(null, definition)).ok).toBe(true)
}

const ended = (event: Any) => /^run\.(completed|failed|cancelled)$/.test(event.type)
const ofType = (type: string) => (event: Any) => event.type === type

const answer = (on: TestHost, runId: string, resumeValue: unknown): Promise<Reply> =>
  on.call('alice', { method: 'POST', url: `/v1/runs/${runId}/interrupts/lead`, payload: { resumeValue } })

const decisions = (events: readonly Any[]) =>
  events.filter(ofType('runOrchestrator.decided')).map(({ payload }) => [payload.iteration, payload.decision.kind])

describe('the snapshot of an orchestrated run', () => {
  test('R-ORCH-9: names who decides and who acted last, and how the loop ended', async () => {
    const runId = await start(host, 'orchestrator', { maxLoopIterations: 9 })
    const events = await until(host, runId, ended)
    const run = await snapshot(host, runId)
    expect(run).toMatchObject({
      status: 'completed',
      runOrchestrator: { agentId: 'host:editor', name: 'Editor' },
      agent: { agentId: 'host:reviewer' },
      loop: { iteration: 3, phase: 'done', limit: 9, decision: { kind: 'terminate' } },
      outputs: { draft: 'A few words about the garden.', verdict: 'good' },
    })
    expect(events.filter(ofType('runOrchestrator.decided')).map(event => event.payload.agentId)).toEqual(
      Array(3).fill(run.runOrchestrator.agentId),
    )
  })

  test.skipIf(!hasProtocolSchemas)(
    'R-ORCH-4, R-ORCH-17, R-CONF-8: it and its events satisfy the protocol’s schemas',
    async () => {
      const doubted = await start(host, 'unsure')
      await until(host, doubted, ofType('node.suspended'))
      await answer(host, doubted, { action: 'accept' })
      const logs = [
        await until(host, doubted, ended),
        await until(host, await start(host, 'endless', { maxLoopIterations: 2 }), ended),
      ]
      expect(schemaErrors('run-snapshot', await snapshot(host, doubted))).toEqual([])
      const payloads: { readonly [type: string]: string } = {
        'runOrchestrator.decided': 'runOrchestratorDecided',
        'core.workflowChain.event': 'coreWorkflowChainEvent',
        'core.workflowChain.confidence-escalated': 'coreWorkflowChainConfidenceEscalated',
        'node.dispatched': 'nodeDispatched',
        'node.suspended': 'nodeSuspended',
        'cap.breached': 'capBreached',
      }
      const seen = new Set<string>()
      for (const event of logs.flat()) {
        expect(schemaErrors('run-event', event)).toEqual([])
        const name = payloads[event.type]
        if (name === undefined) continue
        seen.add(event.type)
        expect(schemaErrors(`run-event-payloads#/$defs/${name}`, event.payload)).toEqual([])
      }
      expect([...seen].sort()).toEqual(Object.keys(payloads).sort())
    },
  )

  test('R-EVENT-8: what a pin says of the orchestrator is shown, where its memory is kept is not', async () => {
    const runId = await start(host, 'pinned')
    expect((await snapshot(host, runId)).runOrchestrator).toEqual({ agentId: 'core.chief', name: 'Chief' })
  })

  test('R-HANDOFF-1, R-ORCH-17: shows each worker and its run while work is handed over', async () => {
    const runId = await start(host, 'busy')
    const events = await until(host, runId, ofType('node.dispatched'))
    while (events.filter(ofType('node.dispatched')).length < 3)
      events.push(
        ...(
          await host.call('alice', { url: `/v1/runs/${runId}/events/poll?timeout=5&lastSequence=${events.length - 1}` })
        ).json.events,
      )
    const run = await snapshot(host, runId)
    const [first, second, third] = events.filter(ofType('node.dispatched')).map(event => event.payload.childRunId)
    expect(run.loop).toMatchObject({
      iteration: 1,
      phase: 'dispatching',
      decision: { nextWorkerIds: ['slow', 'noop', 'noop'] },
    })
    expect(run.nodeStates.hand).toMatchObject({
      status: 'running',
      childRunId: first,
      workers: [
        { workerId: 'slow', status: 'running', childRunId: first },
        // They have ended; that is told in the order of the decision, so when the first has.
        { workerId: 'noop', status: 'running', childRunId: second },
        { workerId: 'noop', status: 'running', childRunId: third },
      ],
    })
    await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}/cancel` })
    await until(host, runId, ofType('run.cancelled'))
    expect((await snapshot(host, first)).status).toBe('cancelled')
  })

  test('R-STATE-3, R-BOUND-1: a run that asks for fewer turns gets fewer', async () => {
    const runId = await start(host, 'endless', { maxLoopIterations: 2 })
    const events = await until(host, runId, ended)
    expect(decisions(events)).toHaveLength(2)
    expect(await snapshot(host, runId)).toMatchObject({
      status: 'failed',
      error: { code: 'loop_limit_exceeded' },
      loop: { iteration: 2, phase: 'done', limit: 2 },
    })
  })
})

describe('the workflow of the guide', () => {
  test('writes, reviews and ends', async () => {
    const events = await until(host, await start(host, 'guide'), ended)
    expect(decisions(events).map(([, kind]) => kind)).toEqual(['next-worker', 'next-worker', 'terminate'])
  })

  test('R-ORCH-19, R-LOOP-6: asks what to do when a worker fails, and heeds the answer', async () => {
    const runId = await start(host, 'guide-failing')
    await until(host, runId, ofType('node.suspended'))
    const payload = { resumeValue: { action: 'reject' } }
    await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}/interrupts/decide`, payload })
    const events = await until(host, runId, ended)
    expect(decisions(events).map(([, kind]) => kind)).toEqual(['next-worker', 'escalate', 'terminate'])
  })
})

describe('a decision below the floor', () => {
  const waiting = async (on: TestHost, workflowId: string) => {
    const runId = await start(on, workflowId)
    await until(on, runId, ofType('node.suspended'))
    return { runId, run: await snapshot(on, runId) }
  }

  test('R-CONF-2, R-CONF-3: is shown for approval first; accepted, it is carried out in the same turn', async () => {
    const { runId, run } = await waiting(host, 'unsure')
    expect(run).toMatchObject({
      status: 'waiting-approval',
      currentNodeId: 'lead',
      loop: { iteration: 1, phase: 'suspended' },
      interrupt: { kind: 'approval', data: { actions: ['accept', 'reject', 'edit-accept'] } },
    })
    expect((await answer(host, runId, { action: 'accept' })).status).toBe(200)
    expect(decisions(await until(host, runId, ended))).toEqual([
      [1, 'next-worker'],
      [2, 'terminate'],
    ])
  })

  test('edited, the edited one is carried out; what is no decision is refused', async () => {
    const { runId } = await waiting(host, 'unsure')
    const edit = (editedArtifactData: object) => answer(host, runId, { action: 'edit-accept', editedArtifactData })
    expect(await edit({ kind: 'clarify' })).toMatchObject({ status: 400, json: { error: 'validation_error' } })
    expect((await edit(END)).status).toBe(200)
    const events = await until(host, runId, ended)
    expect([decisions(events), events.filter(ofType('node.dispatched')).length]).toEqual([[[1, 'next-worker']], 0])
  })

  test('R-CONF-9: rejected, it is not; a low-confidence terminate does not end the run', async () => {
    const { runId } = await waiting(host, 'hesitant')
    await answer(host, runId, { action: 'reject' })
    expect(decisions(await until(host, runId, ended))).toEqual([
      [1, 'terminate'],
      [2, 'terminate'],
    ])
  })

  test('R-CONF-5: a higher floor doubts more', async () => {
    const strict = await hostWith({ confidenceFloor: 0.95 })
    const { runId } = await waiting(strict, 'unsure')
    await answer(strict, runId, { action: 'accept' })
    const events = await until(strict, runId, event => event.type === 'node.suspended' && event.sequence > 10)
    expect(events.filter(ofType('core.workflowChain.confidence-escalated')).map(event => event.payload.floor)).toEqual([
      0.95, 0.95,
    ])
  })

  test('R-CONF-9: with `clarification` it is a question, and "confirm" lets it pass', async () => {
    const asking = await hostWith({ confidenceInterruptKind: 'clarification' })
    const { runId, run } = await waiting(asking, 'hesitant')
    expect(run).toMatchObject({ status: 'waiting-input', interrupt: { kind: 'clarification' } })
    expect((await answer(asking, runId, { answers: { decision: 'confirm' } })).status).toBe(200)
    expect(decisions(await until(asking, runId, ended))).toEqual([[1, 'terminate']])
  })

  test('R-CONF-10, R-CONF-11: with a vendor kind it is `custom` with that name, and the run waits for input', async () => {
    const vendor = await hostWith({ confidenceInterruptKind: 'x-host-acme-review' })
    const { runId, run } = await waiting(vendor, 'hesitant')
    expect(run).toMatchObject({
      status: 'waiting-input',
      interrupt: {
        kind: 'custom',
        data: { customKind: 'x-host-acme-review', payload: { confidence: 0.4, floor: 0.5 } },
      },
    })
    const [escalated] = (await until(vendor, runId, ofType('node.suspended'))).filter(
      ofType('core.workflowChain.confidence-escalated'),
    )
    expect(escalated.payload.escalationKind).toBe('escalate')
    expect((await answer(vendor, runId, { fine: true })).status).toBe(400)
    expect((await answer(vendor, runId, { action: 'accept' })).status).toBe(200)
    expect(decisions(await until(vendor, runId, ended))).toEqual([[1, 'terminate']])
  })
})
