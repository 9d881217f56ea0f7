import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunEventDoc } from '../../../src/client/index.js'
import { next, scripted, terminate } from '../../../src/testing/orchestration.js'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'
import { causationText } from '../../../src/peers/causation.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { type Pair, startPair } from './two-hosts.js'

const TEXT = [
  { name: 'topic', type: 'string' as const },
  { name: 'text', type: 'string' as const },
]

/** What beta does: it writes, waits for a person, fails, or takes its time. */
const OF_BETA: readonly Sketch[] = [
  {
    id: 'draft',
    variables: TEXT,
    nodes: { write: { type: 'core.setVariable', config: { name: 'text', value: 'about bees' } } },
  } as Sketch,
  { id: 'slow', variables: TEXT, nodes: { wait: { type: 'core.delay', config: { delayMs: 3_600_000 } } } } as Sketch,
  {
    id: 'asks',
    variables: TEXT,
    nodes: { gate: { type: 'core.approvalGate', config: { artifactData: { text: 'draft' } } } },
  } as Sketch,
  {
    id: 'improves',
    variables: [...TEXT, { name: 'verificationFeedback', type: 'object' }],
    nodes: {
      told: { type: 'core.conditional', config: { expression: 'has(variables.verificationFeedback)' } },
      better: { type: 'core.setVariable', config: { name: 'text', value: 'bees, at length' } },
      worse: { type: 'core.setVariable', config: { name: 'text', value: 'bees' } },
    },
    edges: ['told.true > better', 'told.false > worse'],
  } as Sketch,
  { id: 'fails', variables: TEXT, nodes: { no: 'core.fail' } } as Sketch,
]

const MAPPED = { inputMapping: { topic: 'topic' }, outputMapping: { answer: 'text' } }
const VARIABLES = [
  { name: 'topic', type: 'string' as const },
  { name: 'answer', type: 'string' as const },
]
const handing = (id: string, ...workers: string[]): Sketch =>
  ({
    ...scripted([...workers.map(worker => next(worker)), terminate], {
      dispatch: MAPPED,
      variables: VARIABLES,
    } as never),
    id,
  }) as Sketch

const OF_ALPHA: readonly Sketch[] = [
  ...['draft', 'slow', 'asks', 'fails', 'nothing', 'improves'].map(name =>
    handing(`conformance-to-${name}`, `peer:beta/${name}`),
  ),
  handing('conformance-to-lost', 'peer:beta/slow', 'here'),
  { id: 'here', variables: TEXT, nodes: { wait: { type: 'core.delay', config: { delayMs: 3_600_000 } } } } as Sketch,
]

const INTENT = { intent_id: 'at-length', type: 'operational', title: 'At length', statement: 'It is said at length.' }

/** Only what is said at length passes. */
const GATE = {
  gate_id: 'long-enough',
  name: 'It is long enough',
  position: { workflow_id: 'conformance-to-improves', phase_id: 'dispatch', placement: 'phase_exit' },
  intent_refs: ['at-length'],
  evaluation_criteria: [
    {
      dimension: 'length',
      scale: { min: 0, max: 1, type: 'integer' },
      pass_threshold: 1,
      probes: [
        {
          type: 'json-schema',
          schema: { type: 'object', properties: { text: { type: 'string', minLength: 8 } }, required: ['text'] },
        },
      ],
    },
  ],
  verifier_requirements: {},
  gate_behaviour: { max_attempts: 2 },
}

let pair: Pair
beforeAll(async () => {
  pair = await startPair({ alpha: { 'peers.lostAfter': '1500' } })
  for (const one of OF_BETA) await pair.hosts.beta.client.putWorkflow(one.id!, sketch(one) as never)
  for (const one of OF_ALPHA) await pair.hosts.alpha.client.putWorkflow(one.id!, sketch(one) as never)
  await pair.hosts.alpha.client.putStandard('intents', INTENT)
  await pair.hosts.alpha.client.putStandard('gates', GATE)
}, 60_000)
afterAll(() => pair.stop())

const start = async (name: string, inputs = { topic: 'bees' }) =>
  (await pair.hosts.alpha.client.createRun({ workflowId: `conformance-to-${name}`, inputs })).runId

/** Follows a run of alpha's to its end. */
async function logOf(runId: string): Promise<readonly RunEventDoc[]> {
  const log: RunEventDoc[] = []
  for await (const event of pair.hosts.alpha.client.followEvents(runId)) log.push(event)
  return log
}

const phases = (log: readonly RunEventDoc[]) =>
  log.flatMap(({ type, payload }) =>
    type === 'core.workflowChain.event' ? [(payload as { phase: string }).phase] : [],
  )

const runsOfBeta = async (workflowId: string) =>
  (await pair.hosts.beta.client.listRuns({ workflowId, limit: 200 })).runs

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`waited too long for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

describe('work handed to a peer', () => {
  test('R-HANDOFF-13 R-XHOST-2 R-XHOST-9 R-XHOST-11: is done there, merged here, and one story', async () => {
    const runId = await start('draft')
    const log = await logOf(runId)
    expect(phases(log)).toEqual(['dispatch.began', 'dispatch.succeeded', 'child.completed', 'output.harvested'])
    const snapshot = await pair.hosts.alpha.client.getRun(runId)
    expect(snapshot).toMatchObject({ status: 'completed', variables: { answer: 'about bees' } })
    const [there] = await runsOfBeta('draft')
    const dispatched = log.find(({ type }) => type === 'node.dispatched')
    expect(dispatched?.payload).toEqual({ childRunId: `peer:beta/${there!.runId}`, childWorkflowId: 'peer:beta/draft' })
    // The story goes on upwards: from beta's run to the hand-off of alpha's that led to it.
    const began = log.find(({ payload }) => (payload as { phase?: string }).phase === 'dispatch.began')!
    const ofBeta = await pair.hosts.beta.client.readEvents(there!.runId)
    expect(ofBeta[0]?.payload).toMatchObject({
      foreignParent: { hostId: 'alpha.example', runId, eventId: began.eventId, cause: 'core.dispatch' },
      depth: 1,
    })
    expect(await pair.hosts.beta.client.getAncestry(there!.runId)).toEqual({
      runId: there!.runId,
      hostId: 'beta.example',
      parent: {
        runId,
        hostId: 'alpha.example',
        cause: 'core.dispatch',
        wellKnownUrl: `${pair.urls.alpha}/.well-known/openwop`,
      },
    })
    const trace = (events: readonly RunEventDoc[]) =>
      events.flatMap(({ payload }) => (payload as { traceparent?: string }).traceparent?.slice(3, 35) ?? [])[0]
    expect(trace(ofBeta)).toBe(trace(log))
    // On alpha all causes are its own.
    expect(log.filter(({ payload }) => 'causationHostId' in (payload as object))).toEqual([])
  })

  test('R-HANDOFF-10 R-LOOP-8: that fails there, or that is not there, is the supervisor’s to deal with', async () => {
    const failed = await logOf(await start('fails'))
    expect(phases(failed)).toEqual(['dispatch.began', 'dispatch.succeeded', 'child.failed'])
    const refused = await logOf(await start('nothing'))
    expect(phases(refused)).toEqual(['dispatch.began', 'dispatch.failed'])
    const told = refused.find(({ payload }) => (payload as { phase?: string }).phase === 'dispatch.failed')
    expect(told?.payload).toMatchObject({ error: { code: 'peer_refused', details: { peer: 'beta' } } })
    for (const log of [failed, refused]) expect(log.at(-1)?.type).toBe('run.completed')
  })

  test('waits here while a person is asked there', async () => {
    const runId = await start('asks')
    await until(
      'alpha to wait',
      async () => (await pair.hosts.alpha.client.getRun(runId)).status === 'waiting-approval',
    )
    const [there] = await runsOfBeta('asks')
    await pair.hosts.beta.client.resolveInterrupt(there!.runId, 'gate', { action: 'accept' })
    expect(phases(await logOf(runId)).at(2)).toBe('child.completed')
  })

  test('P1 P15: is one run there, though both hosts were started again in between', async () => {
    const runId = await start('slow')
    await until('beta to work', async () => (await runsOfBeta('slow')).length > 0)
    await pair.restart('alpha')
    await pair.restart('beta')
    await pair.hosts.alpha.client.cancelRun(runId)
    const log = await logOf(runId)
    expect(phases(log)).toEqual(['dispatch.began', 'dispatch.succeeded', 'child.cancelled'])
    expect(log.at(-1)?.type).toBe('run.cancelled')
    expect((await runsOfBeta('slow')).map(({ status }) => status)).toEqual(['cancelled'])
  })
})

describe('P10: what a peer brings', () => {
  test('R-VERIFY-10 R-VERIFY-23: is judged here, sent back, and merged when it passes; the verdict points there', async () => {
    const runId = await start('improves')
    const log = await logOf(runId)
    const snapshot = await pair.hosts.alpha.client.getRun(runId)
    expect(snapshot).toMatchObject({ status: 'completed', variables: { answer: 'bees, at length' } })
    const verdicts = log.filter(({ type }) => type === 'agent.verified')
    const [second, first] = await runsOfBeta('improves')
    for (const [k, there] of [first!, second!].entries()) {
      const end = (await pair.hosts.beta.client.readEvents(there.runId)).at(-1)
      expect(verdicts[k]).toMatchObject({
        causationId: end?.eventId,
        payload: {
          target: `peer:beta/${there.runId}`,
          verdict: k === 0 ? 'revise' : 'pass',
          causationHostId: 'beta.example',
        },
      })
    }
    expect(verdicts).toHaveLength(2)
  })
})

describe('P4 P5 P6: a peer that is gone', () => {
  test('R-LOOP-8: holds nobody; when it is back, what it still does is cancelled, and nothing of it merged', async () => {
    const before = (await runsOfBeta('slow')).length
    const runId = await start('lost')
    await until('beta to work', async () => (await runsOfBeta('slow')).length > before)
    const alpha = pair.hosts.alpha.client
    await pair.hosts.beta.host.stop()
    const told = async (type: string) => (await alpha.readEvents(runId)).filter(event => event.type === type)
    await until('it to be lost', async () => (await told('assay.peer.lost')).length > 0)
    await until('the next to have the work', async () => (await told('node.dispatched')).length > 1)
    await pair.restart('beta')
    await until('its run to be let go', async () => (await told('assay.peer.released')).length > 0)
    const [there] = await runsOfBeta('slow')
    await until(
      'it to be cancelled',
      async () => (await pair.hosts.beta.client.getRun(there!.runId)).status === 'cancelled',
    )
    await alpha.cancelRun(runId)
    const log = await logOf(runId)
    expect(phases(log)).toEqual([
      'dispatch.began',
      'dispatch.succeeded',
      'dispatch.began',
      'dispatch.succeeded',
      'child.cancelled',
    ])
    expect(log.filter(({ type }) => type.startsWith('assay.peer.')).map(({ type }) => type)).toEqual([
      'assay.peer.silent',
      'assay.peer.lost',
      'assay.peer.released',
    ])
  })
})

describe('P13: where a run says it comes from', () => {
  const claim = { hostId: 'alpha.example', runId: 'r1', eventId: 'r1:3', cause: 'core.dispatch', depth: 0 } as const
  const ask = async (key: string, header: string) => {
    const response = await fetch(`${pair.urls.beta}/v1/runs`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-host-assay-causation': header,
      },
      body: JSON.stringify({ workflowId: 'draft', inputs: { topic: 'x' } }),
    })
    expect(response.status).toBe(201)
    const { runId } = (await response.json()) as { runId: string }
    return (await pair.hosts.beta.client.getAncestry(runId)).parent
  }

  test('R-XHOST-11: is believed of the peer whose key it is, and of nobody else', async () => {
    const { key } = await pair.hosts.beta.client.createKey({ scopes: ['runs:create', 'runs:read'], principal: 'other' })
    expect(await ask(pair.keys.beta, causationText(claim))).toMatchObject({ runId: 'r1', hostId: 'alpha.example' })
    expect(await ask(pair.keys.beta, causationText({ ...claim, hostId: 'evil.example' }))).toBeNull()
    expect(await ask(pair.keys.beta, 'no claim')).toBeNull()
    expect(await ask(key!, causationText(claim))).toBeNull()
  })
})

test('the logs of both hosts are such as logs must be', async () => {
  await pair.halt()
  for (const name of ['alpha', 'beta'] as const) {
    const runs = await storedRuns(pair.databaseOf(name))
    expect(runs.length).toBeGreaterThan(5)
    expect(findingsOf(runs)).toEqual([])
  }
})
