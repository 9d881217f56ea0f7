import { randomUUID } from 'node:crypto'
import type { Checkpoint } from '../../../src/engine/ports/audit.js'
import type { Delivery, DeliveryResult, NewDelivery, Webhook } from '../../../src/engine/ports/deliveries.js'
import type { EffectClaim } from '../../../src/engine/ports/effect-ledger.js'
import type { Commit, NewRun, StoredEvent, StreamAppend } from '../../../src/engine/ports/event-log.js'
import type { ApiKey } from '../../../src/engine/ports/keys.js'
import type { RememberedResponse } from '../../../src/engine/ports/remembered-responses.js'
import type { Store } from '../../../src/engine/ports/store.js'
import type { ErasureMark } from '../../../src/engine/ports/tenants.js'

/** A whole number of milliseconds in the past, so that nothing a test writes lies in the future. */
export const T0 = 1_700_000_000_000

export const id = (prefix: string): string => `${prefix}_${randomUUID()}`

export const event = (sequence: number, over: Partial<StoredEvent> = {}): StoredEvent => ({
  sequence,
  type: sequence === 0 ? 'run.started' : 'node.started',
  nodeId: sequence === 0 ? null : 'n1',
  payload: `{"n":${sequence}}`,
  secret: null,
  cause: sequence === 0 ? null : sequence - 1,
  foreignCause: null,
  at: T0 + sequence,
  input: sequence === 0 ? '{"type":"StartRun"}' : null,
  salt: `salt-${sequence}`,
  hash: `hash-${sequence}`,
  erased: null,
  ...over,
})

export const events = (from: number, count: number): StoredEvent[] =>
  Array.from({ length: count }, (_, i) => event(from + i))

export const terminal = (sequence: number, type = 'run.completed'): StoredEvent => event(sequence, { type })

export const newRun = (over: Partial<NewRun> = {}): NewRun => ({
  tenant: 'acme',
  workflowId: 'wf',
  workflowDigest: 'digest',
  parentRunId: null,
  parentNodeId: null,
  scopeId: null,
  tags: [],
  exclusiveScope: false,
  fork: null,
  gated: [],
  ...over,
})

export const creation = (runId: string, over: Partial<StreamAppend> = {}, run: Partial<NewRun> = {}): StreamAppend => ({
  runId,
  expected: 0,
  epoch: null,
  events: events(0, 2),
  status: 'running',
  wakeAt: null,
  head: 'hash-1',
  create: newRun(run),
  ...over,
})

export const extension = (runId: string, expected: number, over: Partial<StreamAppend> = {}): StreamAppend => ({
  runId,
  expected,
  epoch: null,
  events: events(expected, 1),
  status: 'running',
  wakeAt: null,
  head: `hash-${expected}`,
  ...over,
})

export const commit = (hostId: string, streams: StreamAppend[], over: Partial<Commit> = {}): Commit => ({
  appendId: randomUUID(),
  hostId,
  streams,
  wakes: [],
  ...over,
})

export const response = (over: Partial<RememberedResponse> = {}): RememberedResponse => ({
  tenant: 'acme',
  endpoint: 'createRun',
  key: id('key'),
  digest: 'sha-of-body',
  state: 'completed',
  leaseOwner: 'request-1',
  leaseUntil: T0,
  status: 201,
  headers: { location: '/v1/runs/x' },
  body: '{"runId":"x"}',
  at: T0,
  ...over,
})

export const claim = (hostId: string, over: Partial<EffectClaim> = {}): EffectClaim => ({
  id: id('effect'),
  tenant: 'acme',
  runId: 'run',
  nodeId: 'n1',
  ordinal: '0',
  provider: 'http',
  attempt: 1,
  hostId,
  at: T0,
  ...over,
})

export const apiKey = (over: Partial<ApiKey> = {}): ApiKey => ({
  keyId: id('key'),
  hash: id('hash'),
  tenant: 'acme',
  principal: 'alice',
  scopes: ['runs:read', 'runs:create'],
  test: false,
  createdAt: T0,
  expiresAt: null,
  revokedAt: null,
  madeBy: [],
  ...over,
})

/** The creation of a fork that shares the first `fromSeq` events of its source and adds `own` events. */
export const fork = (
  runId: string,
  sourceRunId: string,
  fromSeq: number,
  own: StoredEvent[] = [],
  over: { run?: Partial<NewRun>; stream?: Partial<StreamAppend>; sourceLength?: number } = {},
): StreamAppend => {
  const origin = { sourceRunId, fromSeq, mode: 'branch', sourceLength: over.sourceLength ?? fromSeq } as const
  const head = `hash-${fromSeq + own.length - 1}`
  return creation(runId, { expected: fromSeq, events: own, head, ...over.stream }, { fork: origin, ...over.run })
}

export const mark = (tenant: string, askedAt = T0): ErasureMark => ({
  tenant,
  askedAt,
  keyId: 'key-1',
  signature: 'signed',
})

export const webhook = (over: Partial<Webhook> = {}): Webhook => ({
  webhookId: id('webhook'),
  tenant: 'acme',
  url: 'https://example.com/hook',
  events: ['run.*'],
  tags: [],
  secret: 'whsec',
  createdAt: T0,
  health: { state: 'active', consecutiveFailures: 0, openUntil: null, failures: [] },
  ...over,
})

export const delivery = (to: Webhook, runId: string, sequence: number): NewDelivery => ({
  webhookId: to.webhookId,
  tenant: to.tenant,
  runId,
  sequence,
  eventType: event(sequence).type,
  at: event(sequence).at,
})

/** How a try of the delivery went. */
export const tried = (
  { webhookId, runId, sequence }: Pick<Delivery, 'webhookId' | 'runId' | 'sequence'>,
  over: Partial<DeliveryResult> = {},
): DeliveryResult => ({
  webhookId,
  runId,
  sequence,
  attempts: 1,
  status: 200,
  error: null,
  at: T0 + 1000,
  ...over,
})

export const checkpoint = (seq: number, over: Partial<Checkpoint> = {}): Checkpoint => ({
  seq,
  at: T0 + seq,
  keyId: 'signer',
  prev: seq === 0 ? '' : `checkpoint-${seq - 1}`,
  runs: [],
  purged: [],
  hash: `checkpoint-${seq}`,
  signature: `signature-${seq}`,
  ...over,
})

export const HOUR = 3_600_000

/** Registers a host with a lease that outlives the test. Lease times are the database's own on PostgreSQL. */
export async function host(store: Store, name = id('name'), leaseMs = HOUR): Promise<string> {
  const hostId = id('host')
  await store.registerHost({ hostId, hostName: name, leaseMs, now: Date.now() })
  return hostId
}

/** Registers a new incarnation of the same name, which fences the old one. */
export async function fence(store: Store, name: string): Promise<string> {
  return host(store, name)
}

export async function created(
  store: Store,
  hostId: string,
  stream: Partial<StreamAppend> = {},
  run: Partial<NewRun> = {},
) {
  const runId = id('run')
  const result = await store.commit(commit(hostId, [creation(runId, stream, run)]))
  if (result.kind !== 'committed') throw new Error(`the run was not created: ${result.kind}`)
  return runId
}

/** Waits for a condition with a deadline; never sleeps for luck. */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  ms = 20_000,
): Promise<T> {
  const deadline = Date.now() + ms
  for (;;) {
    const value = await probe()
    if (value !== undefined && value !== false) return value
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

export const kinds = (results: readonly { kind: string }[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { kind } of results) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
