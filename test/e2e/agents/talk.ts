import { expect } from 'vitest'
import { readLocalKey } from '../../../src/client/local-key.js'
import { type HostProcess, isTerminal, until } from '../../support/host-process.js'

/** What clients ask a host, and what tests look at in its answers. */

export type Event = {
  readonly sequence: number
  readonly type: string
  readonly nodeId?: string
  readonly causationId?: string
  // biome-ignore lint/suspicious/noExplicitAny: payloads have no type until the test looks at them
  readonly payload: any
}

export type Snapshot = {
  readonly runId: string
  readonly status: string
  readonly variables?: { readonly [name: string]: unknown }
  readonly error?: { readonly code: string; readonly message: string }
  readonly assay?: { readonly spend?: Spend; readonly held?: Spend }
}

type Spend = { readonly tokens: number; readonly costUsd: number; readonly toolCalls: number; readonly retries: number }

export async function fetchText(
  host: HostProcess,
  path: string,
  init: RequestInit & { readonly headers?: Record<string, string> } = {},
): Promise<{ readonly status: number; readonly text: string; readonly headers: string }> {
  const key = await readLocalKey(host.settings.data)
  const response = await fetch(`${await host.url()}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, ...init.headers },
  })
  return { status: response.status, text: await response.text(), headers: JSON.stringify([...response.headers]) }
}

export async function startRun(
  host: HostProcess,
  workflowId: string,
  task: unknown,
  { key, configurable }: { readonly key?: string; readonly configurable?: object } = {},
): Promise<string> {
  const { status, body } = await host.call(
    'POST',
    '/v1/runs',
    { workflowId, inputs: { task }, configurable },
    key === undefined ? {} : { 'idempotency-key': key },
  )
  expect(status, JSON.stringify(body)).toBe(201)
  return body.runId
}

export const snapshotOf = async (host: HostProcess, runId: string): Promise<Snapshot> =>
  (await host.call('GET', `/v1/runs/${runId}`)).body as unknown as Snapshot

/** The snapshot of a run that has ended. */
export const ended = (host: HostProcess, runId: string): Promise<Snapshot> =>
  until(`run ${runId} to end`, async () => {
    const snapshot = await snapshotOf(host, runId)
    return isTerminal(snapshot.status) ? snapshot : undefined
  })

export async function eventsOf(host: HostProcess, runId: string): Promise<readonly Event[]> {
  const { text } = await fetchText(host, `/v1/runs/${runId}/events`, { headers: { accept: 'application/json' } })
  return (JSON.parse(text) as { events: readonly Event[] }).events
}

export const typesOf = (events: readonly Event[]): readonly string[] => events.map(({ type }) => type)

export const only = (events: readonly Event[], type: string): readonly Event[] =>
  events.filter(event => event.type === type)

/** Tells an ended run again and compares. */
export async function expectReplayEqual(host: HostProcess, runId: string): Promise<void> {
  const forked = await host.call('POST', `/v1/runs/${runId}:fork`, { mode: 'replay' })
  expect(forked.status, JSON.stringify(forked.body)).toBe(201)
  await ended(host, forked.body.runId)
  const diff = await host.call('GET', `/v1/runs/${runId}:diff?against=${forked.body.runId}`)
  expect(diff, JSON.stringify(diff.body)).toMatchObject({ status: 200, body: { divergedAtSeq: null } })
}
