import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunEventDoc } from '../../../src/client/index.js'
import { next, scripted, terminate } from '../../../src/testing/orchestration.js'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'
import { causationText } from '../../../src/wire/causation.js'
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
  { id: 'fails', variables: TEXT, nodes: { no: 'core.fail' } } as Sketch,
]

const MAPPED = { inputMapping: { topic: 'topic' }, outputMapping: { answer: 'text' } }
const VARIABLES = [
  { name: 'topic', type: 'string' as const },
  { name: 'answer', type: 'string' as const },
]
const handing = (id: string, worker: string): Sketch =>
  ({ ...scripted([next(worker), terminate], { dispatch: MAPPED, variables: VARIABLES } as never), id }) as Sketch

const OF_ALPHA: readonly Sketch[] = ['draft', 'slow', 'asks', 'fails', 'nothing'].map(name =>
  handing(`conformance-to-${name}`, `peer:beta/${name}`),
)

let pair: Pair
beforeAll(async () => {
  pair = await startPair()
  for (const one of OF_BETA) await pair.hosts.beta.client.putWorkflow(one.id!, sketch(one) as never)
  for (const one of OF_ALPHA) await pair.hosts.alpha.client.putWorkflow(one.id!, sketch(one) as never)
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
      String((events[0]?.payload as { traceparent: string }).traceparent).slice(3, 35)
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
