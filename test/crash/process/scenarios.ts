import { mkdirSync } from 'node:fs'
import { expect } from 'vitest'
import { openStore } from '../../../src/store/open-store.js'
import { answering, type Sink, startSink } from '../../e2e/webhooks/sink.js'
import { answerGate, asked, createRun, ended, forkRun, statusOf } from '../../support/client.js'
import { eventsOf, expectFaithful, type Told, toldBy } from '../../support/deliveries.js'
import { type HostProcess, isTerminal, RUN_WRITES, until } from '../../support/host-process.js'
import { storedRuns } from '../../support/stored-runs.js'

/** One telling: where it is kept, and how its Idempotency-Keys begin. */
export type Telling = { readonly data: string; readonly database: string; readonly key: string }

/** What a client wants of the host, from the first request to the last end; after a crash it simply does it all again. */
export type Scenario = {
  /** Also the id of its workflow. */
  readonly name: string
  readonly counted: readonly string[]
  readonly settings?: { readonly [setting: string]: string }
  /** How often the writes are made does not depend on the story alone, so not every point can be hit. */
  readonly loose?: true
  /** Some of it happens at once, so not every telling says it in the same order. */
  readonly anyOrder?: true
  prepare?(telling: Telling): Promise<Play>
  readonly play?: Play['play']
}

export type Play = {
  play(host: HostProcess, key: string): Promise<void>
  /** What must be true of the world when it is over. */
  check?(telling: Telling): Promise<void>
  close?(): Promise<void>
}

const plain = (workflowId: string): Scenario => ({
  name: workflowId,
  counted: RUN_WRITES,
  play: async (host, key) => {
    await ended(host, await createRun(host, workflowId, key))
  },
})

const approval: Scenario = {
  name: 'approval',
  counted: RUN_WRITES,
  play: async (host, key) => {
    const runId = await createRun(host, 'approval', key)
    await asked(host, runId)
    const { status, body } = await answerGate(host, runId, 'accept', `${key}-answer`)
    expect(status, JSON.stringify(body)).toBe(200)
    await ended(host, runId)
  },
}

/** A parent shows what its child asks; the child is answered only then, so the story is always the same. */
const mirror: Scenario = {
  name: 'mirror',
  counted: RUN_WRITES,
  play: async (host, key) => {
    const runId = await createRun(host, 'mirror', key)
    const childOf = async () => (await host.call('GET', '/v1/runs?workflowId=asking-child')).body.runs[0]
    await until('the parent to mirror its child', async () => {
      const child = await childOf()
      return child && (isTerminal(child.status) || (await statusOf(host, runId)).startsWith('waiting-'))
    })
    const child = (await childOf())!
    const { status, body } = await answerGate(host, child.runId, 'accept', `${key}-answer`)
    expect(status, JSON.stringify(body)).toBe(200)
    await ended(host, runId)
  },
}

const fork: Scenario = {
  name: 'fork',
  counted: RUN_WRITES,
  play: async (host, key) => {
    const runId = await createRun(host, 'fork', key)
    await ended(host, runId)
    await ended(host, await forkRun(host, runId, { mode: 'replay' }, `${key}-replay`))
    await ended(host, await forkRun(host, runId, { mode: 'branch', fromSeq: 3 }, `${key}-branch`))
  },
}

const SECRET = 'a-secret-of-the-subscription'
const WEBHOOK = {
  webhookId: 'wh_crash',
  tenant: 'default',
  events: ['run.*'],
  tags: [],
  secret: SECRET,
  createdAt: 0,
  health: { state: 'active', consecutiveFailures: 0, openUntil: null, failures: [] },
} as const

/** A subscription from before the first request, and a receiver that fails the first time it is told anything. */
const delivery: Scenario = {
  name: 'delivery',
  counted: ['commit', 'claimDeliveries', 'finishDelivery', 'retryDelivery'],
  settings: { 'webhooks.allowPrivate': 'true' },
  loose: true,
  prepare: async ({ data, database }) => {
    const ok = answering(200)
    const refused = answering(503)
    const sink = await startSink({
      behave: (response, n, request) => (n === 0 ? refused : ok)(response, n, request),
    })
    mkdirSync(data, { recursive: true })
    const store = await openStore(database)
    await store.putWebhook({ ...WEBHOOK, url: sink.url })
    await store.close()
    return {
      play: (host, key) => playDelivery(host, key),
      check: telling => checkDeliveries(telling, sink),
      close: () => sink.close(),
    }
  },
}

async function playDelivery(host: HostProcess, key: string): Promise<void> {
  const runId = await createRun(host, 'delivery', key)
  await ended(host, runId)
  await ended(host, await forkRun(host, runId, { mode: 'replay' }, `${key}-replay`))
  await ended(host, await forkRun(host, runId, { mode: 'branch', fromSeq: 0 }, `${key}-branch`))
  await until('everything to be delivered', async () => {
    const { body } = await host.call('GET', `/v1/webhooks/${WEBHOOK.webhookId}/deliveries`)
    return body.deliveries.length > 0 && body.deliveries.every(({ state }) => state === 'delivered')
  })
}

async function checkDeliveries({ database }: Telling, sink: Sink): Promise<void> {
  const told: Told[] = sink.received.map(request => toldBy(request, SECRET))
  expectFaithful(told)
  const owed = (await storedRuns(database))
    .filter(({ row }) => (row as { fork?: { mode: string } | null }).fork?.mode !== 'replay')
    .flatMap(({ runId, events }) =>
      events.filter(({ type }) => type.startsWith('run.')).map(({ sequence }) => `${runId}:${sequence}`),
    )
  expect(eventsOf(told)).toEqual(new Set(owed))
}

export const SCENARIOS: readonly Scenario[] = [
  ...['linear', 'parallel', 'retrying', 'channel', 'family', 'effect', 'timeout'].map(plain),
  approval,
  mirror,
  fork,
  delivery,
]
